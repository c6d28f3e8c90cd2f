"""What `platform` says: everything there follows from `uname`, save what is cached or read from files."""

import os
import sys

from spoofs import derived

_node = getattr(os.uname, "spoofed", os.uname)().nodename  # the host's: a Windows machine's os has no uname


def uname(profile):
    """`platform.uname_result`, its lazy field `processor` included."""
    version = derived.VERSION[profile.system]
    result = sys.modules["platform"].uname_result(profile.system, _node, derived.release(profile), version, profile.machine)
    result.__dict__["processor"] = derived.processor(profile)
    return result


def platform_(profile, aliased=0, terse=0):
    """The one-line summary, in the form that each system gives it."""
    if profile.system == "Darwin":
        name = f"macOS-{derived.mac_version(profile)}"
        return name if terse else f"{name}-{profile.machine}-{'arm' if profile.machine == 'arm64' else 'i386'}-64bit"
    name = f"{profile.system}-{derived.release(profile)}"
    if profile.system == "Windows":
        return name if terse else f"{name}-{derived.VERSION['Windows']}-SP0"
    if terse:
        return name
    libc = "-".join(filter(None, sys.modules["platform"].libc_ver()))
    return f"{name}-{profile.machine}-with-{libc}"


def mac_ver(profile, release="", versioninfo=("", "", ""), machine=""):
    """Product version and machine on Darwin, what was passed elsewhere."""
    if profile.system != "Darwin":
        return release, versioninfo, machine
    return derived.mac_version(profile), ("", "", ""), profile.machine


FUNCTIONS = {
    "platform.uname": uname,
    "platform.platform": platform_,
    "platform.mac_ver": mac_ver,
}
for _field in ("system", "node", "release", "version", "machine", "processor"):
    FUNCTIONS[f"platform.{_field}"] = lambda profile, _field=_field: getattr(uname(profile), _field)
