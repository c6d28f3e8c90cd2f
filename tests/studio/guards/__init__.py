"""AST guards: the source still has the shape that the contracts rely on.

A guard reads, it never runs the subject. Its check is a generator over a parsed module that yields every node
it looked at, each with a complaint or None; so a guard that looked at nothing is told apart from one that
found nothing
wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

Checked = tuple[ast.AST, str | None]
"""A node that a check looked at, and what is wrong with it (None: it is as it should be)."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class NothingMatched(Exception):
    """The guard found nothing to check: what it guards was renamed or moved, so it would pass whatever the
    code does."""


@dataclass(frozen=True)
class Guard:
    """One check on one file of the subject, with the samples that prove it."""

    id: str
    source: str
    """The file of the subject, relative to its root."""
    mend: str
    """What to do when the guard fires, in one sentence."""
    check: Callable[[ast.Module], Iterator[Checked]]
    good: dict[str, str] = field(repr=False)
    """Sources that must pass: what they show -> source."""
    bad: dict[str, str] = field(repr=False)
    """Sources that must make the guard fire: what is wrong -> source."""

    def look(self, tree: ast.Module) -> list[Checked]:
        """All nodes that the guard looks at in `tree`, with its verdict on each; NothingMatched where there
        is none."""
        checked = list(self.check(tree))
        if not checked:
            raise NothingMatched(
                f"guard {self.id}: nothing to check in {self.source}; "
                "if the code was renamed or moved, teach the guard its new name or place"
            )
        return checked

    def complaints(self, tree: ast.Module) -> list[str]:
        """What is wrong in `tree`, one line each, in source order; empty where the shape holds."""
        wrong = [(getattr(node, "lineno", 0), why) for node, why in self.look(tree) if why is not None]
        return [f"{self.source}:{line}: {why}" for line, why in sorted(wrong)]

    def failures(self) -> list[str]:
        """What is wrong with the guard itself, by its own samples; empty where it tells good from bad."""
        wrong = [
            f"good sample fires: {what}: {found}"
            for what, text in self.good.items()
            if (found := self.complaints(ast.parse(text)))
        ]
        wrong += [
            f"bad sample passes: {what}" for what, text in self.bad.items() if not self.complaints(ast.parse(text))
        ]
        try:
            self.look(ast.parse(""))
        except NothingMatched:
            return wrong
        return [*wrong, "an empty module passes"]


def dotted(node: ast.AST | None) -> str:
    """`a.b.c` for a chain of names, "" for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            head = dotted(value)
            return f"{head}.{attr}" if head else ""
    return ""


def called(node: ast.AST | None) -> str:
    """The dotted name of what a call calls, "" where `node` is no call of a plain name."""
    return dotted(node.func) if isinstance(node, ast.Call) else ""


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """The keyword argument of that name, None where the call does not spell it out."""
    return next((item for item in call.keywords if item.arg == name), None)


# The trees are read-only and each is looked at by many guards, so one walk serves them all.
@cache
def functions(tree: ast.Module) -> tuple[Function, ...]:
    """Every function defined anywhere in `tree`, found through its statements alone."""
    found: list[Function] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            found.append(node)
        for part in ("finalbody", "orelse", "handlers", "cases", "body"):
            inner = getattr(node, part, None)
            if isinstance(inner, list):
                waiting += inner[::-1]
    return tuple(found)


@cache
def scope(root: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes of one scope in source order: nested functions and classes are in it, what they hold is
    not."""
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(root))[::-1]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, _SCOPES):
            waiting += list(ast.iter_child_nodes(node))[::-1]
    return tuple(found)


def values(root: ast.AST, name: str) -> list[ast.expr]:
    """All expressions that `name` is assigned in the scope of `root`, tuple targets left out."""
    found = []
    for node in scope(root):
        match node:
            case ast.Assign(targets=targets, value=value):
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    found.append(value)
            case ast.AnnAssign(target=ast.Name(id=target_name), value=ast.expr() as value) if target_name == name:
                found.append(value)
            case ast.NamedExpr(target=ast.Name(id=target_name), value=value) if target_name == name:
                found.append(value)
    return found


def names(node: ast.AST) -> set[str]:
    """The names that are read anywhere in `node`."""
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}


def other(source: str, *changes: tuple[str, str]) -> str:
    """A sample with some spots changed; each must be there once, so that no bad sample is a good one in disguise."""
    for old, new in changes:
        if source.count(old) != 1:
            raise ValueError(f"the sample has {old!r} {source.count(old)} times; it must be there once")
        source = source.replace(old, new)
    return source
