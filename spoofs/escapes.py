"""Children that leave the machine: a spoofed interpreter looks at what it starts and says what would see the host.

The environment carries a profile to children. It cannot reach a Python that ignores it (-I, -E), that runs no
`site` (-S), that is started with another environment, or for which another `sitecustomize` comes first. What is
looked at is the command itself, a script's first line, and the words of a shell's command; a Python that a compiled
program starts by its own decision is not seen.

An escape is said on stderr, once. HARDWARE_PROFILE_ESCAPES=forbid makes the start of such a child fail as well, and
HARDWARE_PROFILE_ESCAPES_FILE names a file to which every process of a session adds its escapes, a line each.
"""

import os

import spoofs

# In a child's environment: why it may see the host.
REASON = "HARDWARE_PROFILE_ESCAPE_REASON"

# Words of a command -> why it runs on the host.
ALLOWED = {
    ("-m", "ensurepip"): "`venv` installs pip, which is for the host",
    ("-Im", "ensurepip"): "`venv` installs pip, which is for the host",
}
_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
# Programs that start the program which stands in their arguments.
_SHELLS = ("sh", "ash", "bash", "dash", "ksh", "zsh")
_LAUNCHERS = {*_SHELLS, "env", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout", "xargs"}
_IGNORES = {"I": "-I ignores the environment", "E": "-E ignores the environment", "S": "-S runs no sitecustomize"}


class Escape(RuntimeError):
    """A child that was not started, because it would have seen the host where that is forbidden."""


def look(event, args):
    """Judge the child that an audit event announces, and say, collect or forbid its escape."""
    if event == "import":
        _watch_multiprocessing()
        return
    cwd = None
    if event == "os.system":
        executable, argv, environment = "/bin/sh", ["/bin/sh", "-c", args[0]], None
    elif event == "subprocess.Popen":
        executable, argv, cwd, environment = args
    else:
        executable, argv, environment = args
    if isinstance(argv, (str, bytes)):
        argv = [argv]
    _judge(_text(executable), [_text(each) for each in argv], cwd and _text(cwd), environment)


def _judge(executable, argv, cwd, environment):
    environment = os.environ if environment is None else _decoded(environment)
    why = reason([executable, *argv[1:]], environment, cwd)
    allowed = any(list(words) == argv[at : at + 2] for words in ALLOWED for at in range(len(argv)))
    if why is None or allowed or environment.get(REASON):
        return
    command = " ".join(" ".join(argv).split())
    command = command if len(command) < 200 else f"{command[:200]}..."
    line = f"{command}: {why}"
    mend = f"mend that, or state why it may in its {REASON}"
    message = f"hardware profile {spoofs.active.profile.name!r}: a child sees the host: {line}; {mend}"
    policy, path = spoofs.active.escapes
    if line not in spoofs.active.escaped and line not in collected(path):
        spoofs.active.escaped.append(line)
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(line + "\n")
        os.write(2, f"{message}\n".encode(errors="replace"))
    if policy == "forbid":
        raise Escape(message)


def collected(path) -> list[str]:
    """The escapes of a whole session so far, from the file that HARDWARE_PROFILE_ESCAPES_FILE named in it."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def reason(command, environment, cwd=None):
    """Why a command would see the host, or None where it keeps the machine or starts no Python that we can see."""
    command = _as_run(command, environment, cwd)
    if _is_python(command[0], cwd):
        return _ignores(command[1:]) or _loses(environment, cwd)
    if os.path.basename(command[0]) not in _LAUNCHERS:
        return None
    environment = dict(environment)
    words = [os.path.basename(command[0]), *_words(command[1:])]
    for at, word in enumerate(words):
        name, assigns, value = word.partition("=")
        if assigns and name in ("HARDWARE_PROFILE", "PYTHONPATH"):
            old = environment.get(name, "")
            environment[name] = value.replace(f"${{{name}}}", old).replace(f"${name}", old)
        elif name in ("HARDWARE_PROFILE", "PYTHONPATH") and words[at - 1] in ("-u", "unset"):
            environment.pop(name, None)
        elif word in ("-i", "-", "--ignore-environment") and words[at - 1] == "env":
            environment.clear()
        elif _is_python(word, cwd):
            why = _ignores(words[at + 1 :]) or _loses(environment, cwd)
            if why:
                return why
    return _loses(environment, cwd)


def _as_run(command, environment, cwd):
    """The command as the system runs it: a script is run by the interpreter that its first line names."""
    path = command[0]
    if os.sep not in path:
        folders = environment.get("PATH", os.defpath).split(os.pathsep)
        path = next((found for found in (os.path.join(each, path) for each in folders) if os.access(found, 1)), path)
    try:
        with open(os.path.join(cwd or "", path), "rb") as file:
            first = file.read(256).partition(b"\n")[0]
    except OSError:
        return command
    if not first.startswith(b"#!"):
        return [path, *command[1:]]
    return [*os.fsdecode(first[2:]).strip().split(None, 1), path, *command[1:]]


def _is_python(path, cwd):
    """Whether a path is an interpreter, by its name or by that of the file that it links to."""
    names = [path, os.path.realpath(os.path.join(cwd or "", path))] if os.sep in path else [path]
    return any(os.path.basename(name).rstrip("0123456789.t") in ("python", "pypy") for name in names)


def _ignores(arguments):
    """The option of an interpreter that keeps the shim out."""
    arguments = iter(arguments)
    for argument in arguments:
        if not argument.startswith("-") or argument == "-":
            return None
        if argument.startswith("--"):
            continue
        for at, option in enumerate(argument[1:], 2):
            if option in _IGNORES:
                return _IGNORES[option]
            if option in "cm":
                return None
            if option in "WX":
                if at == len(argument):
                    next(arguments, None)
                break
    return None


def _loses(environment, cwd):
    """What an environment lacks, or puts before the shim."""
    if not environment.get("HARDWARE_PROFILE"):
        return "its environment lacks HARDWARE_PROFILE"
    for entry in environment.get("PYTHONPATH", "").split(os.pathsep):
        folder = os.path.join(cwd or os.getcwd(), entry)
        if os.path.realpath(folder) == os.path.realpath(_STARTUP):
            return None
        for shadow in ("sitecustomize.py", "sitecustomize"):
            if os.path.exists(os.path.join(folder, shadow)):
                return f"{os.path.join(folder, shadow)} comes before the shim on its PYTHONPATH"
    return f"its PYTHONPATH lacks {_STARTUP}"


def _words(arguments):
    """The words of a shell's command, operators apart."""
    import shlex

    for argument in arguments:
        lexer = shlex.shlex(argument, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            yield from list(lexer)
        except ValueError:  # an open quote
            yield from argument.split()


def _watch_multiprocessing():
    """Its starts are not audited: they run the interpreter with the environment as it is."""
    import multiprocessing.util

    start = multiprocessing.util.spawnv_passfds

    def spawnv_passfds(path, args, passfds):
        if "multiprocessing.resource_tracker" not in _text(args[-1]):  # counts semaphores, asks nothing
            _judge(_text(path), [_text(each) for each in args], None, None)
        return start(path, args, passfds)

    if start.__name__ != spawnv_passfds.__name__ or start.__module__ != __name__:
        multiprocessing.util.spawnv_passfds = spawnv_passfds


def _text(value):
    return value if isinstance(value, str) else os.fsdecode(value)


def _decoded(environment):
    return {_text(name): _text(value) for name, value in dict(environment).items()}
