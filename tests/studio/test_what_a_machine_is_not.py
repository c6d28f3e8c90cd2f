"""Each profile states what it is not, so that a spoof or a verdict that says yes to everything is caught."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Callable
from typing import Any

from spoofs.profiles import HardwareProfile
from tests.studio.specification import SEED, Verdicts, expected
from tests.studio.subject import Subject
from tests.studio.verdicts import measure


def _torch(probe: Callable[[Any], bool]) -> Callable[[Verdicts], bool]:
    def ask(_: Verdicts) -> bool:
        import torch

        return probe(torch)

    return ask


# What can be said of a machine: name -> whether it holds, by the subject's verdicts.
DECIDED: dict[str, Callable[[Verdicts], bool]] = {
    "Apple silicon": lambda verdicts: verdicts.is_apple_silicon,
    "the MLX gate": lambda verdicts: verdicts.is_mlx,
    "driven by CUDA": lambda verdicts: verdicts.device == "CUDA",
    "driven by XPU": lambda verdicts: verdicts.device == "XPU",
    "driven by MLX": lambda verdicts: verdicts.device == "MLX",
    "driven by CPU": lambda verdicts: verdicts.device == "CPU",
    "ROCm": lambda verdicts: verdicts.is_rocm,
}


def _installed(distribution: str) -> Callable[[Verdicts], bool]:
    return lambda _: any(importlib.metadata.distributions(name=distribution))


# The same, by the machine's own answers.
ANSWERED: dict[str, Callable[[Verdicts], bool]] = {
    "mlx": lambda _: importlib.util.find_spec("mlx") is not None,
    "mlx-lm": _installed("mlx-lm"),
    "mlx-vlm": _installed("mlx-vlm"),
    "a Mac": lambda _: platform.system() == "Darwin",
    "arm64": lambda _: platform.machine() == "arm64",
    "CUDA answers": _torch(lambda torch: torch.cuda.is_available()),
    "XPU answers": _torch(lambda torch: torch.xpu.is_available()),
    "MPS answers": _torch(lambda torch: torch.backends.mps.is_available()),
    "a HIP build": _torch(lambda torch: torch.version.hip is not None),
}

# Profile -> all that it is not. What is not listed, it is.
_NO_MLX = ("mlx", "mlx-lm", "mlx-vlm")
_NO_MAC = ("a Mac", "Apple silicon", "the MLX gate", "driven by MLX", "MPS answers")
_NO_XPU = ("driven by XPU", "XPU answers")
_NO_AMD = ("ROCm", "a HIP build")
_NO_CUDA = ("driven by CUDA", "CUDA answers", *_NO_AMD)
_NO_GPU = (*_NO_CUDA, *_NO_XPU)
IS_NOT = {
    "nvidia_cuda": {*_NO_MAC, *_NO_MLX, *_NO_XPU, *_NO_AMD, "arm64", "driven by CPU"},
    "amd_rocm": {*_NO_MAC, *_NO_MLX, *_NO_XPU, "arm64", "driven by CPU"},
    "intel_xpu": {*_NO_MAC, *_NO_MLX, *_NO_CUDA, "arm64", "driven by CPU"},
    "apple_silicon_mlx": {*_NO_GPU, "driven by CPU"},
    "apple_silicon_no_mlx": {*_NO_GPU, *_NO_MLX, "the MLX gate", "driven by MLX"},
    "linux_arm64_with_mlx": {*_NO_MAC, *_NO_GPU},
    "cpu_only": {*_NO_MAC, *_NO_GPU, *_NO_MLX, "arm64"},
}


def test_a_machine_is_nothing_that_it_is_not(profile: HardwareProfile, subject: Subject) -> None:
    """Of all that can be said, what the table lists is false on this machine, and the rest is true.

    A row that the table does not list is held to what the specification says of it.
    """
    verdicts = measure(subject)
    sayings = DECIDED | ANSWERED if profile.name in IS_NOT else DECIDED
    is_not = IS_NOT.get(profile.name, {name for name, holds in DECIDED.items() if not holds(expected(profile))})

    assert is_not == {name for name, holds in sayings.items() if not holds(verdicts)}


def test_every_profile_of_the_seed_says_what_it_is_not() -> None:
    """The table names the seven, and each is not something that another one is."""
    assert set(SEED) == set(IS_NOT)
    everything = set(DECIDED | ANSWERED)
    assert everything == set().union(*IS_NOT.values()), "what no profile denies, or what cannot be said"
    assert {True} == {bool(everything - is_not) for is_not in IS_NOT.values()}
