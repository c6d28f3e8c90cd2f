"""nox as its users meet it: the menu, arguments, what a session leaves behind, and bad input."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import coverage
import pytest

from spoofs.profiles import PROFILES
from tests.ci.conftest import ROOT, Run
from tests.studio import subject as subjects
from tests.studio.specification import SEED

NAMES = [row.name for row in PROFILES]
MATRIX = "tests/studio/test_hardware_dispatch_matrix.py"


def listed(run: Run, *arguments: str) -> list[dict[str, object]]:
    done = run(ROOT, "-m", "nox", "--list", "--json", *arguments)
    entries: list[dict[str, object]] = json.loads(done.stdout)
    return entries


def test_nox_alone_is_the_profiles_and_then_the_coverage(run: Run) -> None:
    assert [*NAMES, "coverage"] == [entry["session"] for entry in listed(run)]


def test_every_session_has_a_line_in_the_menu(run: Run) -> None:
    menu = run(ROOT, "-m", "nox", "--list").stdout

    sessions = re.findall(r"^[*-] (\w+)(?: \[[\w,]+\])? -> \S.*\.$", menu, re.MULTILINE)
    assert len(re.findall(r"^[*-] ", menu, re.MULTILINE)) == len(sessions)
    assert {*NAMES, "coverage", "host", "lint", "types", "torch", "combinations", "benchmark"} <= set(sessions)


@pytest.mark.parametrize(
    ("family", "members"),
    [
        ("apple", ["apple_silicon_mlx", "apple_silicon_no_mlx"]),
        ("gpu", ["nvidia_cuda", "amd_rocm", "intel_xpu"]),
        ("arm", ["apple_silicon_mlx", "apple_silicon_no_mlx", "linux_arm64_with_mlx"]),
        ("cpu", ["linux_arm64_with_mlx", "cpu_only"]),
    ],
)
def test_families_are_tags(run: Run, family: str, members: list[str]) -> None:
    """Of the machines that the table must hold, these are in the family; others may be."""
    assert members == [entry["session"] for entry in listed(run, "--tags", family) if entry["session"] in SEED]


def test_the_family_of_all_machines_is_the_table(run: Run) -> None:
    assert NAMES == [entry["session"] for entry in listed(run, "--tags", "profile")]


def test_a_warm_session_runs_its_machine_and_leaves_report_and_coverage(warm: Path, run: Run) -> None:
    """No installer could work here, so a warm session calls none; arguments behind -- reach pytest."""
    sessions = run(warm, "-m", "nox", "-s", "amd_rocm", "cpu_only", "--", MATRIX, "-k", "is_rocm_decides")
    merged = run(warm, "-m", "nox", "--no-dependencies", "-s", "coverage")
    report = run(warm, "-m", "coverage", "report", "--contexts=amd_rocm", "--include=*/hardware.py")

    assert (0, 0, 0) == (sessions.returncode, merged.returncode, report.returncode), sessions.stdout + merged.stdout
    for name in ("amd_rocm", "cpu_only"):
        suite = ElementTree.parse(warm / ".nox/reports" / name / "junit.xml").getroot()[0]
        assert (name, "1", "0") == (suite.get("name"), suite.get("tests"), suite.get("failures"))
    data = coverage.CoverageData(str(warm / ".nox/reports/coverage/.coverage"))
    data.read()
    assert {"amd_rocm", "cpu_only"} == data.measured_contexts()
    assert "spoofs/startup/sitecustomize.py" in data.measured_files()
    hardware = next(file for file in data.measured_files() if file.endswith("/hardware.py"))
    data.set_query_context("amd_rocm")
    rocm = set(data.lines(hardware) or [])
    data.set_query_context("cpu_only")
    assert rocm - set(data.lines(hardware) or []), "a line that ROCm alone runs"


def test_a_relative_subject_is_relative_to_where_nox_was_called(warm: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "checkout").symlink_to(subjects.locate().root)

    arguments = (
        "-f",
        str(warm / "noxfile.py"),
        "-s",
        "cpu_only",
        "--",
        "--subject",
        "checkout",
        MATRIX,
        "-k",
        "is_rocm_decides",
    )
    done = run(tmp_path, "-m", "nox", *arguments)

    assert 0 == done.returncode, done.stdout
    assert "1 passed" in done.stdout


def test_a_spoofed_shell_spoofs_no_install(project: Path, run: Run) -> None:
    """pip on another machine would look for other wheels, and fail with another message."""
    startup = str(ROOT / "spoofs/startup")

    done = run(project, "-m", "nox", "-s", "cpu_only", HARDWARE_PROFILE="apple_silicon_mlx", PYTHONPATH=startup)

    assert "no package index has it or answers" in done.stderr
    assert "Darwin" not in (project / ".nox/reports/cpu_only/install.log").read_text()


def refused(project: Path, run: Run, *arguments: str, **env: str) -> str:
    """What nox says of a run that it ends itself: one line of its own making."""
    done = run(project, "-m", "nox", "-s", "cpu_only", *arguments, **env)
    assert 0 != done.returncode
    assert "Traceback" not in done.stdout + done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "aborted" in line or "ERROR" in line]
    assert 1 == len(lines)
    return lines[0]


@pytest.mark.parametrize("variable", ["UNSLOTH", "TORCH"])
def test_what_is_no_release_is_refused_before_anything_is_installed(project: Path, run: Run, variable: str) -> None:
    with_subject = {} if variable == "UNSLOTH" else {"UNSLOTH": ""}
    (project / ".nox/packages/unsloth-2026.10.9").mkdir(parents=True)

    line = refused(project, run, **{variable: "main", **with_subject})

    assert f"{variable}=main names no release; one looks like {variable}=" in line


def test_a_release_that_does_not_exist_is_named_with_the_last_that_do(project: Path, run: Run) -> None:
    shelf = project / "wheels"
    shelf.mkdir()
    for version in ("1.0", "2.0"):
        with zipfile.ZipFile(shelf / f"unsloth-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(
                f"unsloth-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: unsloth\nVersion: {version}\n"
            )

    line = refused(project, run, UNSLOTH="9999.9.9", PIP_FIND_LINKS=str(shelf))

    assert "cannot install unsloth and unsloth_zoo 9999.9.9: no such release; the last ones are 1.0, 2.0" in line


def test_no_network_with_a_cold_cache_is_said_in_one_line(project: Path, run: Run) -> None:
    line = refused(project, run)

    assert "cannot install unsloth and unsloth_zoo" in line
    assert "no package index has it or answers; check the network" in line


def test_a_release_that_may_not_be_installed_is_said_in_one_line(warm: Path, run: Run) -> None:
    line = refused(warm, run, "-R", UNSLOTH="2026.8.1")

    assert "2026.8.1 is not installed yet, and -R installs nothing: run once without -R" in line


@pytest.mark.parametrize("path", sorted((ROOT / "ci/requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_every_requirement_is_pinned_by_hash_and_without_an_address(path: Path) -> None:
    text = path.read_text()

    entries = re.findall(r"^(\w\S*?)==\S+.*\\\n(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.MULTILINE)
    assert len(re.findall(r"^\w", text, re.MULTILINE)) == len(entries) > 0
    assert "://" not in text
