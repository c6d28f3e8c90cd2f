"""What a spoof and a session cost, as ratios of medians over interleaved runs, each beside its budget.

`nox -s benchmark`, on an otherwise idle machine, after a `nox` that left the environments warm. Nothing here is a test:
a figure over its budget ends the command with 1, and that is all.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STARTUP = ROOT / "spoofs" / "startup"
PROFILE = "amd_rocm"


def timed(command: list[str], env: Mapping[str, str]) -> float:
    """The seconds of one run; SystemExit with its last line where it fails, since a failure has no speed."""
    start = time.perf_counter()
    child = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if child.returncode:
        last = [line for stream in (child.stdout, child.stderr) for line in stream.strip().splitlines()[-1:]]
        sys.exit(f"`{' '.join(command)}` ended with {child.returncode}: {' / '.join(last)}")
    return seconds


def medians(runs: int, **what: Callable[[], float]) -> dict[str, float]:
    """The median seconds of each, run in turns so that a busy moment meets them all; the first turn warms up."""
    turns = [{name: run() for name, run in what.items()} for _ in range(runs + 1)][1:]
    return {name: statistics.median(turn[name] for turn in turns) for name in what}


def environment(**more: str) -> dict[str, str]:
    """The shell's environment without what would disturb: a profile, a path, a ban on bytecode."""
    ours = ("HARDWARE_PROFILE", "HARDWARE_PROFILE_APPLIED", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {**{name: value for name, value in os.environ.items() if name not in ours}, **more}


def startup() -> list[tuple[str, float, float]]:
    """An interpreter under the shim over one with an empty sitecustomize: without a profile, and with one."""
    python = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "sitecustomize.py").touch()
        found = medians(
            100,
            bare=lambda: timed(python, environment()),
            floor=lambda: timed(python, environment(PYTHONPATH=empty)),
            inert=lambda: timed(python, environment(PYTHONPATH=str(STARTUP))),
            spoofed=lambda: timed(python, environment(PYTHONPATH=str(STARTUP), HARDWARE_PROFILE=PROFILE)),
        )
    print("startup:", ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in found.items()), flush=True)
    return [
        ("python -c pass, no profile / empty sitecustomize", found["inert"] / found["floor"], 1.03),
        (f"python -c pass, {PROFILE} / empty sitecustomize", found["spoofed"] / found["floor"], 1.2),
    ]


def sessions() -> list[tuple[str, float, float]]:
    """A session over its own pytest, and all of them with the merged coverage over one."""
    nox = [sys.executable, "-m", "nox"]
    pytest = [str(ROOT / ".nox" / PROFILE / "bin" / "python"), "-m", "pytest"]
    with tempfile.TemporaryDirectory() as data:
        spoofed = environment(
            HARDWARE_PROFILE=PROFILE,
            PYTHONPATH=str(STARTUP),
            COVERAGE_PROCESS_START=str(ROOT / "pyproject.toml"),
            COVERAGE_FILE=f"{data}/.coverage",
        )
        found = medians(
            5,
            session=lambda: timed([*nox, "-R", "-s", PROFILE], environment()),
            pytest=lambda: timed([*pytest, f"--junitxml={data}/junit.xml"], spoofed),
            all=lambda: timed([*nox, "-j", "2"], environment()),
        )
    print("sessions:", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items()), flush=True)
    return [
        (f"nox -R -s {PROFILE} / its pytest", found["session"] / found["pytest"], 1.3),
        (f"nox -j 2 with merged coverage / nox -R -s {PROFILE}", found["all"] / found["session"], 5),
    ]


if __name__ == "__main__":
    figures = startup() + sessions()
    for what, ratio, budget in figures:
        print(f"{ratio:6.3f}  budget {budget:5}  {'held' if ratio <= budget else 'OVER'}  {what}")
    sys.exit(any(ratio > budget for _, ratio, budget in figures))
