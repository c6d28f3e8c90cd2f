"""What `mlx` says: that it is there, which version, and whether Metal answers."""

from spoofs import derived, installed


def metal_is_available(profile):
    """Metal is there on Apple silicon only; the Linux wheels of mlx come without it."""
    return profile.system == "Darwin" and profile.machine == "arm64"


def device_info(profile):
    """Name and memory, in bytes, of the GPU. Raises RuntimeError without Metal.

    https://github.com/ml-explore/mlx-examples/issues/1306 is a program that did not expect that.
    """
    if not metal_is_available(profile):
        raise RuntimeError("[metal::device_info] Cannot get device info without metal backend")
    device = next(iter(derived.devices(profile, "mps")), derived.DEFAULT_DEVICE["mps"])
    return {
        "device_name": device["name"],
        "memory_size": derived.total_memory(device),
        "max_recommended_working_set_size": derived.working_set(device),
    }


class Device:
    """`mlx.core.Device`: "gpu" or "cpu"."""

    def __init__(self, kind):
        self.type = kind

    def __repr__(self):
        return f"Device({self.type}, 0)"


def default_device(profile):
    """The GPU where Metal answers, else the CPU."""
    return Device("gpu" if metal_is_available(profile) else "cpu")


MODULES = ("mlx.core", "mlx.core.metal")
VALUES = {
    "mlx.core.__version__": lambda profile: installed.version(profile, "mlx"),
}
FUNCTIONS = {
    "mlx.core.default_device": default_device,
    "mlx.core.metal.is_available": metal_is_available,
    "mlx.core.metal.device_info": device_info,
}
