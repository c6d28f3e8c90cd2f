"""What the detection says beside its verdicts: the line it prints, whether training is off and why, masks it sets.

The texts are those of the releases since 2026.8; a release that has no such word is not held to it.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from spoofs.profiles import MI300X, MLX, PROFILES, T4, HardwareProfile
from tests import forks
from tests.combinations import measuring
from tests.studio.subject import Subject

ROWS = {row.name: row for row in PROFILES}
NO_BACKEND = "CPU training backend (no PyTorch/MLX GPU backend available)"
FLOORS = {"mlx": "0.22.0", "mlx-lm": "0.31.2", "mlx-vlm": "0.4.4"}
W7900 = {"name": "AMD Radeon PRO W7900", "arch": "gfx1100"}
SDK = "2.13.0+rocm7.1"


def mac(name: str, **facts: Any) -> HardwareProfile:
    """A Mac of Apple's own make."""
    return HardwareProfile(name, system="Darwin", machine="arm64", **facts)


def both(name: str, **environment: str) -> HardwareProfile:
    """A machine with a CUDA and an XPU device."""
    return HardwareProfile(name, cuda_available=True, xpu_available=True, environment=environment)


def told(*said: str, **rest: Any) -> dict[str, Any]:
    """What the detection leaves behind where training is on; `rest` says what differs."""
    lines = [f"Hardware detected: {said[0]}", *said[1:]]
    return {"said": lines, "chat_only": False, "reason": None, "detail": None, "cuda_mask": None} | rest


def off(reason: str, detail: str | None = None) -> dict[str, Any]:
    """What it leaves behind where no device can train."""
    return told(NO_BACKEND, chat_only=True, reason=reason, detail=detail)


MISSING = "; ".join(f"{name} is not installed (needs >={floor})" for name, floor in FLOORS.items())
DEFAULT_XPU = "Intel(R) Data Center GPU Max 1550"
DEFAULT_CUDA = "NVIDIA GeForce RTX 4090"

DETAILS: list[tuple[HardwareProfile, dict[str, Any]]] = [
    (ROWS["nvidia_cuda"], told("CUDA -- Tesla T4")),
    (ROWS["amd_rocm"], told("ROCm (HIP 6.1) -- AMD Instinct MI300X")),
    (ROWS["intel_xpu"], told("XPU — Intel(R) Arc(TM) A770 Graphics")),
    (ROWS["apple_silicon_mlx"], told("MLX — Apple Silicon (arm64)")),
    (ROWS["apple_silicon_no_mlx"], off("mlx_unavailable", MISSING)),
    (ROWS["linux_arm64_with_mlx"], off("no_gpu")),
    (ROWS["cpu_only"], off("no_gpu")),
    (
        HardwareProfile("two_cards", cuda_available=True, devices=(T4, {"name": "NVIDIA A100"})),
        told(
            "CUDA -- Tesla T4", "CUDA devices (2, CUDA_DEVICE_ORDER=PCI_BUS_ID):", "  [0] Tesla T4", "  [1] NVIDIA A100"
        ),
    ),
    (
        HardwareProfile("two_amd", cuda_available=True, hip_version="6.1", devices=(W7900, MI300X)),
        told(
            "ROCm (HIP 6.1) -- AMD Radeon PRO W7900",
            "ROCm devices (2):",
            "  [0] AMD Radeon PRO W7900",
            "  [1] AMD Instinct MI300X",
        ),
    ),
    (
        HardwareProfile("amd_sdk", cuda_available=True, torch_version=SDK),
        told(f"ROCm (HIP {SDK}) -- AMD Radeon PRO W7900"),
    ),
    # CUDA goes first, however much else there is; what was asked for explicitly goes before it, and says so.
    (both("both"), told(f"CUDA -- {DEFAULT_CUDA}")),
    (both("both_mask_alone", ZE_AFFINITY_MASK="0"), told(f"CUDA -- {DEFAULT_CUDA}")),
    (
        both("both_forced", UNSLOTH_FORCE_XPU="1"),
        told(f"XPU -- {DEFAULT_XPU} (UNSLOTH_FORCE_XPU=1)", cuda_mask=""),
    ),
    (
        both("both_forced_masked", UNSLOTH_FORCE_XPU="1", ZE_AFFINITY_MASK="0"),
        told(f"XPU -- {DEFAULT_XPU} (UNSLOTH_FORCE_XPU=1 + ZE_AFFINITY_MASK)", cuda_mask=""),
    ),
    (
        both("both_forced_hidden", UNSLOTH_FORCE_XPU="1", CUDA_VISIBLE_DEVICES=" -1 "),
        told(f"XPU -- {DEFAULT_XPU} (UNSLOTH_FORCE_XPU=1)", cuda_mask=" -1 "),
    ),
    (
        both("both_masked_hidden", ZE_AFFINITY_MASK="0", CUDA_VISIBLE_DEVICES="-1"),
        told(f"XPU -- {DEFAULT_XPU} (ZE_AFFINITY_MASK hint honoured)", cuda_mask="-1"),
    ),
    (both("both_hidden", CUDA_VISIBLE_DEVICES="-1"), told(f"XPU — {DEFAULT_XPU}", cuda_mask="-1")),
    (
        HardwareProfile("xpu_forced", xpu_available=True, environment={"UNSLOTH_FORCE_XPU": "1"}),
        told(f"XPU -- {DEFAULT_XPU} (UNSLOTH_FORCE_XPU=1)"),
    ),
    (
        HardwareProfile("cuda_forced", cuda_available=True, environment={"UNSLOTH_FORCE_XPU": "1"}),
        told(f"CUDA -- {DEFAULT_CUDA}"),
    ),
    (
        HardwareProfile(
            "cuda_no_such_probe",
            cuda_available=True,
            torch_lacks=("torch.xpu",),
            environment={"UNSLOTH_FORCE_XPU": "1"},
        ),
        told(f"CUDA -- {DEFAULT_CUDA}"),
    ),
    (HardwareProfile("no_such_probe", torch_lacks=("torch.xpu",)), off("no_gpu")),
    (
        HardwareProfile("no_hip_attribute", cuda_available=True, torch_lacks=("torch.version.hip",)),
        told(f"CUDA -- {DEFAULT_CUDA}"),
    ),
    # MLX counts as a whole.
    (mac("mlx_at_the_floors", packages=FLOORS), told("MLX — Apple Silicon (arm64)")),
    (
        mac("mlx_old", packages={**FLOORS, "mlx": "0.21.9", "mlx-vlm": "0.4.3"}),
        off("mlx_unavailable", "mlx 0.21.9 is older than 0.22.0; mlx-vlm 0.4.3 is older than 0.4.4"),
    ),
    (
        mac("mlx_lm_old", packages={**FLOORS, "mlx-lm": "0.31.1"}),
        off("mlx_unavailable", "mlx-lm 0.31.1 is older than 0.31.2"),
    ),
    (
        mac("mlx_lm_broken", packages={**MLX, "mlx-lm": {"version": "0.32.2", "error": "ImportError: no libmlx"}}),
        off("mlx_unavailable", "mlx_lm does not import (ImportError: no libmlx)"),
    ),
    (
        mac("mlx_vlm_broken", packages={**MLX, "mlx-vlm": {"version": "0.7.9", "error": "OSError: no libmlx"}}),
        off("mlx_unavailable", "mlx_vlm does not import (OSError: no libmlx)"),
    ),
    (
        mac("mlx_lm_absent", packages={**MLX, "mlx-lm": None}),
        off("mlx_unavailable", "mlx-lm is not installed (needs >=0.31.2)"),
    ),
    # The other reasons.
    (
        HardwareProfile(
            "torch_broken", packages={"torch": {"version": "2.13.0+cu130", "error": "OSError: libcudart.so.13"}}
        ),
        off("detection_failed"),
    ),
    (HardwareProfile("torch_absent", packages={"torch": None}), off("no_gpu")),
    (HardwareProfile("intel_mac", system="Darwin"), off("intel_mac")),
    (HardwareProfile("intel_mac_asked", system="Darwin", tools={"sysctl": "0\n"}), off("intel_mac")),
    (
        HardwareProfile("intel_mac_failing", system="Darwin", tools={"sysctl": {"output": "1\n", "status": 1}}),
        off("intel_mac"),
    ),
    (HardwareProfile("rosetta", system="Darwin", tools={"sysctl": "1\n"}), off("rosetta")),
    (HardwareProfile("windows", system="Windows", machine="AMD64"), off("no_gpu")),
]


def _detect(machine: HardwareProfile, subject: Subject) -> Callable[[], Any]:
    def job() -> Any:
        measuring.become(machine)
        subject.go_on_path()
        from utils.hardware import hardware

        def detect() -> dict[str, Any]:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                hardware.detect_hardware()
            lines = said.getvalue().splitlines()
            return {
                "said": [
                    line
                    for line in lines
                    if line.startswith(("Hardware detected", "CUDA devices", "ROCm devices", "  ["))
                ],
                "chat_only": hardware.CHAT_ONLY,
                "reason": getattr(hardware, "CHAT_ONLY_REASON", "unknown"),
                "detail": getattr(hardware, "CHAT_ONLY_DETAIL", "unknown"),
                "cuda_mask": os.environ.get("CUDA_VISIBLE_DEVICES"),
            }

        first = detect()
        decided = hardware.DEVICE, hardware.IS_ROCM
        hardware.DEVICE, hardware.CHAT_ONLY, hardware.IS_ROCM = None, not hardware.CHAT_ONLY, not hardware.IS_ROCM
        for name in ("CHAT_ONLY_REASON", "CHAT_ONLY_DETAIL"):
            if hasattr(hardware, name):
                setattr(hardware, name, "of an earlier pass")
        environment = {**os.environ}
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        os.environ.update(machine.environment)
        again = detect()
        os.environ.update(environment)
        return [first, again, decided == (hardware.DEVICE, hardware.IS_ROCM)]

    return job


@pytest.fixture(scope="session")
def details(subject: Subject) -> Callable[[HardwareProfile], Any]:
    """Asks a machine, once, what two passes in one process left behind, and whether both came to the same verdict."""

    @cache
    def ask(machine: HardwareProfile) -> Any:
        ((_, answer),) = forks.run([_detect(machine, subject)])
        assert isinstance(answer, list), answer
        return answer

    return ask


@pytest.mark.parametrize(("machine", "wanted"), DETAILS, ids=[row.name for row, _ in DETAILS])
def test_the_detection_says_what_it_found(
    details: Callable[[HardwareProfile], Any], machine: HardwareProfile, wanted: dict[str, Any]
) -> None:
    """The line it prints, CHAT_ONLY with its reason and detail, and CUDA's mask for the children."""
    found = details(machine)[0]

    assert {key: value for key, value in wanted.items() if found[key] != "unknown"} == {
        key: value for key, value in found.items() if value != "unknown"
    }


@pytest.mark.parametrize("machine", [row for row, _ in DETAILS], ids=lambda row: row.name)
def test_a_second_pass_remembers_nothing_of_the_first(
    details: Callable[[HardwareProfile], Any], machine: HardwareProfile
) -> None:
    """Detection is asked again in the same process; whatever stood there before, it says the same."""
    first, again, same = details(machine)

    assert first == again
    assert same
