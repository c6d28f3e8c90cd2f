"""What `rocminfo` prints: the agents that ROCm's runtime sees through its mask, and in their disguise."""

import os

from spoofs import derived, inventory

# Start of an architecture -> the generic target that lists it since ROCm 6.1, the longest start first.
# https://llvm.org/docs/AMDGPUUsage.html#amdgpu-generic-processor-table
_GENERIC = (
    ("gfx94", "gfx9-4-generic"), ("gfx95", "gfx9-4-generic"), ("gfx90", "gfx9-generic"), ("gfx101", "gfx10-1-generic"),
    ("gfx103", "gfx10-3-generic"), ("gfx11", "gfx11-generic"), ("gfx12", "gfx12-generic"),
)  # fmt: skip


def _agent(number, rows):
    bar = "*******"
    return [bar, f"Agent {number}", bar] + [f"  {name + ':':25}{value}" for name, value in rows]


def answer(profile, arguments):
    found = inventory.cards(profile, "amd")
    cards = derived.masked(found, os.environ.get("ROCR_VISIBLE_DEVICES"))
    if not found:
        return 1, "ROCk module is NOT loaded, possibly no GPU devices\n", ""
    lines = ["ROCk module is loaded", "=" * 21, "HSA System Attributes", "=" * 21]
    lines += [f"{'Runtime Version:':25}1.{13 if inventory.numbers(inventory.rocm(profile)) < (6, 4) else 15}"]
    lines += [f"{'Machine Model:':25}LARGE", f"{'System Endianness:':25}LITTLE", "", "=" * 10, "HSA Agents", "=" * 10]
    processor = "AMD EPYC 9654 96-Core Processor" if profile.machine == "x86_64" else profile.machine
    lines += _agent(1, (
        ("Name", processor), ("Uuid", "CPU-XX"), ("Marketing Name", processor), ("Vendor Name", "CPU"),
        ("Feature", "None specified"), ("Node", 0), ("Device Type", "CPU"),
    ))  # fmt: skip
    for number, card in enumerate(cards, 2):
        full = derived.arch(card)
        name = full.partition(":")[0]
        size = derived.total_memory(card) // 1024
        lines += _agent(number, (
            ("Name", name), ("Uuid", derived.uuid(card)), ("Marketing Name", card["name"]), ("Vendor Name", "AMD"),
            ("Feature", "KERNEL_DISPATCH"), ("Node", found.index(card) + 1), ("Device Type", "GPU"),
            ("Compute Unit", card.get("processors", 40)),
            ("Wavefront Size", "64(0x40)" if name.startswith("gfx9") else "32(0x20)"),
        ))  # fmt: skip
        lines += ["  Pool Info:", "    Pool 1", f"      {'Segment:':25}GLOBAL; FLAGS: COARSE GRAINED"]
        lines += [f"      {'Size:':25}{size}({size:#x}) KB", f"      {'Allocatable:':25}TRUE", "  ISA Info:"]
        names = [full]
        if inventory.numbers(inventory.rocm(profile)) >= (6, 1):
            names += [generic for start, generic in _GENERIC if name.startswith(start)][:1]
        for isa, each in enumerate(names, 1):
            lines += [f"    ISA {isa}", f"      {'Name:':25}amdgcn-amd-amdhsa--{each}"]
    return 0, "\n".join([*lines, "*** Done ***"]) + "\n", ""
