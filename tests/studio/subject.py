"""The software under test: where it lies, which version it is, and how its sources are read."""

from __future__ import annotations

import ast
import gc
import importlib.metadata
import importlib.util
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

GATE = "unsloth/__init__.py"
HARDWARE = "studio/backend/utils/hardware/hardware.py"
WORKER = "studio/backend/core/training/worker.py"

# Sources held in memory in place of the files, path -> text: whoever changes the subject without touching the disk.
IN_MEMORY: dict[Path, str] = {}


class SubjectError(Exception):
    """The subject cannot be tested as asked for; the message is one line that names the mend."""


@dataclass(frozen=True)
class Subject:
    """The folder that holds `unsloth/` and `studio/`, and the version found there."""

    root: Path
    version: str

    @property
    def backend(self) -> Path:
        """The folder that Studio itself puts on `sys.path`."""
        return self.root / "studio" / "backend"

    def path(self, relative: str) -> Path:
        """The file of the subject at a path relative to its root; SubjectError where it has none."""
        path = self.root / relative
        if not path.is_file():
            raise SubjectError(f"the subject at {self.root} has no {relative}; name a whole release or checkout")
        return path

    def text(self, relative: str) -> str:
        """The source of one file of the subject."""
        path = self.path(relative)
        return IN_MEMORY[path] if path in IN_MEMORY else _read(path)

    def tree(self, relative: str) -> ast.Module:
        """The parsed source of one file of the subject, parsed once a process."""
        return _parse(self.path(relative), self.text(relative))

    def go_on_path(self) -> None:
        """Make the subject importable the way Studio makes itself importable."""
        for folder in (self.root, self.backend):
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _parse(path: Path, text: str) -> ast.Module:
    gc.disable()  # a tree is up to a hundred thousand objects that stay: walking them over and over doubles the time
    try:
        return ast.parse(text, filename=str(path))
    except SyntaxError as error:
        raise SubjectError(f"{path}:{error.lineno}: the subject does not parse: {error.msg}") from None
    finally:
        gc.freeze()
        gc.enable()


def locate(path: str | None = None) -> Subject:
    """The subject at `path` (a checkout or an unpacked wheel), or the installed release where `path` is None.

    Raises SubjectError where there is none, or where it lacks `unsloth/` or `studio/`.
    """
    if path is not None:
        root = Path(path).expanduser().resolve()
        if not root.is_dir():
            raise SubjectError(f"--subject {path}: no such folder; name a checkout or an unpacked wheel of Unsloth")
    else:
        spec = importlib.util.find_spec("unsloth")
        if spec is None or spec.origin is None:
            raise SubjectError(
                "no subject: unsloth is not installed here; run nox, name a folder with --subject PATH, "
                "or `pip install --no-deps unsloth unsloth_zoo`"
            )
        root = Path(spec.origin).parent.parent
    for folder in ("unsloth", "studio"):
        if not (root / folder).is_dir():
            mend = "name the folder that holds unsloth/ and studio/"
            raise SubjectError(f"the subject at {root} has no {folder}/; {mend}")
    return Subject(root, _version(root))


def _version(root: Path) -> str:
    for distribution in importlib.metadata.distributions(name="unsloth", path=[str(root)]):
        return distribution.version
    for relative in ("unsloth/models/_utils.py", "unsloth/_version.py"):
        source = root / relative
        if source.is_file():
            found = re.search(r'^__version__\s*=\s*"([^"]+)"', source.read_text(encoding="utf-8"), re.MULTILINE)
            if found:
                return found[1]
    return "unversioned"


def check(subject: Subject) -> None:
    """Raise SubjectError where the subject has no gate to hold to its contract."""
    from tests.studio.guards import gate

    gate.gate_source(subject)
