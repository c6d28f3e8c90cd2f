"""What `mlx_vlm` says: that it is there and which version."""

from spoofs import installed

VALUES = {
    "mlx_vlm.__version__": lambda profile: installed.version(profile, "mlx_vlm"),
}
