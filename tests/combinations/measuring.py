"""The verdicts on a machine made by code, each in a child of its own, held against the specification."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spoofs import activate, capture
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests import forks
from tests.combinations import machines
from tests.studio.specification import Verdicts, expected
from tests.studio.subject import GATE, Subject
from tests.studio.verdicts import measure


@dataclass(frozen=True)
class Decided:
    """One machine, what the subject decided on it (or how its child died), and what it must decide."""

    machine: HardwareProfile
    verdicts: Verdicts | forks.Died
    wanted: Verdicts

    @property
    def wrong(self) -> list[str]:
        """The contracts that do not hold, in words; empty where all do."""
        if isinstance(self.verdicts, forks.Died):
            return [f"no verdict: {self.verdicts}"]
        found = self.verdicts.as_dict()
        wanted = self.wanted.as_dict()
        broken = [name for name in wanted if wanted[name] != found[name]]
        return [f"{name}: expected {wanted[name]!r}, decided {found[name]!r}" for name in broken]


# Where a machine that stands in no table is written down, for the tools that it runs; children leave it to the parent.
FOLDER = tempfile.TemporaryDirectory(prefix="machines-")


def folder(name: str) -> str:
    """A new folder for this process alone."""
    return tempfile.mkdtemp(prefix=f"{name}-", dir=FOLDER.name)


def become(machine: HardwareProfile) -> None:
    """Make this process the machine, with the switches that it states and no others."""
    for variable in machines.VARIABLES:
        os.environ.pop(variable, None)
    os.environ["HARDWARE_PROFILE"] = machine.name
    if machine not in PROFILES + CANARIES:
        os.environ["HARDWARE_PROFILE"] = f"{FOLDER.name}/{os.getpid()}.toml"  # another child may be of that name
        Path(os.environ["HARDWARE_PROFILE"]).write_text(capture.dump(machine), encoding="utf-8")
    activate.become(machine)


def _asked(machine: HardwareProfile, subject: Subject) -> Callable[[], dict[str, Any]]:
    def job() -> dict[str, Any]:
        become(machine)
        return measure(subject).as_dict()

    return job


@cache
def warm(subject: Subject) -> None:
    """Load and compile in this process what a machine's child would load, save what asks a probe. Once."""

    def needed(machine: HardwareProfile) -> Callable[[], Any]:
        def job() -> Any:
            before = set(sys.modules)
            become(machine)
            measure(subject)
            return forks.loaded(before)

        return job

    found = set()
    for _, modules in forks.run([needed(machine) for machine in PROFILES]):
        if isinstance(modules, forks.Died):
            raise modules
        found |= {tuple(module) for module in modules}
    forks.warm(found, subject.root)
    subject.tree(GATE)


def decide(rows: Iterable[HardwareProfile], subject: Subject, *, workers: int = forks.WORKERS) -> Iterator[Decided]:
    """Each machine's verdicts, in the order in which they come."""
    rows = list(rows)
    for number, answer in forks.run((_asked(machine, subject) for machine in rows), workers=workers):
        verdicts = answer if isinstance(answer, forks.Died) else Verdicts(**answer)
        yield Decided(rows[number], verdicts, expected(rows[number], rows[number].environment))


def smallest(decided: Decided, subject: Subject) -> Decided:
    """The machine that is left when facts are taken away as long as a contract is broken."""
    while True:
        fewer = sorted(decide(machines.smaller(decided.machine), subject), key=lambda each: repr(each.machine))
        still = next((each for each in fewer if each.wrong), None)
        if still is None:
            return decided
        decided = still


def report(decided: Decided, subject: Subject) -> str:
    """A failure as text: the machine as a row to paste into PROFILES, what is wrong, the smallest that shows it."""
    least = smallest(decided, subject)
    lines = [f"    {decided.machine!r},", *(f"  {why}" for why in decided.wrong)]
    lines += ["the smallest machine that shows it:", f"    {least.machine!r},", *(f"  {why}" for why in least.wrong)]
    return "\n".join(lines)
