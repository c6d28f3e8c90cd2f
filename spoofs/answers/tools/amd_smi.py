"""What `amd-smi` prints: `list` (with -e since ROCm 6.4), `static`, `metric` and `version`, each with --json too.

It reads the driver, so it lists every card, whatever the masks say. Since ROCm 7.0 the JSON of `static` and `metric`
has the list under "gpu_data", as https://github.com/ROCm/rocm-systems/pull/223 met it.
"""

import json

from spoofs import derived, inventory

MIB = 1024**2
# ROCm -> amd-smi's own version.
_TOOL = (
    ((7, 0), "26.0.0"),
    ((6, 4), "25.3.0"),
    ((6, 3), "24.7.1"),
    ((6, 2), "24.6.2"),
    ((6, 1), "24.5.1"),
    ((0,), "23.4.2"),
)


def _list(profile, cards, options):
    entries = []
    for index, card in cards:
        entry = {
            "gpu": index,
            "bdf": card["bus"],
            "uuid": derived.uuid(card).removeprefix("GPU-"),
            "kfd_id": 40000 + index,
            "node_id": index + 1,
            "partition_id": 0,
        }
        if "-e" in options:
            entry |= {"render": f"renderD{128 + index}", "card": f"card{index}", "hsa_id": index + 1}
            entry |= {"hip_id": index, "hip_uuid": derived.uuid(card)}
        entries.append(entry)
    return entries


def _static(profile, cards, options):
    entries = []
    for index, card in cards:
        asic = {
            "market_name": card["name"],
            "vendor_id": "0x1002",
            "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
        }
        asic |= {"num_compute_units": card.get("processors", 40)}
        if _version(profile) >= (6, 2):
            asic["target_graphics_version"] = card.get("arch", "gfx900").partition(":")[0]
        entry = {"gpu": index, "asic": asic}
        if not {"--asic", "-a"} & set(options):
            entry["bus"] = {"bdf": card["bus"]}
            entry["driver"] = {"name": "amdgpu", "version": "6.12.12"}
            entry["vram"] = {"type": "N/A", "size": _size(derived.total_memory(card))}
        entries.append(entry)
    return entries


def _metric(profile, cards, options):
    entries = []
    for index, card in cards:
        total, free = derived.total_memory(card), derived.free_memory(card)
        entry = {"gpu": index, "usage": {"gfx_activity": {"value": 0, "unit": "%"}}}
        entry["power"] = {"socket_power": {"value": 20, "unit": "W"}}
        entry["temperature"] = {"edge": {"value": 35, "unit": "C"}}
        if _version(profile) >= (6, 1):
            entry["mem_usage"] = {
                "total_vram": _size(total),
                "used_vram": _size(total - free),
                "free_vram": _size(free),
            }
        else:
            entry["fb_memory_usage"] = {"total": _size(total), "used": _size(total - free)}
        entries.append(entry)
    return entries


def _size(bytes):
    return {"value": bytes // MIB, "unit": "MB"}


def _version(profile):
    return inventory.numbers(inventory.rocm(profile))


COMMANDS = {"list": _list, "static": _static, "metric": _metric}
_PARTS = ("--asic", "-a", "--vram", "-v", "--bus", "-b", "--driver", "-d", "--mem-usage", "-m", "--usage", "-u")
_OPTIONS = ("--json", "-e", *_PARTS)


def answer(profile, arguments):
    command, *options = arguments or ["list"]
    if command == "version":
        return 0, _versions(profile, "--json" in options), ""
    if command not in COMMANDS:
        return 2, "", f"amd-smi: error: argument: invalid choice: '{command}'\n"
    wanted = None
    for flag in ("-g", "--gpu"):
        if flag in options:
            place = options.index(flag)
            wanted = [entry for entry in options[place + 1 :] if not entry.startswith("-")]
            options = options[:place] + options[place + 1 + len(wanted) :]
    unknown = [option for option in options if option not in _OPTIONS]
    if "-e" in options and (command != "list" or _version(profile) < (6, 4)):
        unknown.append("-e")
    if unknown:
        return 2, "", f"amd-smi: error: unrecognized arguments: {' '.join(unknown)}\n"
    cards = list(enumerate(inventory.cards(profile, "amd")))
    if not cards:
        return 255, "", "ERROR: No AMD GPU devices were found.\n"
    cards = [(index, card) for index, card in cards if wanted is None or str(index) in wanted or "all" in wanted]
    entries = COMMANDS[command](profile, cards, options)
    if "--json" not in options:
        return 0, "\n".join(_text(entry) for entry in entries) + "\n", ""
    if command != "list" and _version(profile) >= (7, 0):
        entries = {"gpu_data": entries}
    return 0, json.dumps(entries, indent=4) + "\n", ""


def _text(entry, depth=0):
    lines = []
    for key, value in entry.items():
        margin = " " * (0 if key == "gpu" else 4 + depth)
        if isinstance(value, dict) and "unit" in value:
            lines.append(f"{margin}{key.upper()}: {value['value']} {value['unit']}")
        elif isinstance(value, dict):
            lines += [f"{margin}{key.upper()}:", _text(value, depth + 4).rstrip("\n")]
        else:
            lines.append(f"{margin}{key.upper()}: {value}")
    return "\n".join(lines) + "\n"


def _versions(profile, as_json):
    rocm = inventory.rocm(profile)
    rocm = rocm if rocm.count(".") > 1 else f"{rocm}.0"
    tool = next(tool for first, tool in _TOOL if _version(profile) >= first)
    if as_json:
        found = {"tool": "AMDSMI Tool", "version": tool, "amdsmi_library_version": tool, "rocm_version": rocm}
        return json.dumps([found], indent=4) + "\n"
    return f"AMDSMI Tool: {tool} | AMDSMI Library version: {tool} | ROCm version: {rocm}\n"
