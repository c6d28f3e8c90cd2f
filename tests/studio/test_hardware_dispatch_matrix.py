"""The four contracts on the machine of this session, and the two canaries on theirs."""

from __future__ import annotations

import os

import pytest

import spoofs
from spoofs.profiles import PROFILES, HardwareProfile, find
from tests.studio.specification import SEED, Verdicts, expected
from tests.studio.subject import Subject
from tests.studio.verdicts import measure, measure_on


@pytest.fixture(scope="session")
def verdicts(subject: Subject) -> Verdicts:
    """What the subject decides in this interpreter."""
    return measure(subject)


def test_the_interpreter_is_spoofed_as_the_profile(profile: HardwareProfile) -> None:
    """The marker names this session's machine, so that an unspoofed run cannot be green."""
    assert find(os.environ["HARDWARE_PROFILE"]) == profile
    assert spoofs.active is not None
    assert profile == spoofs.active.profile
    # On the real machine that a profile describes (HARDWARE_PROFILE_REAL=1), nothing is spoofed.
    assert (set() if spoofs.active.real else {"os.uname", "platform.system"}) <= set(spoofs.active.patched)


def test_is_mlx_gate_decides_as_specified(profile: HardwareProfile, verdicts: Verdicts) -> None:
    """unsloth._IS_MLX, re-evaluated from the subject's own source."""
    assert expected(profile).is_mlx is verdicts.is_mlx, "contract _IS_MLX"


def test_detect_hardware_decides_as_specified(profile: HardwareProfile, verdicts: Verdicts) -> None:
    """utils.hardware.detect_hardware() returns the right DeviceType."""
    assert expected(profile).device == verdicts.device, "contract detect_hardware"


def test_is_rocm_decides_as_specified(profile: HardwareProfile, verdicts: Verdicts) -> None:
    """utils.hardware.IS_ROCM, as the detection leaves it."""
    assert expected(profile).is_rocm is verdicts.is_rocm, "contract IS_ROCM"


def test_is_apple_silicon_decides_as_specified(profile: HardwareProfile, verdicts: Verdicts) -> None:
    """utils.hardware.is_apple_silicon() agrees with the platform."""
    assert expected(profile).is_apple_silicon is verdicts.is_apple_silicon, "contract is_apple_silicon"


def test_is_apple_silicon_is_true_only_on_darwin_arm64(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both predicates count: an Intel Mac and an ARM box with Linux are none."""
    subject.go_on_path()
    from utils import hardware

    yes = []
    for system in ("Darwin", "Linux", "Windows"):
        for machine in ("arm64", "aarch64", "ARM64", "x86_64", "AMD64"):
            monkeypatch.setattr("platform.system", lambda system=system: system)
            monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
            if hardware.is_apple_silicon():
                yes.append((system, machine))

    assert [("Darwin", "arm64")] == yes, "contract is_apple_silicon"


def test_the_specification_reproduces_the_literal_verdicts() -> None:
    """The seven verdicts of the seed stand as a table that the specification must reproduce."""
    found = {row.name: expected(row, {}) for row in PROFILES if row.name in SEED}

    assert SEED == found


def test_cuda_takes_priority_over_mlx_when_both_available(subject: Subject) -> None:
    """A Mac that has both CUDA and MLX is driven by CUDA, although its MLX gate says yes."""
    assert Verdicts(True, "CUDA", False, True) == measure_on("canary_cuda_over_mlx", subject), (
        "contract detect_hardware: CUDA comes before MLX"
    )


def test_xpu_takes_priority_over_mlx_when_both_available(subject: Subject) -> None:
    """A Mac that has both XPU and MLX is driven by XPU, although its MLX gate says yes."""
    assert Verdicts(True, "XPU", False, True) == measure_on("canary_xpu_over_mlx", subject), (
        "contract detect_hardware: XPU comes before MLX"
    )
