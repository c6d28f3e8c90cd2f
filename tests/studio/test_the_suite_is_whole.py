"""The suite counts itself: a file that is no longer collected would pass without a word."""

from __future__ import annotations

import pytest

from tests.conftest import COLLECTED

# How many tests every profile's session collects, this one included. Whoever adds one raises it.
TESTS = 70


def test_every_profile_runs_as_many_tests_as_there_are(pytestconfig: pytest.Config) -> None:
    """Where this fails in a run of the whole suite, tests are missing or new; a single file has fewer."""
    found = pytestconfig.stash[COLLECTED]

    assert TESTS == found, f"tests are missing, or new ones were written: then set TESTS in this file to {found}"
