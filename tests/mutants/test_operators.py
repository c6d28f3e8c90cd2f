"""The operators find each slip that they are for, and change one spot of the source and no other."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tests.mutants import facts
from tests.mutants.operators import mutants
from tests.studio.specification import SEED

# Source -> the sources that its mutants are, by operator.
SLIPS = {
    "if a() and b == 1: pass": {
        ("drop a predicate", "if (b == 1): pass"),
        ("drop a predicate", "if (a()): pass"),
        ("negate a predicate", "if (not a()) and b == 1: pass"),
        ("swap and with or", "if (a() or b == 1): pass"),
        ("swap a comparison", "if a() and (b != 1): pass"),
    },
    "x = not y": {("negate a predicate", "x = (y)")},
    "if y: z()": {("negate a predicate", "if (not y): z()")},
    "x = a if y else b": {
        ("negate a predicate", "x = a if (not y) else b"),
        ("swap two branches", "x = (b if y else a)"),
    },
    "x = a < b": {("swap a comparison", "x = (a <= b)")},
    "x = a is None": {("swap a comparison", "x = (a is not None)")},
    "x = a in b": {("swap a comparison", "x = (a not in b)")},
    "def f():\n    return g": {("drop a return", "def f():\n    pass")},
    "x = True": {("flip a boolean", "x = (False)")},
    "DEVICE = DeviceType.CUDA": {
        ("drop a verdict", "pass"),
        ("take another device", "DEVICE = DeviceType.CPU"),
    },
    "x = torch.cuda.is_available()": {("rename what is asked", "x = torch.cuda.is_available_()")},
    "x = getattr(v, 'hip', None)": {("rename what is asked", "x = getattr(v, ('hip_'), None)")},
    "import torch": {("rename what is asked", "import torch_")},
    "f(a, token=b)": {("drop a keyword argument", "(f(a))")},
    "x = a[1:b + 1]": {
        ("drop a bound", "x = a[1:]"),
        ("drop a bound", "x = a[:b + 1]"),
        ("drop a bound's step", "x = a[1:(b)]"),
    },
    "for x in y:\n    continue": {("drop an exit", "for x in y:\n    pass")},
    "if a == 1:\n    b()\nelse:\n    c()": {
        ("swap a comparison", "if (a != 1):\n    b()\nelse:\n    c()"),
        ("swap two branches", "if a == 1:\n    c()\nelse:\n    b()"),
    },
    "def f():\n    if a == 1:\n        return\n    if b == 2:\n        return": {
        ("swap a comparison", "def f():\n    if (a != 1):\n        return\n    if b == 2:\n        return"),
        ("swap a comparison", "def f():\n    if a == 1:\n        return\n    if (b != 2):\n        return"),
        ("swap two branches", "def f():\n    if b == 2:\n        return\n    if a == 1:\n        return"),
    },
    # What is only said, to a log or to a reader, is left alone.
    "def f():\n    'True'\n    logger.info('x', exc_info=True)": set(),
}


@pytest.mark.parametrize("source", SLIPS)
def test_each_slip_is_made_once(source: str) -> None:
    """The mutants of a line are those of the table, and no others."""
    found = [(each.operator, each.apply(source)) for each in mutants("file.py", source, ast.parse(source).body)]

    assert len(found) == len(set(found))
    assert SLIPS[source] == set(found)


def test_a_mutant_says_where_it_is_and_keeps_the_rest() -> None:
    """Beside the spot the text stays as it was, letters of several bytes and comments included."""
    source = textwrap.dedent("""\
        def f(x):  # "größer", says the comment
            return x > "ß" and True
    """)

    found = {str(each): each.apply(source) for each in mutants("a/b.py", source, ast.parse(source).body)}

    assert source.replace("True", "(False)") == found["a/b.py:2 True -> (False)"]
    assert source.replace('x > "ß"', "(x >= 'ß')") == found["a/b.py:2 x > 'ß' -> (x >= 'ß')"]


def test_lines_that_carry_no_contract_are_left_alone() -> None:
    """Where lines are named, the others are not mutated."""
    source = "a = True\nb = True\n"

    assert [2] == [each.line for each in mutants("f.py", source, ast.parse(source).body, {2})]


def test_every_stated_fact_of_every_profile_is_taken_away_once() -> None:
    """Each row of the seed loses each fact that it states, and what it says of its devices and packages one by one."""
    made = [what for what, _ in facts.mutants()]

    assert len(made) == len(set(made))
    for name in SEED:
        assert any(what.startswith(f"{name}: ") for what in made)
    assert {
        "amd_rocm: without hip_version='6.1'",
        "amd_rocm: without cuda_available=True",
        "amd_rocm: without devices[0]['arch']",
        "amd_rocm: with xpu_available=True",
        "apple_silicon_mlx: without packages['mlx-vlm']",
    } <= set(made)
