"""Does the suite notice? Small slips are made in the subject and in the rows, in memory, and the suite runs on each.

    python -m tests.mutants --help

Why not a tool from the shelf: the gate and the stack's floors are module-level code, the profiles need each their own
interpreter, and the subject is an installed package or somebody's checkout that nobody may write to.
- mutmut (3.8) mutates the bodies of functions only, and copies the project to one folder `mutants/` for a run.
- cosmic-ray (8.7) mutates everything, by rewriting the file on disk, and starts the tests anew for every mutant:
  some two hundred a minute on a module of three hundred lines.
- pytest-gremlins (1.12) switches mutants that it has written into the source, in one process: module-level code runs
  before it can choose.
None of them is told to run one mutant on another machine than the next. What does that here is small, because forking
from a warmed process (tests/forks.py) and holding a source in memory (tests/studio/subject.py) are there already.
"""
