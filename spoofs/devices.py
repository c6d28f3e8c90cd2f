"""The devices as one process sees them through torch: which index means which, what is initialized, what is missing.

`kind` is "cuda" (ROCm's too), "xpu" or "mps". As in torch, the first call that needs a device initializes the kind;
from then on the process's masks count no more, and a forked child cannot use it.
"""

import os
import sys

from spoofs import derived, torchlike

_initialized = {}  # (profile, kind) -> (process, devices)
_current = {}  # (profile, kind) -> index

NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
# Per multiprocessor of a compute capability: threads, bytes of shared memory; and bytes that one block may opt into.
# https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications
_MULTIPROCESSOR = {
    (6, 0): (2048, 65536, 49152),
    (6, 1): (2048, 98304, 49152),
    (7, 0): (2048, 98304, 98304),
    (7, 5): (1024, 65536, 65536),
    (8, 0): (2048, 167936, 166912),
    (8, 6): (1536, 102400, 101376),
    (8, 7): (1536, 167936, 166912),
    (8, 9): (1536, 102400, 101376),
    (9, 0): (2048, 233472, 232448),
    (10, 0): (2048, 233472, 232448),
    (12, 0): (1536, 102400, 101376),
}


def kinds(profile):
    """The accelerators that torch was built for, the one that `torch.accelerator` stands for first."""
    return [kind for kind in ("cuda", "xpu", "mps") if derived.is_built(profile, kind)]


def seen(profile, kind):
    """The devices that a process can use, which may be none. Never raises."""
    if (profile, kind) in _initialized:
        return _initialized[profile, kind][1]
    return derived.visible(profile, kind)


def is_initialized(profile, kind):
    """Whether a call of this process has initialized the devices of a kind."""
    if not derived.devices(profile, kind):
        return False
    return (profile, kind) in _initialized and _initialized[profile, kind][0] == os.getpid()


def initialize(profile, kind):
    """The devices of a kind. Raises as torch's lazy initialization does where there is none that can be used."""
    process, found = _initialized.get((profile, kind), (None, None))
    if found is not None:
        if process != os.getpid():
            raise RuntimeError(
                f"Cannot re-initialize {kind.upper()} in forked subprocess. To use {kind.upper()} with "
                "multiprocessing, you must use the 'spawn' start method"
            )
        return found
    found = derived.visible(profile, kind)
    if not found:
        raise missing(profile, kind)
    _initialized[profile, kind] = os.getpid(), found
    return found


def missing(profile, kind):
    """The error of a torch that has no device of a kind: not built for it, no driver, or all of them masked."""
    if not derived.is_built(profile, kind):
        return AssertionError(f"Torch not compiled with {kind.upper()} enabled")
    if kind == "xpu":
        return RuntimeError("No XPU devices are available.")
    if derived.is_rocm(profile):
        return RuntimeError("No HIP GPUs are available")
    return RuntimeError("No CUDA GPUs are available" if derived.devices(profile, kind) else NO_DRIVER)


def current(profile, kind):
    """The index of the selected device. Initializes."""
    initialize(profile, kind)
    return _current.get((profile, kind), 0)


def select(profile, kind, index):
    """Select a device by its index, and give the one that was selected before. Initializes."""
    before = current(profile, kind)
    at(profile, kind, index)
    _current[profile, kind] = index
    return before


def number(profile, kind, device, optional=True):
    """The index that an argument means: a number, "cuda:1", a `torch.device`, a context manager, or the current one.

    Raises as torch does for a string that names no device (RuntimeError) or one of another kind (ValueError), and,
    unless `optional`, for one without an index. None where torch was not built for the kind and so has no current one.
    """
    if isinstance(device, int):
        return device
    torch = sys.modules["torch"]
    where = torch.device(device) if isinstance(device, str) else device
    if isinstance(where, torch.device):
        if where.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {where}")
        if where.index is not None:
            return where.index
    elif isinstance(where, getattr(torch, kind).device):
        return where.idx
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{where}")
    return current(profile, kind) if derived.is_built(profile, kind) else None


def reset(profile, kind, device):
    """`reset_peak_memory_stats`: what is not built has no such call, which is all that torch then says of it."""
    index = number(profile, kind, device)
    if not derived.is_built(profile, kind):
        raise no_call(f"_{kind}_resetPeakMemoryStats")
    at(profile, kind, index)


def no_call(name):
    """The error of a function that asks for a part of torch's library which was not built."""
    return AttributeError(f"module 'torch._C' has no attribute '{name}'")


def at(profile, kind, index):
    """The device at an index. Raises as the runtime does where there is none."""
    found = initialize(profile, kind)
    if 0 <= index < len(found):
        return found[index]
    if kind == "xpu":
        raise RuntimeError(f"The device index is out of range. It must be in [0, {len(found)}), but got {index}.")
    runtime = "HIP" if derived.is_rocm(profile) else "CUDA"
    raise sys.modules["torch"].AcceleratorError(
        f"{runtime} error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
    )


def memory(profile, kind, index):
    """(free, total) bytes of the device at an index."""
    found = at(profile, kind, index)
    return derived.free_memory(found), derived.total_memory(found)


def cuda_properties(profile, device):
    """`_CudaDeviceProperties`: those of 2.13 that follow from name, architecture and memory, and those stated."""
    major, minor = derived.capability(device)
    said = {
        "name": device["name"],
        "major": major,
        "minor": minor,
        "total_memory": derived.total_memory(device),
        "multi_processor_count": device.get("processors", 40),
        "is_integrated": int(device.get("integrated", False)),
        "is_multi_gpu_board": 0,
    }
    digits = derived.uuid(device).partition("-")[2]
    if derived.is_rocm(profile):
        digits = digits.encode().hex()  # HIP has the sixteen digits as text
        name = derived.arch(device)
        wide = name.startswith("gfx9")
        block = 163840 if name.startswith("gfx95") else 65536
        said |= {"gcnArchName": name, "warp_size": 64 if wide else 32, "max_threads_per_multi_processor": 2048}
        said |= {"shared_memory_per_block": block, "shared_memory_per_multiprocessor": block}
    else:
        below = [each for each in _MULTIPROCESSOR if each <= (major, minor)] or [min(_MULTIPROCESSOR)]
        threads, shared, block = _MULTIPROCESSOR[max(below)]
        # Without ROCm, the architecture's name is the device's.
        said |= {"gcnArchName": device["name"], "warp_size": 32, "max_threads_per_multi_processor": threads}
        said |= {"shared_memory_per_block": 49152, "shared_memory_per_multiprocessor": shared}
        said |= {"shared_memory_per_block_optin": block}
    said["uuid"] = torchlike.Uuid(digits)
    return torchlike._CudaDeviceProperties(said | dict(device.get("properties", {})))


def xpu_properties(device):
    """`_XpuDeviceProperties`: those of 2.13 that follow from name and memory, and those stated."""
    said = {
        "name": device["name"],
        "platform_name": "Intel(R) oneAPI Unified Runtime over Level-Zero",
        "type": "gpu",
        "vendor": "Intel(R) Corporation",
        "driver_version": device.get("driver", "1.6.33578"),
        "total_memory": derived.total_memory(device),
        "max_compute_units": device.get("processors", 448),
        "gpu_eu_count": device.get("processors", 448),
        "max_work_group_size": 1024,
        "max_num_sub_groups": 64,
        "sub_group_sizes": [16, 32],
        "has_fp16": True,
        "has_fp64": "Arc(TM) A" not in device["name"],  # the first generation of Arc computes in at most 32 bits
        "has_atomic64": True,
        "has_bfloat16_conversions": True,
        "has_subgroup_matrix_multiply_accumulate": True,
        "has_subgroup_matrix_multiply_accumulate_tensor_float32": True,
        "is_integrated_gpu": device.get("integrated", False),
        "uuid": torchlike.Uuid(derived.uuid(device).partition("-")[2]).bytes,
    }
    return torchlike._XpuDeviceProperties(said | dict(device.get("properties", {})))
