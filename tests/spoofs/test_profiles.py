"""The table of machines: what it refuses, by name and fact, what it allows, and that it reads as a table."""

import ast
from pathlib import Path
from typing import Any

import pytest

from spoofs import profiles
from spoofs.profiles import CANARIES, MI300X, MLX, PROFILES, T4, HardwareProfile, ProfileError, find, table

# Those that the table must hold, whatever else it holds.
SEVEN = (
    *("nvidia_cuda", "amd_rocm", "intel_xpu", "apple_silicon_mlx", "apple_silicon_no_mlx"),
    *("linux_arm64_with_mlx", "cpu_only"),
)
TRAPS = ("canary_cuda_over_mlx", "canary_xpu_over_mlx")
ROWS = PROFILES + CANARIES
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_the_seven_machines_stand_in_the_table():
    """In this order, with others among them or without."""
    assert list(SEVEN) == [row.name for row in PROFILES if row.name in SEVEN]


def test_the_canaries_stand_apart():
    """`nox` alone runs the machines, not the traps."""
    assert list(TRAPS) == [row.name for row in CANARIES if row.name in TRAPS]
    assert [] == [row.name for row in PROFILES if row.name.startswith("canary")]


REFUSED = {
    "name that is no identifier": (("amd rocm", {}), "profile 'amd rocm': name: "),
    "unknown fact": (
        ("x", {"cuda_availible": True}),
        "profile 'x': cuda_availible: no such fact; did you mean 'cuda_available'?",
    ),
    "text for a truth": (("x", {"cuda_available": "yes"}), "profile 'x': cuda_available: 'yes' is a str; "),
    "number for a text": (("x", {"hip_version": 6.1}), "profile 'x': hip_version: 6.1 is a float; "),
    "text for a list": (("x", {"devices": "T4"}), "profile 'x': devices: 'T4' is a str; "),
    "unknown system": (("x", {"system": "darwin"}), "profile 'x': system: 'darwin' is none of Linux, Darwin, Windows"),
    "torch of no version": (("x", {"torch_version": "new"}), "profile 'x': torch_version: 'new' is no version"),
    "CUDA of no version": (("x", {"cuda_version": ""}), "profile 'x': cuda_version: '' is no version"),
    "HIP of no version": (("x", {"hip_version": "six"}), "profile 'x': hip_version: 'six' is no version"),
    "XPU of no version": (("x", {"xpu_version": "v1"}), "profile 'x': xpu_version: 'v1' is no version"),
    "macOS of no version": (
        ("x", {"system": "Darwin", "mac_version": "Tahoe"}),
        "profile 'x': mac_version: 'Tahoe' is no",
    ),
    "macOS version elsewhere": (("x", {"mac_version": "15.6"}), "profile 'x': mac_version: only Darwin has one"),
    "package of no version": (("x", {"packages": {"mlx": "yes"}}), "profile 'x': packages: mlx: 'yes' is no version"),
    "package of no text": (("x", {"packages": {"mlx": True}}), "profile 'x': packages: mlx: True is no version"),
    "broken without an error": (
        ("x", {"packages": {"mlx": {}}}),
        "profile 'x': packages: mlx: a broken package has an error",
    ),
    "broken by no exception": (
        ("x", {"packages": {"mlx": {"error": "Oops: x"}}}),
        "profile 'x': packages: mlx: a broken",
    ),
    "device without accelerator": (
        ("x", {"devices": (T4,)}),
        "profile 'x': devices: listed, but no accelerator is available",
    ),
    "device that is no table": (
        ("x", {"cuda_available": True, "devices": ("T4",)}),
        "profile 'x': devices: a device is a",
    ),
    "device without a name": (
        ("x", {"cuda_available": True, "devices": ({},)}),
        "profile 'x': devices: a device is a table",
    ),
    "unknown fact of a device": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "total_memroy": 1},)}),
        "profile 'x': devices: 'total_memroy' is no fact of a device; did you mean 'total_memory'?",
    ),
    "device with a text for a number": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "total_memory": "16 GB"},)}),
        "profile 'x': devices: total_memory: '16 GB' is a str",
    ),
    "capability of one number": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "capability": (7,)},)}),
        "profile 'x': devices: capability: (7,) is not (major, minor)",
    ),
    "capability of texts": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "capability": ("7", "5")},)}),
        "profile 'x': devices: capability: ('7', '5') is not (major, minor)",
    ),
    "architecture that AMD has not": (
        ("x", {"cuda_available": True, "devices": ({"name": "MI300X", "arch": "foo"},)}),
        "profile 'x': devices: arch: 'foo' is none of AMD's",
    ),
    "less than no memory": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "total_memory": -1},)}),
        "profile 'x': devices: total_memory: -1 says nothing",
    ),
    "truth for a number": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "total_memory": True},)}),
        "profile 'x': devices: total_memory: True is a bool",
    ),
    "more free than there is": (
        ("x", {"cuda_available": True, "devices": ({"name": "T4", "total_memory": 1, "free_memory": 2},)}),
        "profile 'x': devices: free_memory: 2 is more than total_memory",
    ),
    "tool that is faster than time": (
        ("x", {"tools": {"lspci": {"seconds": -1}}}),
        "profile 'x': tools: lspci: a status",
    ),
    "error that a message does not make": (
        ("x", {"packages": {"mlx": {"error": "UnicodeDecodeError: x"}}}),
        "profile 'x': packages: mlx: a broken package has an error",
    ),
    "error that ends the interpreter": (
        ("x", {"packages": {"mlx": {"error": "KeyboardInterrupt: x"}}}),
        "profile 'x': packages: mlx: a broken package has an error",
    ),
    "name that torch never had": (("x", {"torch_lacks": ("xpu",)}), "profile 'x': torch_lacks: 'xpu' is no name"),
    "variable that cannot be set": (("x", {"environment": {"A=B": "1"}}), "profile 'x': environment: 'A=B'"),
    "variable of no text": (("x", {"environment": {"A": 1}}), "profile 'x': environment: A: 1 is no text"),
    "variable of ours": (
        ("x", {"environment": {"HARDWARE_PROFILE": "y"}}),
        "profile 'x': environment: HARDWARE_PROFILE",
    ),
}


@pytest.mark.parametrize(("row", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_row_that_cannot_be_answered_is_refused_by_name_and_fact(row, said):
    name, facts = row
    with pytest.raises(ProfileError) as refusal:
        HardwareProfile(name, **facts)
    assert str(refusal.value).startswith(said)
    assert 1 == len(str(refusal.value).splitlines())


@pytest.mark.parametrize("fact", ["torch_version", "cuda_version", "hip_version", "mac_version"])
@pytest.mark.parametrize("version", ["six", "6.banana", "13.x", "2.", ".1", "", "v2.1"])
def test_a_version_that_is_none_is_refused(fact, version):
    with pytest.raises(ProfileError, match=rf"^profile 'x': {fact}: .* is no version$"):
        HardwareProfile("x", system="Darwin", **{fact: version})


@pytest.mark.parametrize(
    "version", ["6", "6.4", "6.4.43483-a187df", "2.13.0a0+git1", "2.9.0.dev20250101", "2.9.1.post2"]
)
def test_a_version_of_any_release_is_taken(version):
    assert version == HardwareProfile("x", torch_version=version).torch_version


def test_a_name_that_stands_twice_is_refused():
    with pytest.raises(ProfileError, match=r"^profile 'a': name: stands twice in the table$"):
        table(HardwareProfile("a"), HardwareProfile("b"), HardwareProfile("a", system="Darwin"))


ALLOWED: dict[str, dict[str, Any]] = {
    "CUDA on Darwin": {"system": "Darwin", "machine": "arm64", "cuda_available": True},
    "ROCm build that sees no device": {"hip_version": "6.4"},
    "CUDA build without a driver": {"cuda_version": "13.0", "torch_version": "2.13.0+cu130"},
    "two devices": {"cuda_available": True, "devices": (T4, T4)},
    "a list of devices": {"cuda_available": True, "hip_version": "6.4", "devices": [MI300X]},
    "WSL": {"release": "5.15.167.4-microsoft-standard-WSL2", "environment": {"CUDA_VISIBLE_DEVICES": "-1"}},
    "old torch": {"torch_version": "2.2.0", "torch_lacks": ("torch.xpu",)},
    "broken package": {"packages": {"mlx": {"version": "0.20", "error": "ImportError: libmlx.so"}}},
    "absent package": {"packages": {"torch": None}},
    "tool and file": {"tools": {"nvidia-smi": None, "lspci": "00:02.0"}, "files": {"/proc/version": "Linux"}},
}


@pytest.mark.parametrize("facts", ALLOWED.values(), ids=ALLOWED.keys())
def test_hardware_that_nobody_builds_is_allowed(facts):
    """Canaries are made of it; and what is stated is what is kept."""
    kept = {fact: tuple(value) if isinstance(value, list) else value for fact, value in facts.items()}
    assert kept == HardwareProfile("x", **facts).facts()


@every_row
def test_a_row_is_frozen(row):
    with pytest.raises(AttributeError, match="a profile is frozen"):
        row.system = "Linux"
    with pytest.raises(AttributeError, match="a profile is frozen"):
        del row.system
    with pytest.raises(TypeError):
        row.packages["mlx"] = "1"


def test_the_dicts_that_a_row_was_made_from_can_change_without_it():
    """One row's packages are often another's too."""
    mine = dict(MLX)
    row = HardwareProfile("x", packages=mine)
    mine.clear()
    assert MLX == dict(row.packages)


@pytest.mark.parametrize("row", [*ROWS, *(HardwareProfile("x", **facts) for facts in ALLOWED.values())], ids=repr)
def test_the_repr_of_a_row_pastes_back(row):
    """A failure prints a machine; it becomes a row without retyping."""
    assert row == eval(repr(row), {"HardwareProfile": HardwareProfile})


def test_rows_differ_when_a_fact_or_the_name_does():
    assert HardwareProfile("x", system="Linux") == HardwareProfile("x")
    assert HardwareProfile("x") != HardwareProfile("y")
    assert HardwareProfile("x", system="Darwin") != HardwareProfile("x")
    assert 1 == len({HardwareProfile("x"), HardwareProfile("x", system="Linux")})


def test_facts_are_the_stated_ones_in_the_order_of_the_class():
    row = HardwareProfile("x", mps_available=True, machine="arm64", system="Darwin", hip_version=None)
    assert [("system", "Darwin"), ("machine", "arm64"), ("mps_available", True)] == list(row.facts().items())


@every_row
def test_a_machine_is_found_by_its_name(row):
    assert row == find(row.name)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ProfileError, match=r"^no such profile; did you mean 'apple_silicon_mlx'"):
        find("apple_silicon_mxl")


def test_one_screen_shows_all_rows():
    """50 lines of 110 columns, the names of devices and packages included."""
    source = Path(profiles.__file__).read_text(encoding="utf-8").splitlines()
    nodes = ast.parse("\n".join(source)).body
    last = next(at for at, node in enumerate(nodes) if "CANARIES" in _assigned(node))
    first = next(at for at in range(last, 0, -1) if not _assigned(nodes[at - 1]))  # the constants stand above the rows
    shown = source[nodes[first].lineno - 1 : nodes[last].end_lineno]
    assert {"MLX", "T4", "PROFILES"} <= {name for node in nodes[first:last] for name in _assigned(node)}
    assert [] == [line for line in shown if len(line) > 110]
    assert len(shown) <= 50
    assert [] == [row.name for row in ROWS if f'"{row.name}"' not in "\n".join(shown)]


def _assigned(node):
    """The names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_profiles_imports_nothing_at_the_start():
    """Every spoofed interpreter loads this file."""
    nodes = ast.parse(Path(profiles.__file__).read_text(encoding="utf-8")).body
    assert [] == [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
