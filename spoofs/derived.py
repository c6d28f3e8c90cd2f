"""Facts that follow from the stated ones: what a row leaves out because the machine could not be otherwise."""

import os

TORCH = "2.13.0"  # the release that the answers were checked against, see tests/fidelity/
CUDA = "13.0"
# The first device of an accelerator whose row lists none.
DEFAULT_DEVICE = {
    "cuda": {
        "name": "NVIDIA GeForce RTX 4090",
        "capability": (8, 9),
        "total_memory": 25386352640,
        "processors": 128,
    },
    "rocm": {
        "name": "AMD Radeon PRO W7900",
        "arch": "gfx1100",
        "total_memory": 48301604864,
        "processors": 48,
    },
    "xpu": {"name": "Intel(R) Data Center GPU Max 1550", "total_memory": 68719476736, "processors": 512},
    "mps": {"name": "Apple M2", "total_memory": 17179869184, "processors": 10},
}
# Kernel releases, one that was current for each system.
RELEASE = {"Linux": "6.8.0-60-generic", "Darwin": "24.6.0", "Windows": "11"}
VERSION = {
    "Linux": "#63-Ubuntu SMP PREEMPT_DYNAMIC",
    "Darwin": "Darwin Kernel Version 24.6.0",
    "Windows": "10.0.26100",
}
MAC_VERSION = "15.6"

# The release of torch that first had a name which software asks for. https://github.com/huggingface/kernels/issues/163
# and https://github.com/hustvl/DiffusionDrive/issues/92 are what happens without.
SINCE = {
    "torch.xpu": (2, 3),
    "torch.accelerator": (2, 6),
    "torch.version.xpu": (2, 6),
    "torch.version.rocm": (2, 10),
}
# What torch's CUDA wheels are compiled for: torch.cuda.PYTORCH_RELEASES_CODE_CC of 2.13, and release notes before.
_CUDA_ARCHS = {
    "11": (50, 60, 70, 75, 80, 86, 37, 90),
    "12": (50, 60, 70, 75, 80, 86, 90),
    "12.8": (70, 75, 80, 86, 90, 100, 120),
    "12.9": (75, 80, 86, 90, 100, 120),
    "13": (75, 80, 86, 90, 100, 120),
}
_CUDA_ARCHS_AARCH64 = {"11": (80, 90), "12": (80, 90), "12.9": (80, 90, 100, 120), "13": (80, 90, 100, 110, 120)}
_ROCM_ARCHS = [
    "gfx900",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx1030",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1200",
    "gfx1201",
]
_ROCM_7_ARCHS = ["gfx950", "gfx1150", "gfx1151"]
_XPU_ARCHS = ["dg2", "arl-h", "mtl-h", "lnl-m", "ptl-h", "ptl-u", "bmg", "pvc"]


def is_rocm(profile):
    """Whether torch is a ROCm build: by `torch.version.hip`, or, in AMD's own wheels, by the version's tag alone."""
    return profile.hip_version is not None or _tag(profile).startswith("rocm")


def cuda_version(profile):
    """`torch.version.cuda`: stated, or by the version's tag, or that of a CUDA build where a device answers."""
    if profile.cuda_version is not None:
        return profile.cuda_version
    if _tag(profile).startswith("cu") and _tag(profile)[2:].isdigit():
        return f"{_tag(profile)[2:-1]}.{_tag(profile)[-1]}"
    return CUDA if profile.cuda_available and not is_rocm(profile) else None


def rocm_version(profile):
    """`torch.version.rocm`: by the version's tag, or torch's HIP."""
    return _tag(profile)[4:] if _tag(profile).startswith("rocm") else profile.hip_version


def is_built(profile, kind):
    """Whether torch was compiled for "cuda" (ROCm too), "xpu" or "mps", be there a device or not."""
    if kind == "cuda":
        return cuda_version(profile) is not None or is_rocm(profile)
    if kind == "xpu":
        return profile.xpu_available or profile.xpu_version is not None or _tag(profile).startswith("xpu")
    return profile.mps_available or profile.system == "Darwin"


def torch_version(profile):
    """`torch.__version__` with the tag that its build carries; macOS wheels carry none."""
    if profile.torch_version is not None:
        return profile.torch_version
    if profile.hip_version is not None:
        return f"{TORCH}+rocm{profile.hip_version}"
    if cuda_version(profile) is not None:
        return f"{TORCH}+cu{cuda_version(profile).replace('.', '')}"
    if is_built(profile, "xpu"):
        return f"{TORCH}+xpu"
    return TORCH if profile.system == "Darwin" else f"{TORCH}+cpu"


def _tag(profile):
    return (profile.torch_version or "").partition("+")[2]


def lacking(profile):
    """Dotted names that the machine's torch does not have: stated, or not yet in its release."""
    release = tuple(int(part) for part in torch_version(profile).partition("+")[0].split(".")[:2] if part.isdigit())
    return profile.torch_lacks + tuple(name for name, since in SINCE.items() if release < since)


def architectures(profile, kind):
    """What torch's kernels were compiled for; AMD's own wheels are made for the machine's cards alone."""
    if not is_built(profile, kind):
        return []
    if kind == "xpu":
        return list(_XPU_ARCHS)
    if is_rocm(profile):
        if profile.hip_version is None:
            return sorted({arch(each).partition(":")[0] for each in devices(profile, kind)})
        return _ROCM_ARCHS + (_ROCM_7_ARCHS if int(rocm_version(profile).split(".")[0]) >= 7 else [])
    table = _CUDA_ARCHS_AARCH64 if profile.machine in ("aarch64", "arm64") else _CUDA_ARCHS
    cuda = cuda_version(profile)
    return [f"sm_{each}" for each in table.get(cuda) or table.get(cuda.partition(".")[0]) or table["13"]]


def processor(profile):
    """`platform.processor()`: Darwin says "arm" or "i386", Linux usually the machine."""
    if profile.processor is not None:
        return profile.processor
    if profile.system == "Darwin":
        return "arm" if profile.machine == "arm64" else "i386"
    return profile.machine


def release(profile):
    """The kernel's release."""
    return profile.release or RELEASE[profile.system]


def mac_version(profile):
    """The product version of macOS, or "" elsewhere."""
    return (profile.mac_version or MAC_VERSION) if profile.system == "Darwin" else ""


def devices(profile, kind):
    """All devices of a kind ("cuda", which ROCm's are too, "xpu" or "mps"), before any mask."""
    if not getattr(profile, f"{kind}_available"):
        return ()
    # The row's devices are those of its first accelerator.
    if profile.devices and kind == next(each for each in DEFAULT_DEVICE if getattr(profile, f"{each}_available", 0)):
        return profile.devices
    return (DEFAULT_DEVICE["rocm" if kind == "cuda" and is_rocm(profile) else kind],)


def visible(profile, kind):
    """The devices of a kind that the process's masks leave, in the order in which torch numbers them."""
    found = devices(profile, kind)
    if kind == "mps":
        return found
    if kind == "xpu":
        return _affine(found, os.environ.get("ZE_AFFINITY_MASK"))
    if not is_rocm(profile):
        found = masked(_ordered(found), os.environ.get("CUDA_VISIBLE_DEVICES"))
        return found[:1] if any("slice_of" in each for each in found) else found  # a process can open one slice
    # ROCm's runtime filters first; HIP then counts what is left, and reads CUDA's variable only without its own.
    found = masked(found, os.environ.get("ROCR_VISIBLE_DEVICES"))
    return masked(found, os.environ.get("HIP_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES")))


def _ordered(found):
    """A row has its devices in the order of the bus; CUDA puts the fastest first unless told otherwise."""
    if os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or not found:
        return found
    first = max(found, key=lambda device: device.get("processors", 0))
    return (first, *(device for device in found if device is not first))


def masked(found, mask):
    """The devices that a mask of CUDA's or ROCm's names: indices, or starts of UUIDs.

    As in the drivers, an entry that names none ends the list, and one that stands twice empties it.
    """
    if mask is None:
        return found
    by_uuid = mask.startswith(("GPU-", "MIG-"))
    kept = []
    for entry in mask.split(","):
        if by_uuid:
            named = [each for each in found if entry.startswith(mask[:4]) and uuid(each).startswith(entry)]
            device = named[0] if len(named) == 1 else None
        else:
            index = _leading_number(entry.strip())
            device = found[index] if index is not None and index < len(found) else None
        if device is None:
            break
        if any(device is each for each in kept):
            return ()
        kept.append(device)
    return tuple(kept)


def _leading_number(entry):
    """12 of "12gpu": the drivers read entries as C's strtoul does. None where there is none, or a negative one."""
    digits = entry.removeprefix("+")
    end = len(digits) - len(digits.lstrip("0123456789"))
    return int(digits[:end]) if end else None


def _affine(found, mask):
    """The devices of Intel that a mask of Level Zero names by index, "1", or by tile, "0.1": in their own order.

    What names no device is passed over; an empty mask is none, and so is the runtime's own word "default".
    https://oneapi-src.github.io/level-zero-spec/level-zero/latest/core/PROG.html#affinity-mask
    """
    if mask in (None, "", "default"):
        return found
    entries = [entry.strip() for entry in mask.split(",")]
    kept = []
    for index, device in enumerate(found):
        if str(index) in entries:
            kept.append(device)
        else:
            kept += [device for tile in range(device.get("tiles", 1)) if f"{index}.{tile}" in entries]
    return tuple(kept)


def uuid(device):
    """The UUID of a device, as the drivers write it; made from name and place where the row states none.

    AMD's are sixteen digits, the others thirty-two with dashes.
    """
    if "uuid" in device:
        return device["uuid"]
    digits, place = device["name"].encode().hex(), getattr(device, "place", 0)
    if "arch" in device:
        return f"GPU-{digits[-12:]:0>12}{place:04x}"
    return f"GPU-{digits[-8:]:0>8}-{digits[:4]:0>4}-{digits[4:8]:0>4}-{digits[8:12]:0>4}-{place:012x}"


def arch(device):
    """AMD's name of the architecture with its suffixes, "gfx942:sramecc+:xnack-".

    HSA_OVERRIDE_GFX_VERSION disguises it; https://github.com/unslothai/unsloth/pull/8480 is about such a card.
    """
    override = os.environ.get("HSA_OVERRIDE_GFX_VERSION", "").split(".")
    if len(override) == 3 and all(part.isdigit() for part in override):
        return "gfx{}{:x}{:x}".format(*map(int, override))
    return device.get("arch", "gfx000")


def capability(device):
    """(major, minor): NVIDIA's compute capability, or the first digits of AMD's architecture."""
    if "capability" in device:
        return tuple(device["capability"])
    digits = arch(device).partition(":")[0].removeprefix("gfx")
    return int(digits[:-2] or 0), int(digits[-2], 16)


def total_memory(device):
    """Bytes."""
    return device.get("total_memory", 16 * 1024**3)


def free_memory(device):
    """Bytes; plausible, because zero reads as an exhausted card."""
    return device.get("free_memory", max(total_memory(device) - 600 * 1024**2, 0))


def working_set(device):
    """Bytes that Metal recommends at most: stated as free, or two thirds of what the machine has."""
    return device.get("free_memory", total_memory(device) * 2 // 3)
