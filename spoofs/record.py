"""`python -m spoofs record`: the machine that this runs on, asked by its probes, as a file that replays it.

Each package and each tool is asked in a process of its own: one that fails, hangs or dies is a fact, or a comment, and
no more. The facts are the fewest that give the same machine: whatever follows from the others (`derived.py`) is left
out. So a record of a machine that a row spoofs is that row again.
"""

import json
import os
import shutil
import subprocess
import sys

import spoofs
from spoofs import activate, capture, derived, devices, installed, inventory, profiles, scrub, tools

# Tool -> the arguments with which software asks it. Those of cards stand first: in that order cards are numbered.
COMMANDS = {
    "amd-smi": ("list", "list --json", "static --asic --json", "version"),
    "rocminfo": ("",),
    "rocm-smi": ("--showproductname", "--showproductname --json", "--showmeminfo vram --json"),
    "xpu-smi": ("discovery", "discovery -j"),
    "nvidia-smi": (
        "-L",
        "",
        "--query-gpu=index,uuid --format=csv,noheader",
        "--query-gpu=name,memory.total,compute_cap --format=csv,noheader",
        "--query-gpu=driver_version --format=csv,noheader",
        "--query-gpu=compute_cap --format=csv,noheader",
    ),
    "npu-smi": ("info",),
    "hipinfo": ("",),
    "hipconfig": ("--version",),
    "clinfo": ("-l",),
    "system_profiler": ("SPDisplaysDataType", "SPDisplaysDataType -json"),
    "sysctl": (),
    "lspci": ("", "-nn"),
}
DARWIN = {
    "sysctl": ("-n hw.optional.arm64", "-n hw.memsize", "-n machdep.cpu.brand_string", "-n sysctl.proc_translated")
}
# Files that tell hardware; of devices it counts that they are there.
FILES = (
    "/dev/dxg",
    "/dev/kfd",
    "/dev/nvidiactl",
    "/dev/nvidia0",
    "/dev/dri/renderD128",
    "/etc/nv_tegra_release",
    "/proc/driver/nvidia/version",
    "/sys/module/amdgpu/version",
)
PATIENCE = 60  # seconds for a tool
LONG = 600  # seconds for an import; a first one compiles, or initializes many cards


# What a child tells. Each function runs in an interpreter of its own and returns what JSON can hold.


def _platform():
    import platform

    asked = {"system": platform.system(), "machine": platform.machine(), "processor": platform.processor()}
    return asked | {"release": platform.release(), "mac_version": platform.mac_ver()[0] or None}


def _found():
    """The bound packages that an import would find."""
    from importlib.util import find_spec

    return [module for module in installed.BOUND if find_spec(module) is not None]


def _package(module):
    """How the package of that import name is there: its version, and the error of importing it."""
    import contextlib
    import importlib
    import importlib.metadata

    state = {"version": "0"}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        state["version"] = importlib.metadata.version(installed.BOUND[module])
    for at in (module, *{"mlx": ("mlx.core",)}.get(module, ())):
        try:
            importlib.import_module(at)
        except Exception as error:
            return state | {"error": _error(error)} | ({"at": at} if at != module else {})
    return state["version"]


def _error(error):
    """As a row states it, by the nearest exception of Python's own."""
    kind = next(each for each in type(error).__mro__ if each.__module__ == "builtins")
    return f"{kind.__name__}: {' '.join(str(error).split())}"


def _nvml():
    """What NVML says of the driver and of the cards, seen by torch or not; or its error."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return {"error": type(error).__name__.removeprefix("NVMLError_"), "cards": []}
    said = {"error": None, "driver": pynvml.nvmlSystemGetDriverVersion(), "cards": []}
    for index in range(pynvml.nvmlDeviceGetCount()):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        card = {"name": pynvml.nvmlDeviceGetName(handle), "uuid": pynvml.nvmlDeviceGetUUID(handle)}
        card["capability"] = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
        try:
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            card |= {"total_memory": memory.total, "free_memory": memory.free}
        except pynvml.NVMLError_NotSupported:
            said["error"] = "nvmlDeviceGetMemoryInfo: NotSupported"
        said["cards"].append(card)
    return said


def _torch():
    """Torch's build and devices; only its error where it cannot be imported, nothing where it is not there."""
    import importlib.metadata
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return {"packages": {"torch": None}}
    try:
        import torch
    except Exception as error:
        return {"packages": {"torch": {"error": _error(error)}}, "torch_version": importlib.metadata.version("torch")}
    told = {"torch_version": str(torch.__version__), "torch_lacks": _lacks(torch)}
    for name in ("cuda", "hip", "xpu"):
        told[f"{name}_version"] = getattr(torch.version, name, None)
    for kind, ask in (("cuda", _cuda), ("xpu", _xpu), ("mps", _mps)):
        holder = getattr(torch, "backends", None) if kind == "mps" else torch
        module = getattr(holder, kind, None)
        try:
            told[f"{kind}_available"] = module is not None and module.is_available()
            if told[f"{kind}_available"]:
                count = 1 if kind == "mps" else module.device_count()
                found = [ask(torch, index) for index in range(count)]
                told.setdefault("devices", found)  # a row's are those of its first accelerator
                told.setdefault("seen", []).append(found)
        except Exception as error:
            told.setdefault("notes", []).append(f"torch.{kind}: {_error(error)}")
    return told


def _lacks(torch):
    """The modelled names that this torch does not have, the outermost of each."""
    from spoofs.answers import torch as answers

    gone = []
    for dotted in (*answers.MODULES, *answers.TYPES, *answers.VALUES, *answers.FUNCTIONS):
        at, *names = dotted.split(".")
        found = torch
        for name in names:
            at = f"{at}.{name}"
            if at in gone:
                break
            if not hasattr(found, name):
                gone.append(at)
                break
            found = getattr(found, name)
    return sorted(gone)


# What get_device_properties says -> the fact; the rest are `properties`, save what tells the computer apart.
_CUDA = {
    "name": "name",
    "total_memory": "total_memory",
    "multi_processor_count": "processors",
    "is_integrated": "integrated",
}
_XPU = {"name": "name", "total_memory": "total_memory", "max_compute_units": "processors", "driver_version": "driver"}
_XPU |= {"is_integrated_gpu": "integrated"}
_ELSEWHERE = {"major", "minor", "uuid", "pci_bus_id", "pci_device_id", "pci_domain_id", "gpu_eu_count"}


def _device(said, facts):
    """The facts of a device from what torch says of it."""
    device = {}
    for name in sorted(set(dir(said)) - _ELSEWHERE):
        value = None if name.startswith("_") else getattr(said, name)
        if name in facts:
            device[facts[name]] = value
        elif isinstance(value, (bool, int, float, str, list, tuple)):
            device.setdefault("properties", {})[name] = value
    device["integrated"] = bool(device.get("integrated"))
    return device


def _cuda(torch, index):
    said = torch.cuda.get_device_properties(index)
    device = _device(said, _CUDA) | {"capability": [said.major, said.minor]}
    device["free_memory"] = torch.cuda.mem_get_info(index)[0]
    arch = device["properties"].pop("gcnArchName", None)
    digits = str(getattr(said, "uuid", ""))
    if arch and arch.startswith("gfx"):
        device["arch"] = arch
        digits = bytes.fromhex(digits.replace("-", "")).decode(errors="replace")
    return device | ({"uuid": f"GPU-{digits}"} if digits else {})


def _xpu(torch, index):
    said = torch.xpu.get_device_properties(index)
    device = _device(said, _XPU)
    if hasattr(torch.xpu, "mem_get_info"):
        device["free_memory"] = torch.xpu.mem_get_info(index)[0]
    digits = getattr(said, "uuid", b"")
    digits = digits.hex() if isinstance(digits, bytes) else str(digits).replace("-", "")
    dashed = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return device | ({"uuid": f"GPU-{dashed}"} if digits else {})


def _mps(torch, index):
    device = {"name": torch.backends.mps.get_name() if hasattr(torch.backends.mps, "get_name") else "Apple"}
    if hasattr(torch.backends.mps, "get_core_count"):
        device["processors"] = torch.backends.mps.get_core_count()
    return device | {"free_memory": torch.mps.recommended_max_memory()}


def tell(what, *arguments):
    """Print, as the last line, what one of the functions above says."""
    print("\n" + json.dumps(globals()[f"_{what}"](*arguments)))


class Recording:
    """One recording: what was asked, and the notes on what could not be."""

    def __init__(self):
        self.notes = []

    def ask(self, what, *arguments, otherwise=None):
        """What a child tells, or `otherwise` with a note where it does not."""
        code = f"from spoofs import record; record.tell({what!r}, *{arguments!r})"
        above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), above]))
        # Cards in the order of the bus, which is the order of a row.
        env = {**os.environ, "PYTHONPATH": path, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        try:
            child = _run([sys.executable, "-c", code], LONG, env)
            return json.loads((child.stdout.splitlines() or [""])[-1])
        except subprocess.TimeoutExpired:
            self.notes.append(f"{' '.join((what, *arguments))}: no answer in {LONG} seconds")
        except ValueError:
            last = (child.stderr.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
            self.notes.append(f"{' '.join((what, *arguments))}: {last}")
        return otherwise

    def tool(self, tool, system):
        """Arguments -> (exit status, output) of a tool; None where it is not there."""
        if shutil.which(tool) is None:
            return None
        said = {}
        for arguments in COMMANDS[tool] + (DARWIN.get(tool, ()) if system == "Darwin" else ()):
            try:
                child = _run([tool, *arguments.split()], PATIENCE)
                said[arguments] = child.returncode, child.stdout
            except subprocess.TimeoutExpired:
                self.notes.append(f"{tool} {arguments}: no answer in {PATIENCE} seconds")
            except OSError as error:
                self.notes.append(f"{tool} {arguments}: {error.strerror}")
        return said


def _run(command, seconds, env=None):
    return subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def observe():
    """(facts, tools, notes): all that the machine says of itself, with every name and address still in it."""
    recording = Recording()
    environment = {mask: os.environ.pop(mask) for mask in activate.MASKS if mask in os.environ}
    facts = recording.ask("platform", otherwise={})
    said = {tool: recording.tool(tool, facts.get("system")) for tool in COMMANDS}
    facts |= {"packages": {}} | recording.ask("torch", otherwise={})
    recording.notes += facts.pop("notes", [])
    for module in recording.ask("found", otherwise=()):
        facts["packages"][installed.BOUND[module]] = recording.ask("package", module)
    nvml = {"error": "absent", "cards": []}
    if isinstance(facts["packages"].get("nvidia-ml-py"), str):
        nvml = recording.ask("nvml", otherwise=nvml)
    facts["nvml"] = nvml["error"]
    facts.setdefault("devices", nvml["cards"])
    if "driver" in nvml and facts["devices"]:
        facts["devices"][0]["driver"] = nvml["driver"]
    _, memory = (said["sysctl"] or {}).get("-n hw.memsize", (1, ""))
    if facts.get("mps_available") and memory.strip().isdigit():
        facts["devices"][0].setdefault("total_memory", int(memory))
    facts |= {"environment": environment, "files": {path: text for path in FILES if (text := _file(path)) is not None}}
    return facts, said, recording.notes


def _file(path):
    if not os.path.exists(path) or path.startswith("/dev/"):
        return "" if os.path.exists(path) else None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(10000)
    except OSError:
        return ""


def machine(name):
    """(profile, notes): the machine that this runs on, its names and addresses replaced, in the fewest facts."""
    facts, said, notes = observe()
    scrubber = _scrubber([facts["devices"], *facts.pop("seen", [])])
    said = {tool: answers and scrubber.value(answers) for tool, answers in said.items()}
    facts = scrubber.value({**facts, "devices": [_card(card, facts["environment"]) for card in facts["devices"]]})
    if facts["devices"] and not any(facts.get(f"{kind}_available") for kind in ("cuda", "xpu", "mps")):
        facts["tools"] = {"nvidia-smi": {}}  # cards that torch does not reach
    profile = fewest(profiles.HardwareProfile(name, **facts))
    stated = {**profile.facts(), "tools": _tools(profile, said) or facts.get("tools", {})}
    return profiles.HardwareProfile(name, **stated), [scrubber.text(note) for note in notes]


def _card(told, environment):
    """A device without its UUID, which follows from name and place now, save for a slice that a mask names."""
    card = {fact: told[fact] for fact in profiles._DEVICE if fact in told and fact != "uuid"}
    mig = told.get("uuid", "").replace("GPU-", "MIG-")
    return card | ({"uuid": mig} if mig and any(mig in mask for mask in environment.values()) else {})


def _scrubber(seen):
    """The scrubber of this computer, where `seen` are the cards of each kind in their order."""
    import getpass
    import socket

    names = {}
    hosts = [socket.gethostname(), os.environ.get("HOSTNAME", "")]
    for host in [*hosts, *(each.partition(".")[0] for each in hosts)]:
        names[host] = "host"
    try:
        users = [getpass.getuser()]
    except (KeyError, OSError):  # no entry for this number
        users = []
    for user in [*users, *map(os.environ.get, ("USER", "LOGNAME", "SUDO_USER", "USERNAME"))]:
        names[user] = "user"
    home = os.path.expanduser("~")
    if home.count("/") > 1:
        names[home] = "/home/user"
    uuids = {}
    for place, device in (card for cards in seen for card in enumerate(cards)):
        made = profiles.Device({key: value for key, value in device.items() if key != "uuid"})
        made.place = place
        if "uuid" in device:
            uuids[device["uuid"].partition("-")[2]] = derived.uuid(made).partition("-")[2]
    return scrub.Scrubber(names, uuids)


def _tools(profile, said):
    """The fact `tools`: what a tool says otherwise than the other facts have it say."""
    stated = {}
    for tool, answers in said.items():
        expected = tools.has(profile, tool)
        if answers is None:
            if expected:
                stated[tool] = None
            continue
        status = next(iter(answers.values()), (0, ""))[0]
        differing = {}
        for arguments, answer in answers.items():
            if answer[0] == status and answer != _would(profile, tool, arguments, expected):
                differing[arguments] = answer[1]
        if differing:
            stated[tool] = {"output": differing} | ({"status": status} if status else {})
        elif not expected:
            stated[tool] = {}
    return stated


def _would(profile, tool, arguments, expected=True):
    """(exit status, output) of a tool by the other facts."""
    if not expected:
        profile = profiles.HardwareProfile(profile.name, **{**profile.facts(), "tools": {**profile.tools, tool: {}}})
    return tools.run(profile, tool, arguments.split())[:2]


def says(profile):
    """Everything that follows from the facts, as text: two rows that say the same are one machine."""
    lines = [profile.system, profile.machine, derived.processor(profile), derived.release(profile)]
    lines += [derived.mac_version(profile), derived.torch_version(profile), sorted(set(derived.lacking(profile)))]
    lines += [derived.cuda_version(profile), profile.hip_version, derived.rocm_version(profile), profile.xpu_version]
    for kind in ("cuda", "xpu", "mps"):
        lines.append((derived.is_built(profile, kind), kind != "mps" and derived.architectures(profile, kind)))
        for device in derived.devices(profile, kind):
            lines += [device["name"], device.get("processors"), derived.arch(device), derived.total_memory(device)]
            lines.append(derived.working_set(device) if kind == "mps" else derived.free_memory(device))
            lines.append(kind == "cuda" and vars(devices.cuda_properties(profile, device)))
            lines.append(kind == "xpu" and vars(devices.xpu_properties(device)))
    cards = {maker: inventory.cards(profile, maker) for maker in ("amd", "apple", "intel", "nvidia")}
    lines += [[(card["name"], card["bus"], derived.uuid(card)) for card in found] for found in cards.values()]
    packages = installed.packages(profile)
    lines.append({module: vars(package) for module, package in packages.items()})
    if packages["pynvml"].version is not None:
        lines.append(profile.nvml or (None if cards["nvidia"] else "LibraryNotFound"))
    lines += [inventory.driver(profile), dict(profile.environment), dict(profile.files)]
    for tool in tools.TOOLS:
        lines.append(tools.has(profile, tool) and [_would(profile, tool, asked) for asked in COMMANDS.get(tool, ())])
    return json.dumps(lines, default=str)


def fewest(profile):
    """The same machine without the facts that follow from the others."""
    for fact in list(profile.facts()):
        profile = _without(profile, lambda facts, fact=fact: facts.pop(fact))
    for name in profile.torch_lacks:
        profile = _without(profile, lambda facts, name=name: facts["torch_lacks"].remove(name))
    for name in list(profile.packages):
        profile = _without(profile, lambda facts, name=name: facts["packages"].pop(name))
    for place, device in enumerate(profile.devices):
        for name in device.get("properties", ()):
            profile = _without(profile, lambda facts, at=place, name=name: facts["devices"][at]["properties"].pop(name))
        for key in device:
            profile = _without(profile, lambda facts, at=place, key=key: facts["devices"][at].pop(key))
    return profile


def _without(profile, drop):
    """The profile less what `drop` takes from its facts, where that is the same machine."""
    facts = json.loads(json.dumps(profile.facts(), default=dict))
    try:
        drop(facts)
        fewer = profiles.HardwareProfile(profile.name, **facts)
        return fewer if says(fewer) == says(profile) else profile
    except (profiles.ProfileError, KeyError):
        return profile


# What a row says by leaving it out, too.
_ALWAYS = ("system", "machine", "cuda_available", "xpu_available", "mps_available")
_FOLLOWS = {
    "processor": derived.processor,
    "release": derived.release,
    "mac_version": derived.mac_version,
    "torch_version": derived.torch_version,
    "cuda_version": derived.cuda_version,
}


def differences(profile):
    """How the machine that this runs on differs from a row: one line for each fact that the row states otherwise.

    Of tools and files it counts that they are there, since what they print changes by the minute; of packages, those
    that a recording looks for.
    """
    found, _ = machine(profile.name)
    lines = []
    for fact in profiles.FACTS:
        if fact not in _ALWAYS and fact not in profile.facts():
            continue
        stated, told = getattr(profile, fact), _FOLLOWS.get(fact, lambda found, fact=fact: getattr(found, fact))(found)
        if fact == "devices":
            stated, told = _comparable(stated), _comparable(told or _seen(found))
        elif fact == "packages":
            packages = {each.distribution: each for each in installed.packages(found).values()}
            stated = {name: _state(profile, name) for name in stated if name in packages}
            told = {name: _state(found, name) for name in stated}
        elif fact == "tools":
            stated = {tool: state is not None for tool, state in stated.items()}
            told = {tool: tools.has(found, tool) for tool in stated}
        elif fact == "files":
            stated = {path: text is not None for path, text in stated.items() if path in FILES}
            told = {path: told.get(path) is not None for path in stated}
        elif fact == "torch_lacks":
            told = tuple(name for name in stated if name in derived.lacking(found))
        if stated != told:
            lines.append(f"{fact}: {profile.name} has {stated!r}, this machine has {told!r}")
    return lines


def _seen(profile):
    return next(filter(None, (derived.devices(profile, kind) for kind in ("cuda", "xpu", "mps"))), ())


def _comparable(found):
    return [(card["name"], derived.capability(card), card.get("arch"), derived.total_memory(card)) for card in found]


def _state(profile, distribution):
    packages = {each.distribution: each for each in installed.packages(profile).values()}
    return packages[distribution].version, (packages[distribution].error or "").partition(":")[0]


def text(name=None):
    """The file: comments about the recording, then the facts."""
    import datetime
    import platform

    spoofed = spoofs.active is not None and not spoofs.active.real
    where = f"on the spoofed machine {spoofs.active.profile.name}" if spoofed else "on a real machine"
    name = name or (spoofs.active.profile.name if spoofs.active else "recorded")
    profile, notes = machine(name)
    today = datetime.datetime.now(datetime.UTC).date()
    head = [f"Recorded {today} by `python -m spoofs record` {where}, with Python {platform.python_version()}."]
    head += ["Names, homes, serial numbers, UUIDs and addresses are replaced; read it before you attach it.", *notes]
    return "".join(f"# {line}\n" for line in head) + "\n" + capture.dump(profile)
