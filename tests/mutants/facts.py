"""Mutants of the spoofs: each row of the table with one fact taken away, or one boolean turned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spoofs.profiles import CANARIES, FACTS, PROFILES, HardwareProfile, ProfileError


def mutants() -> Iterator[tuple[str, HardwareProfile]]:
    """What was done -> the row that is left, for every stated fact of every row.

    Devices that no fact is left to answer for go with it; what the rule for rows refuses even so is left out.
    """
    for row in PROFILES + CANARIES:
        for what, facts in _changes(row):
            for left in (facts, {fact: value for fact, value in facts.items() if fact != "devices"}):
                try:
                    yield f"{row.name}: {what}", HardwareProfile(row.name, **left)
                except ProfileError:
                    continue
                break


def _changes(row: HardwareProfile) -> Iterator[tuple[str, dict[str, Any]]]:
    facts = row.facts()
    for fact, value in facts.items():
        rest = {name: stated for name, stated in facts.items() if name != fact}
        yield f"without {fact}={value!r}", rest
        if isinstance(value, tuple):
            for at, entry in enumerate(value):
                others = [*value[:at], *value[at + 1 :]]
                if others:
                    yield f"without {fact}[{at}]", {**rest, fact: tuple(others)}
                for key in entry if isinstance(entry, dict) else ():
                    less = {name: stated for name, stated in entry.items() if name != key}
                    yield f"without {fact}[{at}][{key!r}]", {**rest, fact: (*value[:at], less, *value[at + 1 :])}
        elif not isinstance(value, (str, bool, int, float)):
            for key in value:
                yield f"without {fact}[{key!r}]", {**rest, fact: {name: value[name] for name in value if name != key}}
    for fact in FACTS:
        if getattr(HardwareProfile, fact) is False and fact not in facts:
            yield f"with {fact}=True", {**facts, fact: True}
