"""What `mlx` says: that it is there, which version, and whether Metal answers."""

from spoofs import installed


def metal_is_available(profile):
    """Metal is there on Apple silicon only; the Linux wheels of mlx come without it."""
    return profile.system == "Darwin" and profile.machine == "arm64"


MODULES = ("mlx.core", "mlx.core.metal")
VALUES = {
    "mlx.core.__version__": lambda profile: installed.version(profile, "mlx"),
}
FUNCTIONS = {
    "mlx.core.metal.is_available": metal_is_available,
}
