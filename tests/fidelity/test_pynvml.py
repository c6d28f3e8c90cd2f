"""The stand-in for NVML has the names, parameters and errors of the real nvidia-ml-py."""

from __future__ import annotations

import inspect
import json
from importlib import metadata

import pynvml  # type: ignore[import-not-found]  # only the session has it
import pytest

from spoofs import patching
from spoofs.answers import pynvml as answers
from spoofs.installed import NVML
from spoofs.profiles import find
from tests.spoofs.machines import run

CHECKED = (NVML,)  # the releases that the modelled surface was checked against


def test_the_checked_release_is_the_installed_one() -> None:
    assert metadata.version("nvidia-ml-py") in CHECKED


@pytest.mark.parametrize("dotted", answers.FUNCTIONS)
def test_a_function_has_the_parameters_of_the_real_one(dotted: str) -> None:
    real = getattr(pynvml, dotted.removeprefix("pynvml."))
    probe = patching.spoof(dotted, answers.FUNCTIONS[dotted], find("nvidia_cuda"))
    assert inspect.signature(real) == inspect.signature(probe)


@pytest.mark.parametrize("dotted", answers.TYPES)
def test_a_constant_or_an_error_is_a_real_one(dotted: str) -> None:
    real, ours = getattr(pynvml, dotted.removeprefix("pynvml.")), answers.TYPES[dotted]
    if isinstance(ours, int):
        assert real == ours
    elif inspect.isfunction(ours):
        assert inspect.signature(real) == inspect.signature(ours)
    else:
        assert [each.__name__ for each in real.__mro__] == [each.__name__ for each in ours.__mro__]


@pytest.mark.parametrize("code", answers.ERRORS)
def test_an_error_is_of_its_codes_class_and_says_the_same(code: int) -> None:
    ours = answers.NVMLError(code)
    said = [(type(each).__name__, str(each), vars(each)["value"]) for each in (pynvml.NVMLError(code), ours)]
    assert said[0] == said[1]
    assert isinstance(ours, answers.NVMLError)


def test_a_structure_has_the_fields_of_the_real_one() -> None:
    """And none that it lacks; the real ones have more."""
    code = """
import json, pynvml
pynvml.nvmlInit()
card = pynvml.nvmlDeviceGetHandleByIndex(0)
print(json.dumps([list(vars(each)) for each in (
    pynvml.nvmlDeviceGetMemoryInfo(card), pynvml.nvmlDeviceGetMemoryInfo(card, pynvml.nvmlMemory_v2),
    pynvml.nvmlDeviceGetPciInfo(card), pynvml.nvmlDeviceGetUtilizationRates(card))]))
"""
    real = (pynvml.c_nvmlMemory_t, pynvml.c_nvmlMemory_v2_t, pynvml.nvmlPciInfo_t, pynvml.c_nvmlUtilization_t)
    for structure, fields in zip(real, json.loads(run("nvidia_cuda", code).stdout), strict=True):
        assert set(fields) <= {name for name, *_ in structure._fields_}
