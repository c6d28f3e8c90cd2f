"""No combination of answers leads to a wrong verdict."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.combinations import machines, measuring
from tests.spoofs.machines import run
from tests.studio.specification import SEED, Verdicts
from tests.studio.subject import Subject
from tests.studio.verdicts import ROOT

SEVEN = tuple(row for row in PROFILES if row.name in SEED)
COUNT = 8064
COUNT_OF_EVERY_SPELLING = 34560


def test_every_machine_is_decided_as_specified(
    subject: Subject, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each machine of the product, in a child of its own, against the executable specification."""
    every = pytestconfig.option.every_spelling
    start = time.monotonic()

    decided = list(measuring.decide(machines.rows(every), subject))

    with capsys.disabled():
        print(f"\n{len(decided)} machines, {(time.monotonic() - start) / len(decided) * 1000:.1f} ms each")
    assert (COUNT_OF_EVERY_SPELLING if every else COUNT) == len(decided)
    wrong = sorted((each for each in decided if each.wrong), key=lambda each: len(repr(each.machine)))
    if wrong:
        text = f"{len(wrong)} of {len(decided)} machines, such as\n{measuring.report(wrong[0], subject)}"
        pytest.fail(text, pytrace=False)


def test_every_profile_is_among_the_machines() -> None:
    """The product covers the seven profiles and the canaries, the names of their devices aside."""

    def stated(row: HardwareProfile) -> str:
        return repr(HardwareProfile("any", **{fact: value for fact, value in row.facts().items() if fact != "devices"}))

    product = set(map(stated, machines.rows()))

    assert [] == [row.name for row in SEVEN + CANARIES if stated(row) not in product]


SAMPLE = [row for number, row in enumerate(machines.rows()) if number % 619 == 0]


def test_a_forked_machine_is_as_good_as_a_fresh_interpreter(subject: Subject) -> None:
    """The same machines, each in an interpreter started for it, have the same verdicts."""

    def fresh(machine: HardwareProfile) -> Verdicts:
        argv = ["-m", "tests.studio.verdicts", subject.root]
        child = run(machine, argv, env=dict.fromkeys(machines.VARIABLES), cwd=ROOT)
        assert 0 == child.returncode, child.stderr
        return Verdicts(**json.loads(child.stdout))

    with ThreadPoolExecutor(2) as pool:
        in_interpreters = dict(zip([row.name for row in SAMPLE], pool.map(fresh, SAMPLE), strict=True))

    in_forks = {each.machine.name: each.verdicts for each in measuring.decide(SAMPLE, subject)}
    assert in_interpreters == in_forks
    assert 3 <= len({verdicts.device for verdicts in in_interpreters.values()})
