"""The machines: the product of what the probes can say and of the switches that the subject honours, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from spoofs.profiles import MLX, HardwareProfile, ProfileError

# One part of a machine: what to call it -> the facts that it states. "" states none.
Part = dict[str, dict[str, Any]]

SYSTEM: Part = {"linux": {}, "darwin": {"system": "Darwin"}, "windows": {"system": "Windows"}}
MACHINE: Part = {
    "x86_64": {},
    "AMD64": {"machine": "AMD64"},
    "arm64": {"machine": "arm64"},
    "aarch64": {"machine": "aarch64"},
    "ARM64": {"machine": "ARM64"},
}
CUDA: Part = {"": {}, "cuda": {"cuda_available": True}}
HIP: Part = {"": {}, "hip": {"hip_version": "6.1"}, "sdk": {"torch_version": "2.13.0+rocm7.1"}}
XPU: Part = {"": {}, "xpu": {"xpu_available": True}}
MLX_STACK: Part = {
    "": {},
    "mlx": {"packages": MLX},
    "mlxonly": {"packages": {"mlx": MLX["mlx"]}},
    "mlxold": {"packages": {**MLX, "mlx-vlm": "0.4.3"}},
}
MPS: Part = {"": {}, "mps": {"mps_available": True}}

FORCE_GPU: Part = {"": {}, "forcegpu": {"environment": {"UNSLOTH_FORCE_GPU_PATH": "1"}}}
FORCE_XPU: Part = {"": {}, "forcexpu": {"environment": {"UNSLOTH_FORCE_XPU": "1"}}}
AFFINITY: Part = {"": {}, "affinity": {"environment": {"ZE_AFFINITY_MASK": "0"}}}
HIDDEN: Part = {
    "": {},
    "hidden": {"environment": {"CUDA_VISIBLE_DEVICES": ""}},
    "minus": {"environment": {"CUDA_VISIBLE_DEVICES": "-1"}},
}

HARDWARE = (CUDA, HIP, XPU, MLX_STACK, MPS)
SWITCHES = (FORCE_GPU, FORCE_XPU, AFFINITY, HIDDEN)
# Every variable that a switch sets: one in the shell must not reach a machine that does not state it.
VARIABLES = {name for part in SWITCHES for facts in part.values() for name in facts.get("environment", {})}
# The machine of each system on which all hardware meets all switches.
COMMON = {"linux_x86_64", "darwin_arm64", "windows_AMD64"}


def row(name: str, *parts: dict[str, Any]) -> HardwareProfile:
    """The machine that states the facts of all parts; ProfileError where the rule for rows refuses it."""
    facts: dict[str, Any] = {}
    for part in parts:
        for fact, value in part.items():
            facts[fact] = {**facts.get(fact, {}), **value} if isinstance(value, dict) else value
    return HardwareProfile(name, **facts)


def rows(every_spelling: bool = False) -> Iterator[HardwareProfile]:
    """Every machine that the rule for rows lets stand.

    All hardware on every system with every spelling of its machine, and all hardware with all switches on one
    machine of each system; with `every_spelling`, all hardware with all switches on all of them: four times as many.
    """
    for parts in product(*(part.items() for part in (SYSTEM, MACHINE, *HARDWARE, *SWITCHES))):
        names = [name for name, _ in parts]
        switched = any(names[-len(SWITCHES) :])
        if switched and not every_spelling and "_".join(names[:2]) not in COMMON:
            continue
        try:
            yield row("_".join(filter(None, names)), *(facts for _, facts in parts))
        except ProfileError:
            continue


def smaller(machine: HardwareProfile) -> Iterator[HardwareProfile]:
    """The machines that state one fact, package or variable less; those that the rule for rows refuses are left out."""
    facts = machine.facts()
    for fact, value in facts.items():
        rest = {name: stated for name, stated in facts.items() if name != fact}
        if fact in ("packages", "environment"):
            for key in value:
                yield HardwareProfile(machine.name, **rest, **{fact: {k: v for k, v in value.items() if k != key}})
        else:
            try:
                yield HardwareProfile(machine.name, **rest)
            except ProfileError:
                continue
