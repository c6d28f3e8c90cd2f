"""Each profile of the seed has the card that its row names, as torch tells it; the literal table stands here."""

from __future__ import annotations

from typing import Any

from spoofs.profiles import HardwareProfile
from tests.studio.specification import SEED

# Profile -> the module of torch that answers, and what it says of device 0.
CARDS: dict[str, tuple[str, dict[str, Any]]] = {
    "nvidia_cuda": (
        "cuda",
        {"name": "Tesla T4", "major": 7, "minor": 5, "total_memory": 15828320256, "multi_processor_count": 40},
    ),
    "amd_rocm": (
        "cuda",
        {
            "name": "AMD Instinct MI300X",
            "gcnArchName": "gfx942:sramecc+:xnack-",
            "total_memory": 205822885888,
            "multi_processor_count": 304,
        },
    ),
    "intel_xpu": (
        "xpu",
        {"name": "Intel(R) Arc(TM) A770 Graphics", "total_memory": 16225243136, "gpu_eu_count": 512},
    ),
}


def test_torch_tells_the_card_of_the_profile(profile: HardwareProfile) -> None:
    """Name, architecture, memory and size of the first device; no device where the row has none."""
    import torch

    counts = {kind: getattr(torch, kind).device_count() for kind in ("cuda", "xpu")}
    if profile.name not in CARDS:
        assert profile.name not in SEED or {"cuda": 0, "xpu": 0} == counts
        return
    kind, wanted = CARDS[profile.name]

    assert {"cuda": 0, "xpu": 0, kind: 1} == counts
    properties = getattr(torch, kind).get_device_properties(0)
    assert wanted == {key: getattr(properties, key) for key in wanted}
    assert wanted["name"] == getattr(torch, kind).get_device_name(0)
