"""The option of this folder, and the process that its machines are forked from."""

from __future__ import annotations

import pytest

import spoofs
from tests.combinations import measuring
from tests.studio import subject as subjects


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of the whole product."""
    parser.getgroup("hardware profiles").addoption(
        "--every-spelling", action="store_true", help="cross the switches with every spelling of the machine too"
    )


@pytest.fixture(scope="session")
def subject(pytestconfig: pytest.Config) -> subjects.Subject:
    """The subject of this run, this process warmed for it."""
    if spoofs.active is not None:
        pytest.fail(
            f"machines are forked from the host, and this is {spoofs.active.profile.name}: unset HARDWARE_PROFILE"
        )
    found = subjects.locate(pytestconfig.option.subject)
    measuring.warm(found)
    return found
