"""What the detection leaves behind beside its verdicts, and states of a machine that are no facts of its hardware."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spoofs.profiles import HardwareProfile
from tests.combinations import measuring
from tests.studio.subject import Subject

UNKNOWN = "this release has no such thing"
# What counts of the lines that are printed and logged.
SAID = ("Hardware detected", "CUDA devices", "ROCm devices", "  [")
WARNED = {"torch is installed but failed to import": "torch fails", "hides the AMD GPU": "AMD hidden"}

Prepare = Callable[[], None]
"""What is done to the process before the detection: the subject on the path, the machine's answers in place."""


def fails(probe: str) -> Prepare:
    """A driver that raises: the torch probe of that dotted name does."""

    def prepare() -> None:
        def broken(*_: Any, **__: Any) -> Any:
            raise RuntimeError("the driver is wedged")

        module, _, name = probe.rpartition(".")
        importlib.import_module("torch")
        setattr(sys.modules[module], name, broken)

    return prepare


def answers_yes(probe: str) -> Prepare:
    """A probe that was asked before the mask was set, and keeps what it said."""

    def prepare() -> None:
        module, _, name = probe.rpartition(".")
        importlib.import_module("torch")
        setattr(sys.modules[module], name, lambda: True)

    return prepare


def without_device_order() -> None:
    """Somebody has taken away the order of devices that the subject sets as it is imported."""
    importlib.import_module("utils.hardware.hardware")
    os.environ.pop("CUDA_DEVICE_ORDER", None)


class Refusing:
    """A finder that fails the import of one module with an error, and counts how often it is asked."""

    def __init__(self, module: str, error: BaseException | None) -> None:
        self.module, self.error, self.asked = module, error, 0
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Nothing, or the error."""
        if name == self.module:
            self.asked += 1
            if self.error is not None:
                raise self.error


def import_fails(module: str, error: BaseException) -> Prepare:
    """A package that is there and fails on import, with that error."""

    def prepare() -> None:
        sys.modules.pop(module, None)
        Refusing(module, error)

    return prepare


def installed_without_torch() -> None:
    """The environment was installed with --no-torch, which the subject's installer marks in its folder."""
    sys.prefix = measuring.folder("environment")
    Path(sys.prefix, ".unsloth-no-torch").touch()


def settled_without_torch() -> None:
    """The same, after the probe that follows the start has found the MLX stack unusable."""
    installed_without_torch()
    from utils.hardware import hardware

    hardware._NO_TORCH_SETTLED_EPOCH = hardware.current_detection_epoch()


def torch_on_disk_is_broken() -> None:
    """A torch for CUDA lies on disk, and a library that it needs does not."""
    package = Path(measuring.folder("site-packages"), "torch")
    package.mkdir()
    (package / "__init__.py").write_text("raise OSError('libcudart.so.13: cannot open shared object file')\n")
    (package / "version.py").write_text("__version__ = '2.13.0+cu130'\ncuda = '13.0'\n")
    sys.path.insert(0, str(package.parent))


def metadata_is_unreadable(distribution: str) -> Prepare:
    """The metadata of a package that is there cannot be read."""

    def prepare() -> None:
        readable = importlib.metadata.version

        def version(distribution_name: str) -> str:
            if distribution_name == distribution:
                raise OSError("input/output error")
            return readable(distribution_name)

        importlib.metadata.version = version

    return prepare


def without_the_repair() -> None:
    """The module that measures the MLX stack cannot be imported."""
    sys.modules["utils.mlx_repair"] = None  # type: ignore[assignment]


def detection(machine: HardwareProfile, prepare: Prepare | None, subject: Subject) -> Callable[[], Any]:
    """The job that detects twice in one process: what each pass left behind, whether the verdict was the same."""

    def job() -> Any:
        measuring.become(machine)
        subject.go_on_path()
        if prepare is not None:
            prepare()
        from utils.hardware import hardware

        first = detect(hardware)
        decided = hardware.DEVICE, hardware.IS_ROCM
        _scribble(hardware)
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        os.environ.update(machine.environment)
        again = detect(hardware)
        return [first, again, decided == (hardware.DEVICE, hardware.IS_ROCM)]

    return job


def detect(hardware: Any) -> dict[str, Any]:
    """Detect once; what was printed, what was published, which masks were set."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        hardware.detect_hardware()
    text = out.getvalue()
    hint = getattr(hardware, "_CHAT_ONLY_HINT", None)
    rosetta = getattr(hardware, "_running_under_rosetta", None)
    return {
        "said": [line for line in text.splitlines() if line.startswith(SAID)],
        "warned": [word for sentence, word in WARNED.items() if sentence in text],
        "chat_only": hardware.CHAT_ONLY,
        "reason": getattr(hardware, "CHAT_ONLY_REASON", UNKNOWN),
        "detail": getattr(hardware, "CHAT_ONLY_DETAIL", UNKNOWN),
        "vendors": sorted(getattr(hardware, "CHAT_ONLY_MISMATCH_VENDORS", ())),
        "hint": hint and hint[0],
        "rosetta": rosetta() if rosetta else UNKNOWN,
        # What was measured of the MLX stack belongs to the pass that did it.
        "left over": getattr(hardware, "_MLX_BLOCKERS_MEASURED", None) or None,
        "cuda_mask": os.environ.get("CUDA_VISIBLE_DEVICES"),
    }


def _scribble(hardware: Any) -> None:
    """Leave other verdicts standing, as an earlier pass on another machine would have."""
    hardware.DEVICE, hardware.CHAT_ONLY, hardware.IS_ROCM = None, not hardware.CHAT_ONLY, not hardware.IS_ROCM
    earlier = {
        "CHAT_ONLY_REASON": "of an earlier pass",
        "CHAT_ONLY_DETAIL": "of an earlier pass",
        "CHAT_ONLY_MISMATCH_VENDORS": frozenset({"of an earlier pass"}),
        "_MLX_BLOCKERS_MEASURED": ["of an earlier pass"],
    }
    for name, value in earlier.items():
        if hasattr(hardware, name):
            setattr(hardware, name, value)
