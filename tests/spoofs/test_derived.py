"""Facts that follow from the stated ones: masks above all."""

from __future__ import annotations

import pytest

from spoofs import derived
from spoofs.activate import MASKS
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile

FIRST, SECOND = "GPU-8f2e11aa-0000-4000-8000-000000000001", "GPU-8f2e22bb-0000-4000-8000-000000000002"
CARDS = tuple({"name": name, "uuid": uuid} for name, uuid in [("a", FIRST), ("b", SECOND), ("c", "GPU-77")])
NVIDIA = HardwareProfile("nvidia", cuda_available=True, devices=CARDS)
AMD = HardwareProfile("amd", cuda_available=True, hip_version="6.4", devices=CARDS)
INTEL = HardwareProfile("intel", xpu_available=True, devices=CARDS)
TILED = HardwareProfile("tiled", xpu_available=True, devices=({"name": "a", "tiles": 2}, {"name": "b", "tiles": 2}))
SLICES = HardwareProfile(
    "slices",
    cuda_available=True,
    devices=tuple({"name": name, "uuid": f"MIG-{name}", "slice_of": {"name": "H100"}} for name in "abc"),
)


@pytest.fixture(autouse=True)
def _no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    for mask in MASKS:
        monkeypatch.delenv(mask, raising=False)


def seen(profile: HardwareProfile) -> str:
    kind = "xpu" if profile.xpu_available else "cuda"
    return "".join(device["name"] for device in derived.visible(profile, kind))


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (None, "abc"),
        ("", ""),
        ("-1", ""),
        ("0", "a"),
        ("1,0", "ba"),
        (" 1 , 2 ", "bc"),
        ("0,-1,1", "a"),
        ("0,9,1", "a"),
        ("0,x,1", "a"),
        ("1gpu2,2ampere", "bc"),
        ("0,0", ""),
        ("0,1,0", ""),
        (FIRST, "a"),
        (f"{SECOND},{FIRST}", "ba"),
        ("GPU-8f2e11,GPU-77", "ac"),
        ("GPU-8f2e", ""),
        (f"{FIRST},{FIRST}", ""),
        (f"{FIRST},1", "a"),
        (f"0,{FIRST}", "a"),
        (f"{FIRST},GPU-none,GPU-77", "a"),
        ("MIG-none", ""),
    ],
)
def test_a_mask_of_cuda(monkeypatch: pytest.MonkeyPatch, mask: str | None, expected: str) -> None:
    """As `torch.cuda._parse_visible_devices` reads it; the first entry that names nothing ends the list."""
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert expected == seen(NVIDIA)


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        ({}, "abc"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "b"),
        ({"HIP_VISIBLE_DEVICES": "1"}, "b"),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "0"}, "c"),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "0"}, ""),
        ({"HIP_VISIBLE_DEVICES": "-1"}, ""),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, "bc"),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, "c"),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "CUDA_VISIBLE_DEVICES": "0"}, "b"),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, ""),
        ({"ROCR_VISIBLE_DEVICES": SECOND, "HIP_VISIBLE_DEVICES": "0"}, "b"),
        ({"HIP_VISIBLE_DEVICES": SECOND}, "b"),
        ({"ROCR_VISIBLE_DEVICES": ""}, ""),
        ({"ZE_AFFINITY_MASK": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "abc"),
    ],
)
def test_masks_of_rocm(monkeypatch: pytest.MonkeyPatch, masks: dict[str, str], expected: str) -> None:
    """ROCR filters first; HIP, or else CUDA, counts what is left."""
    for mask, value in masks.items():
        monkeypatch.setenv(mask, value)
    assert expected == seen(AMD)


@pytest.mark.parametrize(
    ("machine", "mask", "expected"),
    [
        (INTEL, None, "abc"),
        (INTEL, "", "abc"),
        (INTEL, "0", "a"),
        (INTEL, "1,0", "ab"),
        (INTEL, "2,2", "c"),
        (INTEL, "9,1", "b"),
        (INTEL, "-1", ""),
        (INTEL, "1.0", "b"),
        (INTEL, "0.1", ""),
        (TILED, "0.1", "a"),
        (TILED, "0.0,0.1,1.0", "aab"),
        (TILED, "1", "b"),
        (TILED, None, "ab"),
    ],
)
def test_a_mask_of_level_zero(
    monkeypatch: pytest.MonkeyPatch, machine: HardwareProfile, mask: str | None, expected: str
) -> None:
    """Devices keep their own order; a tile shows as a device."""
    if mask is not None:
        monkeypatch.setenv("ZE_AFFINITY_MASK", mask)
    assert expected == seen(machine)


@pytest.mark.parametrize(
    ("mask", "expected"), [(None, "a"), ("MIG-b", "b"), ("MIG-c,MIG-b", "c"), ("0,1", "a"), ("", "")]
)
def test_a_process_opens_one_slice(monkeypatch: pytest.MonkeyPatch, mask: str | None, expected: str) -> None:
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert expected == seen(SLICES)


@pytest.mark.parametrize(("order", "expected"), [(None, "bac"), ("FASTEST_FIRST", "bac"), ("PCI_BUS_ID", "abc")])
def test_cuda_puts_the_fastest_first(monkeypatch: pytest.MonkeyPatch, order: str | None, expected: str) -> None:
    devices = tuple({"name": name, "processors": count} for name, count in [("a", 82), ("b", 128), ("c", 40)])
    if order is not None:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    assert expected == seen(HardwareProfile("mixed", cuda_available=True, devices=devices))


@pytest.mark.parametrize(
    ("facts", "version", "cuda", "rocm", "built"),
    [
        ({}, "2.13.0+cpu", None, None, ""),
        ({"system": "Darwin"}, "2.13.0", None, None, "mps"),
        ({"cuda_available": True}, "2.13.0+cu130", "13.0", None, "cuda"),
        ({"cuda_version": "12.6"}, "2.13.0+cu126", "12.6", None, "cuda"),
        ({"torch_version": "2.10.0+cu128"}, "2.10.0+cu128", "12.8", None, "cuda"),
        ({"torch_version": "1.13.0+cu117"}, "1.13.0+cu117", "11.7", None, "cuda"),
        ({"hip_version": "6.4"}, "2.13.0+rocm6.4", None, "6.4", "cuda"),
        ({"torch_version": "2.11.0+rocm7.13.0"}, "2.11.0+rocm7.13.0", None, "7.13.0", "cuda"),
        (
            {"torch_version": "2.13.0+rocm10.0.0", "hip_version": "7.15.26333"},
            "2.13.0+rocm10.0.0",
            None,
            "10.0.0",
            "cuda",
        ),
        ({"xpu_available": True}, "2.13.0+xpu", None, None, "xpu"),
        ({"torch_version": "2.9.0+xpu"}, "2.9.0+xpu", None, None, "xpu"),
        ({"torch_version": "2.9.1+cpu"}, "2.9.1+cpu", None, None, ""),
    ],
)
def test_a_build_is_told_by_its_tag_and_by_its_versions(
    facts: dict[str, object], version: str, cuda: str | None, rocm: str | None, built: str
) -> None:
    profile = HardwareProfile("build", **facts)
    assert (version, cuda, rocm) == (
        derived.torch_version(profile),
        derived.cuda_version(profile),
        derived.rocm_version(profile),
    )
    assert built.split() == [kind for kind in ("cuda", "xpu", "mps") if derived.is_built(profile, kind)]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"torch_version": "2.13.0"}, ()),
        ({"torch_version": "2.9.1+cu128"}, ("torch.version.rocm",)),
        ({"torch_version": "2.5.1"}, ("torch.accelerator", "torch.version.xpu", "torch.version.rocm")),
        ({"torch_version": "2.0.1"}, tuple(derived.SINCE)),
        ({"torch_lacks": ("torch.mps",)}, ("torch.mps",)),
    ],
)
def test_an_older_torch_lacks_what_came_later(facts: dict[str, object], expected: tuple[str, ...]) -> None:
    assert expected == derived.lacking(HardwareProfile("old", **facts))


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ({"capability": (7, 5)}, (7, 5)),
        ({"arch": "gfx942:sramecc+:xnack-"}, (9, 4)),
        ({"arch": "gfx90a"}, (9, 0)),
        ({"arch": "gfx950"}, (9, 5)),
        ({"arch": "gfx1030"}, (10, 3)),
        ({"arch": "gfx1100"}, (11, 0)),
        ({"arch": "gfx1151"}, (11, 5)),
        ({"arch": "gfx1201"}, (12, 0)),
    ],
)
def test_capability_follows_from_the_architecture(device: dict[str, object], expected: tuple[int, int]) -> None:
    assert expected == derived.capability(device)


@pytest.mark.parametrize(
    ("override", "expected"), [("11.0.0", "gfx1100"), ("9.0.10", "gfx90a"), ("10.3.0", "gfx1030"), ("", "gfx1151")]
)
def test_a_card_can_be_disguised(monkeypatch: pytest.MonkeyPatch, override: str, expected: str) -> None:
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", override)
    assert expected == derived.arch({"arch": "gfx1151"})


def test_cards_of_one_kind_differ_in_their_uuid() -> None:
    """Else a mask by UUID would name both."""
    for device in ({"name": "NVIDIA GeForce RTX 3090"}, {"name": "AMD Instinct MI300X", "arch": "gfx942"}):
        pair = HardwareProfile("pair", cuda_available=True, devices=(device, device)).devices
        assert 2 == len({derived.uuid(each) for each in pair})
        assert {len("GPU-") + (16 if "arch" in device else 36)} == {len(derived.uuid(each)) for each in pair}


@pytest.mark.parametrize("profile", PROFILES + CANARIES, ids=lambda profile: profile.name)
def test_free_memory_is_plausible(profile: HardwareProfile) -> None:
    """Zero reads as an exhausted card, and all of it as one that no driver has touched."""
    for kind in ("cuda", "xpu", "mps"):
        for device in derived.devices(profile, kind):
            assert 0 < derived.free_memory(device) < derived.total_memory(device)


@pytest.mark.parametrize(
    ("facts", "kind", "some"),
    [
        ({"cuda_version": "13.0"}, "cuda", "sm_120"),
        ({"cuda_version": "12.6"}, "cuda", "sm_50"),
        ({"cuda_version": "13.0", "machine": "aarch64"}, "cuda", "sm_110"),
        ({"hip_version": "6.4"}, "cuda", "gfx942"),
        ({"hip_version": "7.1"}, "cuda", "gfx1151"),
        ({"xpu_version": "20250301"}, "xpu", "bmg"),
    ],
)
def test_a_build_lists_its_architectures_without_a_device(facts: dict[str, object], kind: str, some: str) -> None:
    profile = HardwareProfile("build", **facts)
    assert some in derived.architectures(profile, kind)
    assert () == derived.visible(profile, kind)


def test_a_build_for_nothing_lists_no_architectures() -> None:
    assert [] == derived.architectures(HardwareProfile("cpu"), "cuda") + derived.architectures(
        HardwareProfile("cpu"), "xpu"
    )
