"""Copies of the project, to run nox and the scripts in for real without touching the project's own environments."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.studio import subject as subjects

ROOT = Path(__file__).parents[2]
PARTS = ("noxfile.py", "pyproject.toml", "ci", "spoofs", "tests")

Run = Callable[..., subprocess.CompletedProcess[str]]


def copy(target: Path) -> Path:
    """The project without what it has made."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target / part, symlinks=True, ignore=ignored)  # each tool is a link
        else:
            shutil.copy(source, target)
    return target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project that has no environments."""
    return copy(tmp_path)


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose sessions amd_rocm, cpu_only and coverage are warm: they see what this environment has."""
    root = copy(tmp_path_factory.mktemp("warm"))
    pinned = root / "ci" / "requirements"
    site = sysconfig.get_path("purelib")
    for session, group in (("amd_rocm", "test"), ("cpu_only", "test"), ("coverage", "cov")):
        environment = root / ".nox" / session
        venv.create(environment, symlinks=True)
        own = next(environment.glob("lib/python*/site-packages"))
        (own / "host.pth").write_text(f"import site; site.addsitedir({site!r})\n")
        wanted = hashlib.sha256((pinned / f"{group}.txt").read_bytes()).hexdigest()
        (environment / "requirements.sha256").write_text(wanted)
    (root / ".nox" / "packages").mkdir()
    found = subjects.locate()
    (root / ".nox" / "packages" / f"unsloth-{found.version}").symlink_to(found.root)
    return root


@pytest.fixture
def run() -> Run:
    """Run a command in a folder, with more variables; no installer may reach an index, so that none is needed."""

    def run_in(cwd: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        ours = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "NO_COLOR": "1", **env}
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("NOX", "HARDWARE_", "FORCE_"))
        }
        return subprocess.run(
            [sys.executable, *command], cwd=cwd, env={**inherited, **ours}, capture_output=True, text=True, check=False
        )

    return run_in
