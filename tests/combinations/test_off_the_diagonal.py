"""The verdicts of one machine, claimed on another, fail wherever the two differ, and hold where they do not."""

from __future__ import annotations

from itertools import product

import pytest

from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.combinations import measuring
from tests.studio.specification import SEED, Verdicts
from tests.studio.subject import Subject

CLAIMS = {
    **SEED,
    "canary_cuda_over_mlx": Verdicts(True, "CUDA", False, True),
    "canary_xpu_over_mlx": Verdicts(True, "XPU", False, True),
}
MACHINES = {row.name: row for row in PROFILES + CANARIES if row.name in CLAIMS}

# Machine -> how many of the 9 claims hold on it: its own, and those of machines that must be decided alike.
ALIKE = {
    "nvidia_cuda": 1,
    "amd_rocm": 1,
    "intel_xpu": 1,
    "apple_silicon_mlx": 1,
    "apple_silicon_no_mlx": 1,
    "linux_arm64_with_mlx": 2,
    "cpu_only": 2,
    "canary_cuda_over_mlx": 1,
    "canary_xpu_over_mlx": 1,
}


@pytest.fixture(scope="session")
def decided(subject: Subject) -> dict[str, Verdicts]:
    """Machine -> what the subject decides on it, measured once."""
    found = {each.machine.name: each.verdicts for each in measuring.decide(MACHINES.values(), subject)}
    assert [] == [f"{name}: {died}" for name, died in found.items() if not isinstance(died, Verdicts)]
    return {name: verdicts for name, verdicts in found.items() if isinstance(verdicts, Verdicts)}


@pytest.mark.parametrize(("claimed", "machine"), list(product(CLAIMS, CLAIMS)))
def test_a_claim_fails_exactly_on_the_contracts_that_differ(
    decided: dict[str, Verdicts], claimed: str, machine: str
) -> None:
    """The broken contracts are those in which the two rows of the literal table differ, and no others."""
    claim, own, found = (verdicts.as_dict() for verdicts in (CLAIMS[claimed], CLAIMS[machine], decided[machine]))

    broken = {contract for contract in claim if claim[contract] != found[contract]}

    assert {contract for contract in claim if claim[contract] != own[contract]} == broken


@pytest.mark.parametrize("machine", CLAIMS)
def test_no_more_machines_are_decided_alike_than_must_be(decided: dict[str, Verdicts], machine: str) -> None:
    """A claim that held everywhere would prove nothing: of the nine, this many hold here."""
    assert ALIKE[machine] == sum(claim == decided[machine] for claim in CLAIMS.values())


def test_every_machine_makes_its_claim() -> None:
    """The table names the seven profiles and all canaries."""
    assert set(CLAIMS) == set(SEED) | {row.name for row in CANARIES} == set(MACHINES)


def test_rows_are_told_apart_by_their_facts() -> None:
    """No two machines of the table state the same facts."""
    stated = [repr(HardwareProfile("any", **row.facts())) for row in MACHINES.values()]

    assert len(stated) == len(set(stated))


def test_a_canary_is_what_its_name_says_and_no_more() -> None:
    """What a canary is made of, literally: one more answer, or one less, and it would watch another slip."""
    mac = {
        "system": "Darwin",
        "machine": "arm64",
        "packages": {"mlx": "0.32.4", "mlx-lm": "0.32.2", "mlx-vlm": "0.7.9"},
    }

    assert {
        "canary_cuda_over_mlx": mac | {"cuda_available": True},
        "canary_xpu_over_mlx": mac | {"xpu_available": True},
    } == {row.name: {**row.facts(), "packages": dict(row.packages)} for row in CANARIES}
