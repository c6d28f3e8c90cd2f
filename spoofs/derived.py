"""Facts that follow from the stated ones: what a row leaves out because the machine could not be otherwise."""

import os

TORCH = "2.13.0"  # the release that the answers were checked against
CUDA = "13.0"
# The first device of an accelerator whose row lists none.
DEFAULT_DEVICE = {
    "cuda": {"name": "NVIDIA GeForce RTX 4090", "capability": (8, 9), "total_memory": 25386352640},
    "rocm": {"name": "AMD Radeon PRO W7900", "arch": "gfx1100", "total_memory": 48301604864},
    "xpu": {"name": "Intel(R) Data Center GPU Max 1550", "total_memory": 68719476736},
}
# Kernel releases, one that was current for each system.
RELEASE = {"Linux": "6.8.0-60-generic", "Darwin": "24.6.0", "Windows": "11"}
VERSION = {
    "Linux": "#63-Ubuntu SMP PREEMPT_DYNAMIC",
    "Darwin": "Darwin Kernel Version 24.6.0",
    "Windows": "10.0.26100",
}
MAC_VERSION = "15.6"


def is_rocm(profile):
    """Whether torch is a ROCm build: by `torch.version.hip`, or, in AMD's own wheels, by the version's tag alone."""
    return profile.hip_version is not None or "+rocm" in (profile.torch_version or "")


def cuda_version(profile):
    """`torch.version.cuda`: stated, or that of a CUDA build where a device answers and it is not ROCm's."""
    if profile.cuda_version is None and profile.cuda_available and not is_rocm(profile):
        return CUDA
    return profile.cuda_version


def torch_version(profile):
    """`torch.__version__` with the tag that its build carries; macOS wheels carry none."""
    if profile.torch_version is not None:
        return profile.torch_version
    if profile.hip_version is not None:
        return f"{TORCH}+rocm{profile.hip_version}"
    if cuda_version(profile) is not None:
        return f"{TORCH}+cu{cuda_version(profile).replace('.', '')}"
    if profile.xpu_available or profile.xpu_version is not None:
        return f"{TORCH}+xpu"
    return TORCH if profile.system == "Darwin" else f"{TORCH}+cpu"


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


def distributions(profile, packages):
    """Distribution -> version, or None where the machine lacks it, for every package that the profile decides on."""
    from spoofs import hooks

    decided = {}
    for module, state in packages.items():
        name = hooks.BOUND.get(module, module.replace("_", "-"))
        decided[name] = state.get("version", "0") if isinstance(state, dict) else state
    decided.setdefault("torch", torch_version(profile))
    return decided


def devices(profile, kind):
    """All devices of a kind ("cuda", which ROCm's are too, or "xpu"), before any mask."""
    if not getattr(profile, f"{kind}_available"):
        return ()
    if profile.devices and (kind == "cuda" or not profile.cuda_available):
        return profile.devices
    return (DEFAULT_DEVICE["rocm" if kind == "cuda" and is_rocm(profile) else kind],)


def visible(profile, kind):
    """The devices of a kind that the process's masks leave, in the order that the masks give."""
    found = devices(profile, kind)
    if kind == "xpu":
        return _masked(found, os.environ.get("ZE_AFFINITY_MASK") or None)
    if not is_rocm(profile):
        return _masked(found, os.environ.get("CUDA_VISIBLE_DEVICES"))
    # ROCm's runtime filters first; HIP then counts what is left, and reads CUDA's variable only without its own.
    found = _masked(found, os.environ.get("ROCR_VISIBLE_DEVICES"))
    return _masked(found, os.environ.get("HIP_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES")))


def _masked(found, mask):
    """Devices by index or by the start of a UUID; the first entry that names none ends the list, as the drivers do."""
    if mask is None:
        return found
    kept = []
    for entry in mask.split(","):
        entry = entry.strip()
        if entry.isdigit() and int(entry) < len(found):
            device = found[int(entry)]
        else:
            device = next((each for each in found if entry and uuid(each).startswith(entry)), None)
        if device is None:
            break
        if device in kept:
            return ()
        kept.append(device)
    return tuple(kept)


def uuid(device):
    """The UUID of a device, as the drivers write it; made from its name where the row states none."""
    if "uuid" in device:
        return device["uuid"]
    digits = device["name"].encode().hex().ljust(32, "0")[:32]
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def capability(device):
    """(major, minor): NVIDIA's compute capability, or the first digits of AMD's architecture."""
    if "capability" in device:
        return tuple(device["capability"])
    digits = device.get("arch", "gfx000").partition(":")[0].removeprefix("gfx")
    return int(digits[:-2] or 0), int(digits[-2], 16)


def total_memory(device):
    """Bytes."""
    return device.get("total_memory", 16 * 1024**3)


def free_memory(device):
    """Bytes; plausible, because zero reads as an exhausted card."""
    return device.get("free_memory", total_memory(device) - 600 * 1024**2)
