"""What `mlx_lm` says: that it is there and which version."""

from spoofs import installed

MODULES = ("mlx_lm.sample_utils",)
VALUES = {
    "mlx_lm.__version__": lambda profile: installed.version(profile, "mlx_lm"),
}
