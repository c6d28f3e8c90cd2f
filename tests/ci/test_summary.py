"""The summary of a run, from reports that pytest wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoofs.profiles import PROFILES
from tests.ci.conftest import Run

NAMES = [row.name for row in PROFILES]
MATRIX = """
import pytest
def test_is_mlx_gate(): pass
def test_detect_hardware(): pass
def test_is_rocm(): pass
def test_is_apple_silicon(): pass
def test_cuda_takes_priority(): pass
def test_xpu_takes_priority(): pass
@pytest.mark.xfail(reason="known", strict=True)
def test_known(): raise AssertionError
"""
GATE = "def test_shape(): pass"
WORKER = "class TestToken:\n    def test_token(self): pass"
TESTS = 9  # of the three


@pytest.fixture
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small suite with the names of the shared one."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "pytest.ini").touch()
    (folder / "test_hardware_dispatch_matrix.py").write_text(MATRIX)
    (folder / "test_is_mlx_dispatch_gate.py").write_text(GATE)
    (folder / "test_mlx_training_worker_behaviors.py").write_text(WORKER)
    return folder


def written(suite: Path, run: Run) -> str:
    """The JUnit report of the small suite, as a session's pytest writes it; NAME stands for the session."""
    run(suite, "-m", "pytest", "--junitxml=junit.xml", "--override-ini=junit_suite_name=NAME")
    return (suite / "junit.xml").read_text()


def leave(project: Path, name: str, report: str) -> None:
    folder = project / ".nox" / "reports" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "junit.xml").write_text(report.replace("NAME", name))


def test_a_green_run_is_a_table_of_profiles_and_ends_with_the_count(project: Path, suite: Path, run: Run) -> None:
    report = written(suite, run)
    for name in [*NAMES, "host"]:
        leave(project, name, report)

    done = run(project, "ci/summary.py")

    lines = done.stdout.splitlines()
    assert 0 == done.returncode, done.stdout
    rows = [line for line in lines if line.startswith("| `")]
    assert [*NAMES, "host"] == [row.split("`")[1] for row in rows]
    assert [" 1 ok "] * 4 + [" 2 ok ", " 1 ok ", " 1 ok ", " 1 ok "] == rows[0].split("|")[2:10]
    assert f" {TESTS} ok " == rows[-1].split("|")[2]
    assert f"{TESTS * len([*NAMES, 'host'])} passed, 0 failed" == lines[-1]


def test_a_profile_without_a_report_is_not_green(project: Path, suite: Path, run: Run) -> None:
    report = written(suite, run)
    for name in NAMES[1:]:
        leave(project, name, report)

    done = run(project, "ci/summary.py")

    assert 1 == done.returncode
    assert f"- {NAMES[0]}: no report, so its session did not come to its tests" in done.stdout.splitlines()


def test_a_contract_that_is_not_asserted_is_not_green(project: Path, suite: Path, run: Run) -> None:
    report = written(suite, run)
    for name in NAMES:
        leave(project, name, report)
    (suite / "test_is_mlx_dispatch_gate.py").unlink()
    leave(project, "cpu_only", written(suite, run))

    done = run(project, "ci/summary.py")

    assert 1 == done.returncode
    assert "- cpu_only: no test of gate's guard" in done.stdout.splitlines()


@pytest.mark.parametrize(
    "body", ["raise AssertionError", "__import__('pytest').skip('why')"], ids=["failed", "skipped"]
)
def test_a_failed_or_skipped_test_is_not_green(project: Path, suite: Path, run: Run, body: str) -> None:
    report = written(suite, run)
    for name in NAMES:
        leave(project, name, report)
    (suite / "test_is_mlx_dispatch_gate.py").write_text(f"def test_shape(): {body}")
    leave(project, "cpu_only", written(suite, run))

    done = run(project, "ci/summary.py")

    assert 1 == done.returncode
    assert "- cpu_only: 1 failed" in done.stdout.splitlines()
    assert f"{TESTS * len(NAMES) - 1} passed, 1 failed" == done.stdout.splitlines()[-1]


def test_where_nothing_was_merged_a_sentence_says_how(project: Path, run: Run) -> None:
    done = run(project, "ci/summary.py")

    assert "No merged coverage: `nox --no-dependencies -s coverage` merges what the sessions left." in done.stdout
