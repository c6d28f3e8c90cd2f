"""What `torch` says: its build, and the devices of CUDA (ROCm's too), XPU and MPS.

Signatures, values and errors are those of torch 2.13.0; `nox -s fidelity` holds them against the real package.
"""

import os
import sys

from spoofs import derived, devices, torchlike

lacking = derived.lacking

MODULES = (
    "torch.version",
    "torch.cuda",
    "torch.xpu",
    "torch.mps",
    "torch.cpu",
    "torch.accelerator",
    "torch.distributed",
    "torch.backends",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.backends.mps",
)


def version(profile):
    """`torch.__version__`, in the real package's own type where it is there."""
    real = sys.modules.get("torch.torch_version")
    return (real.TorchVersion if real else torchlike.TorchVersion)(derived.torch_version(profile))


# torch.cuda


def cuda_is_available(profile):
    return bool(devices.seen(profile, "cuda"))


def cuda_device_count(profile):
    hip, rocr = os.environ.get("HIP_VISIBLE_DEVICES"), os.environ.get("ROCR_VISIBLE_DEVICES")
    # The one mistake in stacking masks that torch itself looks for, and only before the devices are initialized.
    stacked = derived.is_rocm(profile) and hip and rocr and not devices.is_initialized(profile, "cuda")
    if stacked and len(hip.split(",")) > len(rocr.split(",")):
        raise RuntimeError("HIP_VISIBLE_DEVICES contains more devices than ROCR_VISIBLE_DEVICES")
    return len(devices.seen(profile, "cuda"))


def cuda_is_compiled(profile):
    return derived.is_built(profile, "cuda")


def cuda_is_initialized(profile):
    return devices.is_initialized(profile, "cuda")


def cuda_init(profile):
    devices.initialize(profile, "cuda")


def cuda_current_device(profile):
    return devices.current(profile, "cuda")


def cuda_set_device(profile, device):
    index = devices.number(profile, "cuda", device, optional=False)
    if index >= 0:
        if not derived.is_built(profile, "cuda"):
            raise devices.no_call("_cuda_setDevice")
        devices.select(profile, "cuda", index)


def cuda_get_device_properties(profile, device=None):
    found = devices.initialize(profile, "cuda")
    index = devices.number(profile, "cuda", device)
    if not 0 <= index < len(found):
        raise AssertionError("Invalid device id")
    return devices.cuda_properties(profile, found[index])


def cuda_get_device_name(profile, device=None):
    return cuda_get_device_properties(profile, device).name


def cuda_get_device_capability(profile, device=None):
    said = cuda_get_device_properties(profile, device)
    return said.major, said.minor


def cuda_mem_get_info(profile, device=None):
    return devices.memory(profile, "cuda", devices.number(profile, "cuda", device))


def cuda_get_arch_list(profile):
    return derived.architectures(profile, "cuda")


def cuda_get_gencode_flags(profile):
    pairs = [each.split("_") for each in derived.architectures(profile, "cuda") if "_" in each]
    return " ".join(f"-gencode compute=compute_{arch},code={kind}_{arch}" for kind, arch in pairs)


def cuda_is_bf16_supported(profile, including_emulation=True):
    if profile.hip_version is not None:  # of such a build torch says so without a look at the device
        return True
    if not devices.seen(profile, "cuda"):
        return False
    return cuda_get_device_properties(profile).major >= 8 or including_emulation


def cuda_is_tf32_supported(profile):
    if profile.hip_version is not None:
        return cuda_get_device_properties(profile).gcnArchName.startswith(("gfx94", "gfx95"))
    return cuda_is_bf16_supported(profile, including_emulation=False)


def cuda_synchronize(profile, device=None):
    devices.initialize(profile, "cuda")
    devices.at(profile, "cuda", devices.number(profile, "cuda", device))


def cuda_reset_peak_memory_stats(profile, device=None):
    devices.reset(profile, "cuda", device)


def cuda_set_per_process_memory_fraction(profile, fraction, device=None):
    devices.initialize(profile, "cuda")
    index = devices.number(profile, "cuda", device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    devices.at(profile, "cuda", index)


def cuda_device_init(profile, self, device):
    self.idx, self.prev_idx = devices.number(profile, "cuda", device), -1


def cuda_device_enter(profile, self):
    self.prev_idx = devices.select(profile, "cuda", self.idx) if self.idx >= 0 else -1


def cuda_device_exit(profile, self, type, value, traceback):
    if self.prev_idx >= 0:
        devices.select(profile, "cuda", self.prev_idx)
    return False


# torch.xpu


def xpu_is_available(profile):
    return bool(devices.seen(profile, "xpu"))


def xpu_device_count(profile):
    return len(devices.seen(profile, "xpu"))


def xpu_is_compiled(profile):
    return derived.is_built(profile, "xpu")


def xpu_is_initialized(profile):
    return devices.is_initialized(profile, "xpu")


def xpu_init(profile):
    devices.initialize(profile, "xpu")


def xpu_current_device(profile):
    return devices.current(profile, "xpu")


def xpu_set_device(profile, device):
    devices.initialize(profile, "xpu")
    index = devices.number(profile, "xpu", device, optional=False)
    if index >= 0:
        devices.select(profile, "xpu", index)


def xpu_get_device_properties(profile, device=None):
    devices.initialize(profile, "xpu")
    return devices.xpu_properties(devices.at(profile, "xpu", devices.number(profile, "xpu", device)))


def xpu_get_device_name(profile, device=None):
    return xpu_get_device_properties(profile, device).name


def xpu_get_device_capability(profile, device=None):
    """All properties that a dictionary can hold."""
    return {
        key: value
        for key, value in sorted(vars(xpu_get_device_properties(profile, device)).items())
        if isinstance(value, (int, float, bool, str, list, tuple, dict))
    }


def xpu_mem_get_info(profile, device=None):
    devices.initialize(profile, "xpu")
    return devices.memory(profile, "xpu", devices.number(profile, "xpu", device))


def xpu_get_arch_list(profile):
    return derived.architectures(profile, "xpu")


def xpu_is_bf16_supported(profile, including_emulation=True):
    if not devices.seen(profile, "xpu"):
        return False
    return including_emulation or xpu_get_device_properties(profile).has_bfloat16_conversions


def xpu_is_tf32_supported(profile):
    if not devices.seen(profile, "xpu"):
        return False
    return xpu_get_device_properties(profile).has_subgroup_matrix_multiply_accumulate


def xpu_synchronize(profile, device=None):
    devices.initialize(profile, "xpu")
    devices.at(profile, "xpu", devices.number(profile, "xpu", device))


def xpu_reset_peak_memory_stats(profile, device=None):
    devices.reset(profile, "xpu", device)


def xpu_device_init(profile, self, device):
    self.idx, self.prev_idx = devices.number(profile, "xpu", device), -1


def xpu_device_enter(profile, self):
    self.prev_idx = devices.select(profile, "xpu", self.idx) if self.idx >= 0 else -1


def xpu_device_exit(profile, self, type, value, traceback):
    if self.prev_idx >= 0:
        devices.select(profile, "xpu", self.prev_idx)
    return False


# torch.mps and torch.backends.mps


def mps_is_available(profile):
    return profile.mps_available


def mps_is_built(profile):
    return derived.is_built(profile, "mps")


def mps_device_count(profile):
    return len(devices.seen(profile, "mps"))


def mps_is_macos_or_newer(profile, major, minor):
    if not derived.is_built(profile, "mps"):
        raise _no_mps("isOnMacOSorNewer")
    return tuple(map(int, derived.mac_version(profile).split(".")[:2])) >= (major, minor)


def mps_is_macos13_or_newer(profile, minor=0):
    return mps_is_macos_or_newer(profile, 13, minor)


def mps_get_name(profile):
    return _mps(profile, "_mps_get_name", AttributeError)["name"]


def mps_get_core_count(profile):
    return _mps(profile, "_mps_get_core_count", AttributeError).get("processors", 8)


def mps_recommended_max_memory(profile):
    return derived.working_set(_mps(profile, "getRecommendedMaxMemory"))


def mps_current_allocated_memory(profile):
    _mps(profile, "getCurrentAllocatedMemory")
    return 0


def mps_driver_allocated_memory(profile):
    _mps(profile, "getDriverAllocatedMemory")
    return 0


def mps_synchronize(profile):
    _mps(profile, "deviceSynchronize")


def mps_empty_cache(profile):
    _mps(profile, "emptyCache")


def _mps(profile, call, kind=RuntimeError):
    """The Apple GPU, or the error of a torch that was built without it."""
    for found in devices.seen(profile, "mps"):
        return found
    if kind is AttributeError:
        raise devices.no_call(call)
    raise _no_mps(call)


def _no_mps(call):
    return RuntimeError(f"Cannot execute {call}() without MPS backend.")


# torch.accelerator, which stands for the first of the above that torch was built for


def accelerator_current_accelerator(profile, check_available=False):
    for kind in devices.kinds(profile):
        if not check_available or devices.seen(profile, kind):
            return sys.modules["torch"].device(kind)
        break
    return None


def accelerator_is_available(profile):
    return accelerator_device_count(profile) > 0


def accelerator_device_count(profile):
    for kind in devices.kinds(profile):
        return len(devices.seen(profile, kind))
    return 0


def accelerator_current_device_index(profile):
    return _accelerator(profile)[1]


def accelerator_set_device_index(profile, device, /):
    if isinstance(device, int) and device < 0:
        return
    devices.select(profile, *_accelerator(profile, device, optional=False))


def accelerator_get_device_capability(profile, device=None, /):
    kind, index = _accelerator(profile, device)
    devices.at(profile, kind, index)
    missing = ("float64", "complex128") if kind == "mps" else ()
    torch = sys.modules["torch"]
    return {"supported_dtypes": {getattr(torch, name) for name in torchlike.DTYPES if name not in missing}}


def accelerator_get_memory_info(profile, device_index=None, /):
    return devices.memory(profile, *_accelerator(profile, device_index))


def accelerator_synchronize(profile, device=None, /):
    devices.at(profile, *_accelerator(profile, device))


def _device_index_init(self, device, /):
    self.idx, self.prev_idx = device, -1


def accelerator_device_enter(profile, self):
    if self.idx is not None:
        self.prev_idx = devices.select(profile, _accelerator(profile)[0], self.idx)


def accelerator_device_exit(profile, self, *exc_info):
    if self.idx is not None:
        devices.select(profile, _accelerator(profile)[0], self.prev_idx)


def _accelerator(profile, device=None, optional=True):
    """Kind and index that an argument means. Raises as torch does without an accelerator, or for another's device."""
    torch = sys.modules["torch"]
    where = torch.device(device) if isinstance(device, str) else device
    kind = next(iter(devices.kinds(profile)), None)
    if isinstance(where, torch.device):
        if kind is None:
            raise RuntimeError("Accelerator expected")
        if where.type != kind:
            raise ValueError(f"{where.type} doesn't match the current accelerator {kind}.")
        where = where.index
    if not isinstance(where, int):
        where = None
    if where is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return kind, devices.current(profile, kind) if where is None else where


def get_device_module(profile, device=None):
    torch = sys.modules["torch"]
    if device is None:
        name = str(accelerator_current_accelerator(profile) or "cpu")
    elif isinstance(device, (str, torch.device)):
        name = torch.device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    module = getattr(torch, name, None)
    if module is None:
        raise RuntimeError(f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'.")
    return module


# torch.distributed: some builds come without (https://github.com/facebookresearch/xformers/issues/1378)


def distributed_is_available(profile):
    return not any(name.startswith("torch.distributed.") for name in profile.torch_lacks)


def distributed_is_nccl_available(profile):
    return derived.is_built(profile, "cuda") and profile.system == "Linux"


def _zero(device=None):
    return 0


def _seed(seed):
    return None


TYPES = {
    "torch.device": torchlike.Device,
    "torch.dtype": torchlike.DType,
    **{f"torch.{name}": torchlike.DType(name) for name in torchlike.DTYPES},
    "torch.OutOfMemoryError": torchlike.OutOfMemoryError,
    "torch.AcceleratorError": torchlike.AcceleratorError,
    "torch.cuda.OutOfMemoryError": torchlike.OutOfMemoryError,
    "torch.cuda.AcceleratorError": torchlike.AcceleratorError,
    "torch.cuda.device": torchlike.context("torch.cuda.device"),
    "torch.xpu.device": torchlike.context("torch.xpu.device"),
    "torch.accelerator.device_index": torchlike.context("torch.accelerator.device_index", __init__=_device_index_init),
    "torch.distributed.Work": type("Work", (), {"__module__": "torch.distributed"}),
    # Nothing has been allocated, nothing is cached, and a seed waits for the first use.
    **{
        f"torch.{kind}.{name}": _zero
        for kind in ("cuda", "xpu")
        for name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    },
    "torch.cuda.empty_cache": lambda: None,
    "torch.cuda.manual_seed": _seed,
    "torch.cuda.manual_seed_all": _seed,
    "torch.xpu.empty_cache": lambda: None,
    "torch.xpu.manual_seed": _seed,
    "torch.xpu.manual_seed_all": _seed,
    "torch.mps.manual_seed": _seed,
    "torch.distributed.is_initialized": lambda: False,
    # The CPU is there.
    "torch.cpu.is_available": lambda: True,
    "torch.cpu.device_count": lambda: 1,
    "torch.cpu.current_device": lambda: "cpu",
    "torch.cpu.is_initialized": lambda: True,
}
VALUES = {
    "torch.__version__": version,
    "torch.version.__version__": derived.torch_version,
    "torch.version.cuda": derived.cuda_version,
    "torch.version.hip": lambda profile: profile.hip_version,
    "torch.version.rocm": derived.rocm_version,
    "torch.version.xpu": lambda profile: profile.xpu_version,
    # Deprecated, and still asked for.
    "torch.has_cuda": cuda_is_compiled,
    "torch.has_cudnn": cuda_is_compiled,
    "torch.has_mps": mps_is_built,
}
FUNCTIONS = {
    "torch.get_device_module": get_device_module,
    "torch.cuda.is_available": cuda_is_available,
    "torch.cuda.device_count": cuda_device_count,
    "torch.cuda._is_compiled": cuda_is_compiled,
    "torch.cuda.is_initialized": cuda_is_initialized,
    "torch.cuda.init": cuda_init,
    "torch.cuda._lazy_init": cuda_init,
    "torch.cuda.current_device": cuda_current_device,
    "torch.cuda.set_device": cuda_set_device,
    "torch.cuda.get_device_properties": cuda_get_device_properties,
    "torch.cuda.get_device_name": cuda_get_device_name,
    "torch.cuda.get_device_capability": cuda_get_device_capability,
    "torch.cuda.mem_get_info": cuda_mem_get_info,
    "torch.cuda.get_arch_list": cuda_get_arch_list,
    "torch.cuda.get_gencode_flags": cuda_get_gencode_flags,
    "torch.cuda.is_bf16_supported": cuda_is_bf16_supported,
    "torch.cuda.is_tf32_supported": cuda_is_tf32_supported,
    "torch.cuda.synchronize": cuda_synchronize,
    "torch.cuda.reset_peak_memory_stats": cuda_reset_peak_memory_stats,
    "torch.cuda.set_per_process_memory_fraction": cuda_set_per_process_memory_fraction,
    "torch.cuda.device.__init__": cuda_device_init,
    "torch.cuda.device.__enter__": cuda_device_enter,
    "torch.cuda.device.__exit__": cuda_device_exit,
    "torch.backends.cuda.is_built": cuda_is_compiled,
    "torch.backends.cudnn.is_available": cuda_is_compiled,
    "torch.xpu.is_available": xpu_is_available,
    "torch.xpu.device_count": xpu_device_count,
    "torch.xpu._is_compiled": xpu_is_compiled,
    "torch.xpu.is_initialized": xpu_is_initialized,
    "torch.xpu.init": xpu_init,
    "torch.xpu._lazy_init": xpu_init,
    "torch.xpu.current_device": xpu_current_device,
    "torch.xpu.set_device": xpu_set_device,
    "torch.xpu.get_device_properties": xpu_get_device_properties,
    "torch.xpu.get_device_name": xpu_get_device_name,
    "torch.xpu.get_device_capability": xpu_get_device_capability,
    "torch.xpu.mem_get_info": xpu_mem_get_info,
    "torch.xpu.get_arch_list": xpu_get_arch_list,
    "torch.xpu.is_bf16_supported": xpu_is_bf16_supported,
    "torch.xpu.is_tf32_supported": xpu_is_tf32_supported,
    "torch.xpu.synchronize": xpu_synchronize,
    "torch.xpu.reset_peak_memory_stats": xpu_reset_peak_memory_stats,
    "torch.xpu.device.__init__": xpu_device_init,
    "torch.xpu.device.__enter__": xpu_device_enter,
    "torch.xpu.device.__exit__": xpu_device_exit,
    "torch.backends.mps.is_available": mps_is_available,
    "torch.backends.mps.is_built": mps_is_built,
    "torch.backends.mps.is_macos_or_newer": mps_is_macos_or_newer,
    "torch.backends.mps.is_macos13_or_newer": mps_is_macos13_or_newer,
    "torch.backends.mps.get_name": mps_get_name,
    "torch.backends.mps.get_core_count": mps_get_core_count,
    "torch.mps.is_available": mps_is_available,
    "torch.mps.device_count": mps_device_count,
    "torch.mps.recommended_max_memory": mps_recommended_max_memory,
    "torch.mps.current_allocated_memory": mps_current_allocated_memory,
    "torch.mps.driver_allocated_memory": mps_driver_allocated_memory,
    "torch.mps.synchronize": mps_synchronize,
    "torch.mps.empty_cache": mps_empty_cache,
    "torch.accelerator.is_available": accelerator_is_available,
    "torch.accelerator.device_count": accelerator_device_count,
    "torch.accelerator.current_accelerator": accelerator_current_accelerator,
    "torch.accelerator.current_device_index": accelerator_current_device_index,
    "torch.accelerator.current_device_idx": accelerator_current_device_index,
    "torch.accelerator.set_device_index": accelerator_set_device_index,
    "torch.accelerator.get_device_capability": accelerator_get_device_capability,
    "torch.accelerator.get_memory_info": accelerator_get_memory_info,
    "torch.accelerator.synchronize": accelerator_synchronize,
    "torch.accelerator.device_index.__enter__": accelerator_device_enter,
    "torch.accelerator.device_index.__exit__": accelerator_device_exit,
    "torch.distributed.is_available": distributed_is_available,
    "torch.distributed.is_nccl_available": distributed_is_nccl_available,
}
