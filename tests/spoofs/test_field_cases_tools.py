"""Machines from public reports answer as the reports say."""

from __future__ import annotations

import ast

import pytest

from tests.spoofs.field_cases_tools import ASKING, CASES, Case
from tests.spoofs.machines import run


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.machine.name)
def test_the_machine_says_what_the_report_says(case: Case) -> None:
    asked = "\n".join(f"print(repr({expression}))" for expression in case.says)
    child = run(case.machine, f"{ASKING}\n{asked}")
    assert (0, "") == (child.returncode, child.stderr)
    answers = map(ast.literal_eval, child.stdout.splitlines())
    assert case.says == dict(zip(case.says, answers, strict=True))
