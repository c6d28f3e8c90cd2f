"""Answers are put into a real module, and only into one that is as they know it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType, SimpleNamespace

import pytest

from spoofs import patching
from spoofs.answers import torch as answers
from spoofs.profiles import HardwareProfile, find
from tests.spoofs.machines import STARTUP, run


def source() -> str:
    """A package named torch that has every modelled name, with its parameters, and no answer to any."""
    lines = [
        "import sys, types",
        "torch = sys.modules['torch']",
        "torch.__version__ = '9.9'",
        "torch.device = type('device', (), {'__init__': lambda self, type: setattr(self, 'type', type)})",
    ]
    lines += [f"{dotted} = sys.modules[{dotted!r}] = types.ModuleType({dotted!r})" for dotted in answers.MODULES]
    classes = ("torch.cuda.device", "torch.xpu.device", "torch.accelerator.device_index")
    lines += [f"{dotted} = type({dotted.rpartition('.')[2]!r}, (), {{}})" for dotted in classes]
    lines += [f"{dotted} = 'the host'" for dotted in answers.VALUES if dotted != "torch.__version__"]
    for dotted, answer in answers.FUNCTIONS.items():
        signature = inspect.signature(answer)  # type: ignore[arg-type]
        parameters = signature.replace(parameters=list(signature.parameters.values())[1:])
        lines += [f"def probe{parameters}: return 'the host'", f"{dotted} = probe"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def import_torch(tmp_path: Path) -> Callable[..., CompletedProcess[str]]:
    """Run code on a machine where such a package is installed, as it is or doctored."""

    def run_with(text: str, code: str = "import torch", machine: object = "amd_rocm") -> CompletedProcess[str]:
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "__init__.py").write_text(text, encoding="utf-8")
        return run(machine, code, env={"PYTHONPATH": f"{STARTUP}:{tmp_path}"})

    return run_with


def test_a_package_that_has_all_names_is_patched_at_each(import_torch: Callable[..., CompletedProcess[str]]) -> None:
    code = """
import torch, spoofs
from spoofs.answers import torch as answers
print({*answers.VALUES, *answers.FUNCTIONS} - set(spoofs.active.patched))
print(torch.cuda.get_device_name(), torch.cuda.get_device_name.spoofed(), torch.version.hip, torch.__version__)
"""
    child = import_torch(source(), code)
    assert ("set()\nAMD Instinct MI300X the host 6.1 2.13.0+rocm6.1\n", "") == (child.stdout, child.stderr)


@pytest.mark.parametrize(
    "dotted",
    ["torch.cuda.mem_get_info", "torch.version.hip", "torch.xpu.device.__enter__", "torch.backends.mps.get_name"],
)
def test_a_probe_that_was_renamed_fails_the_import_by_name(
    dotted: str, import_torch: Callable[..., CompletedProcess[str]]
) -> None:
    renamed = source().replace(f"{dotted} = ", f"{dotted}_2 = ")
    child = import_torch(renamed)
    line = f"ImportError: hardware profile: torch 9.9 has no {dotted}; mend spoofs/answers/torch.py"
    assert (1, line) == (child.returncode, child.stderr.splitlines()[-1])


def test_a_module_that_was_moved_fails_the_import_by_name(import_torch: Callable[..., CompletedProcess[str]]) -> None:
    moved = source().replace("torch.mps", "torch.metal")
    assert "has no torch.mps.is_available; mend" in import_torch(moved).stderr


@pytest.mark.parametrize(
    ("parameters", "told"),
    [("(device, *, unit)", "(device, *, unit)"), ("(device=0)", "(device=0)"), ("(gpu=None)", "(gpu=None)")],
)
def test_a_probe_with_other_parameters_fails_the_import_by_name(
    parameters: str, told: str, import_torch: Callable[..., CompletedProcess[str]]
) -> None:
    end = "torch.cuda.mem_get_info = probe"
    before, after = source().split(end)
    again = f"def probe{parameters}: return 0\n"
    line = (
        f"ImportError: hardware profile: torch.cuda.mem_get_info has changed its signature to {told}, "
        "the answer knows (device=None); mend spoofs/answers/torch.py"
    )
    child = import_torch(before + again + end + after)
    assert (1, line) == (child.returncode, child.stderr.splitlines()[-1])


def test_every_name_is_missed() -> None:
    """Whichever of them goes away; of a method, what is left is the one of `object`."""
    profile, text = find("nvidia_cuda"), source()
    # Executed here, not imported: the modules that it registers stay its own.
    for dotted in [*answers.VALUES, *answers.FUNCTIONS]:
        if dotted == "torch.__version__":
            continue
        torch = ModuleType("torch")
        own = SimpleNamespace(modules={"torch": torch})
        lines = text.replace("import sys, types", "import types").splitlines()
        exec(
            "\n".join(line for line in lines if not line.startswith(f"{dotted} = ")), {"sys": own, "__name__": "torch"}
        )
        with pytest.raises(ImportError, match=f" {dotted}(;| has changed its signature)"):
            list(patching.apply(torch, answers, profile))


def test_what_an_older_release_lacks_is_not_missed(import_torch: Callable[..., CompletedProcess[str]]) -> None:
    """And is taken away where the host's newer one has it, but not from the package's own code."""
    old = HardwareProfile("old", torch_version="2.0.1")
    code = """
import torch
inside = {"__name__": "torch.random", "torch": torch}
exec("has = hasattr(torch, 'xpu'), torch.version.xpu", inside)
print(hasattr(torch, "xpu"), hasattr(torch.version, "xpu"), inside["has"])
"""
    assert "False False (True, 'the host')\n" == import_torch(source(), code, old).stdout


def test_a_value_answers_by_who_asks_and_can_be_replaced(import_torch: Callable[..., CompletedProcess[str]]) -> None:
    """`monkeypatch` and `mock.patch` read, set, delete and put back."""
    code = """
import torch
from unittest import mock
def inside():
    told = {"__name__": "torch._inductor", "torch": torch}
    exec("said = torch.version.hip, torch.cuda.is_available()", told)
    return told["said"]
print(torch.version.hip, inside())
with mock.patch("torch.version.hip", None), mock.patch.dict(vars(torch.version), cuda="12.6"):
    print(torch.version.hip, torch.version.cuda, inside())
print(torch.version.hip, torch.version.cuda, inside())
del torch.version.hip
print(hasattr(torch.version, "hip"), inside())
"""
    expected = ["6.1 HOST", "None 12.6 HOST", "6.1 None HOST", "False HOST"]
    said = import_torch(source(), code).stdout.replace("('the host', 'the host')", "HOST")
    assert expected == said.splitlines()


def test_the_package_itself_stays_of_its_own_type(import_torch: Callable[..., CompletedProcess[str]]) -> None:
    """Tools that pickle functions by reference know modules by their exact type."""
    code = "import torch, types; print(type(torch) is types.ModuleType, isinstance(torch.version, types.ModuleType))"
    assert "True True\n" == import_torch(source(), code).stdout


def test_a_probe_looks_like_the_function_that_it_replaces() -> None:
    """Dispatch code reads signatures: `"including_emulation" in str(inspect.signature(...))`."""

    def original(including_emulation: bool = True) -> bool:
        """What the real one says of itself."""
        return including_emulation

    answer = answers.FUNCTIONS["torch.cuda.is_bf16_supported"]
    probe = patching.spoof("torch.cuda.is_bf16_supported", answer, find("nvidia_cuda"), original)
    assert "(including_emulation=True)" == str(inspect.signature(probe))
    assert ("torch.cuda", "is_bf16_supported", original.__doc__) == (probe.__module__, probe.__name__, probe.__doc__)


def test_a_probe_given_wrong_arguments_raises_type_error() -> None:
    probe = patching.spoof("torch.cuda.is_available", answers.FUNCTIONS["torch.cuda.is_available"], find("cpu_only"))
    with pytest.raises(TypeError):
        probe("cuda")
