"""The README says what is true: its table of profiles is made from the rows and the specification."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from spoofs.__main__ import HEADINGS, columns
from spoofs.profiles import PROFILES, HardwareProfile
from tests.studio.specification import Verdicts, expected

README = Path(__file__).parents[1] / "README.md"
VERDICTS = ("_IS_MLX", "DEVICE", "IS_ROCM", "is_apple_silicon()")  # the headings of the fields of Verdicts, in order


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(profile: HardwareProfile) -> str:
    name, *facts = columns(profile)
    verdicts = map(str, expected(profile, {}).as_dict().values())
    return _line((f"`{name}`", *facts, *({"True": "T", "False": "F"}.get(verdict, verdict) for verdict in verdicts)))


def profile_table() -> str:
    """The table of profiles, facts on the left and verdicts on the right."""
    assert len(fields(Verdicts)) == len(VERDICTS), "VERDICTS of this file has a heading for each field of Verdicts"
    headings = (*HEADINGS, *VERDICTS)
    return "\n".join([_line(headings), _line(("---",) * len(headings)), *map(_row, PROFILES)])


def test_the_table_of_profiles_is_the_one_that_the_rows_make() -> None:
    """Where this fails, it prints the table to paste."""
    between = r"<!-- profiles: .*? -->\n(.*?)\n?<!-- /profiles -->"
    found = re.search(between, README.read_text(encoding="utf-8"), re.DOTALL)

    assert found is not None
    if profile_table() != found[1]:
        pytest.fail(f"put this table into README.md:\n\n{profile_table()}", pytrace=False)


def test_every_file_that_the_readme_links_to_is_there() -> None:
    """Links to files of this repository."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8"))

    assert links
    assert [] == [link for link in links if not (README.parent / link).exists()]
