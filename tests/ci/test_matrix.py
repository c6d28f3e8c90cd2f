"""The list of sessions that a CI's matrix is made from."""

from __future__ import annotations

import json
from pathlib import Path

from spoofs.profiles import PROFILES
from tests.ci.conftest import ROOT, Run

ROW = 'HardwareProfile("new_machine", machine="riscv64"),'


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert 1 == text.count(before)
    path.write_text(text.replace(before, after))


def test_the_matrix_is_the_rows_in_their_order(run: Run) -> None:
    done = run(ROOT, "ci/matrix.py")

    assert (0, "") == (done.returncode, done.stderr)
    assert [row.name for row in PROFILES] == json.loads(done.stdout.removeprefix("sessions="))


def test_a_new_row_is_a_session_with_no_second_edit(project: Path, run: Run) -> None:
    edit(project / "spoofs/profiles.py", "\nPROFILES = table(\n", f"\nPROFILES = table(\n    {ROW}\n")

    sessions = json.loads(run(project, "ci/matrix.py").stdout.removeprefix("sessions="))
    assert ["new_machine", *(row.name for row in PROFILES)] == sessions
    assert "* new_machine [profile,cpu] -> Linux riscv64." in run(project, "-m", "nox", "--list").stdout.splitlines()


def test_a_matrix_that_lost_a_leg_is_refused(project: Path, run: Run) -> None:
    edit(project / "noxfile.py", "for row in PROFILES:\n    nox.session", "for row in PROFILES[1:]:\n    nox.session")

    done = run(project, "ci/matrix.py")

    assert (1, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(f"nox's sessions tagged 'profile' are ['{PROFILES[1].name}', ")
    assert 1 == len(done.stderr.splitlines())


def test_an_empty_table_is_refused(project: Path, run: Run) -> None:
    with (project / "spoofs/profiles.py").open("a") as table:
        table.write("\nPROFILES = ()\n")

    done = run(project, "ci/matrix.py")

    assert (1, "") == (done.returncode, done.stdout)
    assert 1 == len(done.stderr.splitlines())


def test_a_row_that_cannot_be_answered_ends_nox_with_one_line(project: Path, run: Run) -> None:
    edit(
        project / "spoofs/profiles.py",
        'HardwareProfile("cpu_only"),',
        'HardwareProfile("cpu_only", cuda_availble=True),',
    )

    done = run(project, "-m", "nox", "--list")

    assert 0 != done.returncode
    assert ["spoofs/profiles.py: profile 'cpu_only': cuda_availble:"] == [
        line[:54] for line in (done.stdout + done.stderr).splitlines()
    ]
