"""The seed's one-liners and what goes wrong with them, as a person types them: real runs of pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MATRIX = "tests/studio/test_hardware_dispatch_matrix.py"


def run_pytest(
    *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a shell that knows nothing of us."""
    ours = ("HARDWARE_PROFILE", "PYTHONPATH", "COVERAGE_")
    shell = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=cwd, env=shell | (env or {}), capture_output=True, text=True, check=False)


def one_line(run: subprocess.CompletedProcess[str]) -> str:
    """The one line that a refused run says, with nothing but its status beside it."""
    said = [line for line in (run.stdout + run.stderr).splitlines() if line]
    assert 1 == len(said), said
    assert run.returncode == 4
    return said[0]


@pytest.mark.parametrize(
    "chosen", [(MATRIX, "-k", "apple_silicon_mlx"), (MATRIX, "-k", "APPLE_SILICON_MLX")], ids=" ".join
)
def test_a_profile_is_chosen_by_its_name(chosen: tuple[str, ...]) -> None:
    """Only its tests run."""
    run = run_pytest(*chosen)

    assert run.returncode == 0
    assert "5 passed" in run.stdout


@pytest.mark.parametrize("profile", ["nvidia_cuda", "apple_silicon_mlx"])
def test_a_test_is_chosen_by_its_id(profile: str) -> None:
    """The id of a test that failed runs that test again, and its status is that of the test."""
    run = run_pytest(f"{MATRIX}::test_detect_hardware_decides_as_specified[{profile}]")

    assert run.returncode == 0
    assert "1 passed" in run.stdout


def test_no_test_runs_where_nothing_is_spoofed() -> None:
    """Without a profile and without pytest-xdist there is no machine to be on."""
    assert "pytest-xdist" in one_line(run_pytest(MATRIX, "-p", "no:xdist"))


def test_a_profile_without_its_shim_is_refused() -> None:
    """The environment names a machine that the interpreter is not on."""
    said = one_line(run_pytest(MATRIX, env={"HARDWARE_PROFILE": "amd_rocm"}))

    assert "HARDWARE_PROFILE=amd_rocm" in said
    assert "spoofs/startup" in said


def test_switches_and_odd_paths_of_the_shell_change_nothing() -> None:
    """A shell may force the subject's hand, and hold what workers of xdist would stumble over."""
    run = run_pytest(MATRIX, "-k", "cpu_only", env={"UNSLOTH_FORCE_GPU_PATH": "1", "PYTHONPATH": "/no//such:rel"})

    assert run.returncode == 0
    assert "5 passed" in run.stdout


def copy(where: Path, *, row: str = "") -> Path:
    """A copy of what a run needs, with one more row."""
    for folder in ("spoofs", "tests"):
        shutil.copytree(ROOT / folder, where / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", where)
    rows = where / "spoofs" / "profiles.py"
    rows.write_text(rows.read_text().replace("PROFILES = table(\n", f"PROFILES = table(\n    {row}\n"))
    return where


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('HardwareProfile("cpu_only"),', "'cpu_only': name: stands twice"),
        ('HardwareProfile("canary_cuda_over_mlx"),', "'canary_cuda_over_mlx': name: stands twice"),
        ('HardwareProfile("new", cudda_available=True),', "'new': cudda_available: no such fact"),
    ],
)
def test_a_row_that_is_refused_is_said_in_one_line(tmp_path: Path, row: str, said: str) -> None:
    """By the command, by pytest, and by an interpreter on any machine."""
    where = copy(tmp_path, row=row)
    by_hand = subprocess.run(
        [sys.executable, "-m", "spoofs", "list"], cwd=where, capture_output=True, text=True, check=False
    )
    by_pytest = run_pytest(MATRIX, cwd=where)

    assert (97, 1) == (by_hand.returncode, len(by_hand.stderr.splitlines()))
    assert said in by_hand.stderr
    assert by_pytest.returncode != 0
    assert said in by_pytest.stderr
    assert "Traceback" not in by_pytest.stdout + by_pytest.stderr


def test_a_folder_that_cannot_stand_on_a_path_is_refused(tmp_path: Path) -> None:
    """A colon ends an entry of PYTHONPATH, so that the shim would be lost without a word."""
    where = copy(tmp_path / "co:lon")
    by_hand = subprocess.run(
        [sys.executable, "-m", "spoofs", "run", "cpu_only", "--", "true"],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )

    assert by_hand.returncode == 97
    assert "move this folder" in by_hand.stderr
    assert "move this folder" in one_line(run_pytest(MATRIX, cwd=where))
