"""`pynvml` says of every card what torch and nvidia-smi say, and fails as the row has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spoofs.answers.pynvml import CODES
from spoofs.profiles import _NVML, T4, HardwareProfile, ProfileError
from tests.spoofs.machines import run

TWO = HardwareProfile(
    "two_cards",
    cuda_available=True,
    cuda_version="12.8",
    devices=(T4, {"name": "NVIDIA H100 80GB HBM3", "capability": (9, 0), "total_memory": 85 * 10**9}),
    environment={"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
)


def asked(machine: object, code: str) -> Any:
    child = run(machine, f"import json, pynvml\n{code}\nprint(json.dumps(answer))")
    assert (0, "") == (child.returncode, child.stderr)
    return json.loads(child.stdout)


def failing(call: str) -> str:
    return f"""
try: answer = {call}
except pynvml.NVMLError as error:
    answer = [type(error).__name__, str(error), error.value, isinstance(error, pynvml.NVMLError_Unknown)]
"""


def test_every_card_is_what_torch_and_nvidia_smi_say() -> None:
    """Masks hide none: NVML does not read them."""
    code = """
import os, subprocess
pynvml.nvmlInit()
cards = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
said = []
for card in cards:
    memory = pynvml.nvmlDeviceGetMemoryInfo(card)
    assert memory.total == memory.free + memory.used
    capability = pynvml.nvmlDeviceGetCudaComputeCapability(card)
    said.append([pynvml.nvmlDeviceGetIndex(card), pynvml.nvmlDeviceGetName(card), pynvml.nvmlDeviceGetUUID(card),
                 pynvml.nvmlDeviceGetPciInfo(card).busId, memory.total // 2**20, memory.free // 2**20,
                 "{}.{}".format(*capability)])
fields = "--query-gpu=index,name,uuid,pci.bus_id,memory.total,memory.free,compute_cap"
rows = subprocess.run(["nvidia-smi", fields, "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
import torch
seen = [torch.cuda.get_device_properties(index) for index in range(2)]
answer = [[", ".join(map(str, row)) for row in said], rows.splitlines(),
          [[row[1], row[6]] for row in said], [[card.name, f"{card.major}.{card.minor}"] for card in seen]]
"""
    nvml, nvidia_smi, names, torch = asked(TWO, code)
    assert nvml == nvidia_smi
    assert names == torch


def test_a_card_is_found_by_uuid_and_by_bus() -> None:
    code = """
pynvml.nvmlInit()
second = pynvml.nvmlDeviceGetHandleByIndex(1)
uuid, bus = pynvml.nvmlDeviceGetUUID(second), pynvml.nvmlDeviceGetPciInfo(second).busId
found = [pynvml.nvmlDeviceGetHandleByUUID(uuid), pynvml.nvmlDeviceGetHandleByUUID(uuid.encode()),
         pynvml.nvmlDeviceGetHandleByPciBusId(bus)]
answer = [pynvml.nvmlDeviceGetIndex(each) for each in found]
"""
    assert [1, 1, 1] == asked(TWO, code)


def test_driver_and_cuda_agree_with_nvidia_smi() -> None:
    code = """
import re, subprocess
pynvml.nvmlInit()
table = subprocess.run(["nvidia-smi"], capture_output=True, text=True).stdout
version = pynvml.nvmlSystemGetCudaDriverVersion()
answer = [[pynvml.nvmlSystemGetDriverVersion(), f"{version // 1000}.{version % 1000 // 10}"],
          list(re.search("Driver Version: ([0-9.]+) +CUDA Version: ([0-9.]+)", table).groups())]
"""
    nvml, nvidia_smi = asked(TWO, code)
    assert nvml == nvidia_smi
    assert "12.8" == nvml[1]


def test_nothing_answers_before_init_and_after_shutdown() -> None:
    code = """
answer = []
def ask():
    try: answer.append(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError_Uninitialized as error: answer.append(str(error))
ask(); pynvml.nvmlInit(); pynvml.nvmlInit(); ask(); pynvml.nvmlShutdown(); ask(); pynvml.nvmlShutdown(); ask()
"""
    assert ["Uninitialized", 2, 2, "Uninitialized"] == asked(TWO, code)


@pytest.mark.parametrize(
    ("error", "sentence", "value"),
    [("LibraryNotFound", "NVML Shared Library Not Found", 12), ("DriverNotLoaded", "Driver Not Loaded", 9)],
)
def test_init_fails_as_the_row_says(error: str, sentence: str, value: int) -> None:
    machine = HardwareProfile("failing", cuda_available=True, devices=(T4,), nvml=error)
    assert [f"NVMLError_{error}", sentence, value, False] == asked(machine, failing("pynvml.nvmlInit()"))


def test_one_call_fails_as_the_row_says() -> None:
    machine = HardwareProfile("gb10", cuda_available=True, devices=(T4,), nvml="nvmlDeviceGetMemoryInfo: NotSupported")
    card = "pynvml.nvmlInit()\ncard = pynvml.nvmlDeviceGetHandleByIndex(0)\n"
    assert "Tesla T4" == asked(machine, f"{card}answer = pynvml.nvmlDeviceGetName(card)")
    call = failing("pynvml.nvmlDeviceGetMemoryInfo(card)")
    assert ["NVMLError_NotSupported", "Not Supported", 3, False] == asked(machine, card + call)


def test_a_machine_without_cards_has_no_library() -> None:
    """Where the package is installed all the same, as it often is."""
    machine = HardwareProfile("cpu", packages={"nvidia-ml-py": "13.580.82"})
    expected = ["NVMLError_LibraryNotFound", "NVML Shared Library Not Found", 12, False]
    assert expected == asked(machine, failing("pynvml.nvmlInit()"))


@pytest.mark.parametrize("call", ["HandleByIndex(7)", "HandleByUUID('GPU-no')", "MigMode(HandleByIndex(0))"])
def test_what_is_not_there_is_an_error(call: str) -> None:
    spelled = call.replace("Handle", "pynvml.nvmlDeviceGetHandle").replace("MigMode", "pynvml.nvmlDeviceGetMigMode")
    expected = {"HandleByIndex(7)": 2, "HandleByUUID('GPU-no')": 6, "MigMode(HandleByIndex(0))": 3}[call]
    assert expected == asked(TWO, f"pynvml.nvmlInit()\n{failing(spelled)}")[2]


def test_slices_are_below_their_card() -> None:
    uuids = [f"MIG-377e0049-554c-540b-93c6-d0976f8426c{place}" for place in (1, 2)]
    card = {"name": "NVIDIA H100 80GB HBM3", "total_memory": 80 * 10**9}
    part = {
        "name": "NVIDIA H100 80GB HBM3 MIG 2g.20gb",
        "capability": (9, 0),
        "total_memory": 20 * 10**9,
        "slice_of": card,
    }
    machine = HardwareProfile("slices", cuda_available=True, devices=tuple(part | {"uuid": uuid} for uuid in uuids))
    code = """
pynvml.nvmlInit()
card = pynvml.nvmlDeviceGetHandleByIndex(0)
parts = [pynvml.nvmlDeviceGetMigDeviceHandleByIndex(card, index) for index in range(2)]
answer = [pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetMigMode(card),
          [pynvml.nvmlDeviceGetUUID(part) for part in parts],
          [pynvml.nvmlDeviceGetMemoryInfo(each).total // 10**9 for each in (card, *parts)]]
"""
    assert [1, [1, 1], uuids, [80, 20, 20]] == asked(machine, code)


def test_a_name_that_is_not_modelled_says_so() -> None:
    child = run("nvidia_cuda", "import pynvml; pynvml.nvmlDeviceGetVgpuMetadata")
    assert "this is a stand-in that models the probes listed by `python -m spoofs show nvidia_cuda`" in child.stderr


def test_an_unknown_error_is_refused() -> None:
    assert {"absent", *CODES} == set(_NVML)
    with pytest.raises(ProfileError, match="nvml: 'DriverNotLoade' is no error of it; did you mean 'DriverNotLoaded'"):
        HardwareProfile("typo", cuda_available=True, nvml="DriverNotLoade")
