"""What a mutant is run against: the suite on one machine, in a child that is forked from this process.

A child holds the mutated source in memory, becomes the machine and runs pytest in itself: the suite imports the
subject, and reads its source, for the first time there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import coverage
import pytest

from spoofs import profiles
from spoofs.__main__ import environment
from spoofs.profiles import HardwareProfile
from tests import forks
from tests.combinations import machines, measuring
from tests.mutants.operators import Mutant
from tests.studio import subject as subjects
from tests.studio.subject import Subject
from tests.studio.verdicts import ROOT

# Tests that read the shape of the subject's source and never run it: what they alone kill is killed weakly.
SHAPE = ("has_the_shape", "guard_rejects_every_slip", "before_the_gate")
# Tests that ask in interpreters of their own, which see the subject as it lies on disk, or that count the whole suite.
ELSEWHERE = ("takes_priority_over", "suite_is_whole")
# The worker asks the machine nothing, so that its tests run on one: the one that trains with MLX.
OF_THE_WORKER = ("tests/studio/behaviors", "tests/studio/test_mlx_training_worker_behaviors.py")
OF_COMBINATIONS = ("tests/combinations/test_details.py", "tests/combinations/test_off_the_diagonal.py")
OF_THE_MACHINE = ("tests/studio", *(f"--ignore={path}" for path in OF_THE_WORKER))
# One in so many machines of every combination: all would take a minute and a half for a single mutant.
STEP = 211


@dataclass
class Session:
    """One run of the suite: on a machine, or unspoofed where `machine` is None; and what its control run executed."""

    name: str
    machine: HardwareProfile | None
    arguments: tuple[str, ...]
    """What pytest is told to run."""
    shape: bool = False
    tests: dict[str, list[str]] = field(default_factory=dict)
    """File of the subject -> the test files that execute any of it."""
    kills: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    """Test -> the file and line of each mutant that it has killed here."""
    lines: dict[str, set[int]] = field(default_factory=dict)
    """File of the subject -> the lines that this process executed."""

    def reaches(self, mutant: Mutant) -> bool:
        """Whether the control run executed what the mutant changes; unspoofed, its children may have."""
        return self.machine is None or not self.lines.get(mutant.file, set()).isdisjoint(mutant.lines)

    def distance(self, test: str, mutant: Mutant) -> float:
        """How many lines lie between a mutant and the next one that the test has killed: near ones fall to the same."""
        lines = [abs(line - mutant.line) for file, line in self.kills.get(test, ()) if file == mutant.file]
        return min(lines, default=float("inf"))

    def files(self, mutant: Mutant | None) -> Iterable[str]:
        """The test files that execute the mutated file, or any; all where children execute it, or where it is read."""
        touched = self.tests.values() if mutant is None else [self.tests[mutant.file]]
        return sorted(set().union(*touched)) or self.arguments

    def run(self, subject: Subject, watch: Watch, files: Iterable[str]) -> int:
        """Run pytest in this process, as the machine; its exit status."""
        os.chdir(ROOT)
        for variable in [name for name in os.environ if name.startswith(("HARDWARE_PROFILE", "UNSLOTH_"))]:
            del os.environ[variable]
        if self.machine is not None:
            os.environ.update(environment(self.machine.name), HARDWARE_PROFILE_APPLIED=self.machine.name)
            measuring.become(self.machine)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--subject={subject.root}"]
        options += ["--basetemp", f"{measuring.FOLDER.name}/{os.getpid()}"]
        # pytest would rewrite its plugins, and warns of those that this process has loaded before.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return int(pytest.main([*options, *files], plugins=[watch]))


class Watch:
    """A pytest plugin that says how far a run came and which test failed first."""

    def __init__(
        self, session: Session, mutant: Mutant | None = None, on_test: Callable[[str], object] = lambda file: None
    ) -> None:
        self.session = session
        self.mutant = mutant
        self.on_test = on_test
        self.ran = 0
        self.killer: str | None = None
        self.why = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if any(name in item.nodeid for name in SHAPE) == self.session.shape
            and not any(name in item.nodeid for name in ELSEWHERE)
        ]
        if self.mutant is not None:
            distances = {item.nodeid: self.session.distance(item.nodeid, self.mutant) for item in items}
            items.sort(key=lambda item: distances[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.ran += 1
        self.on_test(nodeid.partition("::")[0])

    def _failed(self, report: Any) -> None:
        if report.failed and self.killer is None:
            self.killer = report.nodeid
            self.why = str(report.longrepr)[-1500:]

    pytest_runtest_logreport = pytest_collectreport = _failed


def control(session: Session, subject: Subject, files: Iterable[str]) -> Callable[[], dict[str, Any]]:
    """The job that runs the unmutated subject: exit status, tests run, lines and test files by subject file."""

    def job() -> dict[str, Any]:
        paths = {str(subject.path(file)): file for file in files}
        measured = coverage.Coverage(data_file=None, config_file=False, include=list(paths))
        watch = Watch(session, on_test=measured.switch_context)
        before = set(sys.modules)
        measured.start()
        status = session.run(subject, watch, session.arguments)
        measured.stop()
        data = measured.get_data()
        contexts = {file: data.contexts_by_lineno(path) for path, file in paths.items()}
        return {
            "status": status,
            "ran": watch.ran,
            "why": f"{watch.killer}: {watch.why}",
            "loaded": forks.loaded(before),
            "lines": {file: sorted(found) for file, found in contexts.items()},
            "tests": {file: sorted(set().union(*found.values()) - {""}) for file, found in contexts.items()},
        }

    return job


def attempt(mutant: Mutant | None, session: Session, subject: Subject) -> Callable[[], dict[str, Any]]:
    """The job that runs the suite on a mutated subject, or on it as it is: who killed it (None: it lives), how."""

    def job() -> dict[str, Any]:
        if mutant is not None:
            _mutate(mutant, subject)
        watch = Watch(session, mutant)
        verdict = _verdict(session.run(subject, watch, session.files(mutant)), watch)
        if session.machine is not None or verdict["killer"] is not None:
            return verdict
        sample = list(machines.rows())[::STEP]
        wrong = next((each for each in measuring.decide(sample, subject, workers=1) if each.wrong), None)
        return verdict if wrong is None else {"killer": f"{wrong.machine.name}: {wrong.wrong[0]}", "how": "test"}

    return job


def attempt_fact(row: HardwareProfile, session: Session, subject: Subject) -> Callable[[], dict[str, Any]]:
    """The job that runs the suite where the row of that name states other facts."""

    def job() -> dict[str, Any]:
        for table in ("PROFILES", "CANARIES", "MACHINES"):
            stated = getattr(profiles, table)
            other = tuple(row if each.name == row.name else each for each in stated)
            for module in list(sys.modules.values()):
                if getattr(module, table, None) is stated:
                    setattr(module, table, other)
        if profiles.find(row.name) != row:
            raise RuntimeError(f"{row.name} stands in another table too, which keeps what it stated")
        watch = Watch(session)
        here = session if session.machine is None else Session(session.name, row, session.arguments)
        return _verdict(here.run(subject, watch, session.arguments), watch)

    return job


def _mutate(mutant: Mutant, subject: Subject) -> None:
    path, text = subject.path(mutant.file), mutant.apply(subject.text(mutant.file))
    subjects.IN_MEMORY[path] = text
    forks.keep(path, text)


def _verdict(status: int, watch: Watch) -> dict[str, Any]:
    killer = watch.killer or (None if status == pytest.ExitCode.OK else f"pytest ended with status {status}")
    return {"killer": killer, "how": "test" if watch.ran else "collection"}
