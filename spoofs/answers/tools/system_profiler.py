"""What `system_profiler` prints of a Mac's chip and displays."""

import json

from spoofs.answers.tools import sysctl


def _displays(profile):
    chip = sysctl.chip(profile)
    if profile.machine == "arm64":
        return {
            "Chipset Model": chip,
            "Type": "GPU",
            "Bus": "Built-In",
            "Vendor": "Apple (0x106b)",
            "Metal Support": "Metal 3",
        }
    return {"Chipset Model": "Intel UHD Graphics 630", "Type": "GPU", "Bus": "Built-In", "Vendor": "Intel"}


def _hardware(profile):
    memory = f"{sysctl.memory(profile) // 1024**3} GB"
    kind = "Chip" if profile.machine == "arm64" else "Processor Name"
    model = sysctl.DARWIN["hw.model"](profile)
    return {"Model Identifier": model, kind: sysctl.chip(profile), "Memory": memory}


DATA = {
    "SPDisplaysDataType": ("Graphics/Displays", _displays),
    "SPHardwareDataType": ("Hardware", _hardware),
}


def answer(profile, arguments):
    wanted = [argument for argument in arguments if argument in DATA] or list(DATA)
    if "-json" in arguments:
        found = {}
        for name in wanted:
            entry = {key.lower().replace(" ", "_"): value for key, value in DATA[name][1](profile).items()}
            model = {"sppci_model": entry["chipset_model"]} if "chipset_model" in entry else {}
            found[name] = [entry | model]
        return 0, json.dumps(found, indent=2) + "\n", ""
    lines = []
    for name in wanted:
        title, rows = DATA[name]
        lines += [f"{title}:", "", f"    {sysctl.chip(profile)}:", ""]
        lines += [f"      {key}: {value}" for key, value in rows(profile).items()] + [""]
    return 0, "\n".join(lines) + "\n", ""
