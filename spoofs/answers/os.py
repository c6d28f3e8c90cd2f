"""What `os` says: `os.uname`, the lowest probe of the platform, and files where they tell of hardware."""

import os

import spoofs
from spoofs import activate, derived

_host = os.uname()
# Where one of these is, the host has an accelerator to hide.
_SIGNS = (
    "/dev/nvidiactl",
    "/dev/kfd",
    "/dev/dri",
    "/dev/dxg",
    "/dev/accel",
    "/sys/class/drm",
    "/sys/class/kfd",
    "/proc/driver/nvidia",
    "/etc/nv_tegra_release",
    "/opt/rocm",
    "/usr/bin/nvidia-smi",
    "/usr/lib/wsl",
)


def install(module):
    """Answer for files too, on a host or a machine that has any of them; else the calls stay the host's own."""
    profile = spoofs.active.profile
    if profile.files or profile.release or any(os.access(sign, os.F_OK) for sign in _SIGNS):
        from spoofs import files

        for probe in files.install(profile, module):
            activate.note(probe, "the row's files")


def uname(profile):
    """The kernel's own words: a Windows machine has no such call."""
    if profile.system == "Windows":
        raise AttributeError("module 'os' has no attribute 'uname'")
    version = derived.VERSION[profile.system]
    return os.uname_result((profile.system, _host.nodename, derived.release(profile), version, profile.machine))


FUNCTIONS = {
    "os.uname": uname,
}
