"""The stand-in torch says what the real one says once it is patched, on every machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata, util
from pathlib import Path

import pytest

from spoofs import capture, derived
from spoofs.answers import torch as answers
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.fidelity.conftest import COMPARED
from tests.spoofs.field_cases import CASES
from tests.spoofs.machines import environment, run
from tests.spoofs.probing import visible

# The releases that the modelled surface was checked against.
CHECKED = {"torch": ("2.13.0",)}
WALK = str(Path(__file__).with_name("walk.py"))
MACHINES = [*PROFILES, *CANARIES, *(case.machine for case in CASES if "torch" not in case.machine.packages)]
# The rest of the machines import torch as they are walked.
every_profile = pytest.mark.parametrize("machine", PROFILES + CANARIES, ids=lambda machine: machine.name)
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)

IMPORT = """
import numpy, triton, torch, bitsandbytes
for each in (numpy, triton, torch, bitsandbytes): print(each.__name__, each.__file__)
"""
# What a library does with torch on a CPU. Run on every machine, because the patches must leave it alone.
USE = """
import io, os, platform, sys, warnings
import torch, numpy
assert 3 == torch.arange(3).sum().item()
layer = torch.nn.Linear(2, 2)
layer(torch.randn(3, 2)).sum().backward()
torch.optim.AdamW(layer.parameters()).step()
file = io.BytesIO()
torch.save(layer.state_dict(), file)
file.seek(0)
assert layer.state_dict().keys() == torch.load(file).keys()
assert [1.0, 1.0] == torch.ones(2).numpy().tolist() == torch.from_numpy(numpy.ones(2)).tolist()
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
assert [[0, 1], [2, 3]] == [each.tolist() for each in torch.utils.data.DataLoader(range(4), batch_size=2)]
assert 1.0 == torch.compile(lambda x: x.cos(), backend="eager")(torch.zeros(1)).item()
import torch.testing, torch.utils.collect_env, torch.utils.cpp_extension
assert not torch.utils.cpp_extension.IS_HIP_EXTENSION
torch.testing.assert_close(torch.ones(2), torch.ones(2))
"""


@pytest.fixture
def file(machine: HardwareProfile, tmp_path: Path) -> str:
    """The machine by its name, or in a file."""
    if machine in PROFILES + CANARIES:
        return machine.name
    path = tmp_path / f"{machine.name}.toml"
    path.write_text(capture.dump(machine), encoding="utf-8")
    return str(path)


def walk(file: str | None, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", WALK, mode], env=environment(file), stdout=subprocess.PIPE, text=True
    )


def differences(ours: dict[str, object], theirs: dict[str, object]) -> dict[str, tuple[object, object]]:
    """What either of them says otherwise, or alone."""
    probes = sorted(ours.keys() | theirs.keys())
    return {probe: (ours.get(probe), theirs.get(probe)) for probe in probes if ours.get(probe) != theirs.get(probe)}


def test_the_stand_in_for_this_build_says_what_the_untouched_torch_says(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Nothing of ours is in the one side: values, errors and texts are torch's own, on a host without a device."""
    version = run(None, "import torch; print(torch.__version__)").stdout.strip()
    row = tmp_path / "build.toml"
    row.write_text(capture.dump(HardwareProfile("build", torch_version=version)), encoding="utf-8")
    children = walk(str(row), "stand-in"), walk(None, "host")
    stand_in, real = (json.loads(child.communicate()[0]) for child in children)
    record_property(COMPARED, [len(real), len(differences(stand_in, real))])
    assert ["value", version] == real["torch.version.__version__"]
    assert {} == differences(stand_in, real)


@every_machine
def test_the_stand_in_says_what_the_patched_torch_says(
    machine: HardwareProfile, file: str, record_property: Callable[[str, object], None]
) -> None:
    """Every modelled name is there in both, with the same parameters, values and errors."""
    children = walk(file, "stand-in"), walk(file, "real")
    stand_in, real = (json.loads(child.communicate()[0]) for child in children)
    record_property(COMPARED, [len(real), len(differences(stand_in, real))])
    assert len(real) > len(answers.FUNCTIONS) + len(answers.VALUES)
    assert {} == differences(stand_in, real)
    # Both were asked about this machine.
    assert ["value", bool(visible(machine, "cuda"))] == real["torch.cuda.is_available() at first"]
    assert ["value", derived.torch_version(machine)] == real["torch.version.__version__"]
    absent = {f"{name} is there as" for name in [*answers.MODULES, *answers.TYPES, *answers.VALUES, *answers.FUNCTIONS]}
    gone = derived.lacking(machine)
    assert [] == [name for name in absent if ["nothing"] == real[name] and not name.startswith(gone)]


@every_profile
def test_the_real_torch_goes_on_working_on_the_cpu(machine: HardwareProfile) -> None:
    """Its own code gets the host's truth: what a row says of devices does not reach it."""
    child = run(machine, ["-W", "ignore", "-c", USE])
    assert (0, "", "") == (child.returncode, child.stdout, child.stderr)


@pytest.fixture(scope="module")
def imported_on_the_host() -> str:
    """Where the packages come from, and what they say on stderr, without a machine."""
    child = run(None, ["-W", "ignore", "-c", IMPORT])
    assert 0 == child.returncode, child.stderr
    return child.stdout + child.stderr


@every_profile
def test_packages_with_native_code_import(machine: HardwareProfile, imported_on_the_host: str) -> None:
    """bitsandbytes and triton load libraries by what torch says; https://github.com/unslothai/unsloth/pull/7471."""
    child = run(machine, ["-W", "ignore", "-c", IMPORT])
    assert (0, imported_on_the_host) == (child.returncode, child.stdout + child.stderr)


def test_the_checked_release_is_the_installed_one() -> None:
    """Another release is checked by installing it here and adding it to CHECKED once nothing differs."""
    for package, releases in CHECKED.items():
        assert metadata.version(package).partition("+")[0] in releases
    assert derived.TORCH in CHECKED["torch"]


@pytest.mark.parametrize(
    ("machine", "kind"),
    [(PROFILES[0], "Cuda"), (PROFILES[1], "Cuda"), (PROFILES[2], "Xpu")],
    ids=lambda each: str(each)[:20],
)
def test_the_attributes_of_devices_are_real_ones(machine: HardwareProfile, kind: str) -> None:
    """A CPU build has no such class; its declaration, and torch's own use of what that leaves out, tell the names."""
    spec = util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    declared = (root / "_C" / "__init__.pyi").read_text(encoding="utf-8")
    body = re.search(rf"^class _{kind}DeviceProperties:\n((?:    .*\n)+)", declared, re.MULTILINE)
    assert body is not None
    names = set(re.findall(r"^    (\w+):", body[1], re.MULTILINE))
    names |= set(
        re.findall(r"shared_memory_per_block_optin", (root / "cuda" / "_utils.py").read_text(encoding="utf-8"))
    )
    code = f"import torch; print(*vars(torch.{kind.lower()}.get_device_properties()))"
    assert set() == set(run(machine, code).stdout.split()) - names


def test_no_profile_leaves_the_real_torch_alone() -> None:
    child = run(None, "import torch; print(torch.cuda.is_available(), type(torch.version), torch.__version__)")
    assert ["False", "<class", "'module'>", metadata.version("torch")] == child.stdout.split()


def test_every_asker_in_torch_gets_the_hosts_truth_about_its_version() -> None:
    """What torch reads lazily (`torch.version.hip`, above all) would send it to libraries that are not there."""
    code = """
import sys, torch
inside = compile("version = torch.version.hip, torch.version.cuda, torch.cuda.is_available()", "inside", "exec")
told = {"__name__": "torch._inductor.codegen", "torch": torch}
exec(inside, told)
print(told["version"], (torch.version.hip, torch.version.cuda, torch.cuda.is_available()))
"""
    assert "(None, None, False) ('6.1', None, True)" == run("amd_rocm", code).stdout.strip()


def test_a_test_can_replace_an_answer_and_put_it_back() -> None:
    """`monkeypatch` and `mock.patch` are how tests of dispatch code go through their cases."""
    code = """
import torch
from unittest import mock
with mock.patch("torch.version.hip", None), mock.patch("torch.cuda.is_available", lambda: False):
    print(torch.version.hip, torch.cuda.is_available())
print(torch.version.hip, torch.cuda.is_available())
del torch.version.hip
print(hasattr(torch.version, "hip"))
"""
    assert ["None False", "6.1 True", "False"] == run("amd_rocm", code).stdout.splitlines()


def test_an_older_torch_lacks_what_came_later_but_not_for_itself() -> None:
    code = """
import torch
print(hasattr(torch, "xpu"), hasattr(torch.version, "xpu"), hasattr(torch, "accelerator"))
torch.manual_seed(0)
"""
    child = run(next(each for each in MACHINES if each.name == "torch_2_0"), code)
    assert ("False False False\n", "") == (child.stdout, child.stderr)


def test_a_machine_without_torch_hides_the_real_one() -> None:
    code = """
import importlib.util
try: import torch
except ImportError as error: print(type(error).__name__, importlib.util.find_spec("torch"))
"""
    absent = HardwareProfile("no_torch", packages={"torch": None})
    assert "ModuleNotFoundError None\n" == run(absent, code).stdout
    broken = HardwareProfile("broken_torch", packages={"torch": {"error": "OSError: libcudart.so.12: cannot open"}})
    said = run(broken, "import importlib.util; print(bool(importlib.util.find_spec('torch')))\nimport torch")
    assert "True\n" == said.stdout
    assert "OSError: libcudart.so.12: cannot open" in said.stderr


def test_an_allocation_on_a_device_that_is_not_there_raises_the_machines_error() -> None:
    """The real torch asks its lazy initialization, which is a probe: the error is the machine's, not the host's."""
    code = "import torch\ntry: torch.zeros(1, device='cuda')\nexcept Exception as error: print(error)"
    machine = next(each for each in MACHINES if each.name == "cuda_wheel_without_a_driver")
    assert "Found no NVIDIA driver" in run(machine, code).stdout
    assert (
        "No CUDA GPUs are available"
        in run("nvidia_cuda", code, env={"CUDA_VISIBLE_DEVICES": ""}).stdout
        + run(next(each for each in MACHINES if each.name == "cuda_hidden"), code).stdout
    )
