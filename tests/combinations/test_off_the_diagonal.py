"""The verdicts of one machine, claimed on another, fail wherever the two differ, and hold where they do not."""

from __future__ import annotations

from itertools import product

import pytest

from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.combinations import measuring
from tests.studio.specification import SEED, Verdicts, expected
from tests.studio.subject import Subject

# What each machine claims: literally for those that the table must hold, as specified for a further canary.
LITERAL = {
    **SEED,
    "canary_cuda_over_mlx": Verdicts(True, "CUDA", False, True),
    "canary_xpu_over_mlx": Verdicts(True, "XPU", False, True),
}
CLAIMS = {row.name: expected(row, row.environment) for row in CANARIES} | LITERAL
MACHINES = {row.name: row for row in PROFILES + CANARIES if row.name in CLAIMS}

# Machines whose literal claims hold on one another; every other one holds at home alone.
ALIKE = {"linux_arm64_with_mlx", "cpu_only"}


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


@pytest.mark.parametrize("machine", LITERAL)
def test_no_more_machines_are_decided_alike_than_must_be(decided: dict[str, Verdicts], machine: str) -> None:
    """A claim that held everywhere would prove nothing."""
    hold = {name for name, claim in LITERAL.items() if claim == decided[machine]}

    alike = ALIKE if machine in ALIKE else {machine}
    assert alike == hold, (
        f"on {machine} hold the claims of {sorted(hold)}; LITERAL and ALIKE of this file say otherwise"
    )


def test_every_machine_makes_its_claim() -> None:
    """Those that are stated literally stand in the table."""
    assert set(LITERAL) <= set(CLAIMS) == set(MACHINES)


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
    } == {row.name: {**row.facts(), "packages": dict(row.packages)} for row in CANARIES if row.name in LITERAL}
