"""What `xpu-smi` prints: `discovery`, as the table or with -j, and its version."""

import json

from spoofs import derived, inventory


def _devices(profile):
    return [
        {
            "device_function_type": "physical",
            "device_id": index,
            "device_name": card["name"],
            "device_type": "GPU",
            "drm_device": f"/dev/dri/card{index}",
            "pci_bdf_address": card["bus"],
            "uuid": derived.uuid(card).removeprefix("GPU-"),
            "vendor_name": "Intel(R) Corporation",
        }
        for index, card in enumerate(inventory.cards(profile, "intel"))
    ]


_ROWS = (
    ("Device Name", "device_name"),
    ("Vendor Name", "vendor_name"),
    ("UUID", "uuid"),
    ("PCI BDF Address", "pci_bdf_address"),
    ("DRM Device", "drm_device"),
    ("Function Type", "device_function_type"),
)


def _details(profile, index):
    """`discovery -d N -j`: one device with its memory."""
    cards = inventory.cards(profile, "intel")
    if not index.isdigit() or int(index) >= len(cards):
        return 1, json.dumps({"error": "device not found", "errno": 4}, indent=4) + "\n", ""
    card = cards[int(index)]
    sizes = {
        "memory_physical_size_byte": derived.total_memory(card),
        "memory_free_size_byte": derived.free_memory(card),
    }
    found = _devices(profile)[int(index)] | {name: str(size) for name, size in sizes.items()}
    return 0, json.dumps(found, indent=4) + "\n", ""


def answer(profile, arguments):
    if arguments in (["-v"], ["--version"]):
        return 0, "CLI:\n    Version: 1.3.1\n\nService:\n    Version: 1.3.1\n    Level Zero Version: 1.20.2\n", ""
    command, *options = arguments or ["-h"]
    if command != "discovery":
        return 106, "The following argument was not expected: " + " ".join(arguments) + "\n", ""
    if "-d" in options and {"-j", "--json"} & set(options):
        return _details(profile, options[options.index("-d") + 1])
    found = _devices(profile)
    if {"-j", "--json"} & set(options):
        return 0, json.dumps({"device_list": found}, indent=4) + "\n", ""
    if not found:
        return 0, "No device discovered\n", ""
    rule = f"+{'-' * 11}+{'-' * 86}+"
    lines = [rule, f"| {'Device ID':10}| {'Device Information':85}|", rule]
    for device in found:
        for row, (name, key) in enumerate(_ROWS):
            lines.append(f"| {'' if row else device['device_id']!s:10}| {f'{name}: {device[key]}':85}|")
        lines.append(rule)
    return 0, "\n".join(lines) + "\n", ""
