"""The machines of public reports can be described, and say what the reports have them say."""

import json

import pytest

from spoofs.profiles import table
from tests.spoofs.field_cases import CASES, Case
from tests.spoofs.machines import run

ASK = """
import importlib, importlib.metadata, importlib.util, json, os, platform, sys, sysconfig, torch
for source in json.loads(sys.argv[1]):
    try: print(repr(eval(source)))
    except Exception as error: print(f"raises {error!r}")
"""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.machine.name)
def test_the_machine_says_what_the_report_has_it_say(case: Case) -> None:
    child = run(case.machine, ["-c", ASK, json.dumps(list(case.says))])
    assert "" == child.stderr
    expected = [f"raises {each!r}" if isinstance(each, Exception) else repr(each) for each in case.says.values()]
    assert dict(zip(case.says, expected, strict=True)) == dict(
        zip(case.says, child.stdout.splitlines(), strict=True)
    )


def test_no_name_is_used_twice() -> None:
    """They can be put into one table of profiles."""
    assert len(CASES) == len(table(*(case.machine for case in CASES)))
