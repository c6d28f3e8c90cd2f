"""mlx-lm is there by its row, with the part that its users import."""

from spoofs.profiles import MLX
from tests.spoofs.probing import ask


def test_it_has_the_version_of_the_row() -> None:
    source = "importlib.import_module('mlx_lm').__version__"
    assert {source: repr(MLX["mlx-lm"])} == ask("apple_silicon_mlx", source)


def test_it_is_gone_where_the_row_has_none() -> None:
    source = "importlib.import_module('mlx_lm')"
    error = ModuleNotFoundError("No module named 'mlx_lm'")
    assert {source: f"raises {error!r}"} == ask("apple_silicon_no_mlx", source)


def test_its_users_import_its_samplers() -> None:
    source = "importlib.import_module('mlx_lm.sample_utils').__name__"
    assert {source: "'mlx_lm.sample_utils'"} == ask("apple_silicon_mlx", source)
