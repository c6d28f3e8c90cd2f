"""A machine by hand: `python -m spoofs list`, `show NAME`, `run NAME -- COMMAND ...`; `record` writes one."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import NoReturn

try:
    from spoofs.profiles import CANARIES, PROFILES, HardwareProfile, ProfileError, find
except Exception as error:  # a row that is refused, by a class of the module that then did not load
    if type(error).__name__ != "ProfileError":
        raise
    print(f"spoofs/profiles.py: {error}", file=sys.stderr)
    sys.exit(97)

STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
HEADINGS = ("profile", "platform", "cuda", "hip", "xpu", "mps", "mlx", "devices")

# Runs on the machine, so that the command is looked up on the machine's PATH and its exit status is our own.
LAUNCH = """
import os, sys
command = sys.argv[1:]
if "spoofs" not in sys.modules:
    os.write(2, b"this interpreter is not spoofed: another sitecustomize or an option of Python keeps the shim out\\n")
    os._exit(97)
try:
    os.execvp(command[0], command)
except OSError as error:
    os.write(2, f"{command[0]}: {error.strerror} on {os.environ['HARDWARE_PROFILE']}\\n".encode())
    os._exit(127 if isinstance(error, FileNotFoundError) else 126)
"""


def environment(name: str) -> dict[str, str]:
    """This process's environment, with which a child runs on the machine of that name.

    Raises ProfileError where the shim cannot be put on a path.
    """
    if os.pathsep in STARTUP:
        raise ProfileError(f"{STARTUP} holds {os.pathsep!r}, which ends a path: move this folder to one without it")
    path = os.pathsep.join(filter(None, [STARTUP, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "HARDWARE_PROFILE": name, "HARDWARE_PROFILE_REAL": "0", "PYTHONPATH": path}


def columns(profile: HardwareProfile) -> tuple[str, ...]:
    """The facts that tell profiles apart, as the cells of a table under HEADINGS."""
    return (
        profile.name,
        f"{profile.system} {profile.machine}",
        "yes" if profile.cuda_available else "-",
        profile.hip_version or "-",
        "yes" if profile.xpu_available else "-",
        "yes" if profile.mps_available else "-",
        str(profile.packages.get("mlx") or "-"),
        ", ".join(device["name"] for device in profile.devices) or "-",
    )


def show_list() -> None:
    """Print the profiles and canaries as a table."""
    rows = [HEADINGS, *map(columns, PROFILES), *map(columns, CANARIES)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def show(name: str) -> NoReturn:
    """Print the facts that a machine states, then each probe with its answer, asked in an interpreter on it."""
    for fact, value in find(name).facts().items():
        print(f"{fact} = {value if isinstance(value, str) else str(value)}")
    print(flush=True)
    answers = "from spoofs import ask; ask.main()"
    run(name, [sys.executable, "-c", f"import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL); {answers}"])


def run(name: str, command: list[str]) -> NoReturn:
    """Become a command on a machine: its output and exit status are the command's."""
    find(name)
    os.execve(sys.executable, [sys.executable, "-c", LAUNCH, *command], environment(name))


def main() -> None:
    """Read the command line and do what it says; one line and status 97 where a profile cannot be."""
    parser = argparse.ArgumentParser(prog="python -m spoofs", description=__doc__.partition(":")[0] + ".")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("list", help="the profiles as a table")
    one = verbs.add_parser("show", help="the facts of one machine, and each probe with its answer")
    one.add_argument("name", metavar="NAME")
    command = verbs.add_parser("run", help="any command on that machine, its exit status kept")
    command.add_argument("name", metavar="NAME")
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")
    recorder = verbs.add_parser("record", help="this machine as a profile file, on stdout; see docs/record.md")
    recorder.add_argument("--name", help="the profile's name, an identifier")
    chosen = parser.parse_args()
    try:
        follow(chosen, command)
    except ProfileError as error:
        named = str(error).startswith("profile ")  # an error in a row names it already
        print(error if named else f"hardware profile {chosen.name!r}: {error}", file=sys.stderr)
        sys.exit(97)


def follow(chosen: argparse.Namespace, command: argparse.ArgumentParser) -> None:
    """Do what the command line says. Raises ProfileError."""
    if chosen.verb == "list":
        show_list()
    elif chosen.verb == "show":
        show(chosen.name)
    elif chosen.verb == "record":
        from spoofs import record  # asks much, which the other verbs need not load

        print(record.text(chosen.name), end="")
    else:
        words = chosen.command[1:] if chosen.command[:1] == ["--"] else chosen.command
        if not words:
            command.error("name a command, as in: run amd_rocm -- python -c pass")
        run(chosen.name, words)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends us without a word
    main()
