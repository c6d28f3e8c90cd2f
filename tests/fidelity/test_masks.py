"""Masks are read as torch itself reads them, whose own parser is asked here without a spoof."""

from __future__ import annotations

import pytest
import torch  # type: ignore[import-not-found,unused-ignore]  # only the session has it

from spoofs import derived
from spoofs.activate import MASKS
from spoofs.profiles import HardwareProfile

UUIDS = ["GPU-8f2e11aa-0000-4000-8000-000000000001", "GPU-8f2e22bb-0000-4000-8000-000000000002", "GPU-77"]
CARDS = tuple({"name": str(place), "uuid": uuid} for place, uuid in enumerate(UUIDS))
NVIDIA = HardwareProfile("nvidia", cuda_available=True, devices=CARDS)
AMD = HardwareProfile("amd", cuda_available=True, hip_version="6.4", devices=CARDS)
INTEL = HardwareProfile("intel", xpu_available=True, devices=CARDS)
ENTRIES = [
    None, "", "-1", "0", "1,0", "2,1,0", " 1 , 2 ", "0,-1,1", "0,9,1", "9", "0,x,1", "x", "1gpu2,2ampere", "+1", "0,0",
    "0,1,0", "0,", ",0", UUIDS[0], f"{UUIDS[1]},{UUIDS[0]}", "GPU-8f2e11,GPU-77", "GPU-8f2e", "GPU-", f"{UUIDS[0]},1",
    f"0,{UUIDS[0]}", f"{UUIDS[0]},GPU-none,GPU-77", f"{UUIDS[2]},{UUIDS[2]}",
]  # fmt: skip


def by_torch() -> list[int]:
    """The places that torch's own parser names, cut where it would cut them for as many cards."""
    parsed = torch.cuda._parse_visible_devices()
    if parsed and isinstance(parsed[0], str):
        uuids = [uuid.removeprefix("GPU-") if torch.version.hip else uuid for uuid in UUIDS]
        return list(torch.cuda._transform_uuid_to_ordinals(parsed, uuids))
    beyond = [at for at, place in enumerate(parsed) if place >= len(UUIDS)]
    return list(parsed[: beyond[0]] if beyond else parsed)


def by_us(profile: HardwareProfile, kind: str = "cuda") -> list[int]:
    return [int(device["name"]) for device in derived.visible(profile, kind)]


@pytest.fixture(autouse=True)
def _no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    for mask in MASKS:
        monkeypatch.delenv(mask, raising=False)


@pytest.mark.parametrize("mask", ENTRIES)
def test_a_mask_of_cuda(monkeypatch: pytest.MonkeyPatch, mask: str | None) -> None:
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    assert by_torch() == by_us(NVIDIA)


@pytest.mark.parametrize("mask", ENTRIES)
@pytest.mark.parametrize("name", ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_a_mask_of_rocm(monkeypatch: pytest.MonkeyPatch, name: str, mask: str | None) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    if mask is not None:
        monkeypatch.setenv(name, mask)
    assert by_torch() == by_us(AMD)


@pytest.mark.parametrize("rocr", ["0", "0,1", "2,1,0"])
def test_rocr_leaves_as_many_as_torch_counts(monkeypatch: pytest.MonkeyPatch, rocr: str) -> None:
    """torch sees only how many are left, numbered anew."""
    monkeypatch.setattr(torch.version, "hip", "6.4")
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", rocr)
    assert len(by_torch()) == len(by_us(AMD))


@pytest.mark.parametrize("mask", [None, "0", "1,0", "2,2", "9,1", "2,0,1"])
def test_a_mask_of_level_zero(monkeypatch: pytest.MonkeyPatch, mask: str | None) -> None:
    """torch counts the devices that a mask names, in their own order; what it cannot read it leaves to the driver."""
    if mask is not None:
        monkeypatch.setenv("ZE_AFFINITY_MASK", mask)
    named = torch.xpu._parse_visible_devices()
    assert [place for place in range(len(UUIDS)) if place in named] == by_us(INTEL, "xpu")
