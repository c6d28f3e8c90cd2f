"""A new machine and a new canary are a row each: no test of this project has to be edited for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ci.conftest import ROOT, copy

ABOVE = {
    "\n# What `nox` runs": 'RTX = {"name": "NVIDIA GeForce RTX 4090", "capability": (8, 9), "processors": 127}',
    "    HardwareProfile(": """    HardwareProfile(
        "laptop_two_4090",
        cuda_available=True,
        devices=(RTX, RTX),
        environment={"CUDA_VISIBLE_DEVICES": "0"},
    ),""",
    '    HardwareProfile("canary_': (
        '    HardwareProfile("canary_rocm_over_mlx", **APPLE, cuda_available=True, hip_version="6.1", packages=MLX),'
    ),
}
# What asks for the whole table, and what asks for each of its rows.
ASK = {
    "the table": (
        "tests/spoofs/test_profiles.py",
        "tests/test_readme.py::test_the_table_of_profiles_is_the_one_that_the_rows_make",
        "tests/ci/test_matrix.py::test_a_new_row_is_a_session_with_no_second_edit",
        "tests/ci/test_summary.py::test_a_green_run_is_a_table_of_profiles_and_ends_with_the_count",
    ),
    "each row": (
        *("tests/spoofs/test_tools.py", "tests/spoofs/test_record.py"),
        *("-k", "laptop_two_4090 or canary_rocm_over_mlx"),
    ),
    "the claims": ("tests/combinations/test_off_the_diagonal.py",),
}


def python(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HARDWARE_", "PYTEST_"))}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """A copy of the project with a machine more, a canary more, and the table of the README made anew."""
    copy(tmp_path)
    rows = tmp_path / "spoofs" / "profiles.py"
    text = rows.read_text()
    for below, more in ABOVE.items():
        before, found, after = text.partition(below)
        assert found
        text = f"{before}{more}\n{found}{after}"
    rows.write_text(text)
    table = python(tmp_path, "-c", "from tests import test_readme; print(test_readme.profile_table())")
    assert (0, "") == (table.returncode, table.stderr)
    shutil.copy(ROOT / "README.md", tmp_path)
    readme = tmp_path / "README.md"
    text, made = re.subn(
        r"(<!-- profiles: .*? -->\n).*?(<!-- /profiles -->)",
        lambda found: f"{found[1]}{table.stdout}{found[2]}",
        readme.read_text(),
        flags=re.DOTALL,
    )
    assert (1, True) == (made, "`laptop_two_4090`" in text)
    readme.write_text(text)
    return tmp_path


@pytest.mark.parametrize("tests", ASK.values(), ids=ASK.keys())
def test_a_new_row_breaks_no_test(grown: Path, tests: tuple[str, ...]) -> None:
    """Neither those that know the whole table nor those that run once for each machine."""
    done = python(grown, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert " passed" in done.stdout
