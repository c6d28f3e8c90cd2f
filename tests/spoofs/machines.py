"""Run a child interpreter on a machine: what the tests of the shim have in common."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from spoofs import capture, profiles

STARTUP = str(Path(profiles.__file__).with_name("startup"))
# What a session of its own must not pass on to a child that a test puts on another machine.
_OURS = ("HARDWARE_PROFILE", "HARDWARE_PROFILE_APPLIED", "HARDWARE_PROFILE_DEBUG", "HARDWARE_PROFILE_ESCAPES")


def environment(name=None, env=None) -> dict[str, str]:
    """The environment of a child on the machine of that name, or on the host; `env` adds, None there removes."""
    child = {key: value for key, value in os.environ.items() if key not in _OURS}
    child["PYTHONPATH"] = STARTUP
    if name is not None:
        child["HARDWARE_PROFILE"] = name
    for key, value in (env or {}).items():
        if value is None:
            child.pop(key, None)
        else:
            child[key] = value
    return child


def run(machine, code_or_argv, *, python=sys.executable, env=None, cwd=None) -> subprocess.CompletedProcess[str]:
    """Run code (a string) or an interpreter's arguments (a list) on a machine, and give what came of it, as text.

    `machine` is a profile, the name of one, or None for an unspoofed child with the shim on its path. A row that is
    no named profile is handed over in a TOML file of its own.
    """
    argv = ["-c", code_or_argv] if isinstance(code_or_argv, str) else list(map(str, code_or_argv))
    with tempfile.TemporaryDirectory() as folder:
        name = machine
        if isinstance(machine, profiles.HardwareProfile):
            name = machine.name
            if machine not in profiles.PROFILES + profiles.CANARIES:
                name = os.path.join(folder, f"{machine.name}.toml")
                Path(name).write_text(capture.dump(machine), encoding="utf-8")
        return subprocess.run(
            [str(python), *argv], env=environment(name, env), cwd=cwd, capture_output=True, text=True, timeout=120
        )
