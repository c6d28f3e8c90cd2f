"""Escapes are said once, collected, allowed for a reason, or forbidden. Which children escape: `test_processes.py`."""

import sys

import pytest

from spoofs.escapes import ALLOWED, collected, reason
from tests.spoofs.machines import STARTUP, run

OURS = {"HARDWARE_PROFILE": "amd_rocm", "PYTHONPATH": STARTUP, "PATH": "/usr/bin:/bin"}
BARE = {"PATH": "/usr/bin:/bin"}
ESCAPING = "import subprocess, sys\ndef escape(*more, **options): subprocess.run([sys.executable, *more], **options)\n"

KEPT = {
    "plain": ["python3", "-c", "pass"],
    "options that change nothing": ["python3.13", "-sPOOBbuv", "-W", "-I", "-X", "-E", "-c", "pass"],
    "options joined with their values": ["python3", "-Wignore", "-Xutf8", "a.py", "-I"],
    "option of the program": ["python3", "-m", "pytest", "-I"],
    "option of a program on stdin": ["python3", "-", "-E"],
    "long option": ["python3", "--check-hash-based-pycs", "always", "a.py", "-S"],
    "compiled program": ["/bin/ls", "-I"],
    "program that is not there": ["nothing-of-that-name", "-I"],
    "shell": ["sh", "-c", "ls -I && python3 a.py -I"],
    "shell with a quote left open": ["sh", "-c", "echo 'python3"],
    "name like ours": ["/opt/pythonic", "-I"],
}
LOST = {
    "-I": (["python3", "-I"], "-I ignores"),
    "-E behind others": (["/usr/bin/python3.12", "-W", "ignore", "-bE", "-c", "pass"], "-E ignores"),
    "-S with -m": (["pypy3", "-Sm", "site"], "-S runs no sitecustomize"),
    "shell": (["bash", "-c", "cd /; exec python3 -I a.py"], "-I ignores"),
    "shell, operators without spaces": (["sh", "-c", "true&&python3 -E x;true"], "-E ignores"),
    "launchers": (["nice", "timeout", "3", "env", "A=1", "python3", "-I"], "-I ignores"),
    "env -i": (["env", "-i", "python3"], "its environment lacks HARDWARE_PROFILE"),
    "env -i in a shell": (["sh", "-c", "env --ignore-environment A=1 python3 -c 1"], "lacks HARDWARE_PROFILE"),
    "unset": (["sh", "-c", "unset HARDWARE_PROFILE; python3"], "its environment lacks HARDWARE_PROFILE"),
    "PYTHONPATH replaced": (["sh", "-c", "PYTHONPATH=src python3 -m pytest"], "its PYTHONPATH lacks"),
}


@pytest.mark.parametrize("command", KEPT.values(), ids=KEPT.keys())
def test_a_command_that_keeps_the_machine_has_no_reason(command):
    assert None is reason(command, OURS)


@pytest.mark.parametrize(("command", "why"), LOST.values(), ids=LOST.keys())
def test_a_command_that_leaves_it_says_why(command, why):
    assert why in reason(command, OURS)


def test_a_shell_may_extend_the_path():
    for extended in ("src:$PYTHONPATH", "src:${PYTHONPATH}", "$PYTHONPATH:src"):
        assert None is reason(["sh", "-c", f'PYTHONPATH="{extended}" python3'], OURS)


def test_a_compiled_program_may_have_any_environment_but_a_shell_may_not():
    """What a shell starts, from a script that we do not read, would see the host."""
    assert None is reason(["/bin/ls"], BARE)
    assert "lacks HARDWARE_PROFILE" in reason(["sh", "build.sh"], BARE)


def test_a_command_is_said_once():
    """A loop of a hundred workers is one escape."""
    child = run("amd_rocm", ESCAPING + "for _ in range(3): escape('-I', '-c', '1')\nescape('-E', '-c', '2')")
    assert (0, 2) == (child.returncode, len(child.stderr.splitlines()))
    assert "mend that, or state why it may in its HARDWARE_PROFILE_ESCAPE_REASON" in child.stderr


def test_the_marker_lists_the_escapes():
    code = "escape('-I', '-c', 'pass'); import spoofs; print(spoofs.active.escaped)"
    assert (
        f"{[f'{sys.executable} -I -c pass: -I ignores the environment']}\n" == run("amd_rocm", ESCAPING + code).stdout
    )


def test_a_session_collects_the_escapes_of_all_its_processes(tmp_path):
    """Each command once, whichever process starts it; the file outlives an environment that is cleared."""
    file = tmp_path / "escapes"
    inner = "import subprocess, sys, os; os.environ.clear(); subprocess.run([sys.executable, '-c', 'inner'])"
    code = f"for _ in range(2): escape('-c', {inner!r})\nescape('-I', '-c', 'outer')"
    child = run("amd_rocm", ESCAPING + code, env={"HARDWARE_PROFILE_ESCAPES_FILE": str(file)})
    expected = [
        f"{sys.executable} -c inner: its environment lacks HARDWARE_PROFILE",
        f"{sys.executable} -I -c outer: -I ignores the environment",
    ]
    assert expected == collected(file)
    assert 2 == child.stderr.count("a child sees the host: ")


def test_a_session_without_escapes_has_collected_none(tmp_path):
    file = tmp_path / "escapes"
    run("amd_rocm", ESCAPING + "escape('-c', 'pass')", env={"HARDWARE_PROFILE_ESCAPES_FILE": str(file)})
    assert ([], []) == (collected(file), collected(None))


def test_a_child_may_see_the_host_for_a_stated_reason():
    """In the child's environment, so that who starts it decides and not the session."""
    env = "{'HARDWARE_PROFILE_ESCAPE_REASON': 'measures the host'}"
    child = run(
        "amd_rocm", ESCAPING + f"escape('-I', '-c', 'pass', env={env})", env={"HARDWARE_PROFILE_ESCAPES": "forbid"}
    )
    assert (0, "") == (child.returncode, child.stderr)


@pytest.mark.parametrize("words", ALLOWED, ids=" ".join)
def test_what_is_allowed_stands_in_a_list_with_its_reason(words):
    child = run("amd_rocm", ESCAPING + f"escape({words[0]!r}, {words[1]!r}, '--version', env={{}})")
    assert (0, "") == (child.returncode, child.stderr)
    assert ALLOWED[words]


def test_a_forbidden_escape_is_an_error_where_the_child_is_started():
    code = "try: escape('-I', '-c', 'print(1)')\nexcept RuntimeError as error: print(type(error).__name__, error)"
    child = run("amd_rocm", ESCAPING + code, env={"HARDWARE_PROFILE_ESCAPES": "forbid"})
    assert child.stdout.startswith("Escape hardware profile 'amd_rocm': a child sees the host: ")
    assert 1 == len(child.stdout.splitlines())


def test_an_unspoofed_interpreter_watches_nobody():
    child = run(None, ESCAPING + "escape('-I', '-c', 'pass')", env={"HARDWARE_PROFILE_ESCAPES": "forbid"})
    assert (0, "") == (child.returncode, child.stderr)
