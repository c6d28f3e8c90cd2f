"""What `mlx_lm` says: that it is there and which version."""

MODULES = ("mlx_lm.sample_utils",)
VALUES = {
    "mlx_lm.__version__": lambda profile: profile.packages["mlx-lm"],
}
