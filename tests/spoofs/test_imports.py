"""A package is absent, present, too old or broken in every way that software finds out, whatever the host has."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoofs.profiles import HardwareProfile, ProfileError
from tests.spoofs.machines import STARTUP, run

# How software finds out; each line is what one of them says.
ASK = """
import importlib, importlib.metadata, importlib.util, sys
module, distribution = sys.argv[1:]

def ask(how):
    try: print(how())
    except Exception as error: print(f"{type(error).__name__}: {error}")

def imported():
    found = importlib.import_module(module)
    return f"imported {getattr(found, '__version__', '')}"

ask(lambda: importlib.util.find_spec(module) is not None)
ask(imported)
ask(imported)
ask(lambda: importlib.metadata.version(distribution))
ask(lambda: sum(each.metadata["Name"] == distribution for each in importlib.metadata.distributions()))
ask(lambda: importlib.metadata.packages_distributions().get(module))
"""
LIBRARY = "libcudart.so.12: cannot open shared object file: No such file or directory"


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    """The environment of a host that has real packages installed: each says 9.9 and prints when it is imported."""
    for module, distribution in (
        ("triton", "triton"),
        ("mlx", "mlx"),
        ("torch_npu", "torch-npu"),
        ("torch", "torch"),
        ("yaml", "PyYAML"),
    ):
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").write_text("__version__ = '9.9'\n")
        (tmp_path / module / "below.py").write_text("")
        info = tmp_path / f"{distribution.replace('-', '_')}-9.9.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 9.9\n")
        (info / "top_level.txt").write_text(f"{module}\n")
    return {"PYTHONPATH": f"{STARTUP}:{tmp_path}"}


def answers(
    packages: dict[str, object], module: str, distribution: str, env: dict[str, str] | None = None
) -> list[str]:
    child = run(HardwareProfile("machine", packages=packages), ["-c", ASK, module, distribution], env=env)
    assert (0, "") == (child.returncode, child.stderr)
    return child.stdout.splitlines()


def absent(module: str, distribution: str) -> list[str]:
    missing = f"ModuleNotFoundError: No module named '{module}'"
    unknown = f"PackageNotFoundError: No package metadata was found for {distribution}"
    return ["False", missing, missing, unknown, "0", "None"]


def present(module: str, distribution: str, version: str) -> list[str]:
    return ["True", *[f"imported {version}"] * 2, version, "1", f"['{distribution}']"]


def broken(distribution: str, version: str, error: str) -> list[str]:
    return ["True", error, error, version, "1", f"['{distribution}']"]


on_both_hosts = pytest.mark.parametrize("installed", [False, True], ids=["host without", "host with"])


@on_both_hosts
@pytest.mark.parametrize("name", ["triton", "mlx", "torch-npu", "torch"])
def test_an_absent_package_is_absent_in_every_way(name: str, installed: bool, host: dict[str, str]) -> None:
    module = name.replace("-", "_")
    assert absent(module, name) == answers({name: None}, module, name, host if installed else None)


@on_both_hosts
@pytest.mark.parametrize("name", ["triton", "mlx", "torch-npu"])
def test_a_present_package_has_one_version(name: str, installed: bool, host: dict[str, str]) -> None:
    """Too old a version, say; the host's own package says it too."""
    module = name.replace("-", "_")
    found = answers({name: "0.1.0"}, module, name, host if installed else None)
    if name == "mlx":  # whose version its `core` says
        found[1:3] = [f"{line}0.1.0" for line in found[1:3]]
    assert present(module, name, "0.1.0") == found


@on_both_hosts
@pytest.mark.parametrize(
    ("name", "version", "error"),
    [
        ("torch", "2.13.0+cpu", f"OSError: {LIBRARY}"),
        ("torch-npu", "2.5.1", "OSError: libascend_hal.so: cannot open shared object file"),
        ("mlx", "0.26.5", "ImportError: libmlx.so: cannot open shared object file"),
        ("triton", "3.2.0", "RuntimeError: 0 active drivers ([])"),
        ("intel-extension-for-pytorch", "2.5", "ImportError: libsycl.so.8: cannot open shared object file"),
        ("amdsmi", "25.3", "AttributeError: module 'amdsmi' has no attribute 'amdsmi_interface'"),
    ],
)
def test_a_broken_package_is_found_and_fails_each_time(
    name: str, version: str, error: str, installed: bool, host: dict[str, str]
) -> None:
    state = {"error": error} if name == "torch" else {"version": version, "error": error}
    module = name.replace("-", "_")
    assert broken(name, version, error) == answers({name: state}, module, name, host if installed else None)


@on_both_hosts
def test_a_package_may_be_imported_under_another_name(installed: bool, host: dict[str, str]) -> None:
    state = {"version": "6.0", "module": "yaml"}
    assert present("yaml", "PyYAML", "6.0") == answers({"PyYAML": state}, "yaml", "PyYAML", host if installed else None)


@on_both_hosts
def test_a_package_may_fail_below_its_top(installed: bool, host: dict[str, str]) -> None:
    """As mlx does on Linux: it has no code at the top, and its `core` lacks a library."""
    state = {"version": "0.26.5", "error": "ImportError: libmlx.so", "at": "mlx.core"}
    code = """
import importlib.util, mlx
print(importlib.util.find_spec("mlx.core") is not None)
for _ in range(2):
    try: import mlx.core
    except ImportError as error: print(error, hasattr(mlx, "core"))
"""
    child = run(HardwareProfile("machine", packages={"mlx": state}), code, env=host if installed else None)
    assert (["True", *["libmlx.so False"] * 2], "") == (child.stdout.splitlines(), child.stderr)


def test_the_hosts_package_keeps_what_is_below_it(host: dict[str, str]) -> None:
    """A row that states its version changes nothing else of it."""
    machine = HardwareProfile("machine", packages={"triton": "3.2.0"})
    child = run(machine, "import triton.below; print(triton.__version__)", env=host)
    assert ("3.2.0\n", "") == (child.stdout, child.stderr)


def test_pynvml_is_there_with_nvidias_cards_alone() -> None:
    ask = "import importlib.util; print(importlib.util.find_spec('pynvml') is not None)"
    said = {name: run(name, ask).stdout.strip() for name in ("nvidia_cuda", "amd_rocm", "cpu_only")}
    assert {"nvidia_cuda": "True", "amd_rocm": "False", "cpu_only": "False"} == said
    assert "False\n" == run(HardwareProfile("without", cuda_available=True, nvml="absent"), ask).stdout


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ("2.1", "its version is the fact torch_version"),
        ({"version": "2.1"}, "a broken package has an error"),
        ({"error": "libcudart.so.12 is missing"}, "a broken package has an error"),
        ({"error": "OSError: x", "modul": "torch"}, "did you mean 'module'?"),
    ],
)
def test_a_state_that_says_nothing_is_refused(state: object, problem: str) -> None:
    with pytest.raises(ProfileError, match="packages: torch") as raised:
        HardwareProfile("machine", packages={"torch": state})
    assert problem in str(raised.value)
