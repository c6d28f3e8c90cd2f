"""The gate `unsloth._IS_MLX`: its shape, its own source to execute, and what may not be imported before
it."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from tests.studio.guards import Checked, Function, Guard, dotted, names, other, scope
from tests.studio.subject import GATE, Subject, SubjectError

NAME = "_IS_MLX"
FORCE_SWITCH = "UNSLOTH_FORCE_GPU_PATH"
ZOO_RUNTIME = "unsloth_zoo/mlx/runtime.py"

# What a name must be imported as, for a predicate that goes through it to mean what it says.
_IMPORTED = {
    "platform": "platform",
    "importlib": "importlib",
    "os": "os",
    "find_spec": "importlib.util.find_spec",
}
_REQUIRED = {"system", "machine", "mlx"}


def _predicate(node: ast.expr) -> tuple[str, bool] | None:
    """Which fact an expression asks, and whether it is true where that fact speaks for MLX (for "forced":
    where set)."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _predicate(operand)
            return inner and (inner[0], not inner[1])
        case ast.Compare(
            left=ast.Call(func=func, args=args, keywords=[]),
            ops=[op],
            comparators=[ast.Constant(value=right)],
        ):
            asked = (
                dotted(func),
                [arg.value if isinstance(arg, ast.Constant) else ... for arg in args],
                right,
            )
            equal, same = isinstance(op, ast.Eq), isinstance(op, ast.Is)
            if equal or isinstance(op, ast.NotEq):
                match asked:
                    case ("platform.system", [], "Darwin"):
                        return "system", equal
                    case ("platform.machine", [], "arm64"):
                        return "machine", equal
                    case ("os.environ.get", ["UNSLOTH_FORCE_GPU_PATH", *default], "1") if default in (
                        [],
                        ["0"],
                    ):
                        return "forced", equal
            if same or isinstance(op, ast.IsNot):
                match asked:
                    case ("importlib.util.find_spec" | "find_spec", ["mlx"], None):
                        return "mlx", not same
    return None


def _check_predicates(parts: list[ast.expr], wanted: dict[str, bool], optional: set[str]) -> Iterator[Checked]:
    """Each part asks one wanted fact in its wanted sense, and none of the facts is left out."""
    seen = set()
    for part in parts:
        match _predicate(part):
            case None:
                yield part, f"`{ast.unparse(part)}` is no predicate of the gate"
            case (fact, holds) if fact not in wanted or holds != wanted[fact]:
                yield part, f"`{ast.unparse(part)}` asks for the opposite of what the gate needs"
            case (fact, _):
                seen.add(fact)
                yield part, None
    for fact in sorted(wanted.keys() - optional - seen):
        yield parts[0], f"the predicate on {fact} is gone"


def _check_expression(value: ast.BoolOp) -> Iterator[Checked]:
    """The gate as one expression: all facts joined by `and`."""
    yield (
        value,
        None if isinstance(value.op, ast.And) else "the predicates are joined by `or`: one alone opens the gate",
    )
    yield from _check_predicates(
        value.values, {"system": True, "machine": True, "mlx": True, "forced": False}, optional={"forced"}
    )


def _returned(function: Function) -> list[ast.Return]:
    return [node for node in scope(function) if isinstance(node, ast.Return)]


def _check_helper(function: Function) -> Iterator[Checked]:
    """The gate as a helper: refuse first on any fact against MLX, then answer what unsloth_zoo.mlx
    answers."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if function.decorator_list or ast.unparse(function.args):
        yield function, "the helper has a decorator or an argument, so its body alone no longer decides"
    match body:
        case [
            ast.If(test=ast.BoolOp() as test, body=[ast.Return(value=ast.Constant(value=False))], orelse=[]),
            *rest,
        ] if rest:
            yield (
                test,
                None
                if isinstance(test.op, ast.Or)
                else "the refusals are joined by `and`: one alone no longer refuses",
            )
            yield from _check_predicates(
                test.values, {"system": False, "machine": False, "mlx": False, "forced": True}, optional=set()
            )
        case _:
            yield function, "the helper does not begin with one `if` that refuses by `return False`"
            return
    asked = {
        alias.asname or alias.name
        for node in scope(function)
        if isinstance(node, ast.ImportFrom) and node.module in ("unsloth_zoo.mlx", "unsloth_zoo.mlx.runtime")
        for alias in node.names
        if alias.name == "is_mlx_available"
    }
    match rest[-1]:
        case ast.Return(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[])) as last if name in asked:
            yield last, None
        case last:
            yield last, "the helper does not end by returning unsloth_zoo.mlx's own is_mlx_available()"
    for answer in _returned(function):
        if answer is not rest[-1] and not (isinstance(answer.value, ast.Constant) and answer.value.value is False):
            yield answer, "an early return of the helper answers something other than False"
    for node in scope(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in asked:
            yield node, f"{node.id} is bound to something else than unsloth_zoo.mlx's"


def _binds(node: ast.AST) -> list[str]:
    """The names that a node of the module's own scope binds, rebinds or deletes."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.ExceptHandler(name=str(name)):
            return [name]
    return []


def _binds_from_afar(node: ast.AST) -> list[str]:
    """The globals that a node anywhere can bind: by `global`, or as an item of `globals()`."""
    match node:
        case ast.Global(names=bound):
            return bound
        case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store() | ast.Del()):
            return [name]
    return []


@cache
def _all_bindings(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """Name -> every place that can bind, rebind or delete that global, those at the top level first."""
    found: dict[str, list[ast.AST]] = {}
    for nodes, names_of in ((scope(tree), _binds), (ast.walk(tree), _binds_from_afar)):
        for node in nodes:
            for name in dict.fromkeys(names_of(node)):
                found.setdefault(name, []).append(node)
    return found


def _bindings(tree: ast.Module, name: str) -> list[ast.AST]:
    return _all_bindings(tree).get(name, [])


def _imports_as(node: ast.AST, name: str, target: str) -> bool:
    """Whether `node` is an import that binds `name` to `target` and to nothing else."""
    match node:
        case ast.Import(names=aliases):
            bound = [
                a.name if a.asname else a.name.partition(".")[0]
                for a in aliases
                if (a.asname or a.name.partition(".")[0]) == name
            ]
        case ast.ImportFrom(module=str(module), names=aliases, level=0):
            bound = [f"{module}.{a.name}" for a in aliases if (a.asname or a.name) == name]
        case _:
            bound = [""]
    return all(found == target for found in bound)


def _check_gate(tree: ast.Module) -> Iterator[Checked]:
    found = _bindings(tree, NAME)
    for node in found[1:]:
        yield node, f"{NAME} is bound a second time, so the gate's own answer can be lost"
    statement = next((node for node in tree.body if _assigned(node, NAME) is not None), None)
    if statement is not None:
        yield from _check_assignment(statement, tree)
        yield from _check_imports(tree)
    elif found:
        yield found[0], f"{NAME} is not assigned by a plain statement at the top level of the module"


def _check_assignment(statement: ast.stmt, tree: ast.Module) -> Iterator[Checked]:
    """The value is the one expression, or a call of one plain function of this module that has the shape."""
    yield statement, None
    match _assigned(statement, NAME):
        case ast.BoolOp() as value:
            yield from _check_expression(value)
        case ast.Call(func=ast.Name(id=helper), args=[], keywords=[]):
            match _bindings(tree, helper):
                case [ast.FunctionDef() as function] if function in tree.body:
                    yield from _check_helper(function)
                case _:
                    yield statement, f"{helper} is not one plain function of this module"
        case _:
            yield statement, f"`{ast.unparse(statement)}` is neither the predicates nor a call of a helper"


def _check_imports(tree: ast.Module) -> Iterator[Checked]:
    """The names that the predicates go through are what they are called, and nothing else."""
    for name, target in _IMPORTED.items():
        for node in _bindings(tree, name):
            if not _imports_as(node, name, target):
                yield node, f"{name} is bound to something else than {target}"


def _assigned(statement: ast.stmt, name: str) -> ast.expr | None:
    """The value that a plain assignment statement gives `name`, None for any other statement."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
            return value
        case ast.AnnAssign(target=ast.Name(id=found), value=value) if found == name:
            return value
    return None


# --- the gate's own source, to execute ----------------------------------------------------------------------


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a top-level statement binds."""
    match statement:
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign() | ast.AnnAssign():
            return {
                node.id for node in scope(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
    return set()


def gate_module(tree: ast.Module) -> ast.Module:
    """The smallest module that executes the gate: its assignment and the earlier top-level statements that it
    needs.

    Needed are the absolute imports, functions, classes and assignments that bind a name the gate reads,
    directly or through another of them. The nodes are the file's own, so their line numbers are too.
    LookupError where no
    top-level statement assigns the gate.
    """
    last = next((at for at, statement in enumerate(tree.body) if _assigned(statement, NAME) is not None), None)
    if last is None:
        raise LookupError(NAME)
    kept = {last}
    wanted = names(tree.body[last])
    for at in range(last - 1, -1, -1):
        statement = tree.body[at]
        match statement:
            case ast.ImportFrom(module="__future__"):
                kept.add(at)
            case ast.ImportFrom(level=level) if level > 0:
                continue
            case _ if wanted & _bound(statement):
                kept.add(at)
                wanted |= names(statement)
    return ast.Module(body=[tree.body[at] for at in sorted(kept)], type_ignores=[])


def gate_source(subject: Subject) -> ast.Module:
    """`gate_module` of the subject; SubjectError where its `_IS_MLX` cannot be found."""
    try:
        return gate_module(subject.tree(GATE))
    except LookupError:
        raise SubjectError(
            f"{subject.root / GATE}: _IS_MLX cannot be found: no top-level statement assigns it; "
            "name a release of Unsloth that has the gate"
        ) from None


def execute_gate(code: Any, file: str) -> Any:
    """Run the compiled gate as the top of the package `unsloth`, and return what it assigned to `_IS_MLX`."""
    namespace: dict[str, Any] = {"__name__": "unsloth", "__file__": file, "__package__": "unsloth"}
    exec(code, namespace)
    return namespace[NAME]


def evaluate_gate(subject: Subject) -> bool:
    """`unsloth._IS_MLX` under this interpreter's machine, by the subject's own source; SubjectError where it
    has none.

    unsloth_zoo remembers its answer for the process, so what it remembers is dropped before and after.
    """
    path = str(subject.path(GATE))
    code = compile(gate_source(subject), path, "exec")
    _forget_zoo_answer()
    try:
        decided: bool = execute_gate(code, path)
        return decided
    finally:
        _forget_zoo_answer()


def _forget_zoo_answer() -> None:
    answer = getattr(sys.modules.get("unsloth_zoo.mlx.runtime"), "is_mlx_available", None)
    if answer is not None and hasattr(answer, "cache_clear"):
        answer.cache_clear()


def zoo_path(subject: Subject, relative: str) -> Path:
    """A file of unsloth_zoo: the one beside the subject, else the installed one; SubjectError where there is
    neither."""
    if (subject.root / relative).is_file():
        return subject.root / relative
    spec = importlib.util.find_spec("unsloth_zoo")
    if spec is None or spec.origin is None:
        raise SubjectError(
            "unsloth_zoo is neither beside the subject nor installed; `pip install --no-deps unsloth_zoo`"
        )
    return Path(spec.origin).parent.parent / relative


# --- nothing heavy before the gate --------------------------------------------------------------------------

_HEAVY = {"torch", "torchvision", "torchaudio", "numpy"}


def _import_statements(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when these statements do: not those in functions, nor those for type checkers
    alone."""
    for node in nodes:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.If(test=test, orelse=orelse) if dotted(test) in (
                "TYPE_CHECKING",
                "typing.TYPE_CHECKING",
            ):
                yield from _import_statements(orelse)
            case _:
                yield from _import_statements(ast.iter_child_nodes(node))


def _heavy(node: ast.Import | ast.ImportFrom) -> str | None:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if isinstance(node, ast.ImportFrom) and node.level:
        return None
    wrong = [module for module in modules if module.partition(".")[0] in _HEAVY]
    return f"{wrong[0]} is imported before {NAME} is decided" if wrong else None


def _before_gate(tree: ast.Module) -> list[ast.stmt]:
    """The top-level statements ahead of the gate, and the bodies of this file's functions that the gate
    runs."""
    last = next((at for at, statement in enumerate(tree.body) if _assigned(statement, NAME) is not None), None)
    if last is None:
        return []
    ahead = list(tree.body[:last])
    return ahead + [inner for node in gate_module(tree).body if isinstance(node, Function) for inner in node.body]


def _check_before_gate(tree: ast.Module) -> Iterator[Checked]:
    for node in _import_statements(_before_gate(tree)):
        yield node, _heavy(node)


def _check_module(tree: ast.Module) -> Iterator[Checked]:
    for node in _import_statements(tree.body):
        yield node, _heavy(node)


def modules_before_gate(subject: Subject) -> list[str]:
    """The package's own modules that `unsloth/__init__.py` imports ahead of the gate, and what those import
    in turn.

    Paths relative to the subject's root, by relative imports at module level alone.
    """
    found: list[str] = []
    waiting = [(PurePosixPath(GATE).parent, node) for node in _import_statements(_before_gate(subject.tree(GATE)))]
    while waiting:
        folder, node = waiting.pop()
        if not isinstance(node, ast.ImportFrom) or node.level != 1:
            continue
        for stem in [node.module.replace(".", "/")] if node.module else [alias.name for alias in node.names]:
            for candidate in (folder / f"{stem}.py", folder / stem / "__init__.py"):
                if (subject.root / candidate).is_file() and str(candidate) not in found:
                    found.append(str(candidate))
                    inner = _import_statements(subject.tree(str(candidate)).body)
                    waiting += [(candidate.parent, statement) for statement in inner]
    return found


# --- samples ------------------------------------------------------------------------------------------------

_ONE_EXPRESSION = """
import platform
from importlib.util import find_spec
_IS_MLX = platform.system() == "Darwin" and platform.machine() == "arm64" and find_spec("mlx") is not None
"""
_WITH_SWITCH = """
import importlib.util, os, platform
_IS_MLX: bool = (
    os.environ.get("UNSLOTH_FORCE_GPU_PATH") != "1" and importlib.util.find_spec("mlx") is not None
    and platform.machine() == "arm64" and not platform.system() != "Darwin"
)
"""
_HELPER = """
import importlib.util, os, platform
def gate():
    "Refuse, then ask."
    if (platform.system() != "Darwin" or platform.machine() != "arm64"
            or importlib.util.find_spec("mlx") is None
            or os.environ.get("UNSLOTH_FORCE_GPU_PATH", "0") == "1"):
        return False
    try:
        from unsloth_zoo.mlx import is_mlx_available as ask
    except ImportError:
        return False
    return ask()
_IS_MLX = gate()
"""


GATE_SHAPE = Guard(
    id="mlx-gate",
    source=GATE,
    mend="Make _IS_MLX true only where system is Darwin and machine is arm64 and mlx is found; "
    "where the gate has a new and right shape, teach tests/studio/guards/gate.py that shape.",
    check=_check_gate,
    good={"one expression": _ONE_EXPRESSION, "with the switch": _WITH_SWITCH, "a helper": _HELPER},
    bad={
        "system dropped": other(_ONE_EXPRESSION, ('platform.system() == "Darwin" and ', "")),
        "machine dropped": other(_ONE_EXPRESSION, (' and platform.machine() == "arm64"', "")),
        "mlx dropped": other(_ONE_EXPRESSION, (' and find_spec("mlx") is not None', "")),
        "system negated": other(_ONE_EXPRESSION, ("platform.system()", "not platform.system()")),
        "machine compared the other way": other(_ONE_EXPRESSION, ("machine() ==", "machine() !=")),
        "mlx must be absent": other(_ONE_EXPRESSION, ("is not None", "is None")),
        "or for and": _ONE_EXPRESSION.replace(" and ", " or "),
        "one predicate or-ed": other(_ONE_EXPRESSION, (' and find_spec("mlx")', ' or find_spec("mlx")')),
        "another system": other(_ONE_EXPRESSION, ("Darwin", "Linux")),
        "another machine": other(_ONE_EXPRESSION, ("arm64", "x86_64")),
        "another module": other(_ONE_EXPRESSION, ('"mlx"', '"mlx_lm"')),
        "one predicate alone": "import platform\n_IS_MLX = platform.system() == 'Darwin'\n",
        "a constant": "_IS_MLX = True\n",
        "a probe of its own": _ONE_EXPRESSION + "def find_spec(name):\n    return name\n",
        "overwritten later": _ONE_EXPRESSION + "if True:\n    _IS_MLX = True\n",
        "overwritten by a function": _ONE_EXPRESSION + "def late():\n    global _IS_MLX\n    _IS_MLX = True\n",
        "overwritten through globals": _ONE_EXPRESSION + "globals()['_IS_MLX'] = True\n",
        "deleted": _ONE_EXPRESSION + "del _IS_MLX\n",
        "inside a branch": "try:\n    _IS_MLX = False\nexcept OSError:\n    pass\n",
        "helper: system dropped": other(_HELPER, ('platform.system() != "Darwin" or ', "")),
        "helper: machine dropped": other(_HELPER, (' or platform.machine() != "arm64"', "")),
        "helper: mlx dropped": other(_HELPER, (' or importlib.util.find_spec("mlx") is None', "")),
        "helper: switch dropped": other(_HELPER, ('or os.environ.get("UNSLOTH_FORCE_GPU_PATH", "0") == "1"', "")),
        "helper: machine negated": other(_HELPER, ("machine() !=", "machine() ==")),
        "helper: and for or": _HELPER.replace(" or ", " and "),
        "helper: refusal turned round": other(
            _HELPER, (":\n        return False\n    try", ":\n        return True\n    try")
        ),
        "helper: refusal has an else": other(_HELPER, ("    try:", "    else:\n        return True\n    try:")),
        "helper: zoo missing means yes": other(
            _HELPER, ("ImportError:\n        return False", "ImportError:\n        return True")
        ),
        "helper: zoo not asked": other(_HELPER, ("return ask()", "return True")),
        "helper: zoo's answer turned round": other(_HELPER, ("return ask()", "return not ask()")),
        "helper: zoo's answer replaced": other(_HELPER, ("    return ask()", "    ask = bool\n    return ask()")),
        "helper: result ignored": other(_HELPER, ("_IS_MLX = gate()", "gate()\n_IS_MLX = False")),
        "helper: result negated": other(_HELPER, ("_IS_MLX = gate()", "_IS_MLX = not gate()")),
        "helper: defined twice": other(_HELPER, ("_IS_MLX =", "def gate():\n    return True\n_IS_MLX =")),
        "helper: decorated": other(_HELPER, ("def gate()", "@print\ndef gate()")),
    },
)

_LIGHT_START = """
import os, platform
from .light import prepare
def gate():
    return platform.system() == "Darwin"
def later():
    import torch
_IS_MLX = gate()
import torch
"""

NO_TORCH_BEFORE_GATE = Guard(
    id="no-torch-before-gate",
    source=GATE,
    mend="Move the import of torch or numpy behind the _IS_MLX assignment, or into the function that needs it.",
    check=_check_before_gate,
    good={"torch behind the gate and in functions": _LIGHT_START},
    bad={
        "plain import": other(_LIGHT_START, ("import os, platform", "import os, torch, platform")),
        "submodule": other(_LIGHT_START, ("import os, platform", "import os, platform\nfrom torch.nn import Module")),
        "numpy": other(_LIGHT_START, ("import os, platform", "import os, platform\nimport numpy as np")),
        "in a branch": other(
            _LIGHT_START, ("import os, platform", "import os, platform\nif os.name:\n    import torch")
        ),
        "in a try": other(
            _LIGHT_START,
            ("import os, platform", "import os, platform\ntry:\n    import torch\nexcept ImportError:\n    pass"),
        ),
        "in the gate's helper": other(_LIGHT_START, ("    return platform", "    import torch\n    return platform")),
    },
)

NO_TORCH_AT_IMPORT = Guard(
    id="no-torch-at-import",
    source="unsloth/*.py",
    mend="This module is imported before _IS_MLX is decided: import torch or numpy inside the function that needs it.",
    check=_check_module,
    good={
        "inside a function": "import os\ndef load():\n    import torch\n",
        "relative": "from .torch import name\n",
    },
    bad={
        "at the top": "import os\nimport torch\n",
        "in a class": "class Loader:\n    import numpy\n",
        "under a condition": "import os\nif os.name:\n    from torch import nn\n",
    },
)

GUARDS = (GATE_SHAPE, NO_TORCH_BEFORE_GATE, NO_TORCH_AT_IMPORT)
