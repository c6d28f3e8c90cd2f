"""The gate `unsloth._IS_MLX` and the order of dispatch: their source has the shape, and the gate's own source
decides."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.studio.guards import Guard, gate, order
from tests.studio.guards.gate import (
    FORCE_SWITCH,
    GATE_SHAPE,
    evaluate_gate,
    execute_gate,
    gate_module,
    gate_source,
    zoo_path,
)
from tests.studio.subject import GATE, Subject, SubjectError

GUARDS = (*gate.GUARDS, *order.GUARDS)
# The contract that each guard of the subject's shape stands for.
CONTRACTS = {
    "mlx-gate": "_IS_MLX",
    "no-torch-before-gate": "_IS_MLX",
    "dispatch-order": "detect_hardware",
    "probe-of-its-own": "detect_hardware",
    "rocm-flag": "IS_ROCM",
}


# The one guard that looks at other modules than its own, and has a test of its own.
OF_THE_SUBJECT = [guard for guard in GUARDS if guard is not gate.NO_TORCH_AT_IMPORT]


@pytest.mark.parametrize("guard", OF_THE_SUBJECT, ids=lambda guard: guard.id)
def test_the_subject_has_the_shape(guard: Guard, subject: Subject) -> None:
    """The gate and the dispatch still stand as the guards know them."""
    complaints = guard.complaints(subject.tree(guard.source))

    assert [] == complaints, f"contract {CONTRACTS.get(guard.id, guard.source)}, {guard.id}: {guard.mend}"


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.id)
def test_guard_tells_good_from_bad(guard: Guard) -> None:
    """Each good sample passes, each bad one makes the guard fire, and an empty module is an error."""
    assert [] == guard.failures()


# --- every slip in every gate -------------------------------------------------------------------------------


def _slips(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Every source in which one predicate of the gate was dropped, negated or turned, or `and` became
    `or`."""

    nodes, frozen = list(ast.walk(tree)), pickle.dumps(tree)

    def changed(what: str, node: ast.AST, change: Callable[[Any], None]) -> tuple[str, ast.Module]:
        other = pickle.loads(frozen)
        change(list(ast.walk(other))[nodes.index(node)])
        return what, other

    joined = next(node for node in nodes if isinstance(node, ast.BoolOp) and len(node.values) >= 3)
    yield changed("joined the other way", joined, _swap_join)
    for at, part in enumerate(joined.values):
        text = ast.unparse(part)
        yield changed(f"dropped: {text}", joined, partial(_drop, at=at))
        yield changed(f"negated: {text}", joined, partial(_negate, at=at))
        for constant in (True, False):
            yield changed(f"{constant} for {text}", joined, partial(_decide, at=at, value=constant))
        yield changed(f"or-ed with its neighbour: {text}", joined, partial(_pair, at=at))
        for compare in [node for node in ast.walk(part) if isinstance(node, ast.Compare)]:
            yield changed(f"compared the other way: {text}", compare, _swap_compare)
            yield changed(f"compared with something else: {text}", compare, _compare_with_another)


def _drop(node: ast.BoolOp, at: int) -> None:
    del node.values[at]


def _negate(node: ast.BoolOp, at: int) -> None:
    node.values[at] = ast.UnaryOp(ast.Not(), node.values[at])


def _decide(node: ast.BoolOp, at: int, *, value: bool) -> None:
    node.values[at] = ast.Constant(value)


def _compare_with_another(node: ast.Compare) -> None:
    node.comparators[0] = ast.Constant("other")


def _swap_join(node: ast.BoolOp) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _pair(node: ast.BoolOp, at: int) -> None:
    """Join one part and the next by the other operator, as a pair in brackets."""
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    pair = [node.values[at], node.values[(at + 1) % len(node.values)]]
    node.values = [ast.BoolOp(other, pair), *(value for value in node.values if value not in pair)]


def _swap_compare(node: ast.Compare) -> None:
    swapped = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
    node.ops[0] = swapped[type(node.ops[0])]()


def _gates(subject: Subject) -> dict[str, ast.Module]:
    """The subject's own gate, and a sample of each shape that a release has had."""
    samples = {what: ast.parse(text) for what, text in GATE_SHAPE.good.items()}
    return {"the subject's": gate_source(subject)} | samples


def test_guard_rejects_every_slip_in_every_gate(subject: Subject) -> None:
    """No predicate can be dropped, negated, turned or or-ed, in any shape of the gate, without the guard
    firing."""
    the_gate_of_the_seed = "with the switch: dropped: os.environ.get('UNSLOTH_FORCE_GPU_PATH') != '1'"
    slips = [(shape, what, slip) for shape, tree in _gates(subject).items() for what, slip in _slips(tree)]

    assert 60 < len(slips)
    passed = [f"{shape}: {what}" for shape, what, slip in slips if not GATE_SHAPE.complaints(slip)]
    assert [the_gate_of_the_seed] == passed


# --- the gate's own source over the truth table of its predicates -------------------------------------------

SYSTEMS = ("Linux", "Darwin", "Windows", "darwin", "DARWIN", "")
MACHINES = ("x86_64", "arm64", "aarch64", "ARM64", "arm64e", "")
SWITCH = (None, "0", "1", "", "true")
"""What UNSLOTH_FORCE_GPU_PATH may be; only "1" forces."""

Row = tuple[str, str, bool, str | None]
"""System, machine, whether mlx is found, the switch."""


class Table:
    """Executes a gate on machines that exist nowhere but here, and notes whether unsloth_zoo was asked."""

    def __init__(self, tree: ast.Module, file: str, patch: pytest.MonkeyPatch) -> None:
        self.code, self.file = compile(tree, file, "exec"), file
        self.has_switch = any(getattr(node, "value", None) == FORCE_SWITCH for node in ast.walk(tree))
        self.machine: tuple[str, str, bool] = ("", "", False)
        real = importlib.util.find_spec
        patch.setattr(platform, "system", lambda: self.machine[0])
        patch.setattr(platform, "machine", lambda: self.machine[1])
        patch.setattr(
            importlib.util,
            "find_spec",
            lambda name, package=None: (
                (object() if self.machine[2] else None) if name == "mlx" else real(name, package)
            ),
        )
        self.asked = 0
        self.patch = patch

    def zoo(self, answer: Callable[[], bool] | None) -> None:
        """Let unsloth_zoo.mlx answer this; None: it cannot be imported."""

        def is_mlx_available() -> bool:
            self.asked += 1
            return answer is not None and answer()

        runtime = ModuleType("unsloth_zoo.mlx")
        runtime.__dict__["is_mlx_available"] = is_mlx_available
        self.patch.setitem(sys.modules, "unsloth_zoo", ModuleType("unsloth_zoo"))
        self.patch.setitem(sys.modules, "unsloth_zoo.mlx", runtime if answer else None)

    def rows(self) -> Iterator[tuple[Row, bool]]:
        """Every machine and switch, and what the gate must decide there; the gate of the seed has no switch."""
        for row in itertools.product(SYSTEMS, MACHINES, (True, False), SWITCH):
            system, machine, mlx, forced = row
            off = self.has_switch and forced == "1"
            yield row, system == "Darwin" and machine == "arm64" and mlx and not off

    def wrong(self) -> list[Row]:
        """The rows on which the gate decides otherwise than it must."""
        return [row for row, expected in self.rows() if self.decides(*row) is not expected]

    def decides(self, system: str, machine: str, mlx: bool, forced: str | None) -> bool:
        """What the gate decides on that machine."""
        self.machine = (system, machine, mlx)
        if forced is None:
            os.environ.pop("UNSLOTH_FORCE_GPU_PATH", None)
        else:
            os.environ["UNSLOTH_FORCE_GPU_PATH"] = forced
        decided: bool = execute_gate(self.code, self.file)
        return decided


@pytest.fixture
def table(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> Table:
    """The truth table of the subject's own gate."""
    monkeypatch.setenv("UNSLOTH_FORCE_GPU_PATH", "")  # undone with the rest, whatever a row sets
    return Table(gate_source(subject), str(subject.path(GATE)), monkeypatch)


def test_gate_is_true_only_on_apple_silicon_with_mlx(table: Table) -> None:
    """Even where unsloth_zoo would say yes to every machine, the gate itself refuses all but one, unless it
    is forced."""
    table.zoo(lambda: True)

    assert [] == table.wrong(), "contract _IS_MLX"
    assert 1 == len({row[:3] for row, expected in table.rows() if expected})


def test_gate_and_unsloth_zoo_decide_alike(table: Table, subject: Subject) -> None:
    """The same with unsloth_zoo's own answer, executed from its own source anew for each machine."""
    path = zoo_path(subject, gate.ZOO_RUNTIME)
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def own_answer() -> bool:
        namespace: dict[str, Any] = {"__name__": "unsloth_zoo.mlx.runtime"}
        exec(code, namespace)
        return bool(namespace["is_mlx_available"]())

    table.zoo(own_answer)

    assert [] == table.wrong()


def _asks_zoo(subject: Subject) -> bool:
    """Whether the gate of this subject asks unsloth_zoo at all; the one of the seed does not."""
    imports = [node for node in ast.walk(gate_source(subject)) if isinstance(node, ast.ImportFrom)]
    return any((node.module or "").startswith("unsloth_zoo") for node in imports)


@pytest.mark.parametrize("answer", [lambda: False, None], ids=["says no", "is missing"])
def test_gate_is_false_where_unsloth_zoo_does_not_agree(
    answer: Callable[[], bool] | None, table: Table, subject: Subject
) -> None:
    """A gate that asks unsloth_zoo does so last, and takes a no, or no unsloth_zoo at all, for a no."""
    table.zoo(answer)

    said_yes = [row for row, _ in table.rows() if table.decides(*row)]

    assert ([] if _asks_zoo(subject) else [row for row, expected in table.rows() if expected]) == said_yes


def test_gate_asks_unsloth_zoo_only_where_its_own_predicates_hold(table: Table, subject: Subject) -> None:
    """On every other machine unsloth_zoo is not touched: importing it there is slow, or fails."""
    table.zoo(lambda: True)

    said_yes = sum(table.decides(*row) for row, _ in table.rows())

    assert 0 < said_yes
    assert (said_yes if _asks_zoo(subject) else 0) == table.asked


def test_truth_table_notices_every_dropped_predicate(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table bites: each predicate that is dropped from the subject's gate, or negated, gives a wrong
    row."""
    monkeypatch.setenv("UNSLOTH_FORCE_GPU_PATH", "")
    whole = Table(gate_source(subject), "whole", monkeypatch)
    quiet = []
    for what, slip in _slips(gate_source(subject)):
        if what.startswith(("dropped", "negated")):
            table = Table(ast.fix_missing_locations(slip), "slip", monkeypatch)
            table.has_switch = whole.has_switch
            table.zoo(lambda: True)
            quiet += [] if table.wrong() else [what]

    assert [] == quiet


# --- the gate by itself -------------------------------------------------------------------------------------


def test_gate_module_holds_what_the_gate_needs_and_nothing_else() -> None:
    """The imports, the helpers it reads transitively, the assignment; not what comes between, and nothing
    behind it."""
    tree = ast.parse(
        "import os, platform\nimport torch\nfrom .fixes import platform_fix\nWANTED = 'Darwin'\n"
        "def right():\n    return WANTED\ndef other():\n    return os\n"
        "def gate():\n    return platform.system() == right()\n_IS_MLX = gate()\n_IS_MLX2 = other()\n"
    )

    kept = [ast.unparse(node).partition("\n")[0] for node in gate_module(tree).body]

    assert [
        "import os, platform",
        "WANTED = 'Darwin'",
        "def right():",
        "def gate():",
        "_IS_MLX = gate()",
    ] == kept


def test_gate_of_the_subject_keeps_its_own_lines(subject: Subject) -> None:
    """What is executed are the file's own nodes, so coverage and tracebacks point at the real lines."""
    own = {node.lineno: ast.unparse(node) for node in subject.tree(GATE).body}

    assert [own[node.lineno] for node in gate_source(subject).body] == [
        ast.unparse(node) for node in gate_source(subject).body
    ]
    assert 2 <= len(gate_source(subject).body)


def test_one_evaluation_does_not_poison_the_next(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """unsloth_zoo remembers its answer for the process; evaluate_gate does not let it answer for another
    machine."""
    path = zoo_path(subject, gate.ZOO_RUNTIME)
    runtime = ModuleType("unsloth_zoo.mlx.runtime")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), runtime.__dict__)
    table = Table(gate_source(subject), str(path), monkeypatch)
    table.zoo(lambda: True)
    monkeypatch.setitem(sys.modules, "unsloth_zoo.mlx", runtime)
    monkeypatch.setitem(sys.modules, "unsloth_zoo.mlx.runtime", runtime)
    monkeypatch.delenv("UNSLOTH_FORCE_GPU_PATH", raising=False)

    answers = []
    for machine in [("Darwin", "arm64", True), ("Linux", "x86_64", False), ("Darwin", "arm64", True)]:
        table.machine = machine
        answers.append((evaluate_gate(subject), runtime.is_mlx_available()))

    assert [(True, True), (False, False), (True, True)] == answers


def test_subject_without_the_gate_is_named(tmp_path: Path) -> None:
    """A package whose __init__ does not assign _IS_MLX is one clear line, not a traceback of ours."""
    (tmp_path / "unsloth").mkdir()
    (tmp_path / "unsloth" / "__init__.py").write_text("if True:\n    _IS_MLX = True\n", encoding="utf-8")

    with pytest.raises(SubjectError, match=r"__init__\.py: _IS_MLX cannot be found"):
        evaluate_gate(Subject(tmp_path, "0"))
