"""The dispatch in `hardware.py`: in which order the devices are asked for, and that each is taken on its own
probe."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.studio.guards import Checked, Function, Guard, called, dotted, functions, other, scope, values
from tests.studio.subject import HARDWARE

_ORDER = ["CUDA", "XPU", "MLX", "CPU"]
Probe = Callable[[ast.expr], bool]


@dataclass(frozen=True)
class _Taken:
    """One `NAME = value` of the dispatch function, and what must hold for it to run."""

    node: ast.Assign
    value: str
    """The member of DeviceType for DEVICE, the literal for IS_ROCM."""
    tests: tuple[tuple[ast.expr, bool], ...]
    """The enclosing `if` tests from the outside in, each with the branch: True for the body, False for
    `else`."""
    block: list[ast.stmt]


def _taken(block: list[ast.stmt], tests: tuple[tuple[ast.expr, bool], ...] = ()) -> Iterator[_Taken]:
    """The assignments to DEVICE and IS_ROCM in these statements, in source order."""
    for statement in block:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id="DEVICE")],
                value=ast.Attribute(value=ast.Name(id="DeviceType"), attr=kind),
            ):
                yield _Taken(statement, kind, tests, block)
            case ast.Assign(targets=[ast.Name(id="IS_ROCM")], value=value):
                yield _Taken(statement, ast.unparse(value), tests, block)
            case ast.If(test=test, body=body, orelse=orelse):
                yield from _taken(body, (*tests, (test, True)))
                yield from _taken(orelse, (*tests, (test, False)))
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                for part in (body, *(handler.body for handler in handlers), orelse, finalbody):
                    yield from _taken(part, tests)
            case ast.With(body=body) | ast.For(body=body) | ast.While(body=body):
                yield from _taken(body, tests)


def _is_device(taken: _Taken) -> bool:
    return dotted(taken.node.targets[0]) == "DEVICE"


def _dispatch(tree: ast.Module) -> tuple[Function, list[_Taken]] | None:
    """The function that takes a CUDA device, and what it takes; None where the module has no such
    function."""
    for function in functions(tree):
        taken = list(_taken(function.body))
        if any(_is_device(item) and item.value == "CUDA" for item in taken):
            return function, taken
    return None


def _holds(expression: ast.expr, truth: bool, probe: Probe, function: Function) -> bool:
    """Whether `expression` being `truth` means that `probe` said yes; a name stands for all that it was
    assigned."""
    match expression:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _holds(operand, not truth, probe, function)
        case ast.BoolOp(op=op, values=parts):
            every = all if isinstance(op, ast.Or) == truth else any
            return every(_holds(part, truth, probe, function) for part in parts)
        case ast.Constant(value=bool(value)):
            return value != truth
        case ast.Name(id=name):
            assigned = values(function, name)
            return bool(assigned) and all(_holds(value, truth, probe, function) for value in assigned)
    return truth and probe(expression)


def _calls(name: str) -> Probe:
    return lambda node: called(node) == name and isinstance(node, ast.Call) and not node.args and not node.keywords


def _asks_mlx(node: ast.expr) -> bool:
    """A call of a helper of this module that answers for mlx itself."""
    return called(node) in ("_has_mlx", "_has_usable_mlx_stack")


_PROBES: dict[str, tuple[tuple[str, Probe], ...]] = {
    "CUDA": (("torch.cuda.is_available()", _calls("torch.cuda.is_available")),),
    "XPU": (("torch.xpu.is_available()", _calls("torch.xpu.is_available")),),
    "MLX": (("is_apple_silicon()", _calls("is_apple_silicon")), ("the probe of the mlx stack", _asks_mlx)),
}


def _returns_device(taken: _Taken) -> bool:
    """Whether the block that takes the device also returns it."""
    match taken.block[-1]:
        case ast.Return(value=ast.Name(id="DEVICE")):
            return True
    return False


def _prefers_xpu(expression: ast.expr, function: Function) -> bool:
    """`forced or (mask and (hidden or unavailable))`: a mask alone must not win over a CUDA device."""
    match expression:
        case ast.Name(id=name):
            return any(_prefers_xpu(value, function) for value in values(function, name))
        case ast.BoolOp(
            op=ast.Or(),
            values=[force, ast.BoolOp(op=ast.And(), values=[mask, ast.BoolOp(op=ast.Or(), values=gone)])],
        ):
            return (
                _mentions(force, "UNSLOTH_FORCE_XPU", function)
                and _mentions(mask, "ZE_AFFINITY_MASK", function)
                and any(_mentions(part, "CUDA_VISIBLE_DEVICES", function) for part in gone)
                and any(_holds(part, False, _calls("torch.cuda.is_available"), function) for part in gone)
            )
    return False


def _mentions(expression: ast.expr, variable: str, function: Function) -> bool:
    """Whether `expression` reads that environment variable, through names of `function` and a helper named
    for it."""
    for node in ast.walk(expression):
        match node:
            case ast.Constant(value=found) if found == variable:
                return True
            case ast.Call(func=ast.Name(id=helper)) if helper.strip("_").upper() == variable:
                return True
            case ast.Name(id=name):
                if any(_mentions(value, variable, function) for value in values(function, name)):
                    return True
    return False


def _check_order(tree: ast.Module) -> Iterator[Checked]:
    found = _dispatch(tree)
    if found is None:
        return
    function, taken = found
    devices = [item for item in taken if _is_device(item)]
    kinds = [item.value for item in devices]
    preferred = devices[0] if kinds[:2] == ["XPU", "CUDA"] else None
    if preferred is not None:
        kinds = kinds[1:]
        prefers = any(branch and _prefers_xpu(test, function) for test, branch in preferred.tests)
        yield preferred.node, None if prefers else "XPU is taken before CUDA without the preference for it"
    in_order = (
        None if kinds == _ORDER else f"devices are taken in the order {', '.join(kinds)}, not {', '.join(_ORDER)}"
    )
    yield devices[0].node, in_order
    for item in devices:
        yield item.node, None if _returns_device(item) else f"{item.value} is taken but not returned at once"
    last = devices[-1]
    at_end = not last.tests and last.block is function.body
    yield last.node, None if at_end else f"the last device, {last.value}, is no unconditional fallback"


def _check_probes(tree: ast.Module) -> Iterator[Checked]:
    found = _dispatch(tree)
    if found is None:
        return
    function, taken = found
    for item in taken:
        if not _is_device(item) or item.value == "CPU":
            continue
        for name, probe in _PROBES.get(
            item.value, ((f"any probe that is known for {item.value}", lambda node: False),)
        ):
            asked = any(_holds(test, branch, probe, function) for test, branch in item.tests)
            yield item.node, None if asked else f"{item.value} is taken without {name}"


def _is_hip(expression: ast.expr, function: Function) -> bool:
    """`getattr(torch.version, "hip", None) is not None`, spelled out, by attribute or through a name."""
    match expression:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            sources = values(function, left.id) if isinstance(left, ast.Name) else [left]
            return bool(sources) and all(_reads_hip(source) for source in sources)
    return False


def _reads_hip(expression: ast.expr) -> bool:
    match expression:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value="hip"), ast.Constant(value=None)]):
            return dotted(owner) == "torch.version"
    return dotted(expression) == "torch.version.hip"


def _is_rocm_tag(expression: ast.expr) -> bool:
    """`"rocm" in torch.__version__.lower()`"""
    match expression:
        case ast.Compare(left=ast.Constant(value="rocm"), ops=[ast.In()], comparators=[version]):
            return called(version) == "torch.__version__.lower"
    return False


def _tells_rocm(test: ast.expr, function: Function) -> bool:
    match test:
        case ast.BoolOp(op=ast.Or(), values=[hip, tag]):
            return _is_hip(hip, function) and _is_rocm_tag(tag)
    return _is_hip(test, function)


def _check_rocm(tree: ast.Module) -> Iterator[Checked]:
    found = _dispatch(tree)
    if found is None:
        return
    function, taken = found
    first = next(item for item in taken if _is_device(item))
    cuda = next(item for item in taken if _is_device(item) and item.value == "CUDA")
    flags = [item for item in taken if not _is_device(item)]
    declared = any(isinstance(node, ast.Global) and "IS_ROCM" in node.names for node in scope(function))
    yield function, None if declared else "IS_ROCM is not global here, so the verdict stays behind"
    resets = [item for item in flags if item.value == "False"]
    reset = bool(resets) and not resets[0].tests and resets[0].node.lineno < first.node.lineno
    yield first.node, None if reset else "IS_ROCM is not set to False before the first device is taken"
    sets = [item for item in flags if item not in resets[:1]]
    if not sets:
        yield cuda.node, "IS_ROCM is never set to True"
    for item in sets:
        depth = len(cuda.tests)
        inside = item.value == "True" and item.tests[:depth] == cuda.tests and len(item.tests) == depth + 1
        test, branch = item.tests[-1] if item.tests else (None, False)
        told = inside and test is not None and branch and _tells_rocm(test, function)
        yield (
            item.node,
            None if told else "IS_ROCM is set elsewhere than under the test for HIP in the CUDA branch",
        )


_PLAIN = """
def detect():
    global DEVICE, IS_ROCM
    IS_ROCM = False
    if has_torch():
        import torch
        if torch.cuda.is_available():
            DEVICE = DeviceType.CUDA
            if getattr(torch.version, "hip", None) is not None:
                IS_ROCM = True
            return DEVICE
        if hasattr(torch, "xpu") and torch.xpu.is_available():
            DEVICE = DeviceType.XPU
            return DEVICE
    if is_apple_silicon() and _has_mlx():
        DEVICE = DeviceType.MLX
        return DEVICE
    DEVICE = DeviceType.CPU
    return DEVICE
"""
_GUARDED = """
def detect():
    global DEVICE, IS_ROCM
    IS_ROCM = False
    if has_torch():
        import torch
        mask = _ze_affinity_mask()
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
        forced = os.environ.get("UNSLOTH_FORCE_XPU") == "1"
        try:
            no_cuda = not torch.cuda.is_available()
        except Exception:
            no_cuda = True
        prefer = forced or (bool(mask) and (hidden or no_cuda))
        if prefer:
            try:
                xpu = hasattr(torch, "xpu") and torch.xpu.is_available()
            except Exception:
                xpu = False
            if xpu:
                DEVICE = DeviceType.XPU
                return DEVICE
        if not no_cuda:
            DEVICE = DeviceType.CUDA
            hip = getattr(torch.version, "hip", None)
            if hip is not None or "rocm" in torch.__version__.lower():
                IS_ROCM = True
            return DEVICE
        try:
            plain = hasattr(torch, "xpu") and torch.xpu.is_available()
        except Exception:
            plain = False
        if plain:
            DEVICE = DeviceType.XPU
            return DEVICE
    if is_apple_silicon() and _has_usable_mlx_stack():
        DEVICE = DeviceType.MLX
        return DEVICE
    DEVICE = DeviceType.CPU
    return DEVICE
"""
_GOOD = {"plain": _PLAIN, "guarded probes and a preferred XPU": _GUARDED}


DISPATCH_ORDER = Guard(
    id="dispatch-order",
    source=HARDWARE,
    mend="Take CUDA before XPU before MLX before CPU, return at once, and put XPU first only where it is preferred.",
    check=_check_order,
    good=_GOOD,
    bad={
        "CUDA and MLX swapped": other(
            _PLAIN,
            ("DeviceType.CUDA", "DeviceType.X"),
            ("DeviceType.MLX", "DeviceType.CUDA"),
            ("DeviceType.X\n", "DeviceType.MLX\n"),
        ),
        "XPU and MLX swapped": other(
            _PLAIN,
            ("DeviceType.XPU", "DeviceType.X"),
            ("DeviceType.MLX", "DeviceType.XPU"),
            ("DeviceType.X\n", "DeviceType.MLX\n"),
        ),
        "XPU first without a preference": other(_GUARDED, ("if prefer:", "if has_torch():")),
        "XPU first where not preferred": other(_GUARDED, ("if prefer:", "if not prefer:")),
        "a mask alone prefers XPU": other(_GUARDED, ("bool(mask) and (hidden or no_cuda)", "bool(mask)")),
        "the switch and the mask needed": other(_GUARDED, ("forced or (", "forced and (")),
        "mask or CUDA hidden": other(_GUARDED, ("bool(mask) and (", "bool(mask) or (")),
        "hidden and unavailable": other(_GUARDED, ("hidden or no_cuda", "hidden and no_cuda")),
        "preferred where CUDA is there": other(_GUARDED, ("hidden or no_cuda", "hidden or not no_cuda")),
        "CUDA is not returned": other(_PLAIN, ("IS_ROCM = True\n            return DEVICE", "IS_ROCM = True")),
        "MLX returned as something else": other(_PLAIN, ("MLX\n        return DEVICE", "MLX\n        return None")),
        "CPU only under a condition": other(
            _PLAIN,
            (
                "    DEVICE = DeviceType.CPU\n    return DEVICE",
                "    if slow():\n        DEVICE = DeviceType.CPU\n        return DEVICE",
            ),
        ),
        "XPU is gone": other(_PLAIN, ("DeviceType.XPU", "DeviceType.CPU")),
    },
)

PROBE_OF_ITS_OWN = Guard(
    id="probe-of-its-own",
    source=HARDWARE,
    mend="Take each device under its own probe alone: CUDA under torch.cuda, XPU under torch.xpu, "
    "MLX under is_apple_silicon() and the mlx stack.",
    check=_check_probes,
    good=_GOOD,
    bad={
        "CUDA without a probe": other(_PLAIN, ("if torch.cuda.is_available():", "if True:")),
        "CUDA on the opposite": other(_PLAIN, ("if torch.cuda.is_available():", "if not torch.cuda.is_available():")),
        "CUDA on another probe": other(_PLAIN, ("torch.cuda.is_available", "torch.mps.is_available")),
        "CUDA where it is unavailable": other(_GUARDED, ("if not no_cuda:", "if no_cuda:")),
        "a failed probe means CUDA": other(_GUARDED, ("no_cuda = True", "no_cuda = False")),
        "a failed probe means XPU": other(_GUARDED, ("plain = False", "plain = True")),
        "XPU on its attribute alone": other(_PLAIN, (" and torch.xpu.is_available()", "")),
        "XPU or-ed": other(_PLAIN, ('"xpu") and torch', '"xpu") or torch')),
        "preferred XPU without a device": other(_GUARDED, ("            if xpu:\n", "            if prefer:\n")),
        "MLX without Apple silicon": other(_PLAIN, ("is_apple_silicon() and ", "")),
        "MLX without its stack": other(_PLAIN, (" and _has_mlx()", "")),
        "MLX or-ed": other(_PLAIN, ("is_apple_silicon() and", "is_apple_silicon() or")),
        "MLX in the else branch": other(_PLAIN, ("_has_mlx():\n", "_has_mlx():\n        pass\n    else:\n")),
        "an unknown device": other(_PLAIN, ("DeviceType.XPU", "DeviceType.TPU")),
    },
)

ROCM_FLAG = Guard(
    id="rocm-flag",
    source=HARDWARE,
    mend="Reset IS_ROCM before dispatch, and set it to True only under the test for HIP inside the CUDA branch.",
    check=_check_rocm,
    good=_GOOD,
    bad={
        "never set": other(_PLAIN, ("IS_ROCM = True", "pass")),
        "never reset": other(_PLAIN, ("    IS_ROCM = False\n", "")),
        "reset too late": other(_PLAIN, ("    IS_ROCM = False\n", ""), ("CPU\n", "CPU\n    IS_ROCM = False\n")),
        "reset to True": other(_PLAIN, ("IS_ROCM = False", "IS_ROCM = True")),
        "set to False": other(_PLAIN, ("IS_ROCM = True", "IS_ROCM = False")),
        "local": other(_PLAIN, ("global DEVICE, IS_ROCM", "global DEVICE")),
        "on the opposite": other(_PLAIN, ("None) is not None", "None) is None")),
        "without a test": other(_PLAIN, ('if getattr(torch.version, "hip", None) is not None', "if True")),
        "on another attribute": other(_PLAIN, ('"hip", None', '"cuda", None')),
        "in the else branch": other(_PLAIN, ("not None:\n", "not None:\n                pass\n            else:\n")),
        "outside of CUDA": other(_PLAIN, ("DeviceType.XPU\n", "DeviceType.XPU\n            IS_ROCM = True\n")),
        "both signs needed": other(_GUARDED, ("hip is not None or", "hip is not None and")),
        "another tag": other(_GUARDED, ('"rocm" in', '"cu" in')),
        "tag absent": other(_GUARDED, ('"rocm" in', '"rocm" not in')),
        "never set, guarded": other(_GUARDED, ("IS_ROCM = True", "pass")),
    },
)

GUARDS = (DISPATCH_ORDER, PROBE_OF_ITS_OWN, ROCM_FLAG)
