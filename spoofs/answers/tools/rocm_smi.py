"""What `rocm-smi` prints: product names, ids, memory and the driver's version, as text or with --json.

Since ROCm 6.1 the keys are in title case and say the architecture; both forms stand in
https://github.com/ROCm/rocm_smi_lib/issues/159 and https://github.com/easybuilders/easybuild-framework/pull/3978.
"""

import json

from spoofs import derived, inventory


def _product(profile, card):
    maker = "Advanced Micro Devices, Inc. [AMD/ATI]"
    if inventory.numbers(inventory.rocm(profile)) < (6, 1):
        return {"Card series": card["name"], "Card model": "0x0c34", "Card vendor": maker, "Card SKU": "D00000"}
    found = {"Card Series": card["name"], "Card Model": "0x0c34", "Card Vendor": maker, "Card SKU": "D00000"}
    return found | {"GFX Version": card.get("arch", "gfx900").partition(":")[0]}


def _memory(profile, card):
    total = derived.total_memory(card)
    return {
        "VRAM Total Memory (B)": str(total),
        "VRAM Total Used Memory (B)": str(total - derived.free_memory(card)),
    }


def _id(profile, card):
    return {"Device Name": card["name"], "GUID": "40000"}


CARDS = {"--showproductname": _product, "--showmeminfo": _memory, "--showid": _id, "-i": _id}
_BAR = "=" * 28


def answer(profile, arguments):
    cards = inventory.cards(profile, "amd")
    if not cards:
        return 1, "", "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
    found = {f"card{index}": {} for index in range(len(cards))}
    for argument in arguments:
        if argument == "--showdriverversion":
            found["system"] = {"Driver version": "6.12.12"}
        elif argument in CARDS:
            for index, card in enumerate(cards):
                found[f"card{index}"] |= CARDS[argument](profile, card)
        elif argument not in ("--json", "vram", "all"):
            return 2, "", f"rocm-smi: error: unrecognized arguments: {argument}\n"
    if not arguments:
        for index, card in enumerate(cards):
            found[f"card{index}"] |= _id(profile, card) | _memory(profile, card)
    found = {name: entry for name, entry in found.items() if entry}
    if "--json" in arguments:
        return 0, json.dumps(found) + "\n", ""
    lines = [f"{_BAR} ROCm System Management Interface {_BAR}"]
    for name, entry in found.items():
        place = f"GPU[{name[4:]}]\t\t: " if name != "system" else ""
        lines += [f"{place}{key}: {value}" for key, value in entry.items()]
    return 0, "\n".join([*lines, f"{_BAR} End of ROCm SMI Log {_BAR}"]) + "\n", ""
