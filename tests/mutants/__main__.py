"""Mutate the subject and the profiles, run the suite on each mutant, and print those that live.

Exit status 0 where every mutant is killed or listed as equivalent; 1 where one lives, where one that is listed
is killed, or where there was nothing to mutate; 2 where the unmutated subject fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spoofs.profiles import PROFILES, HardwareProfile
from tests import forks
from tests.combinations import measuring
from tests.mutants import facts, targets
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.operators import Mutant
from tests.mutants.sessions import (
    OF_COMBINATIONS,
    OF_THE_MACHINE,
    OF_THE_WORKER,
    Session,
    attempt,
    attempt_fact,
    control,
)
from tests.studio.subject import WORKER, Subject, SubjectError, locate
from tests.studio.verdicts import ROOT

PARTS = ("dispatch", "worker", "facts")
SECONDS = 180  # no run of the suite on one machine takes as long, on however slow a host: a mutant that does hangs


HOW = {
    "test": "by a test that runs the code",
    "shape": "by the shape of the source alone",
    "collection": "before any test ran",
    "time-out": "by time-out",
    "crash": "without an answer",
}


@dataclass
class Trial:
    """One mutant, the sessions that are left for it, and what came of those that have run."""

    part: str
    mutant: Mutant | HardwareProfile
    shown: str
    key: str
    left: list[Session]
    missed: list[Session] = field(default_factory=list)
    killer: str | None = None
    how: str = ""
    """One of HOW."""

    @property
    def spot(self) -> tuple[str, int]:
        """The file and line of the subject that was changed; none of a row."""
        return (self.mutant.file, self.mutant.line) if isinstance(self.mutant, Mutant) else ("", 0)

    def distance(self, session: Session) -> float:
        """How near to the mutant a session has killed another one."""
        if not isinstance(self.mutant, Mutant):
            return 0
        return min((session.distance(test, self.mutant) for test in session.kills), default=float("inf"))


class Jobs:
    """What is to be run next; a mutant comes again, with its next session, until one has killed it."""

    def __init__(self, trials: list[Trial], subject: Subject) -> None:
        self.waiting = deque(trials)
        self.subject = subject
        self.started: list[tuple[Trial, Session]] = []

    def __iter__(self) -> Iterator[Callable[[], Any]]:
        return self

    def __next__(self) -> Callable[[], Any]:
        while self.waiting:
            trial = self.waiting.popleft()
            if trial.left:
                session = min(trial.left, key=trial.distance)  # of equals the first
                trial.left.remove(session)
                self.started.append((trial, session))
                if isinstance(trial.mutant, Mutant):
                    return attempt(trial.mutant, session, self.subject)
                return attempt_fact(trial.mutant, session, self.subject)
        raise StopIteration


def run(trials: list[Trial], subject: Subject, workers: int, verbose: bool) -> None:
    """Take every trial to its killer, or through all its sessions."""
    jobs = Jobs(trials, subject)
    dead = 0
    for number, answer in forks.run(jobs, workers=workers, seconds=SECONDS):
        trial, session = jobs.started[number]
        if isinstance(answer, forks.Died):
            killer, how = str(answer), "time-out" if isinstance(answer, forks.TimedOut) else "crash"
        else:
            killer, how = answer["killer"], answer["how"]
        if killer is None:
            trial.missed.append(session)
            jobs.waiting.appendleft(trial)
            continue
        trial.killer, trial.how = killer, "shape" if session.shape else how
        dead += 1
        if dead % 50 == 0:
            print(f"{trial.part}: {dead} of {len(trials)} killed", flush=True)
        if not session.shape:  # that stays the last resort
            session.kills.setdefault(killer, set()).add(trial.spot)
        if verbose:
            print(f"killed  {trial.shown}\n        [{session.name}] {trial.killer}", flush=True)


def sessions(parts: Collection[str]) -> list[Session]:
    """The runs of the suite that these parts need: on combinations, on each profile, of the worker, of the shape."""
    trains = next(row for row in PROFILES if row.name == "apple_silicon_mlx")
    of_machines = [
        Session("combinations", None, OF_COMBINATIONS),
        *(Session(row.name, row, OF_THE_MACHINE) for row in PROFILES),
    ]
    return [
        *(of_machines if {"dispatch", "facts"} & set(parts) else ()),
        *([Session("worker", trains, OF_THE_WORKER)] if "worker" in parts else ()),
        Session("shape", trains, ("tests/studio",), shape=True),
    ]


def controls(sessions: list[Session], subject: Subject, workers: int) -> None:
    """Run the unmutated subject in every session, and remember what each executes; exit status 2 where one fails."""
    files = [file for file in (*targets.DISPATCH, WORKER) if (subject.root / file).is_file()]
    jobs = [control(session, subject, files) for session in sessions]
    loaded: list[tuple[str, str | None]] = []
    for number, answer in forks.run(jobs, workers=workers, seconds=10 * SECONDS):
        session = sessions[number]
        if isinstance(answer, forks.Died) or answer["status"] or not answer["ran"]:
            why = answer if isinstance(answer, forks.Died) else f"{answer['ran']} tests, {answer['why']}"
            print(f"control: the unmutated subject does not pass in session {session.name}: {why}", file=sys.stderr)
            sys.exit(2)
        session.lines = {file: set(lines) for file, lines in answer["lines"].items()}
        session.tests = answer["tests"]
        loaded += map(tuple, answer["loaded"])
        print(f"control {session.name}: {answer['ran']} tests pass", flush=True)
    needed = [(name, file) for name, file in loaded if file and not Path(file).is_relative_to(ROOT)]
    forks.warm(needed, subject.root, {name.partition(".")[0] for name, _ in needed})
    for number, answer in forks.run([attempt(None, session, subject) for session in sessions], workers=workers):
        if isinstance(answer, forks.Died) or answer["killer"] is not None:
            print(f"control: what changes nothing is killed in {sessions[number].name}: {answer}", file=sys.stderr)
            sys.exit(2)


def trials(part: str, subject: Subject, sessions: dict[str, Session]) -> list[Trial]:
    """The mutants of a part, each with the sessions that reach it, the likeliest to kill it first."""
    if part == "facts":
        host = sessions["combinations"]
        return [
            Trial(part, row, what, what, [sessions[row.name], host] if row.name in sessions else [host])
            for what, row in facts.mutants()
        ]
    if part == "worker":
        found, likely = targets.worker_mutants(subject), [sessions["worker"]]
    else:
        likely = [sessions[name] for name in ("combinations", *(row.name for row in PROFILES))]
        found = targets.dispatch_mutants(subject)
    return [
        Trial(
            part,
            mutant,
            str(mutant),
            mutant.key,
            [*(each for each in likely if each.reaches(mutant)), sessions["shape"]],
        )
        for mutant in found
    ]


def report(part: str, done: list[Trial], left_out: int) -> bool:
    """Print what became of a part's mutants; whether all is well."""
    alive = [trial for trial in done if trial.killer is None and trial.key not in EQUIVALENT]
    revived = [trial for trial in done if trial.killer is not None and trial.key in EQUIVALENT]
    print(f"{part}: {len(done) + left_out} mutants, {left_out} listed as equivalent, {len(alive)} alive; killed:")
    for how, told in HOW.items():
        print(f"    {sum(trial.how == how for trial in done):4} {told}")
    for trial in alive:
        print(f"ALIVE   {trial.shown} [{', '.join(session.name for session in trial.missed)}]\n        {trial.key}")
    for trial in revived:
        print(f"LISTED  as equivalent, yet killed: {trial.shown} by {trial.killer}")
    if not done and not left_out:
        print(f"{part}: nothing to mutate, so nothing was proved")
    return not alive and not revived and bool(done or left_out)


def main() -> int:
    """Read the command line, run the controls, then each part."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--subject", metavar="PATH", help="a checkout or an unpacked wheel of Unsloth")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part alone; may be said again")
    parser.add_argument("--all", action="store_true", help="try the mutants that are listed as equivalent, too")
    parser.add_argument("--at", metavar="TEXT", default="", help="only mutants whose file, line or text has this in it")
    parser.add_argument("--workers", type=int, default=forks.WORKERS, help="how many run at once")
    parser.add_argument("--verbose", action="store_true", help="print each kill")
    chosen = parser.parse_args()
    start = time.monotonic()
    try:
        subject = locate(chosen.subject)
        measuring.warm(subject)
    except (SubjectError, forks.Died) as error:
        parser.error(str(error))
    by_name = {session.name: session for session in sessions(chosen.only or PARTS)}
    controls(list(by_name.values()), subject, chosen.workers)
    well = True
    for part in chosen.only or PARTS:
        found = [trial for trial in trials(part, subject, by_name) if chosen.at in trial.shown]
        tried = [trial for trial in found if chosen.all or trial.key not in EQUIVALENT]
        run(tried, subject, chosen.workers, chosen.verbose)
        well &= report(part, tried, len(found) - len(tried))
    print(f"{time.monotonic() - start:.0f} s")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
