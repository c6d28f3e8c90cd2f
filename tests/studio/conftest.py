"""What the tests of the shared suite are given: the machine that they run on and the subject."""

from __future__ import annotations

import os

import pytest

import spoofs
from spoofs.profiles import PROFILES
from tests.conftest import SUBJECT
from tests.studio.specification import SWITCHES
from tests.studio.subject import Subject

# The shell's switches would change verdicts that stand as literals here.
for _switch in SWITCHES:
    os.environ.pop(_switch, None)


@pytest.fixture(scope="session", autouse=True)
def _spoofed() -> None:
    """Run no test of the suite in an interpreter that is not spoofed, however it was started."""
    if spoofs.active is None:
        pytest.exit("this interpreter is not spoofed: run `nox`, or pytest with pytest-xdist", returncode=4)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests on a machine its name as their id; without one, which only collects, the names of all."""
    if "profile" in metafunc.fixturenames:
        machines = [spoofs.active.profile] if spoofs.active else list(PROFILES)
        metafunc.parametrize("profile", machines, ids=[machine.name for machine in machines], scope="session")


@pytest.fixture(scope="session")
def subject(pytestconfig: pytest.Config) -> Subject:
    """The subject of this run, importable."""
    found = pytestconfig.stash[SUBJECT]
    found.go_on_path()
    return found
