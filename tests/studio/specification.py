"""The contracts as an executable specification: which verdicts a machine must lead to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from spoofs.profiles import HardwareProfile

# What a user sets to have the subject decide otherwise; masks aside, which belong to the machine.
SWITCHES = ("UNSLOTH_FORCE_GPU_PATH", "UNSLOTH_FORCE_XPU")
# What Studio accepts as its MLX stack, by distribution; older ones import and then break.
MLX_FLOORS = {"mlx": (0, 22, 0), "mlx-lm": (0, 31, 2), "mlx-vlm": (0, 4, 4)}


@dataclass(frozen=True)
class Verdicts:
    """What the subject decides, one field a contract: name of the contract -> value."""

    is_mlx: bool  # unsloth._IS_MLX
    device: str  # utils.hardware.detect_hardware(), the name of the DeviceType
    is_rocm: bool  # utils.hardware.IS_ROCM
    is_apple_silicon: bool  # utils.hardware.is_apple_silicon()

    def as_dict(self) -> dict[str, bool | str]:
        """Contract -> value, for messages and for children that answer in JSON."""
        return asdict(self)


def expected(profile: HardwareProfile, environ: Mapping[str, str] = os.environ) -> Verdicts:
    """The verdicts that a machine must lead to, with the switches that the subject honours in `environ`."""
    apple = (profile.system, profile.machine) == ("Darwin", "arm64")
    forced_off_mlx = environ.get("UNSLOTH_FORCE_GPU_PATH", "0") == "1"
    device = _device(profile, environ, apple)
    return Verdicts(
        is_mlx=apple and profile.packages.get("mlx") is not None and not forced_off_mlx,
        device=device,
        is_rocm=device == "CUDA" and _is_rocm(profile),
        is_apple_silicon=apple,
    )


def _device(profile: HardwareProfile, environ: Mapping[str, str], apple: bool) -> str:
    cuda_mask = environ.get("CUDA_VISIBLE_DEVICES")
    cuda_hidden = cuda_mask is not None and cuda_mask.strip() in ("", "-1")
    torch = isinstance(profile.packages.get("torch", "stands unless the row says otherwise"), str)
    cuda = torch and profile.cuda_available and not cuda_hidden
    xpu = torch and profile.xpu_available
    prefers_xpu = environ.get("UNSLOTH_FORCE_XPU") == "1" or (bool(environ.get("ZE_AFFINITY_MASK")) and not cuda)
    if prefers_xpu and xpu:
        return "XPU"
    if cuda:
        return "CUDA"
    if xpu:
        return "XPU"
    return "MLX" if apple and _has_mlx_stack(profile) else "CPU"


def _is_rocm(profile: HardwareProfile) -> bool:
    return profile.hip_version is not None or "rocm" in (profile.torch_version or "")


def _has_mlx_stack(profile: HardwareProfile) -> bool:
    """Whether all three packages are there, import, and are new enough."""
    states = {name: profile.packages.get(name) for name in MLX_FLOORS}
    return all(
        isinstance(state, str) and tuple(int(part) for part in state.split(".")) >= MLX_FLOORS[name]
        for name, state in states.items()
    )


# The seed's seven verdicts, literally; the specification must reproduce them.
SEED = {
    #                               _IS_MLX  DEVICE  IS_ROCM  is_apple_silicon()
    "nvidia_cuda": Verdicts(False, "CUDA", False, False),
    "amd_rocm": Verdicts(False, "CUDA", True, False),
    "intel_xpu": Verdicts(False, "XPU", False, False),
    "apple_silicon_mlx": Verdicts(True, "MLX", False, True),
    "apple_silicon_no_mlx": Verdicts(False, "CPU", False, True),
    "linux_arm64_with_mlx": Verdicts(False, "CPU", False, False),
    "cpu_only": Verdicts(False, "CPU", False, False),
}
