"""The operators: small slips that dispatch code is prone to, each as a change of one spot of a source text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tests.studio.guards import dotted

# Calls whose words nobody dispatches on.
_WORDS = ("logger.", "print", "_send_status", "RuntimeError", "ValueError", "ImportError")
# Predicates that no other operator turns round.
_PLAIN = (ast.Call, ast.Name, ast.Attribute)
_COMPARISONS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one file of the subject: the text between two offsets (bytes) stands as `after` instead."""

    file: str
    line: int
    last_line: int
    scope: str
    operator: str
    before: str
    after: str
    start: int
    end: int
    replacement: str
    nth: int = 1
    """Which one it is of those that look alike in this function."""

    @property
    def lines(self) -> range:
        """The lines that it changes."""
        return range(self.line, self.last_line + 1)

    @property
    def key(self) -> str:
        """What names it in the list of equivalent ones: no line number, which other releases move."""
        nth = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.file} {self.scope}: {self.before} -> {self.after}{nth}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.before} -> {self.after}"

    def apply(self, text: str) -> str:
        """The mutated source."""
        source = text.encode()
        return (source[: self.start] + self.replacement.encode() + source[self.end :]).decode()


def mutants(file: str, text: str, roots: Sequence[ast.AST], lines: set[int] | None = None) -> list[Mutant]:
    """All mutants below the nodes `roots` of the parsed `text`, each once; on these lines only, where given."""
    source = text.encode()
    offsets = [0]
    for row in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(row))
    found: dict[tuple[int, int, str], Mutant] = {}
    root: Any
    for root in roots:
        first, last = offsets[root.lineno - 1], offsets[root.end_lineno]
        scope = getattr(root, "name", "top level")
        for node, operator, after, shown in _changes(root):
            if lines is not None and node.lineno not in lines:
                continue
            start = offsets[node.lineno - 1] + node.col_offset
            end = offsets[node.end_lineno - 1] + node.end_col_offset
            replacement = after if isinstance(after, str) else _unparse(after, node)
            if (start, end, replacement) in found:
                continue
            changed = source[first:start] + replacement.encode() + source[end:last]
            if _parses(changed):
                before = _short(ast.unparse(node) or source[start:end].decode())
                spot = (file, node.lineno, node.end_lineno, scope, operator, before, shown or _short(replacement))
                found[start, end, replacement] = Mutant(*spot, start, end, replacement)
    seen: Counter[str] = Counter()
    numbered = []
    for mutant in sorted(found.values()):
        seen[mutant.key] += 1
        numbered.append(replace(mutant, nth=seen[mutant.key]))
    return numbered


def _unparse(after: ast.AST, node: Any) -> str:
    """The source of a changed node where `node` stands: brackets around expressions, the indent of statements kept."""
    text = ast.unparse(ast.fix_missing_locations(after))
    if isinstance(after, ast.expr):
        return f"({text})"
    return text.replace("\n", "\n" + " " * node.col_offset)


def _parses(statement: bytes) -> bool:
    try:
        ast.parse(statement)
    except SyntaxError:
        return False
    return True


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-25:]}"


def _walk(root: ast.AST) -> Iterator[ast.AST]:
    """The nodes at and below `root`, without docstrings and without what is only said: to a log, to a person."""
    if isinstance(root, ast.Expr) and isinstance(root.value, ast.Constant):
        return
    if isinstance(root, ast.Call) and dotted(root.func).startswith(_WORDS):
        return
    yield root
    for child in ast.iter_child_nodes(root):
        yield from _walk(child)


Change = tuple[Any, str, ast.AST | str, str | None]
"""A node, the operator, what stands there instead, and how to show that where it is long."""


def _changes(root: ast.AST) -> Iterator[Change]:
    """Each spot below `root` that an operator changes."""
    for node in _walk(root):
        yield from _changed(node)
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list):
                yield from _neighbours(block)


def _changed(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BoolOp(op=op, values=values):
            for at, value in enumerate(values):
                rest = values[:at] + values[at + 1 :]
                without = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                yield node, "drop a predicate", without, f"without {_short(ast.unparse(value))}"
                if isinstance(value, _PLAIN):
                    yield value, "negate a predicate", ast.UnaryOp(ast.Not(), value), None
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, "swap and with or", ast.BoolOp(other, values), "and, or swapped"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "negate a predicate", operand, None
        case ast.Compare(left=left, ops=[op], comparators=rest) if type(op) in _COMPARISONS:
            yield node, "swap a comparison", ast.Compare(left, [_COMPARISONS[type(op)]()], rest), None
        case ast.Constant(value=bool(value)):
            yield node, "flip a boolean", ast.Constant(not value), None
        case ast.Constant(value=str(value)) if value.isidentifier() or value in ("-1", "1"):
            yield node, "rename what is asked", ast.Constant(f"{value}_"), None
        case ast.Attribute(value=ast.Name(id="DeviceType"), attr=kind):
            yield node, "take another device", f"DeviceType.{'CPU' if kind != 'CPU' else 'CUDA'}", None
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            yield node, "drop a bound's step", left, None
        case ast.Slice(lower=lower, upper=upper) if lower and upper:
            yield node, "drop a bound", f"{ast.unparse(lower)}:", None
            yield node, "drop a bound", f":{ast.unparse(upper)}", None
        case ast.Return(value=value) if value is not None:
            yield node, "drop a return", "pass", None
        case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
            yield node, "drop a verdict", "pass", None
        case ast.Raise() | ast.Continue() | ast.Break():
            yield node, "drop an exit", "pass", None
        case ast.Import(names=[ast.alias(name=name)]):
            yield node, "rename what is asked", f"import {name}_", None
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield node, "swap two branches", ast.IfExp(test, orelse, body), None
        case ast.If(test=test, orelse=orelse) if orelse:
            yield node, "swap two branches", _swapped(node), f"branches of if {_short(ast.unparse(test))} swapped"
        case ast.Call(func=func, args=args, keywords=keywords):
            for keyword in keywords:
                kept = [other for other in keywords if other is not keyword]
                less = ast.Call(func, args, kept)
                yield node, "drop a keyword argument", less, f"without {_short(ast.unparse(keyword))}"
            if dotted(func).partition(".")[0] in ("torch", "platform", "importlib"):
                yield func, "rename what is asked", f"{ast.unparse(func)}_", None
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and isinstance(node.test, _PLAIN):
        yield node.test, "negate a predicate", ast.UnaryOp(ast.Not(), node.test), None


def _swapped(node: ast.If) -> ast.If:
    """The same `if` with the two bodies exchanged; of an `elif` chain the first two."""
    match node.orelse:
        case [ast.If(test=test, body=body, orelse=orelse)]:
            return ast.If(node.test, body, [ast.If(test, node.body, orelse)])
    return ast.If(node.test, node.orelse, node.body)


def _neighbours(block: list[ast.stmt]) -> Iterator[Change]:
    """Two branches in a row that each decide, in the other order; what stands between them goes first."""
    deciding = [at for at, node in enumerate(block) if isinstance(node, ast.If) and _decides(node)]
    for first, second in pairwise(deciding):
        span: list[Any] = block[first : second + 1]
        swapped = [*span[1:-1], span[-1], span[0]]
        whole: Any = ast.Module(body=[], type_ignores=[])  # stands for the span as one node
        whole.lineno, whole.col_offset = span[0].lineno, span[0].col_offset
        whole.end_lineno, whole.end_col_offset = span[-1].end_lineno, span[-1].end_col_offset
        text = ("\n" + " " * span[0].col_offset).join(_unparse(node, node) for node in swapped)
        yield whole, "swap two branches", text, f"if {_short(ast.unparse(span[-1].test))} comes first"


def _decides(node: ast.If) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))
