"""A stand-in has the modelled names and no others, and says so."""

from __future__ import annotations

import pytest

from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.spoofs.machines import run
from tests.spoofs.probing import ask

every_machine = pytest.mark.parametrize("machine", PROFILES + CANARIES, ids=lambda machine: machine.name)


@every_machine
def test_it_has_the_names_of_the_tables_and_no_others(machine: HardwareProfile) -> None:
    code = """
import sys, torch
from spoofs.answers import torch as answers
modelled = {*answers.MODULES, *answers.TYPES, *answers.VALUES, *answers.FUNCTIONS}
modules = [each for each in sys.modules if each.partition(".")[0] == "torch"]
found = {f"{each}.{name}" for each in modules for name in vars(sys.modules[each])}
found = {each for each in found if each.endswith(".__version__") or ".__" not in each}
print(sorted(found ^ {each for each in modelled if each.rpartition(".")[0] in modules}))
"""
    child = run(machine, code)
    assert ("[]\n", "") == (child.stdout, child.stderr)


@pytest.mark.parametrize("name", ["torch.nn", "torch.tensor", "torch.cuda.Stream", "torch.backends.mkl"])
def test_any_other_name_says_what_is_modelled_and_what_to_install(name: str) -> None:
    module, _, last = name.rpartition(".")
    said = (
        f"module '{module}' has no attribute '{last}': this is a stand-in that models the probes listed by "
        "`python -m spoofs show cpu_only`; for the rest install the real torch"
    )
    assert {name: f"raises {AttributeError(said)!r}"} == ask("cpu_only", name)


def test_what_the_machines_release_lacks_is_missed_in_pythons_own_words() -> None:
    old = HardwareProfile("old", torch_version="2.0.1")
    error = AttributeError("module 'torch' has no attribute 'xpu'")
    assert {"torch.xpu": f"raises {error!r}"} == ask(old, "torch.xpu")


def test_probing_for_an_optional_part_is_answered_no() -> None:
    """`hasattr` and `getattr` with a default are how software looks for `torch.npu`, `torch.hpu` and their like."""
    said = ask("cpu_only", "hasattr(torch, 'npu')", "getattr(torch, 'hpu', None)", "hasattr(torch, '__path__')")
    assert ["False", "None", "True"] == list(said.values())


def test_its_parts_are_imported_as_modules_are() -> None:
    code = """
import torch.cuda, torch.backends.mps, importlib
from torch.version import hip
from torch import xpu
print(hip, xpu.__name__, torch.cuda.__spec__.name, importlib.import_module("torch.backends.cuda").__package__)
try: import torch.nn
except ModuleNotFoundError as error: print(error)
try: from torch import nn
except ImportError as error: print(type(error).__name__)
"""
    expected = ["6.1 torch.xpu torch.cuda torch.backends.cuda", "No module named 'torch.nn'", "ImportError"]
    assert expected == run("amd_rocm", code).stdout.splitlines()


def test_it_says_in_its_repr_what_it_is() -> None:
    assert "standins/package.py" in ask("cpu_only", "torch")["torch"]


def test_what_it_gives_can_be_pickled() -> None:
    """Results of probes travel to workers."""
    code = """
import pickle, torch
properties = torch.cuda.get_device_properties(0)
for each in (torch.device("cuda:1"), torch.__version__, torch.version.hip, torch.bfloat16, properties):
    again = pickle.loads(pickle.dumps(each)); print(repr(again) == repr(each))
"""
    child = run("nvidia_cuda", code)
    assert ("True\n" * 5, "") == (child.stdout, child.stderr)


def test_a_property_that_no_fact_tells_names_the_mend() -> None:
    said = ask("nvidia_cuda", "torch.cuda.get_device_properties(0).L2_cache_size")
    assert 'state it in the device\\\'s "properties"' in "".join(said.values())
    device = {"name": "NVIDIA A100", "capability": (8, 0), "properties": {"L2_cache_size": 41943040}}
    stated = HardwareProfile("stated", cuda_available=True, devices=(device,))
    assert ["41943040"] == list(ask(stated, "torch.cuda.get_device_properties(0).L2_cache_size").values())
