"""What `sysctl` prints: on Darwin the names that tell a Mac apart, on Linux the kernel's own, read as procps does."""

from spoofs import derived

MEMORY = 16 * 1024**3  # of a Mac whose processor is Intel's


def _gpu(profile):
    """An Apple chip is processor and GPU in one, with one memory."""
    return next(iter(derived.devices(profile, "mps")), derived.DEFAULT_DEVICE["mps"])


def chip(profile):
    """What the processor is called."""
    return _gpu(profile)["name"] if profile.machine == "arm64" else "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz"


def memory(profile):
    """Bytes."""
    return derived.total_memory(_gpu(profile)) if profile.machine == "arm64" else MEMORY


DARWIN = {
    "hw.optional.arm64": lambda profile: 1 if profile.machine == "arm64" else None,
    "hw.memsize": memory,
    "hw.machine": lambda profile: profile.machine,
    "hw.model": lambda profile: "Mac14,2" if profile.machine == "arm64" else "MacBookPro16,1",
    "hw.ncpu": lambda profile: 8,
    "hw.logicalcpu": lambda profile: 8,
    "hw.physicalcpu": lambda profile: 8,
    "machdep.cpu.brand_string": chip,
    "machdep.cpu.features": lambda profile: None if profile.machine == "arm64" else "FPU SSE SSE2 SSE4.2 AVX1.0",
    "machdep.cpu.leaf7_features": lambda profile: None if profile.machine == "arm64" else "AVX2 BMI1 BMI2",
    "kern.ostype": lambda profile: profile.system,
    "kern.osrelease": derived.release,
    "kern.osproductversion": derived.mac_version,
    "kern.osversion": lambda profile: "24G84",
    "sysctl.proc_translated": lambda profile: 0 if profile.machine == "arm64" else None,
    "iogpu.wired_limit_mb": lambda profile: 0 if profile.machine == "arm64" else None,
}
LINUX = {
    "kernel.ostype": lambda profile: profile.system,
    "kernel.osrelease": derived.release,
    "kernel.version": lambda profile: derived.VERSION["Linux"],
}


def _linux(profile, name):
    """(value, error): what is no fact of the machine is the host's, since the kernel that runs is."""
    if name in LINUX:
        return LINUX[name](profile), ""
    path = f"/proc/sys/{name.replace('.', '/')}"
    try:
        with open(path) as file:
            return file.read().rstrip("\n"), ""
    except OSError as error:
        return None, f"sysctl: cannot stat {path}: {error.strerror}\n"


def _darwin(profile, name):
    value = DARWIN[name](profile) if name in DARWIN else None
    return value, "" if value is not None else f"sysctl: unknown oid '{name}'\n"


def answer(profile, arguments):
    names = [argument for argument in arguments if not argument.startswith("-")]
    flags = {argument for argument in arguments if argument.startswith("-")}
    darwin = profile.system == "Darwin"
    if flags & {"-a", "-A"}:
        names = [name for name, value in (DARWIN if darwin else LINUX).items() if value(profile) is not None]
    status, out, err = 0, "", ""
    for name in names:
        value, error = (_darwin if darwin else _linux)(profile, name)
        if error:
            status, err = 1, err + error
        elif flags & {"-n", "-b"}:
            out += f"{value}\n"
        else:
            out += f"{name}: {value}\n" if darwin else f"{name} = {value}\n"
    return status, out, err
