"""What is built into the machine, as its drivers and tools see it: every card, whether or not torch reaches it."""

from spoofs import derived, profiles

# A word of a card's name -> its maker, for cards that no other fact places.
_MAKERS = (
    ("amd", ("AMD", "Radeon", "Instinct")),
    ("intel", ("Intel",)),
    ("apple", ("Apple",)),
    ("nvidia", ("NVIDIA", "Tesla", "GeForce", "Quadro", "RTX", "GTX")),
)
# The first driver of each branch of NVIDIA's -> the newest CUDA that it runs, from the newest on.
# https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
_CUDA_OF_DRIVER = (
    ("610.43.02", "13.3"), ("595.58.03", "13.2"), ("590.44.01", "13.1"), ("580.82.07", "13.0"), ("575.57.08", "12.9"),
    ("570.124.06", "12.8"), ("565.57.01", "12.7"), ("560.35.05", "12.6"), ("555.42.06", "12.5"),
    ("550.127.08", "12.4"), ("545.23.08", "12.3"), ("535.183.01", "12.2"), ("530.30.02", "12.1"),
    ("525.147.05", "12.0"), ("520.61.05", "11.8"), ("515.105.01", "11.7"), ("510.108.03", "11.6"),
    ("495.29.05", "11.5"), ("470.256.02", "11.4"), ("450.248.02", "11.0"), ("418.226.00", "10.1"),
)  # fmt: skip
ROCM = "6.4"  # of a machine that has AMD cards but no ROCm build of torch to tell
# The packages that come with a card's driver or are of no use without the card, beside the ones that a row states.
NVML = "13.580.82"


def maker(profile, device):
    """One of "nvidia", "amd", "intel" and "apple": by a fact of its own, by name, or by torch's build."""
    if device.get("arch", "").startswith("gfx"):
        return "amd"
    words = device["name"].replace("(", " ").split()
    for name, known in _MAKERS:
        if any(word in known for word in words):
            return name
    if "capability" in device and not derived.is_rocm(profile):
        return "nvidia"
    return "amd" if derived.is_rocm(profile) else "nvidia" if profile.cuda_available else "intel"


def cards(profile, name):
    """The cards of one maker in the order of the bus, which no mask changes, each with its `bus`: "0000:01:00.0".

    Slices of one card (MIG) are its `slices`, and not cards.
    """
    found = {maker_name: [] for maker_name, _ in _MAKERS}
    for device in profile.devices:
        found[maker(profile, device)].append(device)
    if not found[name]:
        kind = {"intel": "xpu", "apple": "mps", "amd" if derived.is_rocm(profile) else "nvidia": "cuda"}.get(name)
        found[name] = [each for each in derived.devices(profile, kind) if each not in profile.devices] if kind else []
    before = sum(len(cards) for other, cards in found.items() if other < name)
    cards = []
    for place, device in enumerate(found[name], before + 1):
        whole = device.get("slice_of")
        if whole and cards and cards[-1].get("whole") == whole:
            cards[-1]["slices"].append(device)
            continue
        card = profiles.Device({"bus": f"0000:{place:02x}:00.0", **(whole or device)})
        card.place = getattr(device, "place", 0)
        if whole:
            card |= {"capability": derived.capability(device), "whole": whole, "slices": [device]}
        cards.append(card)
    return cards


def driver(profile):
    """The version of NVIDIA's driver: stated by a card, or the first that runs the CUDA of torch's build."""
    for card in cards(profile, "nvidia"):
        if "driver" in card:
            return card["driver"]
    cuda = derived.cuda_version(profile) or derived.CUDA
    for version, runs in reversed(_CUDA_OF_DRIVER):
        if numbers(runs) >= numbers(cuda):
            return version
    return _CUDA_OF_DRIVER[0][0]


def driver_cuda(profile):
    """The newest CUDA that the driver runs, which need not be the one that torch was built with."""
    version = numbers(driver(profile))
    for first, runs in _CUDA_OF_DRIVER:
        if version[0] >= numbers(first)[0]:
            return runs
    return _CUDA_OF_DRIVER[-1][1]


def rocm(profile):
    """The version of ROCm on the machine: torch's, which comes with its own, says it best."""
    if profile.hip_version is not None:
        return profile.hip_version
    _, found, version = (profile.torch_version or "").partition("+rocm")
    return version if found else ROCM


def numbers(version):
    """(6, 4, 1) of "6.4.1-47"; what is no number ends it."""
    found = []
    for part in version.partition("+")[0].partition("-")[0].split("."):
        if not part.isdigit():
            break
        found.append(int(part))
    return tuple(found)
