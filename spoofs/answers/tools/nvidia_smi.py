"""What `nvidia-smi` prints. It asks NVML, so it lists every card in the order of the bus, whatever the masks say.

Forms and exit statuses: https://docs.nvidia.com/deploy/nvidia-smi/index.html. The header says "KMD Version" and
"CUDA UMD Version" since driver 610 (https://github.com/sgl-project/sglang/issues/27487).
"""

from spoofs import derived, inventory

MIB = 1024**2
# NVML's error -> the exit status, which is the error's number, and the sentence.
FAILURES = {
    "DriverNotLoaded": (
        9,
        """\
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. \
Make sure that the latest NVIDIA driver is installed and running.

""",
    ),
    "LibraryNotFound": (
        12,
        """\
NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. \
Please make sure that the NVIDIA Display Driver is properly installed and present in your system.
Please also try adding directory that contains libnvidia-ml.so to your system PATH.
""",
    ),
    "LibRmVersionMismatch": (18, "Failed to initialize NVML: Driver/library version mismatch\n"),
    "NoPermission": (4, "Failed to initialize NVML: Insufficient Permissions\n"),
    "Unknown": (255, "Failed to initialize NVML: Unknown Error\n"),
}
# Of cards that share the host's memory, https://github.com/vllm-project/vllm/pull/57378
NO_MEMORY = "nvmlDeviceGetMemoryInfo: NotSupported"


def _mib(bytes):
    return lambda profile, index, card: None if profile.nvml == NO_MEMORY else bytes(card) // MIB


def _capability(profile, index, card):
    """An older driver refuses the field, which came with R510."""
    return "{}.{}".format(*derived.capability(card))


def _used(card):
    return derived.total_memory(card) - derived.free_memory(card)


# Field of --query-gpu -> its unit in the header and behind the value, and its value (None: "[N/A]").
FIELDS = {
    "index": ("", lambda profile, index, card: index),
    "count": ("", lambda profile, index, card: len(inventory.cards(profile, "nvidia"))),
    "name": ("", lambda profile, index, card: card["name"]),
    "gpu_name": ("", lambda profile, index, card: card["name"]),
    "uuid": ("", lambda profile, index, card: derived.uuid(card)),
    "gpu_uuid": ("", lambda profile, index, card: derived.uuid(card)),
    "driver_version": ("", lambda profile, index, card: inventory.driver(profile)),
    "compute_cap": ("", _capability),
    "pci.bus_id": ("", lambda profile, index, card: long_bus(card)),
    "gpu_bus_id": ("", lambda profile, index, card: long_bus(card)),
    "memory.total": ("MiB", _mib(derived.total_memory)),
    "memory.free": ("MiB", _mib(derived.free_memory)),
    "memory.used": ("MiB", _mib(_used)),
    "memory.reserved": ("MiB", _mib(lambda card: 0)),
    "utilization.gpu": ("%", lambda profile, index, card: 0),
    "utilization.memory": ("%", lambda profile, index, card: 0),
    "temperature.gpu": ("", lambda profile, index, card: 30),
    "power.draw": ("W", lambda profile, index, card: "20.00"),
    "power.limit": ("W", lambda profile, index, card: "300.00"),
    "clocks.max.sm": ("MHz", lambda profile, index, card: 1980),
    "persistence_mode": ("", lambda profile, index, card: "Disabled"),
    "display_active": ("", lambda profile, index, card: "Disabled"),
    "compute_mode": ("", lambda profile, index, card: "Default"),
    "pstate": ("", lambda profile, index, card: "P8"),
    "mig.mode.current": ("", lambda profile, index, card: "Enabled" if "slices" in card else None),
    "serial": ("", lambda profile, index, card: None),
}


def long_bus(card):
    """The bus as NVIDIA's tools write it, with eight digits of domain: "00000000:01:00.0"."""
    return f"0000{card['bus'].upper()}"


def answer(profile, arguments):
    if profile.nvml in FAILURES:
        status, text = FAILURES[profile.nvml]
        return status, text, ""
    cards = list(enumerate(inventory.cards(profile, "nvidia")))
    options, wanted = _parse(arguments)
    if options is None:
        return 2, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n", ""
    if wanted is not None:
        cards = [(index, card) for index, card in cards if wanted in (str(index), derived.uuid(card), long_bus(card))]
    if not cards:
        return 6, "No devices were found\n", ""
    if "query-gpu" in options:
        return _query(profile, cards, options["query-gpu"].split(","), options.get("format", "").split(","))
    for option, form in FORMS.items():
        if option in options:
            return 0, form(profile, cards, options), ""
    return 0, _table(profile, cards), ""


_KNOWN = {
    "-L": "list-gpus", "--list-gpus": "list-gpus", "-q": "query", "--query": "query", "-x": "xml",
    "--xml-format": "xml", "--version": "version", "topo": "topo", "-m": "matrix", "--matrix": "matrix",
    "--query-gpu": "query-gpu", "--format": "format", "-i": "id", "--id": "id", "-d": "display",
}  # fmt: skip


def _parse(arguments):
    """The options by name, None where one is unknown; and the card that -i asks for, by index, UUID or bus."""
    options = {}
    arguments = list(arguments)
    while arguments:
        option, equals, value = arguments.pop(0).partition("=")
        name = _KNOWN.get(option)
        if name is None:
            return None, None
        if name in ("id", "display") and not equals:
            value = arguments.pop(0) if arguments else ""
        options[name] = value
    return options, options.get("id")


def _query(profile, cards, fields, form):
    refused = [] if inventory.numbers(inventory.driver(profile)) >= (510,) else ["compute_cap"]
    for field in fields:
        if field.strip() not in FIELDS or field.strip() in refused:
            return 2, f'Field "{field.strip()}" is not a valid field to query.\n\n', ""
    if "csv" not in form:
        return 1, "\n\t--format=[csv,noheader,nounits] is required with --query-gpu.\n\n", ""
    fields = [(field.strip(), *FIELDS[field.strip()]) for field in fields]
    lines = []
    if "noheader" not in form:
        units = "nounits" not in form
        lines.append(", ".join(f"{name} [{unit}]" if unit and units else name for name, unit, _ in fields))
    for index, card in cards:
        values = []
        for _, unit, value in fields:
            found = value(profile, index, card)
            found = "[N/A]" if found is None else str(found)
            values.append(f"{found} {unit}" if unit and "nounits" not in form and found != "[N/A]" else found)
        lines.append(", ".join(values))
    return 0, "\n".join(lines) + "\n", ""


def _list(profile, cards, options):
    lines = []
    for index, card in cards:
        lines.append(f"GPU {index}: {card['name']} (UUID: {derived.uuid(card)})")
        for place, part in enumerate(card.get("slices", ())):
            kind = part["name"].rpartition("MIG ")[2]
            lines.append(f"  MIG {kind:<11} Device {place:>2}: (UUID: {derived.uuid(part)})")
    return "\n".join(lines) + "\n"


def _version(profile, cards, options):
    driver = inventory.driver(profile)
    nvml = ".".join(driver.split(".")[:2])
    rows = (("NVIDIA-SMI", driver), ("NVML", nvml), (_kmd(profile)[:-8], driver), (_cuda(profile)[:-8], None))
    cuda = inventory.driver_cuda(profile)
    return "".join(f"{name + ' version':20}: {version or cuda}\n" for name, version in rows)


def _log(profile, cards, options):
    """-q, as text or with -x as XML: what identifies a card and what memory it has."""
    facts = (
        ("Product Name", "name"), ("GPU UUID", "uuid"), ("Bus Id", "pci.bus_id"), ("Total", "memory.total"),
        ("Used", "memory.used"), ("Free", "memory.free"),
    )  # fmt: skip

    def of(index, card, field):
        unit, value = FIELDS[field]
        found = value(profile, index, card)
        return "N/A" if found is None else f"{found} {unit}".strip()

    driver, cuda = inventory.driver(profile), inventory.driver_cuda(profile)
    if "xml" in options:
        lines = ['<?xml version="1.0" ?>', '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">']
        lines += ["<nvidia_smi_log>", f"\t<driver_version>{driver}</driver_version>"]
        lines += [f"\t<cuda_version>{cuda}</cuda_version>", f"\t<attached_gpus>{len(cards)}</attached_gpus>"]
        for index, card in cards:
            lines += [f'\t<gpu id="{long_bus(card)}">', f"\t\t<product_name>{card['name']}</product_name>"]
            lines += [f"\t\t<uuid>{derived.uuid(card)}</uuid>", f"\t\t<minor_number>{index}</minor_number>"]
            lines.append("\t\t<fb_memory_usage>")
            lines += [f"\t\t\t<{name.lower()}>{of(index, card, field)}</{name.lower()}>" for name, field in facts[3:]]
            lines += ["\t\t</fb_memory_usage>", "\t</gpu>"]
        return "\n".join([*lines, "</nvidia_smi_log>"]) + "\n"
    lines = ["", "==============NVSMI LOG==============", "", f"{_kmd(profile):42}: {driver}"]
    lines += [f"{_cuda(profile):42}: {cuda}", "", f"{'Attached GPUs':42}: {len(cards)}"]
    for index, card in cards:
        lines.append(f"GPU {long_bus(card)}")
        lines += [f"    {name:38}: {of(index, card, field)}" for name, field in facts[:2]]
        lines += ["    PCI", f"        {'Bus Id':34}: {long_bus(card)}", "    FB Memory Usage"]
        lines += [f"        {name:34}: {of(index, card, field)}" for name, field in facts[3:]]
    return "\n".join(lines) + "\n"


def _topology(profile, cards, options):
    """The matrix of `topo -m`: cards that reach each other through the CPU's host bridge, as without NVLink."""
    rows = ["\t".join(["", *(f"GPU{index}" for index, _ in cards), "CPU Affinity", "NUMA Affinity"])]
    for index, _ in cards:
        links = (" X " if index == other else "PHB" for other, _ in cards)
        rows.append("\t".join([f"GPU{index}", *links, "0-15", "0"]))
    return "\n".join([*rows, "", "Legend:", "", "  X    = Self", ""]) + "\n"


FORMS = {"list-gpus": _list, "version": _version, "topo": _topology, "query": _log}


def _kmd(profile):
    return "KMD Version" if inventory.numbers(inventory.driver(profile)) >= (610,) else "Driver Version"


def _cuda(profile):
    return "CUDA UMD Version" if inventory.numbers(inventory.driver(profile)) >= (610,) else "CUDA Version"


# From which driver on -> widths of the three columns, and of name, bus and memory within them.
_WIDTHS = (((545,), (41, 24, 22), 27), ((535,), (41, 22, 22), 27), ((0,), (31, 22, 22), 16))


def _table(profile, cards):
    driver, cuda = inventory.driver(profile), inventory.driver_cuda(profile)
    widths, name_width = next((w, n) for first, w, n in _WIDTHS if inventory.numbers(driver) >= first)
    left, middle, right = widths
    whole = sum(widths) + 2

    def line(*cells):
        return "|" + "|".join(cells) + "|"

    def rule():
        return "+" + "+".join("-" * width for width in widths) + "+"

    first, last = (24 if left == 31 else 34), len(f"{_cuda(profile)}: {cuda}") + 5
    banner = f" {'NVIDIA-SMI ' + driver:{first}}{f'{_kmd(profile)}: {driver}':{whole - 1 - first - last}}"
    banner += f"{_cuda(profile)}: {cuda}"
    lines = ["Mon Dec  1 12:00:00 2025       ", "+" + "-" * whole + "+", line(f"{banner:{whole}}")]
    if left == 31:
        titles = " GPU  Name        Persistence-M", " Fan  Temp  Perf  Pwr:Usage/Cap"
    else:
        titles = f"{' GPU  Name':{left - 14}}Persistence-M ", f"{' Fan  Temp   Perf':{left - 14}}Pwr:Usage/Cap "
    lines += [rule(), line(titles[0], f" {'Bus-Id':{middle - 8}}Disp.A ", " Volatile Uncorr. ECC ")]
    lines.append(line(titles[1], f"{'Memory-Usage':>{middle - 1}} ", " GPU-Util  Compute M. "))
    lines.append(line(" " * left, " " * middle, f"{'MIG M.':>{right - 1}} "))
    lines.append("|" + "+".join("=" * width for width in widths) + "|")
    for index, card in cards:
        name = card["name"] if len(card["name"]) < name_width else card["name"][: name_width - 4] + "..."
        used, total = _used(card) // MIB, derived.total_memory(card) // MIB
        memory = "Not Supported" if profile.nvml == NO_MEMORY else f"{used}MiB / {total:>6}MiB"
        lines.append(line(f"{f'{index:>4}  {name}':{left - 6}}{'Off':>4}  ",
                          f"{long_bus(card) + ' Off':>{middle - 1}} ", f"{'N/A':>{right - 1}} "))  # fmt: skip
        lines.append(line(f"{' N/A   30C    P8':{left - 14}}{'20W / 300W':>13} ", f"{memory:>{middle - 1}} ",
                          f"{'0%      Default':>{right - 1}} "))  # fmt: skip
        lines += [line(" " * left, " " * middle, f"{'N/A':>{right - 1}} "), rule()]
    lines += [f"{'':{whole + 2}}", "+" + "-" * whole + "+", line(f"{' Processes:':{whole}}")]
    lines.append(line(f"{'  GPU   GI   CI        PID   Type   Process name':{whole - 22}}{'GPU Memory ':>22}"))
    lines.append(line(f"{'        ID   ID':{whole - 22}}{'Usage      ':>22}"))
    lines += ["|" + "=" * whole + "|", line(f"{'  No running processes found':{whole}}"), "+" + "-" * whole + "+"]
    return "\n".join(lines) + "\n"
