"""Run a child interpreter on a machine: what the tests of the shim have in common."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from spoofs import capture, profiles

PACKAGE = Path(profiles.__file__).parent
STARTUP = str(PACKAGE / "startup")


def _interpreters():
    """Version -> path of each Python that the shim supports and this computer has, this one first.

    They are looked for on PATH and below PYENV_ROOT; a CI that wants a version tested installs it. The system's own
    Python is one more where it is new enough, because distributions ship a `sitecustomize` in it.
    """
    found = {"{}.{}".format(*sys.version_info): sys.executable}
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in ("3.11", "3.12", "3.13", "3.14"):
        candidates = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
        candidates += [Path(folder, f"python{version}") for folder in os.get_exec_path()]
        working = (str(each) for each in candidates if each.is_file() and _version(each) == version)
        if version not in found and (path := next(working, None)):
            found[version] = path
    system = Path("/usr/bin/python3")
    if system.is_file() and _version(system) in found:
        found["system"] = str(system)
    return found


def _version(candidate):
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    return subprocess.run([candidate, "-Ic", code], capture_output=True, text=True, check=False).stdout.strip()


INTERPRETERS = _interpreters()


def environment(name=None, env=None) -> dict[str, str]:
    """The environment of a child on the machine of that name, or on the host; `env` adds, None there removes."""
    child = {key: value for key, value in os.environ.items() if not key.startswith("HARDWARE_PROFILE")}
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
                name = f"{folder}/{machine.name}.toml"
                Path(name).write_text(capture.dump(machine), encoding="utf-8")
        command, child = [str(python), *argv], environment(name, env)
        return subprocess.run(command, env=child, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
