"""What `sysconfig` says to those who choose a wheel by it."""


def get_platform(profile):
    """The tag of wheels for this machine's interpreter; macOS's has the system that the interpreter was built for."""
    if profile.system == "Darwin":
        return f"macosx-{'11.0' if profile.machine == 'arm64' else '10.13'}-{profile.machine}"
    if profile.system == "Windows":
        return {"AMD64": "win-amd64", "ARM64": "win-arm64"}.get(profile.machine, "win32")
    return f"linux-{profile.machine}"


FUNCTIONS = {
    "sysconfig.get_platform": get_platform,
}
