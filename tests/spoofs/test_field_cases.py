"""The machines of public reports can be described, and say what the reports have them say."""

import pytest

from spoofs.profiles import table
from tests.spoofs.field_cases import CASES, Case
from tests.spoofs.probing import as_said, ask


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.machine.name)
def test_the_machine_says_what_the_report_has_it_say(case: Case) -> None:
    assert {source: as_said(value) for source, value in case.says.items()} == ask(case.machine, *case.says)


def test_no_name_is_used_twice() -> None:
    """They can be put into one table of profiles."""
    assert len(CASES) == len(table(*(case.machine for case in CASES)))
