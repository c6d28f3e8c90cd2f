"""mlx-vlm is there by its row."""

from spoofs.profiles import MLX
from tests.spoofs.probing import ask


def test_it_has_the_version_of_the_row() -> None:
    source = "importlib.import_module('mlx_vlm').__version__"
    assert {source: repr(MLX["mlx-vlm"])} == ask("apple_silicon_mlx", source)


def test_it_is_gone_where_the_row_has_none() -> None:
    source = "importlib.import_module('mlx_vlm')"
    error = ModuleNotFoundError("No module named 'mlx_vlm'")
    assert {source: f"raises {error!r}"} == ask("apple_silicon_no_mlx", source)
