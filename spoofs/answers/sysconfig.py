"""What `sysconfig` says to those who choose a wheel by it."""

from spoofs import derived


def get_platform(profile):
    """The tag of wheels for this machine's interpreter."""
    if profile.system == "Darwin":
        return f"macosx-{derived.mac_version(profile).split('.')[0]}.0-{profile.machine}"
    if profile.system == "Windows":
        return {"AMD64": "win-amd64", "ARM64": "win-arm64"}.get(profile.machine, "win32")
    return f"linux-{profile.machine}"


FUNCTIONS = {
    "sysconfig.get_platform": get_platform,
}
