"""What `torch` says where agreement is not all: initialization, errors, selection, what odd builds answer."""

from __future__ import annotations

import pytest

from spoofs.profiles import MI300X, T4, HardwareProfile, find
from tests.spoofs.machines import run
from tests.spoofs.probing import as_said, ask

NO_DRIVER = RuntimeError(
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
NO_CUDA = AssertionError("Torch not compiled with CUDA enabled")
NO_XPU = AssertionError("Torch not compiled with XPU enabled")
TWO = HardwareProfile("two", cuda_available=True, devices=({**T4, "name": "first"}, {**T4, "name": "second"}))
AMD_TWO = HardwareProfile("amd_two", cuda_available=True, hip_version="6.4", devices=(MI300X, MI300X))
# Whatever needs a device, and so initializes.
NEEDS_CUDA = [
    "torch.cuda.init()",
    "torch.cuda._lazy_init()",
    "torch.cuda.current_device()",
    "torch.cuda.get_device_name()",
    "torch.cuda.get_device_capability()",
    "torch.cuda.get_device_properties(0)",
    "torch.cuda.mem_get_info()",
    "torch.cuda.synchronize()",
    "torch.cuda.set_per_process_memory_fraction(0.5)",
]
NEEDS_XPU = [
    "torch.xpu.init()",
    "torch.xpu._lazy_init()",
    "torch.xpu.current_device()",
    "torch.xpu.get_device_name()",
    "torch.xpu.get_device_capability()",
    "torch.xpu.get_device_properties(0)",
    "torch.xpu.mem_get_info()",
    "torch.xpu.synchronize()",
    "torch.xpu.set_device(0)",
]


def says(machine: object, said: dict[str, object], **options: object) -> None:
    assert {source: as_said(value) for source, value in said.items()} == ask(machine, *said, **options)


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({}, NO_CUDA),
        ({"torch_version": "2.13.0+cpu"}, NO_CUDA),
        ({"cuda_version": "13.0"}, NO_DRIVER),
        ({"torch_version": "2.13.0+cu130"}, NO_DRIVER),
        (
            {"cuda_available": True, "environment": {"CUDA_VISIBLE_DEVICES": "-1"}},
            RuntimeError("No CUDA GPUs are available"),
        ),
        ({"hip_version": "6.4"}, RuntimeError("No HIP GPUs are available")),
        ({"torch_version": "2.11.0+rocm7.13.0"}, RuntimeError("No HIP GPUs are available")),
        ({"xpu_available": True}, NO_CUDA),
        ({"system": "Darwin", "machine": "arm64", "mps_available": True}, NO_CUDA),
    ],
)
def test_without_a_cuda_device_each_build_has_its_error(facts: dict[str, object], error: Exception) -> None:
    """A wheel for the CPU, one for CUDA without a driver, and a driver whose devices are masked answer differently."""
    machine = HardwareProfile("none", **facts)
    said: dict[str, object] = dict.fromkeys(NEEDS_CUDA, error)
    nothing = {"torch.cuda.is_available()": False, "torch.cuda.device_count()": 0, "torch.cuda.is_initialized()": False}
    says(machine, {**said, **nothing})


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({}, NO_XPU),
        ({"cuda_available": True}, NO_XPU),
        ({"xpu_version": "20250301"}, RuntimeError("No XPU devices are available.")),
        ({"torch_version": "2.9.0+xpu"}, RuntimeError("No XPU devices are available.")),
        (
            {"xpu_available": True, "environment": {"ZE_AFFINITY_MASK": "7"}},
            RuntimeError("No XPU devices are available."),
        ),
    ],
)
def test_without_an_xpu_device_each_build_has_its_error(facts: dict[str, object], error: Exception) -> None:
    said: dict[str, object] = dict.fromkeys(NEEDS_XPU, error)
    nothing = {"torch.xpu.is_available()": False, "torch.xpu.device_count()": 0, "torch.xpu.is_bf16_supported()": False}
    says(HardwareProfile("none", **facts), {**said, **nothing})


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"cuda_version": "13.0"},
        {"hip_version": "6.4"},
        {"xpu_version": "20250301"},
        {"system": "Darwin", "machine": "x86_64"},
        {"cuda_available": True, "environment": {"CUDA_VISIBLE_DEVICES": ""}},
        {"xpu_available": True, "environment": {"ZE_AFFINITY_MASK": "7"}},
    ],
)
def test_is_available_never_raises(facts: dict[str, object]) -> None:
    """https://github.com/pytorch/pytorch/issues/144567"""
    names = ("cuda", "xpu", "mps", "backends.mps", "accelerator")
    says(HardwareProfile("none", **facts), {f"torch.{name}.is_available()": False for name in names})


@pytest.mark.parametrize("source", NEEDS_CUDA)
def test_the_first_call_that_needs_a_device_initializes(source: str) -> None:
    said = ask(
        "nvidia_cuda",
        "torch.cuda.is_available()",
        "torch.cuda.is_initialized()",
        source,
        "torch.cuda.is_initialized() ",
    )
    assert ["True", "False", "True"] == [value for key, value in said.items() if key != source]
    assert not said[source].startswith("raises")


def test_masks_count_no_more_once_initialized() -> None:
    """The driver reads them once. `os.environ` set too late is a classic mistake."""
    hide = "os.environ.update(CUDA_VISIBLE_DEVICES='0')"
    count = "torch.cuda.device_count()"
    assert ["None", "1"] == list(ask(TWO, hide, count).values())
    assert ["None", "None", "2"] == list(ask(TWO, "torch.cuda.init()", hide, count).values())


def test_a_forked_child_cannot_use_what_its_parent_initialized() -> None:
    """The error that the spawn start method is there for."""
    code = """
import os, sys, torch
torch.cuda.init()
sys.stdout.flush()
if os.fork() == 0:
    print(torch.cuda.is_available(), torch.cuda.is_initialized(), flush=True)
    try: torch.cuda.current_device()
    except RuntimeError as error: print(error, flush=True)
    os._exit(0)
os.wait()
print(torch.cuda.current_device())
"""
    error = (
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
        "you must use the 'spawn' start method"
    )
    assert ["True False", error, "0"] == run("nvidia_cuda", code).stdout.splitlines()


def test_a_device_is_named_in_every_way() -> None:
    ways = ["1", "'cuda:1'", "torch.device('cuda:1')", "torch.device('cuda', 1)", "torch.cuda.device(1)"]
    says(TWO, {f"torch.cuda.get_device_name({way})": "second" for way in ways})
    says(TWO, {f"torch.cuda.get_device_name({way})": "first" for way in ["", "None", "'cuda'", "torch.device('cuda')"]})


def test_the_selected_device_is_the_default() -> None:
    code = """
import torch
print(torch.cuda.get_device_name())
torch.cuda.set_device(1)
print(torch.cuda.get_device_name(), torch.accelerator.current_device_index())
with torch.cuda.device(0), torch.accelerator.device_index(1), torch.cuda.device("cuda:0"):
    print(torch.cuda.get_device_name())
print(torch.cuda.get_device_name())
with torch.accelerator.device_index(None): print(torch.cuda.current_device())
torch.accelerator.set_device_index("cuda:0")
print(torch.cuda.get_device_name())
"""
    expected = ["first", "second 1", "first", "second", "1", "first"]
    assert expected == run(TWO, code).stdout.splitlines()


def test_a_device_that_is_not_there_raises_as_in_torch() -> None:
    ordinal = "error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
    said = ask(
        TWO,
        "torch.cuda.get_device_name(2)",
        "torch.cuda.get_device_properties(-1)",
        "torch.cuda.get_device_name('cpu')",
        "torch.cuda.get_device_name('nonsense')",
        "torch.cuda.set_device(None)",
        "torch.cuda.set_device(-1)",
        "torch.cuda.mem_get_info(2)",
        "torch.accelerator.get_memory_info('xpu:0')",
    )
    expected = [
        as_said(AssertionError("Invalid device id")),
        as_said(AssertionError("Invalid device id")),
        as_said(ValueError("Expected a cuda device, but got: cpu")),
        "raises RuntimeError('Expected one of cpu",
        as_said(ValueError("Expected a torch.device with a specified index or an integer, but got:None")),
        "None",
        f"raises AcceleratorError({f'CUDA {ordinal}'!r})",
        as_said(ValueError("xpu doesn't match the current accelerator cuda.")),
    ]
    for (source, found), wanted in zip(said.items(), expected, strict=True):
        assert found.startswith(wanted), source
    one = "torch.xpu.get_device_name(1)"
    assert {one: as_said(RuntimeError("The device index is out of range. It must be in [0, 1), but got 1."))} == ask(
        "intel_xpu", one
    )
    assert "HIP error" in ask(AMD_TWO, "torch.cuda.mem_get_info(2)")["torch.cuda.mem_get_info(2)"]


@pytest.mark.parametrize(
    ("masks", "count"),
    [
        ({"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "0"}, None),
        ({"HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0,1"}, 1),
        ({"HIP_VISIBLE_DEVICES": "0,1", "ROCR_VISIBLE_DEVICES": "1,0"}, 2),
    ],
)
def test_more_devices_for_hip_than_rocr_leaves_are_refused(masks: dict[str, str], count: int | None) -> None:
    """`torch.cuda.device_count` looks for that mistake, until the devices are initialized."""
    error = RuntimeError("HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES")
    machine = HardwareProfile("stacked", **{**AMD_TWO.facts(), "environment": masks})
    says(machine, {"torch.cuda.device_count()": error if count is None else count, "torch.cuda.is_available()": True})


@pytest.mark.parametrize(
    ("facts", "with_emulation", "without", "tf32"),
    [
        ({"devices": (T4,)}, True, False, False),
        ({"devices": ({"name": "V100", "capability": (7, 0)},)}, True, False, False),
        ({"devices": ({"name": "A100", "capability": (8, 0)},)}, True, True, True),
        ({"devices": (MI300X,), "hip_version": "6.4"}, True, True, True),
        ({"devices": ({"name": "W7900", "arch": "gfx1100"},), "hip_version": "6.4"}, True, True, False),
        ({"environment": {"CUDA_VISIBLE_DEVICES": ""}}, False, False, False),
    ],
)
def test_bfloat16_with_and_without_emulation(
    facts: dict[str, object], with_emulation: bool, without: bool, tf32: bool
) -> None:
    """https://github.com/pytorch/pytorch/issues/148322: an old card says yes, because it can be emulated."""
    said = {
        "torch.cuda.is_bf16_supported()": with_emulation,
        "torch.cuda.is_bf16_supported(including_emulation=False)": without,
        "torch.cuda.is_bf16_supported(False)": without,
        "torch.cuda.is_tf32_supported()": tf32,
    }
    says(HardwareProfile("card", cuda_available=True, **facts), dict(said))


def test_a_rocm_build_says_bfloat16_without_a_look_at_the_device() -> None:
    says(HardwareProfile("rocm", hip_version="6.4"), {"torch.cuda.is_bf16_supported()": True})


def test_both_identities_of_rocm() -> None:
    """AMD's own wheels leave `torch.version.hip` unset: https://github.com/unslothai/unsloth/pull/7272."""
    by_tag = HardwareProfile("by_tag", torch_version="2.11.0+rocm7.13.0", cuda_available=True, devices=(MI300X,))
    same = {
        "torch.version.cuda": None,
        "torch.cuda.get_device_properties().gcnArchName": MI300X["arch"],
        "torch.cuda.get_device_properties().warp_size": 64,
        "torch.cuda.get_device_capability()": (9, 4),
        "torch.backends.cuda.is_built()": True,
    }
    says("amd_rocm", {"torch.version.hip": "6.1", "torch.version.rocm": "6.1", **same})
    says(by_tag, {"torch.version.hip": None, "torch.version.rocm": "7.13.0", **same})


def test_properties_follow_from_the_architecture() -> None:
    properties = "(lambda said: ({}))(torch.cuda.get_device_properties())"
    says(
        "nvidia_cuda",
        {
            properties.format("said.multi_processor_count, said.max_threads_per_multi_processor"): (40, 1024),
            properties.format("said.shared_memory_per_block_optin, said.shared_memory_per_block"): (65536, 49152),
            properties.format("said.warp_size, said.is_integrated, said.is_multi_gpu_board"): (32, 0, 0),
            properties.format("len(said.uuid.bytes), len(str(said.uuid))"): (16, 36),
            properties.format("said.gcnArchName"): "Tesla T4",  # as a CUDA build has it
        },
    )
    newer = {"name": "GB10", "capability": (12, 1), "integrated": True}
    says(
        HardwareProfile("newer", cuda_available=True, devices=(newer,)),
        {properties.format("said.shared_memory_per_block_optin, said.is_integrated"): (101376, 1)},
    )


def test_the_uuid_of_an_amd_card_is_its_text() -> None:
    """HIP hands out the sixteen digits as bytes of text, and torch writes bytes."""
    card = {**MI300X, "uuid": "GPU-2f3c1a5b7d9e0f12"}
    machine = HardwareProfile("card", cuda_available=True, hip_version="6.4", devices=(card,))
    says(machine, {"torch.cuda.get_device_properties().uuid.bytes": b"2f3c1a5b7d9e0f12"})


def test_what_is_said_of_xpu_devices() -> None:
    arc = find("intel_xpu").devices[0]["name"]
    says(
        "intel_xpu",
        {
            "torch.xpu.get_device_capability()['name']": arc,
            "torch.xpu.get_device_capability()['has_fp64']": False,
            "'uuid' in torch.xpu.get_device_capability()": False,  # bytes are left out
            "torch.xpu.get_device_properties().gpu_eu_count": 512,
            "torch.xpu.get_device_properties().is_integrated_gpu": False,
        },
    )


def test_what_is_said_of_an_apple_gpu() -> None:
    says(
        HardwareProfile("mac", system="Darwin", machine="arm64", mac_version="14.2", mps_available=True),
        {
            "torch.backends.mps.is_macos_or_newer(14, 2), torch.backends.mps.is_macos_or_newer(14, 3)": (True, False),
            "torch.backends.mps.is_macos13_or_newer(), torch.backends.mps.is_macos13_or_newer(3)": (True, True),
            "torch.backends.mps.get_name()": "Apple M2",
            "torch.accelerator.get_memory_info()[1]": 16 * 1024**3,
            "torch.float64 in torch.accelerator.get_device_capability()['supported_dtypes']": False,
        },
    )
    says(
        "cpu_only",
        {
            "torch.backends.mps.is_macos13_or_newer()": RuntimeError(
                "Cannot execute isOnMacOSorNewer() without MPS backend."
            ),
            "torch.mps.recommended_max_memory()": RuntimeError(
                "Cannot execute getRecommendedMaxMemory() without MPS backend."
            ),
            "torch.backends.mps.get_name()": AttributeError("module 'torch._C' has no attribute '_mps_get_name'"),
        },
    )


@pytest.mark.parametrize(
    ("machine", "kind"),
    [
        ("nvidia_cuda", "cuda"),
        ("amd_rocm", "cuda"),
        ("intel_xpu", "xpu"),
        ("apple_silicon_mlx", "mps"),
        ("cpu_only", None),
    ],
)
def test_the_accelerator_is_the_one_that_torch_was_built_for(machine: str, kind: str | None) -> None:
    none = RuntimeError("Cannot access accelerator device when none is available.")
    says(
        machine,
        {
            "(lambda found: found and str(found))(torch.accelerator.current_accelerator())": kind,
            "torch.accelerator.current_device_index()": 0 if kind else none,
            "torch.accelerator.device_count()": 1 if kind else 0,
            "torch.get_device_module().__name__": f"torch.{kind or 'cpu'}",
            "torch.get_device_module('meta')": RuntimeError(
                "Device 'meta' does not have a corresponding module registered as 'torch.meta'."
            ),
        },
    )


def test_a_build_without_distributed_lacks_its_names() -> None:
    """https://github.com/facebookresearch/xformers/issues/1378"""
    said = ("torch.distributed.is_available()", "hasattr(torch.distributed, 'Work')")
    says(HardwareProfile("jetson", torch_lacks=("torch.distributed.Work",)), dict.fromkeys(said, False))
    says("cpu_only", dict.fromkeys(said, True))
