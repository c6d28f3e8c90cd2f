"""What `mlx_vlm` says: that it is there and which version."""

VALUES = {
    "mlx_vlm.__version__": lambda profile: profile.packages["mlx-vlm"],
}
