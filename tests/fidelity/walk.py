"""Run on a machine: ask every modelled name of torch, with every kind of argument, and print what came of it as JSON.

`walk.py real` asks the real torch as it is patched, `walk.py stand-in` the stand-in, with the real one off the path;
`walk.py host`, on no machine, asks the real torch as it is.
"""

from __future__ import annotations

import inspect
import itertools
import json
import sys
from pathlib import Path
from typing import Any

DEVICES = [
    "None", "0", "1", "-1", "99", "True", "1.5", "'cuda'", "'cuda:0'", "'cuda:1'", "'cuda:99'", "'xpu'", "'xpu:0'",
    "'xpu:99'", "'mps'", "'mps:0'", "'cpu'", "'meta'", "'nonsense'", "''", "torch.device('cuda')",
    "torch.device('cuda:1')", "torch.device('xpu', 0)", "torch.device('mps')", "torch.device('cpu')",
]  # fmt: skip
# A parameter's name -> what it is called with.
ARGUMENTS = {
    "device": DEVICES,
    "device_index": DEVICES,
    "including_emulation": ["True", "False"],
    "check_available": ["True", "False"],
    "seed": ["3"],
    "major": ["12", "13", "15", "99"],
    "minor": ["0", "6"],
    "fraction": ["0.5", "2.0", "1"],
}
# Context managers, whose methods are asked by the statement.
CONTEXTS = {
    "torch.cuda.device": "torch.cuda.current_device()",
    "torch.xpu.device": "torch.xpu.current_device()",
    "torch.accelerator.device_index": "torch.accelerator.current_device_index()",
}
# How the types that the real package keeps as its own are compared.
EXPRESSIONS = [
    *(
        f"torch.device({argument})"
        for argument in [
            "'cuda'", "'cuda:1'", "'cuda', 1", "'cuda', None", "type='xpu', index=0", "torch.device('mps:0')", "'foo'",
            "'foo:1'", "'foo:x'", "'cuda:'", "'cuda:x'", "'cuda:-1'", "'cuda:01'", "'cuda:1:2'", "'CUDA'", "'cuda '",
            "''", "'cuda', -1", "'cuda', -2", "'cuda:1', 2", "-1", "'privateuseone:3'",
        ]
    ),
    "str(torch.device('cuda:3'))",
    "torch.device('cuda:0') == torch.device('cuda', 0)",
    "torch.device('cuda:0') == torch.device('cuda')",
    "torch.device('cuda:0') == 'cuda:0'",
    "hash(torch.device('cuda:3')) == hash(torch.device('cuda', 3))",
    "torch.device('cuda:3').type",
    "torch.device('cuda:3').index",
    "torch.device('cuda').index",
    "repr(torch.bfloat16)",
    "isinstance(torch.float16, torch.dtype)",
    "torch.float32 is torch.float32",
    "issubclass(torch.OutOfMemoryError, RuntimeError)",
    "issubclass(torch.AcceleratorError, RuntimeError)",
    "torch.cuda.OutOfMemoryError is torch.OutOfMemoryError",
    "torch.cuda.AcceleratorError is torch.AcceleratorError",
    "str(torch.__version__) == torch.version.__version__",
    *(
        f"torch.__version__ {sign} {other}"
        for sign, other in itertools.product(
            ["<", "<=", "==", "!=", ">=", ">"],
            [
                "'2.13.0'", "'2.13'", "'2.13.0+cpu'", "'2.13.0+cu130'", "'2.13.0.dev20260104'", "'2.13.0rc1'", "'3'",
                "'2.6.0a1'", "'parrot'", "(2, 13)", "(2, 13, 0)", "('2', '6')", "(3,)", "3", "None",
            ],
        )
    ),
    "hash(torch.__version__) == hash(str(torch.__version__))",
]  # fmt: skip


def main(mode: str) -> None:
    """Walk, and print."""
    if mode == "stand-in":
        sys.path[:] = [entry for entry in sys.path if not Path(entry, "torch").is_dir()]
    import torch

    sys.path.append(str(Path(__file__).parents[2]))
    import spoofs
    from spoofs import hooks, patching
    from spoofs.standin import StandIn

    assert isinstance(torch, StandIn) == (mode == "stand-in"), "the other torch was imported"
    assert (spoofs.active is None) == (mode == "host")
    answers = hooks.answers("torch")
    gone = patching.lacking(answers, spoofs.active.profile) if spoofs.active else ()
    functions = {name for name in answers.FUNCTIONS if not name.startswith(gone)}
    said: dict[str, Any] = {}
    scope = {"__name__": "__main__", "torch": torch, "within": within}

    def ask(label: str, source: str) -> None:
        try:
            said[label] = ["value", plain(eval(source, scope))]
        except Exception as error:  # noqa: BLE001 - what it raises is what is compared
            said[label] = ["error", type(error).__name__, str(error)]

    for name in [*answers.MODULES, *answers.TYPES, *answers.VALUES, *answers.FUNCTIONS]:
        said[f"{name} is there as"] = kind(name)
    for name in answers.VALUES:
        ask(name, name)
    for expression in EXPRESSIONS:
        ask(expression, expression)
    for when in ("at first", "once more"):  # the first round leaves the devices initialized
        for name in sorted(functions):
            if "__" not in name.rpartition(".")[2]:
                for source in calls(name):
                    ask(f"{source} {when}", source)
        for context, inside in CONTEXTS.items():
            for device in ["0", "1", "-1", "None", "'cuda:0'", "'cpu'"]:
                ask(f"with {context}({device}) {when}", f"within({context}, {device}, lambda: {inside})")
    for name, value in answers.TYPES.items():
        if inspect.isfunction(value) and not name.startswith(gone):
            for source in calls(name):
                ask(source, source)
    json.dump(said, sys.stdout)


def found(name: str) -> Any:
    """The object of a dotted name. Raises AttributeError where it is not there."""
    holder = sys.modules["torch"]
    for part in name.split(".")[1:]:
        holder = getattr(holder, part)
    return holder


def kind(name: str) -> list[str]:
    """Whether a name is there, as what, and with which parameters."""
    try:
        value = found(name)
    except AttributeError:
        return ["nothing"]
    value = getattr(value, "spoofed", None) or value  # the real one's own signature, not the answer's
    if inspect.isclass(value):
        return ["class", value.__name__]
    if not callable(value):
        return ["module" if inspect.ismodule(value) else "value"]
    parameters = inspect.signature(value).parameters.values()
    return ["function", *(str(each.replace(annotation=each.empty)) + each.kind.name for each in parameters)]


def calls(name: str) -> list[str]:
    """A function's calls: bare if it can be, and with each value of each parameter."""
    parameters = list(inspect.signature(found(name)).parameters.values())
    required = [each for each in parameters if each.default is each.empty]
    given = [
        "".join(f"{_word(each)}{value}, " for each, value in zip(required, values, strict=True))
        for values in itertools.product(*(ARGUMENTS[each.name] for each in required))
    ]
    more = [
        f"{first}{_word(each)}{value}"
        for first in given
        for each in parameters
        if each not in required
        for value in ARGUMENTS[each.name]
    ]
    return [f"{name}({arguments})" for arguments in [*given, *more]]


def _word(parameter: inspect.Parameter) -> str:
    return "" if parameter.kind is parameter.POSITIONAL_ONLY else f"{parameter.name}="


def within(context: Any, device: object, ask: Any) -> list[object]:
    """What is asked within a context manager, and what it leaves."""
    before = ask()
    with context(device):
        return [before, ask()]


def plain(value: Any) -> Any:
    """A value as JSON has it, its type told where JSON would not."""
    from spoofs import torchlike

    if isinstance(value, torchlike.Properties):
        return [type(value).__name__, {name: plain(each) for name, each in vars(value).items()}]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, set):
        return ["set", *sorted(map(repr, value))]
    if inspect.ismodule(value):
        return ["module", value.__name__]
    if isinstance(value, bool) or value is None or type(value) in (int, float, str):
        return value
    return repr(str(value) if isinstance(value, str) else value)


if __name__ == "__main__":
    main(sys.argv[1])
