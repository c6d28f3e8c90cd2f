"""What the tests of the shared suite are given: the machine that they run on and the subject."""

from __future__ import annotations

import pytest

import spoofs
from spoofs.profiles import PROFILES
from tests.conftest import SUBJECT
from tests.studio.subject import Subject


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
