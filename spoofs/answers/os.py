"""What `os` says: `os.uname`, the lowest probe of the platform. Its files are in `spoofs/files.py`."""

import os

from spoofs import derived

_host = getattr(os.uname, "spoofed", os.uname)()


def uname(profile):
    """The kernel's own words: a Windows machine has no such call."""
    if profile.system == "Windows":
        raise AttributeError("module 'os' has no attribute 'uname'")
    version = derived.VERSION[profile.system]
    return os.uname_result((profile.system, _host.nodename, derived.release(profile), version, profile.machine))


FUNCTIONS = {
    "os.uname": uname,
}
