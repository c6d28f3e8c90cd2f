"""One file per command-line tool: `answer(profile, arguments)` is its exit status, its stdout and its stderr."""
