"""The machines: one row each. Standard library only and no imports at all, because every interpreter loads this."""


class ProfileError(Exception):
    """A profile that cannot be answered; the message is one line that names profile, fact and mend."""


class HardwareProfile:
    """One machine, as facts. Frozen; equal when all facts are; its repr is a row that can be pasted below.

    Facts that are left out follow from those that are given (`spoofs/derived.py`): the first device of an
    accelerator that is available, torch's version tag, what the machine's tools print.
    Raises ProfileError for a fact that does not exist or that contradicts the others.
    """

    name: str
    # platform
    system: str = "Linux"
    machine: str = "x86_64"
    processor: str | None = None
    release: str | None = None  # the kernel's; WSL has "microsoft" in it
    mac_version: str | None = None
    # torch
    torch_version: str | None = None  # with its local tag, as in "2.13.0+cu130"
    torch_lacks: tuple[str, ...] = ()  # dotted names that this torch does not have, as in "torch.xpu"
    cuda_available: bool = False
    cuda_version: str | None = None  # set without cuda_available: a CUDA wheel that finds no driver
    hip_version: str | None = None  # set without cuda_available: a ROCm wheel that sees no device
    xpu_available: bool = False
    xpu_version: str | None = None
    mps_available: bool = False
    devices: tuple[dict, ...] = ()  # name, capability, total_memory, free_memory (bytes), arch, integrated, ...
    # the rest of the machine
    packages: dict = {}  # distribution -> version; None: absent; {"version", "error", "at", "module"}: docs/limits.md
    environment: dict = {}  # variables that are set on it, masks above all
    tools: dict = {}  # command -> what it prints; None: absent; {"output", "status", "seconds"}; {}: as the facts say
    nvml: str | None = None  # "absent": no pynvml; "DriverNotLoaded": nvmlInit fails; "CALL: ERROR": a call does
    files: dict = {}  # path -> text, of the few files that detection reads; None: absent

    def __init__(self, name: str, /, **facts):
        _check(name, facts)
        for fact, given in facts.items():  # what is left out is the default of the class
            value = _copied(given)
            if isinstance(value, dict):
                value = _read_only(value)
            if fact == "devices":
                value = tuple(map(Device, value))
                for place, device in enumerate(value):
                    device.place = place
            object.__setattr__(self, fact, value)
        object.__setattr__(self, "name", name)

    def __setattr__(self, fact, value):
        raise AttributeError(f"a profile is frozen; HardwareProfile({self.name!r}, ...) makes another")

    def __delattr__(self, fact):
        self.__setattr__(fact, None)

    def facts(self) -> dict:
        """The facts that this row states, that is those that are not the default, in the order of the class."""
        stated = {fact: getattr(self, fact) for fact in FACTS}
        return {fact: value for fact, value in stated.items() if value != getattr(HardwareProfile, fact)}

    def __repr__(self):
        shown = [repr(self.name)]
        for fact, value in self.facts().items():
            shown.append(f"{fact}={dict(value) if isinstance(value, _read_only) else value!r}")
        return f"HardwareProfile({', '.join(shown)})"

    def __eq__(self, other):
        return isinstance(other, HardwareProfile) and (self.name, self.facts()) == (other.name, other.facts())

    def __hash__(self):
        return hash(self.name)


_read_only = type(type.__dict__)  # the type of a read-only view of a dict, without importing `types`
HardwareProfile.packages = HardwareProfile.environment = _read_only({})
HardwareProfile.tools = HardwareProfile.files = _read_only({})


def _copied(value):
    """A fact apart from what it was made of, with tuples for lists."""
    if isinstance(value, (dict, _read_only)):
        return {key: _copied(each) for key, each in value.items()}
    return tuple(_copied(each) for each in value) if isinstance(value, (list, tuple)) else value


FACTS = tuple(fact for fact in HardwareProfile.__annotations__ if fact != "name")
_SYSTEMS = ("Linux", "Darwin", "Windows")
_DEVICES_SHOW_IN = ("cuda_available", "xpu_available", "mps_available", "tools")
_DEVICE = {
    "name": str,
    "capability": (tuple, list),  # (major, minor)
    "total_memory": int,  # bytes
    "free_memory": int,
    "arch": str,
    "integrated": bool,
    "processors": int,
    "uuid": str,
    "driver": str,  # the version of NVIDIA's
    "bus": str,  # "0000:01:00.0"
    "slice_of": dict,  # where it is a slice of a card (MIG): the facts of the card
    "tiles": int,  # sub-devices, of Intel's data centre cards
    "properties": dict,  # what `get_device_properties` says beside the above, name -> value
}


_PACKAGE = ("version", "error", "at", "module")
_NVML = (  # errors, and the module's absence
    *("absent", "Uninitialized", "InvalidArgument", "NotSupported", "NoPermission", "NotFound", "DriverNotLoaded"),
    *("LibraryNotFound", "FunctionNotFound", "GpuIsLost", "LibRmVersionMismatch", "Unknown"),
)
_TOOL = {"output": (str, dict), "status": int, "seconds": (int, float)}  # output: text, or arguments -> text


class Device(dict):
    """The facts of one device; `place` is its number in the row, by which two cards of one kind differ."""

    place = 0


def _check(name, facts):
    """Refuse a row that cannot be answered. Hardware that nobody builds is allowed: canaries are made of it."""

    def refuse(fact, problem):
        raise ProfileError(f"profile {name!r}: {fact}: {problem}")

    if not isinstance(name, str) or not name.isidentifier():
        refuse("name", "a name is an identifier, as in 'amd_rocm'")
    for fact, value in facts.items():
        if fact not in FACTS:
            refuse(fact, f"no such fact; {nearest(fact, FACTS)}")
        default = getattr(HardwareProfile, fact)
        wanted = (list, tuple) if default == () else (dict, _read_only) if default == {} else type(default)
        if default is None:
            wanted = (str, type(None))
        if not isinstance(value, wanted):
            refuse(fact, f"{value!r} is a {type(value).__name__}; the default is {default!r}")
    if facts.get("system", "Linux") not in _SYSTEMS:
        refuse("system", f"{facts['system']!r} is none of {', '.join(_SYSTEMS)}")
    for fact in ("torch_version", "cuda_version", "hip_version", "xpu_version", "mac_version"):
        if facts.get(fact) is not None and not _is_version(facts[fact]):
            refuse(fact, f"{facts[fact]!r} is no version")
    for distribution, state in facts.get("packages", {}).items():
        if isinstance(state, dict):
            for key in state:
                if key not in _PACKAGE:
                    refuse("packages", f"{distribution}: {key!r} says nothing of a package; {nearest(key, _PACKAGE)}")
            if "module" not in state and not _is_error(state.get("error")):
                refuse("packages", f"{distribution}: a broken package has an error, as in 'OSError: libcuda.so.1'")
        elif distribution == "torch" and state is not None:
            refuse("packages", "torch: its version is the fact torch_version; here it is absent or broken")
        version = state.get("version", "0") if isinstance(state, dict) else state
        if version is not None and not _is_version(version):
            refuse("packages", f"{distribution}: {version!r} is no version")
    for device in facts.get("devices", ()):
        if not isinstance(device, dict) or "name" not in device:
            refuse("devices", f"a device is a table of facts, its name among them; {device!r} is none")
        for key, value in device.items():
            if key not in _DEVICE:
                refuse("devices", f"{key!r} is no fact of a device; {nearest(key, _DEVICE)}")
            if not isinstance(value, _DEVICE[key]) or (isinstance(value, bool) and _DEVICE[key] is not bool):
                refuse("devices", f"{key}: {value!r} is a {type(value).__name__}")
            if value == "" or (isinstance(value, int) and value < 0):
                refuse("devices", f"{key}: {value!r} says nothing of a device")
        capability = device.get("capability", (0, 0))
        if len(capability) != 2 or not all(type(number) is int for number in capability):
            refuse("devices", f"capability: {capability!r} is not (major, minor)")
        arch = device.get("arch", "gfx000").partition(":")[0]
        if arch[:3] != "gfx" or len(arch) < 6 or not set(arch[3:]) <= set("0123456789abcdef"):
            refuse("devices", f"arch: {arch!r} is none of AMD's, as in 'gfx942'")
        if device.get("free_memory", 0) > device.get("total_memory", device.get("free_memory", 0)):
            refuse("devices", f"free_memory: {device['free_memory']!r} is more than total_memory")
    for tool, state in facts.get("tools", {}).items():
        if isinstance(state, dict):
            for key, value in state.items():
                if not isinstance(value, _TOOL.get(key, ())):
                    refuse("tools", f"{tool}: {key}: {value!r}; a tool has output (text), status and seconds (numbers)")
            if not 0 <= state.get("status", 0) <= 255 or state.get("seconds", 0) < 0:
                refuse("tools", f"{tool}: a status is 0 to 255, and no tool takes less than 0 seconds")
        elif state is not None and not isinstance(state, str):
            refuse("tools", f"{tool}: {state!r} is neither text nor a table")
    error = (facts.get("nvml") or "absent").rpartition(": ")[2]
    if error not in _NVML:
        refuse("nvml", f"{error!r} is no error of it; {nearest(error, _NVML)}")
    for path, text in facts.get("files", {}).items():
        if not path.startswith("/") or not isinstance(text, (str, type(None))):
            refuse("files", f"{path}: a path starts with a slash, and what it holds is text")
    for variable, value in facts.get("environment", {}).items():
        if not isinstance(value, str) or variable.startswith("HARDWARE_PROFILE"):
            refuse("environment", f"{variable}: {value!r} is no text, or the variable is one of ours")
        if not variable or "=" in variable or "\0" in variable + value:
            refuse("environment", f"{variable!r}: no system can set this variable to {value!r}")
    for lacking in facts.get("torch_lacks", ()):
        if not isinstance(lacking, str) or not lacking.startswith("torch."):
            refuse("torch_lacks", f"{lacking!r} is no name of torch's, as in 'torch.xpu'")
    if facts.get("devices") and not any(facts.get(sign) for sign in _DEVICES_SHOW_IN):
        refuse("devices", f"listed, but no accelerator is available: set one of {', '.join(_DEVICES_SHOW_IN)}")
    if facts.get("mac_version") and facts.get("system") != "Darwin":
        refuse("mac_version", "only Darwin has one")


def _is_error(text):
    """Whether `text` is an exception that Python knows and that a message makes, and its message."""
    import builtins

    kind = getattr(builtins, text.partition(":")[0], None) if isinstance(text, str) and ":" in text else None
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        return False
    try:
        return bool(kind(text))
    except TypeError:  # UnicodeDecodeError and its like take more
        return False


def _is_version(text):
    """Whether `text` is numbers between dots, with what may follow one ("0a0", "43483-a187df"), and perhaps a tag."""
    parts = text.partition("+")[0].split(".") if isinstance(text, str) else [""]
    return parts[0].isdigit() and all(part[:1].isdigit() or part[:3] == "dev" or part[:4] == "post" for part in parts)


def nearest(name, names) -> str:
    """The end of an error: the nearest known name, or all of them where none is near."""
    import difflib  # only on the way to an error

    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"


def table(*rows: HardwareProfile) -> tuple[HardwareProfile, ...]:
    """The rows, refused where a name stands twice."""
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise ProfileError(f"profile {name!r}: name: stands twice in the table")
    return rows


MLX = {"mlx": "0.32.4", "mlx-lm": "0.32.2", "mlx-vlm": "0.7.9"}  # the stack that Studio requires whole
APPLE = {"system": "Darwin", "machine": "arm64"}
T4 = {"name": "Tesla T4", "capability": (7, 5), "total_memory": 15828320256, "processors": 40}
MI300X = {
    "name": "AMD Instinct MI300X",
    "arch": "gfx942:sramecc+:xnack-",
    "total_memory": 205822885888,
    "processors": 304,
}
ARC = {"name": "Intel(R) Arc(TM) A770 Graphics", "total_memory": 16225243136, "processors": 512}

# What `nox` runs: one session a row.
PROFILES = table(
    HardwareProfile("nvidia_cuda", cuda_available=True, devices=(T4,)),
    HardwareProfile("amd_rocm", cuda_available=True, hip_version="6.1", devices=(MI300X,)),
    HardwareProfile("intel_xpu", xpu_available=True, devices=(ARC,)),
    HardwareProfile("apple_silicon_mlx", **APPLE, mps_available=True, packages=MLX),
    HardwareProfile("apple_silicon_no_mlx", **APPLE, mps_available=True),
    HardwareProfile("linux_arm64_with_mlx", machine="arm64", packages=MLX),
    HardwareProfile("cpu_only"),
)

# Machines that nobody builds, each to catch one slip in the priority order.
CANARIES = table(
    HardwareProfile("canary_cuda_over_mlx", **APPLE, cuda_available=True, packages=MLX),
    HardwareProfile("canary_xpu_over_mlx", **APPLE, xpu_available=True, packages=MLX),
)


MACHINES = table(*PROFILES, *CANARIES)


def find(name: str) -> HardwareProfile:
    """The machine of that name, or the one recorded in the TOML file that the name is a path of."""
    for row in MACHINES:
        if row.name == name:
            return row
    if name.endswith(".toml") or "/" in name:
        from spoofs import capture

        return capture.load(name)
    names = [row.name for row in MACHINES]
    raise ProfileError(f"no such profile; {nearest(name, names)}; `python -m spoofs list` shows all")
