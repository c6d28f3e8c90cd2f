"""What `torch` says: its build, and the devices of CUDA (ROCm's too), XPU and MPS.

Signatures, values and errors are those of torch 2.13.0; `nox -s fidelity` holds them against the real package.
"""

from spoofs import derived

MODULES = (
    "torch.version",
    "torch.cuda",
    "torch.xpu",
    "torch.mps",
    "torch.backends",
    "torch.backends.cuda",
    "torch.backends.mps",
    "torch.accelerator",
)


def lacking(profile):
    """Names that the machine's torch does not have: older releases lack `torch.xpu`, `torch.version.xpu`, ..."""
    return profile.torch_lacks


class Version(str):
    """`torch.__version__`: a string that compares as a version with strings and tuples of numbers."""

    def _numbers(self, other=None):
        other = self if other is None else other
        parts = other.partition("+")[0].split(".") if isinstance(other, str) else other
        return tuple(int("".join(filter(str.isdigit, str(part))) or 0) for part in parts)

    def __lt__(self, other):
        return self._numbers() < self._numbers(other)

    def __le__(self, other):
        return self._numbers() <= self._numbers(other)

    def __gt__(self, other):
        return self._numbers() > self._numbers(other)

    def __ge__(self, other):
        return self._numbers() >= self._numbers(other)


class DeviceProperties:
    """What `get_device_properties` returns, with the attributes that dispatch code reads."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __repr__(self):
        return f"_CudaDeviceProperties({', '.join(f'{key}={value!r}' for key, value in self.__dict__.items())})"


class Device:
    """`torch.device`, as far as a type and an index go."""

    def __init__(self, type, index=None):
        kind, _, number = str(type).partition(":")
        self.type = kind
        self.index = int(number) if number else index

    def __eq__(self, other):
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"


def _ordinal(device, kind):
    """The index that a device argument names: None, an int, "cuda:1", or a torch.device."""
    if device is None:
        return 0
    if isinstance(device, int):
        return device
    found, _, index = str(device).partition(":")
    if found != kind:
        raise ValueError(f"Expected a {kind} device, but got: {device}")
    return int(index or 0)


def _devices(profile, kind):
    """The visible devices, or the error of a build or a driver that has none."""
    found = derived.visible(profile, kind)
    if found:
        return found
    if kind == "cuda" and (derived.cuda_version(profile) or derived.is_rocm(profile)):
        raise RuntimeError("No CUDA GPUs are available" if derived.devices(profile, kind) else _NO_DRIVER)
    if kind == "xpu" and (profile.xpu_version is not None or profile.xpu_available):
        raise RuntimeError("No XPU devices are available.")
    raise AssertionError(f"Torch not compiled with {kind.upper()} enabled")


_NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)


def _device(profile, device, kind):
    found = _devices(profile, kind)
    index = _ordinal(device, kind)
    if not 0 <= index < len(found):
        raise AssertionError("Invalid device id")
    return found[index]


def cuda_is_available(profile):
    return bool(derived.visible(profile, "cuda"))


def cuda_device_count(profile):
    return len(derived.visible(profile, "cuda"))


def cuda_current_device(profile):
    _devices(profile, "cuda")
    return 0


def cuda_get_device_properties(profile, device=None):
    found = _device(profile, device, "cuda")
    major, minor = derived.capability(found)
    return DeviceProperties(
        name=found["name"],
        major=major,
        minor=minor,
        total_memory=derived.total_memory(found),
        multi_processor_count=found.get("processors", 40),
        is_integrated=int(found.get("integrated", False)),
        is_multi_gpu_board=0,
        uuid=derived.uuid(found).removeprefix("GPU-"),
        gcnArchName=found.get("arch", found["name"]),
        warp_size=64 if found.get("arch", "").startswith("gfx9") else 32,
    )


def cuda_get_device_name(profile, device=None):
    return _device(profile, device, "cuda")["name"]


def cuda_get_device_capability(profile, device=None):
    return derived.capability(_device(profile, device, "cuda"))


def cuda_mem_get_info(profile, device=None):
    found = _device(profile, device, "cuda")
    return derived.free_memory(found), derived.total_memory(found)


def cuda_get_arch_list(profile):
    found = derived.visible(profile, "cuda")
    if derived.is_rocm(profile):
        return sorted({each["arch"].partition(":")[0] for each in found if "arch" in each})
    return sorted({"sm_{}{}".format(*derived.capability(each)) for each in found})


def cuda_is_bf16_supported(profile, including_emulation=True):
    found = derived.visible(profile, "cuda")
    if not found:
        return False
    return derived.is_rocm(profile) or including_emulation or derived.capability(found[0]) >= (8, 0)


def cuda_init(profile):
    _devices(profile, "cuda")


def xpu_is_available(profile):
    return bool(derived.visible(profile, "xpu"))


def xpu_device_count(profile):
    return len(derived.visible(profile, "xpu"))


def xpu_current_device(profile):
    _devices(profile, "xpu")
    return 0


def xpu_get_device_name(profile, device=None):
    return _device(profile, device, "xpu")["name"]


def xpu_get_device_properties(profile, device=None):
    found = _device(profile, device, "xpu")
    return DeviceProperties(name=found["name"], total_memory=derived.total_memory(found))


def mps_is_available(profile):
    return profile.mps_available


def mps_is_built(profile):
    return profile.system == "Darwin"


def mps_device_count(profile):
    return int(profile.mps_available)


TYPES = {
    "torch.device": Device,
}
VALUES = {
    "torch.__version__": lambda profile: Version(derived.torch_version(profile)),
    "torch.version.__version__": derived.torch_version,
    "torch.version.cuda": derived.cuda_version,
    "torch.version.hip": lambda profile: profile.hip_version,
    "torch.version.xpu": lambda profile: profile.xpu_version,
}
FUNCTIONS = {
    "torch.cuda.is_available": cuda_is_available,
    "torch.cuda.device_count": cuda_device_count,
    "torch.cuda.current_device": cuda_current_device,
    "torch.cuda.get_device_properties": cuda_get_device_properties,
    "torch.cuda.get_device_name": cuda_get_device_name,
    "torch.cuda.get_device_capability": cuda_get_device_capability,
    "torch.cuda.mem_get_info": cuda_mem_get_info,
    "torch.cuda.get_arch_list": cuda_get_arch_list,
    "torch.cuda.is_bf16_supported": cuda_is_bf16_supported,
    "torch.cuda.init": cuda_init,
    "torch.xpu.is_available": xpu_is_available,
    "torch.xpu.device_count": xpu_device_count,
    "torch.xpu.current_device": xpu_current_device,
    "torch.xpu.get_device_name": xpu_get_device_name,
    "torch.xpu.get_device_properties": xpu_get_device_properties,
    "torch.backends.mps.is_available": mps_is_available,
    "torch.backends.mps.is_built": mps_is_built,
    "torch.mps.device_count": mps_device_count,
}
