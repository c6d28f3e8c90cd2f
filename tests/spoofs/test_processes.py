"""Which machine a child sees, for every way to start one. `docs/processes.md` is this table, for readers.

Each row is a program that runs on `apple_silicon_mlx` and starts children. They print the profile and the system
that they see. A child that sees the host is said on stderr, in one line, and can be forbidden.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.spoofs.machines import INTERPRETERS, STARTUP, run

SPOOFED = "apple_silicon_mlx Darwin"
OTHER = "amd_rocm Linux"
HOST = "host Linux"
SEES = {SPOOFED: "its parent's machine", OTHER: "the new machine", HOST: "the host"}

ASK = (
    "import sys, platform; spoofs = sys.modules.get('spoofs');"
    "print(spoofs.active.profile.name if spoofs else 'host', platform.system(), flush=True)"
)
# What the programs below have: the question, an interpreter, other environments, a change of machine.
PRELUDE = f"""
import os, subprocess, sys, multiprocessing, threading, concurrent.futures
ASK = {ASK!r}
python = sys.executable
ask = [python, "-c", ASK]
asking = (ASK, {{"__name__": "child"}})
ours = {{name: os.environ[name] for name in ("HARDWARE_PROFILE", "PYTHONPATH")}}
bare = {{name: value for name, value in os.environ.items() if name not in ours}}
def become(name): os.environ["HARDWARE_PROFILE"] = name
def process(method):
    child = multiprocessing.get_context(method).Process(target=exec, args=asking)
    child.start()
    child.join()
def pool(executor):
    with executor: executor.submit(exec, *asking).result()
def pool_of(method): return concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(method))
def ran(child): os.waitpid(child, 0)
"""
LACKS = "its environment lacks HARDWARE_PROFILE"
PATH = "its PYTHONPATH lacks"


class Row(NamedTuple):
    """A program, what its child says, and why that is an escape where it is one."""

    program: str
    sees: str
    escape: str | None = None


ROWS = {
    # subprocess and the environment
    "environment inherited": Row("subprocess.run(ask)", SPOOFED),
    "environment extended": Row("subprocess.run(ask, env={**os.environ, 'MORE': '1'})", SPOOFED),
    "environment replaced, ours kept": Row("subprocess.run(ask, env=ours)", SPOOFED),
    "environment replaced": Row("subprocess.run(ask, env=bare)", HOST, LACKS),
    "environment cleared": Row("subprocess.run(ask, env={})", HOST, LACKS),
    "only the profile kept": Row("subprocess.run(ask, env={**ours, 'PYTHONPATH': ''})", HOST, PATH),
    "PYTHONPATH replaced": Row("subprocess.run(ask, env={**ours, 'PYTHONPATH': '/elsewhere'})", HOST, PATH),
    "PYTHONPATH extended in front": Row(
        "subprocess.run(ask, env={**ours, 'PYTHONPATH': '/elsewhere:' + ours['PYTHONPATH']})", SPOOFED
    ),
    "os.environ cleared": Row("os.environ.clear(); subprocess.run(ask)", HOST, LACKS),
    "profile changed": Row("become('amd_rocm'); subprocess.run(ask)", OTHER),
    "profile removed": Row("del os.environ['HARDWARE_PROFILE']; subprocess.run(ask)", HOST, LACKS),
    "other working directory": Row("subprocess.run(ask, cwd='/')", SPOOFED),
    "os.chdir": Row("os.chdir('/'); subprocess.run(ask)", SPOOFED),
    "environment of bytes": Row("subprocess.run(ask, env=dict(os.environb))", SPOOFED),
    # options of the interpreter
    "-I": Row("subprocess.run([python, '-I', '-c', ASK])", HOST, "-I ignores the environment"),
    "-I among others": Row("subprocess.run([python, '-W', 'ignore', '-BIc', ASK])", HOST, "-I ignores the environment"),
    "-E": Row("subprocess.run([python, '-E', '-c', ASK])", HOST, "-E ignores the environment"),
    "-S": Row("subprocess.run([python, '-S', '-c', ASK])", HOST, "-S runs no sitecustomize"),
    "-s": Row("subprocess.run([python, '-s', '-c', ASK])", SPOOFED),
    "-P": Row("subprocess.run([python, '-P', '-c', ASK])", SPOOFED),
    "-O, -B, -u, -X": Row("subprocess.run([python, '-OBu', '-X', 'utf8', '-c', ASK])", SPOOFED),
    "an argument that looks like -I": Row("subprocess.run([*ask, '-I'])", SPOOFED),
    "program on stdin": Row("subprocess.run([python], input=ASK, text=True)", SPOOFED),
    "program in a file": Row("open('a.py', 'w').write(ASK); subprocess.run([python, 'a.py'])", SPOOFED),
    "module": Row("open('a.py', 'w').write(ASK); subprocess.run([python, '-m', 'a'])", SPOOFED),
    "script with a first line": Row(
        "open('a', 'w').write(f'#!{python}\\n{ASK}'); os.chmod('a', 0o700); subprocess.run(['./a'])", SPOOFED
    ),
    "script with -E in its first line": Row(
        "open('a', 'w').write(f'#!{python} -E\\n{ASK}'); os.chmod('a', 0o700); subprocess.run(['./a'])",
        HOST,
        "-E ignores the environment",
    ),
    "link to the interpreter": Row("os.symlink(python, 'worker'); subprocess.run(['./worker', '-c', ASK])", SPOOFED),
    "link to the interpreter, -I": Row(
        "os.symlink(python, 'worker'); subprocess.run(['./worker', '-I', '-c', ASK])",
        HOST,
        "-I ignores the environment",
    ),
    # shells
    "shell": Row("subprocess.run(f'{python} -c \"{ASK}\"', shell=True)", SPOOFED),
    "shell, environment cleared": Row("subprocess.run(f'{python} -c \"{ASK}\"', shell=True, env={})", HOST, LACKS),
    "shell, python -I": Row("subprocess.run(f'true && {python} -I -c \"{ASK}\"', shell=True)", HOST, "-I ignores"),
    "shell, variable emptied": Row("os.system(f'HARDWARE_PROFILE= {python} -c \"{ASK}\"')", HOST, LACKS),
    "shell, PYTHONPATH extended": Row("os.system(f'PYTHONPATH=/elsewhere:$PYTHONPATH {python} -c \"{ASK}\"')", SPOOFED),
    "shell, env -i": Row("os.system(f'env -i {python} -c \"{ASK}\"')", HOST, LACKS),
    "shell, env -u": Row("os.system(f'env -u HARDWARE_PROFILE {python} -c \"{ASK}\"')", HOST, LACKS),
    "env": Row("subprocess.run(['env', 'MORE=1', *ask])", SPOOFED),
    "os.system": Row("os.system(f'{python} -c \"{ASK}\"')", SPOOFED),
    "os.popen": Row("print(os.popen(f'{python} -c \"{ASK}\"').read(), end='')", SPOOFED),
    # other calls of the system
    "os.execv": Row("os.execv(python, ask)", SPOOFED),
    "os.execv, -I": Row("os.execv(python, [python, '-I', '-c', ASK])", HOST, "-I ignores the environment"),
    "os.execl": Row("os.execl(python, *ask)", SPOOFED),
    "os.execvp": Row("os.execvp(python, ask)", SPOOFED),
    "os.execve, environment cleared": Row("os.execve(python, ask, {})", HOST, LACKS),
    "os.execvpe, ours kept": Row("os.execvpe(python, ask, ours)", SPOOFED),
    "os.posix_spawn": Row("ran(os.posix_spawn(python, ask, os.environ))", SPOOFED),
    "os.posix_spawn, environment cleared": Row("ran(os.posix_spawn(python, ask, {}))", HOST, LACKS),
    "os.posix_spawnp": Row("ran(os.posix_spawnp(python, ask, os.environ))", SPOOFED),
    "os.spawnv": Row("os.spawnv(os.P_WAIT, python, ask)", SPOOFED),
    "os.spawnve, environment cleared": Row("os.spawnve(os.P_WAIT, python, ask, {})", HOST, LACKS),
    "os.fork": Row("child = os.fork()\nif child: ran(child)\nelse: exec(*asking); os._exit(0)", SPOOFED),
    "os.fork, profile changed": Row(
        "become('amd_rocm'); child = os.fork()\nif child: ran(child)\nelse: exec(*asking); os._exit(0)", SPOOFED
    ),
    "asyncio": Row(
        "import asyncio\nasync def main(): await (await asyncio.create_subprocess_exec(*ask)).wait()\n"
        "asyncio.run(main())",
        SPOOFED,
    ),
    # multiprocessing and pools
    "fork": Row("process('fork')", SPOOFED),
    "fork, profile changed": Row("become('amd_rocm'); process('fork')", SPOOFED),
    "spawn": Row("process('spawn')", SPOOFED),
    "spawn, profile changed": Row("become('amd_rocm'); process('spawn')", OTHER),
    "spawn, profile removed": Row("del os.environ['HARDWARE_PROFILE']; process('spawn')", HOST, LACKS),
    "forkserver": Row("process('forkserver')", SPOOFED),
    "forkserver, profile changed before its start": Row("become('amd_rocm'); process('forkserver')", OTHER),
    "forkserver, profile changed after its start": Row(
        "from multiprocessing.forkserver import ensure_running\n"
        "ensure_running(); become('amd_rocm'); process('forkserver')",
        SPOOFED,
    ),
    "ProcessPoolExecutor, fork": Row("pool(pool_of('fork'))", SPOOFED),
    "ProcessPoolExecutor, spawn": Row("pool(pool_of('spawn'))", SPOOFED),
    "ProcessPoolExecutor, forkserver": Row("pool(pool_of('forkserver'))", SPOOFED),
    # inside one process
    "thread": Row("child = threading.Thread(target=exec, args=asking); child.start(); child.join()", SPOOFED),
    "ThreadPoolExecutor": Row("pool(concurrent.futures.ThreadPoolExecutor(1))", SPOOFED),
    "sub-interpreter": Row(
        "try: import _interpreters as interpreters\nexcept ImportError: import _xxsubinterpreters as interpreters\n"
        "interpreters.run_string(interpreters.create(), ASK)",
        SPOOFED,
    ),
    # other `sitecustomize` files
    "another sitecustomize behind ours": Row(
        "open('sitecustomize.py', 'w').close()\n"
        "subprocess.run(ask, env={**ours, 'PYTHONPATH': ours['PYTHONPATH'] + ':' + os.getcwd()})",
        SPOOFED,
    ),
    "another sitecustomize before ours": Row(
        "open('sitecustomize.py', 'w').close()\n"
        "subprocess.run(ask, env={**ours, 'PYTHONPATH': os.getcwd() + ':' + ours['PYTHONPATH']})",
        HOST,
        "sitecustomize.py comes before the shim on its PYTHONPATH",
    ),
    "another sitecustomize before ours, by a relative path": Row(
        "os.mkdir('a'); open('a/sitecustomize.py', 'w').close()\n"
        "subprocess.run(ask, cwd='a', env={**ours, 'PYTHONPATH': '.:' + ours['PYTHONPATH']})",
        HOST,
        "sitecustomize.py comes before the shim on its PYTHONPATH",
    ),
    "another sitecustomize beside the script": Row(
        "open('sitecustomize.py', 'w').close(); open('a.py', 'w').write(ASK); subprocess.run([python, 'a.py'])", SPOOFED
    ),
    # other environments of Python
    "virtual environment made inside": Row(
        "subprocess.run([python, '-m', 'venv', '--without-pip', 'new']); subprocess.run(['new/bin/python', '-c', ASK])",
        SPOOFED,
    ),
    "virtual environment with a sitecustomize of its own": Row(
        "subprocess.run([python, '-m', 'venv', '--without-pip', 'new'])\n"
        "folder = 'new/lib/python{}.{}/site-packages'.format(*sys.version_info)\n"
        "open(folder + '/sitecustomize.py', 'w').close()\n"
        "subprocess.run(['new/bin/python', '-c', ASK])",
        SPOOFED,
    ),
    "a compiled program, environment cleared": Row("subprocess.run(['/bin/true'], env={}); exec(*asking)", SPOOFED),
}

# The system's Python is of a version that stands here anyway; it is a parent and a child of others below.
PYTHONS = {version: path for version, path in INTERPRETERS.items() if version != "system"}


def start(program, folder, **options):
    return run("apple_silicon_mlx", PRELUDE + program, cwd=folder, **options)


@pytest.mark.parametrize("python", PYTHONS.values(), ids=PYTHONS.keys())
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_child_sees_the_documented_machine(row, python, tmp_path):
    """Spoofed and silent, or on the host and said: never on the host in silence."""
    child = start(row.program, tmp_path, python=python)
    said = [line for line in child.stderr.splitlines() if "DeprecationWarning" not in line and "os.fork()" not in line]
    assert [row.sees] == child.stdout.splitlines(), child.stderr
    if row.escape is None:
        assert [] == said
    else:
        assert 1 == len(said)
        assert said[0].startswith("hardware profile 'apple_silicon_mlx': a child sees the host: ")
        assert f": {row.escape}" in said[0] or f"/{row.escape}" in said[0]


ESCAPES = {name: row for name, row in ROWS.items() if row.escape}


@pytest.mark.parametrize("row", ESCAPES.values(), ids=ESCAPES.keys())
def test_an_escape_can_be_forbidden(row, tmp_path):
    """The start fails then, in the parent or in what it forked, and the child asks nothing."""
    child = start(row.program, tmp_path, env={"HARDWARE_PROFILE_ESCAPES": "forbid"})
    assert "" == child.stdout
    assert row.escape in child.stderr


@pytest.mark.parametrize("python", INTERPRETERS.values(), ids=INTERPRETERS.keys())
@pytest.mark.parametrize("other", INTERPRETERS.values(), ids=[f"child {name}" for name in INTERPRETERS])
def test_another_python_without_this_project_is_spoofed(python, other, tmp_path):
    """The shim needs nothing but the standard library and its own folder."""
    child = start(f"subprocess.run([{other!r}, '-c', ASK])", tmp_path, python=python)
    assert (f"{SPOOFED}\n", "") == (child.stdout, child.stderr)


XDIST = """
import os, platform, sys
import pytest

@pytest.mark.parametrize("number", range(4))
def test_machine(number):
    assert "apple_silicon_mlx" == sys.modules["spoofs"].active.profile.name
    assert "Darwin" == platform.system()
    assert os.environ["PYTEST_XDIST_WORKER"]
"""


@pytest.mark.parametrize(
    ("options", "tests"),
    [
        (["-n", "2"], 4),
        (["-n", "2", "--dist", "worksteal"], 4),
        (["-n", "2", "--dist", "loadfile"], 4),
        (["--dist", "each", "--tx", "2*popen"], 8),
        (["--dist", "loadscope", "--tx", "2*popen"], 4),
    ],
    ids=["-n", "worksteal", "loadfile", "each", "loadscope"],
)
def test_the_workers_of_xdist_are_spoofed(options, tests, tmp_path):
    """They start through execnet, whose protocol runs on stdout."""
    (tmp_path / "test_machine.py").write_text(XDIST)
    child = run("apple_silicon_mlx", ["-m", "pytest", "-q", "-p", "no:cacheprovider", *options], cwd=tmp_path)
    assert 0 == child.returncode, child.stdout + child.stderr
    assert f"{tests} passed" in child.stdout
    assert "" == child.stderr


def test_the_page_tells_what_the_table_says():
    """`docs/processes.md` has the rows of this table, no other ones, in its order."""
    page = (Path(STARTUP).parents[1] / "docs" / "processes.md").read_text(encoding="utf-8")
    rows = [f"| {name} | {SEES[row.sees]} | {'yes' if row.escape else '-'} |" for name, row in ROWS.items()]
    assert rows == [line for line in page.splitlines() if line.startswith("| ")][2:]
