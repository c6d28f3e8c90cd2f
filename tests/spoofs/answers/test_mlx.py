"""mlx is there by its row; Metal is there on Apple silicon alone."""

import pytest

from spoofs.profiles import MLX, HardwareProfile
from tests.spoofs.probing import ask

CORE = "importlib.import_module('mlx.core')"


@pytest.mark.parametrize(
    ("machine", "metal"), [("apple_silicon_mlx", True), ("linux_arm64_with_mlx", False), ("canary_cuda_over_mlx", True)]
)
def test_metal_answers_on_apple_silicon_alone(machine: str, metal: bool) -> None:
    said = ask(machine, f"{CORE}.metal.is_available()", f"{CORE}.default_device().type", f"{CORE}.__version__")
    assert [repr(metal), repr("gpu" if metal else "cpu"), repr(MLX["mlx"])] == list(said.values())


def test_the_gpu_is_the_one_that_torch_has() -> None:
    gpu = {"name": "Apple M4 Max", "total_memory": 64 * 1024**3, "free_memory": 48 * 1024**3}
    mac = HardwareProfile("mac", system="Darwin", machine="arm64", mps_available=True, packages=MLX, devices=(gpu,))
    source = f"{CORE}.metal.device_info()"
    said = {
        "device_name": "Apple M4 Max",
        "memory_size": 64 * 1024**3,
        "max_recommended_working_set_size": 48 * 1024**3,
    }
    torch = "(torch.backends.mps.get_name(), torch.mps.recommended_max_memory())"
    assert {source: repr(said), torch: repr(("Apple M4 Max", 48 * 1024**3))} == ask(mac, source, torch)


def test_a_program_that_expects_a_gpu_fails_as_on_linux() -> None:
    """https://github.com/ml-explore/mlx-examples/issues/1306"""
    source = f"{CORE}.metal.device_info()"
    error = RuntimeError("[metal::device_info] Cannot get device info without metal backend")
    assert {source: f"raises {error!r}"} == ask("linux_arm64_with_mlx", source)
