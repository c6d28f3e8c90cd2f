"""What `lspci` prints: a host bridge and the cards, with -n, -nn and -mm."""

from spoofs import inventory

# Maker -> what the list of PCI ids calls it, its id, the class of its cards and that class's id.
_VENDORS = {
    "nvidia": ("NVIDIA Corporation", "10de", "3D controller", "0302"),
    "amd": ("Advanced Micro Devices, Inc. [AMD/ATI]", "1002", "VGA compatible controller", "0300"),
    "intel": ("Intel Corporation", "8086", "VGA compatible controller", "0300"),
}
_BRIDGE = ("00:00.0", "Host bridge", "0600", "Intel Corporation", "8086", "440FX - 82441FX PMC [Natoma]", "1237")


def _slots(profile):
    """(slot, class, class id, vendor, vendor id, device, device id) of each; the ids of devices are not modelled."""
    yield _BRIDGE
    for maker, (vendor, vendor_id, kind, kind_id) in _VENDORS.items():
        for card in inventory.cards(profile, maker):
            yield card["bus"].removeprefix("0000:"), kind, kind_id, vendor, vendor_id, card["name"], "0000"


def answer(profile, arguments):
    lines = []
    for slot, kind, kind_id, vendor, vendor_id, device, device_id in sorted(_slots(profile)):
        place = f"0000:{slot}" if "-D" in arguments else slot
        if "-n" in arguments:
            lines.append(f"{place} {kind_id}: {vendor_id}:{device_id}")
        elif "-mm" in arguments:
            lines.append(f'{place} "{kind}" "{vendor}" "{device}" -r00')
        elif "-nn" in arguments:
            lines.append(f"{place} {kind} [{kind_id}]: {vendor} {device} [{vendor_id}:{device_id}]")
        else:
            lines.append(f"{place} {kind}: {vendor} {device}")
    return 0, "\n".join(lines) + "\n", ""
