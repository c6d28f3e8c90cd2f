"""What `platform` says: everything there follows from `uname`, save what is cached or read from files.

The answers are computed anew each time: `platform` keeps what it once found, whoever asked first.
"""

import os
import sys

from spoofs import derived

_node = getattr(os.uname, "spoofed", os.uname)().nodename  # the host's: a Windows machine's os has no uname


def uname(profile):
    """`platform.uname_result`, its lazy field `processor` included."""
    version = derived.VERSION[profile.system]
    kind = sys.modules["platform"].uname_result
    result = kind(profile.system, _node, derived.release(profile), version, profile.machine)
    result.__dict__["processor"] = derived.processor(profile)
    return result


def platform_(profile, aliased=False, terse=False):
    """The one-line summary, in the form that each system gives it; no alias is known for the systems of profiles."""
    said = [profile.system, derived.release(profile)]
    processor = derived.processor(profile)
    hardware = [profile.machine, "" if processor == profile.machine else processor]
    if profile.system == "Darwin":
        said = ["macOS", derived.mac_version(profile)] + ([] if terse else [*hardware, *architecture(profile)])
    elif profile.system == "Windows":
        said += [] if terse else win32_ver(profile)[1:3]
    else:
        said += [*hardware, "with", "".join(libc_ver(profile))]
    return sys.modules["platform"]._platform(*said)


def mac_ver(profile, release="", versioninfo=("", "", ""), machine=""):
    """Product version and machine on Darwin, what was passed elsewhere."""
    if profile.system != "Darwin":
        return release, versioninfo, machine
    return derived.mac_version(profile), ("", "", ""), profile.machine


def win32_ver(profile, release="", version="", csd="", ptype=""):
    """Release, version, service pack and kind of kernel on Windows, what was passed elsewhere."""
    if profile.system != "Windows":
        return release, version, csd, ptype
    return derived.release(profile), derived.VERSION["Windows"], "SP0", "Multiprocessor Free"


def libc_ver(profile, executable=None, lib="", version="", chunksize=16384):
    """The host's C library on Linux, because this interpreter runs with it; what was passed elsewhere."""
    if profile.system != "Linux":
        return lib, version
    return sys.modules["platform"].libc_ver.spoofed(executable, lib, version, chunksize)


def architecture(profile, executable=sys.executable, bits="", linkage=""):
    """Bits and format of the interpreter's binary; another binary is what it is."""
    if executable != sys.executable:
        return sys.modules["platform"].architecture.spoofed(executable, bits, linkage)
    narrow = profile.machine in ("i386", "i686", "x86", "armv7l")
    mach = "Mach-O" if sys.version_info >= (3, 13) else ""
    return "32bit" if narrow else "64bit", {"Linux": "ELF", "Darwin": mach, "Windows": "WindowsPE"}[profile.system]


def freedesktop_os_release(profile):
    """The fields of /etc/os-release: the row's, or the host's where that is a Linux too."""
    text = profile.files.get("/etc/os-release", "")
    if profile.system != "Linux" or text is None:
        raise FileNotFoundError(2, "Unable to read files /etc/os-release, /usr/lib/os-release")
    module = sys.modules["platform"]
    return module._parse_os_release(text.splitlines()) if text else module.freedesktop_os_release.spoofed()


FUNCTIONS = {
    "platform.uname": uname,
    "platform.platform": platform_,
    "platform.mac_ver": mac_ver,
    "platform.win32_ver": win32_ver,
    "platform.libc_ver": libc_ver,
    "platform.architecture": architecture,
    "platform.freedesktop_os_release": freedesktop_os_release,
}


def _of_uname(field):
    return lambda profile: getattr(uname(profile), field)


for _field in ("system", "node", "release", "version", "machine", "processor"):
    FUNCTIONS[f"platform.{_field}"] = _of_uname(_field)
