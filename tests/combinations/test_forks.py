"""The children: each answers for itself, and one that fails says how."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from pathlib import Path

import pytest

from tests import forks
from tests.combinations import measuring
from tests.studio.subject import Subject


def test_each_child_is_a_process_of_its_own() -> None:
    """Jobs leave nothing behind in the parent or in each other, and their answers come with their numbers."""
    found = dict(forks.run([lambda: [os.getpid(), os.environ.setdefault("LEFT_BEHIND", str(os.getpid()))]] * 4))

    assert {0, 1, 2, 3} == set(found)
    assert 4 == len({process for process, _ in found.values()})
    assert all(str(process) == left for process, left in found.values())
    assert "LEFT_BEHIND" not in os.environ


def _raises() -> None:
    raise LookupError("nothing there")


def _says_much() -> str:
    print("to nobody")
    os.write(1, b"to nobody")
    return "x" * 1_000_000


@pytest.mark.parametrize(
    ("job", "kind", "message"),
    [
        (_raises, forks.Died, "LookupError: nothing there"),
        (lambda: os._exit(7), forks.Died, "ended with status 7 and no answer"),
        (lambda: os.kill(os.getpid(), 9), forks.Died, "ended with status -9 and no answer"),
        (lambda: sys.exit(3), forks.Died, "SystemExit: 3"),
        (lambda: time.sleep(600), forks.TimedOut, "took longer than 1 s"),
    ],
    ids=["raises", "exits", "is killed", "leaves", "hangs"],
)
def test_a_child_without_an_answer_says_how_it_ended(job: object, kind: type[forks.Died], message: str) -> None:
    """Each way to fail has its own words, and none of them is an answer."""
    ((_, died),) = forks.run([job], seconds=1)  # type: ignore[list-item]

    assert kind is type(died)
    assert message == str(died)


def test_a_child_s_output_goes_nowhere_and_its_answer_may_be_long(capfd: pytest.CaptureFixture[str]) -> None:
    """The parent's terminal is not the children's, and a pipe's size is no limit."""
    ((_, answer),) = forks.run([_says_much])

    assert "x" * 1_000_000 == answer
    assert ("", "") == capfd.readouterr()


def test_jobs_may_come_of_answers() -> None:
    """The next job is asked for when a child has answered, so that it can follow from the answer."""

    class Halves:
        """Jobs for the halves of every number that came."""

        def __init__(self) -> None:
            self.waiting = deque([8])

        def __iter__(self) -> Halves:
            return self

        def __next__(self) -> object:
            if not self.waiting:
                raise StopIteration
            number = self.waiting.popleft()
            return lambda: number

    jobs, seen = Halves(), []
    for _, answer in forks.run(jobs):  # type: ignore[arg-type]
        seen.append(answer)
        if answer > 1:
            jobs.waiting.append(answer // 2)

    assert [8, 4, 2, 1] == seen


def test_the_warmed_process_has_nothing_of_the_subject_or_of_a_probed_package(subject: Subject) -> None:
    """What a machine's child imports first, its parent has not: neither the subject nor torch, mlx and their like."""
    folders = [Path(str(getattr(module, "__file__", None) or "/")) for module in list(sys.modules.values())]
    measured = list(measuring.decide(measuring.PROFILES[:1], subject))

    assert [[]] == [each.wrong for each in measured]
    assert [] == [file for file in folders if file.is_relative_to(subject.root) and file.suffix == ".py"]
    assert set() == {"torch", "mlx", "mlx_lm", "mlx_vlm", "pynvml", "amdsmi"} & set(sys.modules)
