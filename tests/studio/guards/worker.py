"""The training worker: the lines of `core/training/worker.py` that keep a promise, one guard for each
promise."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import chain

from tests.studio.guards import Checked, Function, Guard, called, dotted, functions, keyword, other, scope, values
from tests.studio.subject import WORKER

LOAD = "FastMLXModel.from_pretrained"
LOADER_OF = "_mlx_local_dataset_loader_for_files"
FILES_OF = "_resolve_mlx_local_dataset_files"
SECRET_WORDS = ("token", "secret", "password", "credential", "api_key", "s3_config", "subject")
"""What a key of the training config has in its name where its value must stay out of a tracker."""

_ZOO_NAMES = {"FastMLXModel", "MLXTrainer", "MLXTrainingConfig"}


def is_secret(key: str) -> bool:
    """Whether a key of the training config names a secret."""
    return any(word in key for word in SECRET_WORDS)


def _config_key(node: ast.AST) -> str:
    """The key that `config.get("key")`, also with a default, or `config["key"]` reads; "" for any other
    expression."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="config"), attr="get"),
            args=[ast.Constant(value=str(key)), *_],
        ):
            return key
        case ast.Subscript(value=ast.Name(id="config"), slice=ast.Constant(value=str(key))):
            return key
    return ""


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of all functions."""
    return chain.from_iterable(map(scope, functions(tree)))


def secret_keys(tree: ast.Module) -> set[str]:
    """The keys of the training config that this worker reads and that name a secret."""
    reads = (node for node in _nodes(tree) if isinstance(node, ast.Call | ast.Subscript))
    return {key for node in reads if is_secret(key := _config_key(node))}


def _inside(root: ast.AST, name: str) -> Iterator[ast.Call]:
    """The calls of `name` in the scope of `root`."""
    for node in scope(root):
        if isinstance(node, ast.Call) and called(node) == name:
            yield node


def _top_function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


# --- the token reaches the model ----------------------------------------------------------------------------


def _gives_token(expression: ast.expr, tree: ast.Module) -> bool:
    """The config's token itself, or None where it is empty, or what a helper of this module makes of it."""
    match expression:
        case ast.BoolOp(op=ast.Or(), values=[first, ast.Constant(value=None)]):
            return _gives_token(first, tree)
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id="config")], keywords=[]):
            helper = _top_function(tree, name)
            returns = [node for node in scope(helper) if isinstance(node, ast.Return)] if helper else []
            return bool(returns) and all(
                any(_config_key(node) == "hf_token" for node in ast.walk(answer)) for answer in returns
            )
    return _config_key(expression) == "hf_token"


def _check_token(tree: ast.Module) -> Iterator[Checked]:
    for function in functions(tree):
        for call in _inside(function, LOAD):
            token = keyword(call, "token")
            if token is None:
                yield call, f"{LOAD} gets no token"
                continue
            sources = values(function, token.value.id) if isinstance(token.value, ast.Name) else [token.value]
            yield token, None if sources else f"{LOAD} gets a token that this function never assigns"
            for source in sources:
                right = _gives_token(source, tree)
                yield (
                    source,
                    None if right else f"{LOAD} gets `{ast.unparse(source)}`, not the token of the config",
                )


# --- secrets stay out of wandb ------------------------------------------------------------------------------


def _names_of(expression: ast.expr, *scopes: ast.AST) -> set[str] | None:
    """The strings of a literal collection, looked up through a name; None where it is no such collection."""
    match expression:
        case ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            constants = {item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}
            return constants if len(constants) == len(items) else None
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple"), args=[inner], keywords=[]):
            return _names_of(inner, *scopes)
        case ast.Name(id=name):
            assigned = [value for root in scopes for value in values(root, name)]
            return _names_of(assigned[0], *scopes) if len(assigned) == 1 else None
    return None


def _check_secrets(tree: ast.Module) -> Iterator[Checked]:
    secrets = secret_keys(tree)
    everywhere = _wandb_names(tree)
    for function in functions(tree):
        for alias in sorted(everywhere | _wandb_names(function)):
            for call in _inside(function, f"{alias}.init"):
                yield from _check_init(call, secrets, function, tree)


def _wandb_names(root: ast.AST) -> set[str]:
    """What the scope of `root` imports wandb as."""
    imports = [node for node in scope(root) if isinstance(node, ast.Import)]
    return {alias.asname or alias.name for node in imports for alias in node.names if alias.name == "wandb"}


def _check_init(call: ast.Call, secrets: set[str], function: Function, tree: ast.Module) -> Iterator[Checked]:
    config = keyword(call, "config")
    match config.value if config else None:
        case ast.DictComp(
            key=ast.Name(id=key),
            generators=[
                ast.comprehension(
                    target=ast.Tuple(elts=[ast.Name(id=first), ast.Name()]),
                    iter=ast.Call(func=ast.Attribute(value=ast.Name(id="config"), attr="items")),
                    ifs=[ast.Compare(left=ast.Name(id=tested), ops=[ast.NotIn()], comparators=[listed])],
                )
            ],
        ) if key == first == tested:
            yield config or call, None
            kept_out = _names_of(listed, function, tree)
            if kept_out is None:
                yield listed, "what is kept out of wandb is not one literal collection of keys"
                return
            for node in [listed] if not isinstance(listed, ast.Name) else values(function, listed.id):
                yield node, None
            for missing in sorted(secrets - kept_out):
                yield listed, f"the worker reads {missing} from its config, and wandb.init gets it too"
        case _:
            yield call, "wandb.init does not get the config filtered by a list of the keys to keep out"


# --- local datasets go through load_dataset -----------------------------------------------------------------


def _check_local_datasets(tree: ast.Module) -> Iterator[Checked]:
    for function in functions(tree):
        if not any(_inside(function, LOADER_OF)):
            continue
        handed = [
            call
            for call in _nodes(tree)
            if isinstance(call, ast.Call)
            and called(call) == function.name
            and any(_config_key(argument) == "local_datasets" for argument in call.args)
        ]
        yield function.args, None if handed else f"{function.name} does not get the config's local_datasets"
        loads = list(_inside(function, "load_dataset"))
        if not loads:
            yield function.args, f"{function.name} does not call load_dataset"
        for call in loads:
            yield from _check_load(call, function)


def _check_load(call: ast.Call, function: Function) -> Iterator[Checked]:
    files, split = keyword(call, "data_files"), keyword(call, "split")
    if files is None or not isinstance(files.value, ast.Name):
        yield call, "load_dataset does not get the resolved files as data_files"
        return
    name = files.value.id
    resolved = values(function, name)
    right = bool(resolved) and all(called(value) == FILES_OF for value in resolved)
    yield files, None if right else f"data_files is not what {FILES_OF} resolved"
    loaders = [
        source
        for argument in call.args[:1]
        for source in (values(function, argument.id) if isinstance(argument, ast.Name) else [argument])
    ]
    chosen = bool(loaders) and all(
        isinstance(loader, ast.Call) and called(loader) == LOADER_OF and [dotted(arg) for arg in loader.args] == [name]
        for loader in loaders
    )
    yield (
        call.args[0] if call.args else call,
        None if chosen else f"the loader is not chosen by {LOADER_OF} for these files",
    )
    match split:
        case ast.keyword(value=ast.Constant(value="train")):
            yield split, None
        case _:
            yield (
                split or call,
                "load_dataset is not asked for the split `train`, so it returns a dict of splits",
            )


# --- a status carries its message under both keys -----------------------------------------------------------


def _check_status(tree: ast.Module) -> Iterator[Checked]:
    senders = [(function, put) for function in functions(tree) if (put := _put_with_kwargs(function)) is not None]
    for function, put in senders:
        yield from _check_sender(function, put)
    for call in _nodes(tree) if senders else ():
        match call:
            case ast.Call(func=ast.Name(id="send" | "_send"), args=[ast.Constant(value="status"), *_]):
                message = keyword(call, "status_message")
                yield message or call, None if message else "a status is sent without status_message"


def _put_with_kwargs(function: Function) -> ast.Call | None:
    """The call in `function(event_type, **kwargs)` that puts `{"type": event_type, ..., **kwargs}` on a
    queue."""
    event, rest = _taken_by(function)
    if not event or not rest:
        return None
    for node in scope(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="put"), args=[ast.Dict(keys=keys, values=parts)]):
                pairs = {
                    key.value if isinstance(key, ast.Constant) else None: dotted(part)
                    for key, part in zip(keys, parts, strict=True)
                }
                if pairs.get("type") == event and pairs.get(None) == rest:
                    return node
    return None


def _taken_by(function: Function) -> tuple[str, str]:
    """What a function calls its first argument and its other keywords; "" for one that it does not take."""
    first, rest = function.args.args[:1], function.args.kwarg
    return first[0].arg if first else "", rest.arg if rest else ""


def _check_sender(function: Function, put: ast.Call) -> Iterator[Checked]:
    event, rest = _taken_by(function)
    yield put, None
    match function.body[0]:
        case (
            ast.If(
                test=ast.BoolOp(
                    op=ast.And(),
                    values=[
                        ast.Compare(
                            left=ast.Name(id=asked),
                            ops=[ast.Eq()],
                            comparators=[ast.Constant(value="status")],
                        ),
                        ast.Compare(
                            left=ast.Constant(value="message"),
                            ops=[ast.NotIn()],
                            comparators=[ast.Name(id=first)],
                        ),
                    ],
                ),
                body=[
                    ast.Assign(
                        targets=[ast.Name(id=name)],
                        value=ast.Call(
                            func=ast.Attribute(value=ast.Name(id=second), attr="get"),
                            args=[ast.Constant(value=key)],
                        ),
                    ),
                    ast.If(
                        test=ast.Compare(
                            left=ast.Name(id=tested),
                            ops=[ast.IsNot()],
                            comparators=[ast.Constant(value=None)],
                        ),
                        body=[
                            ast.Assign(
                                targets=[ast.Subscript(value=ast.Name(id=third), slice=ast.Constant(value="message"))],
                                value=ast.Name(id=stored),
                            )
                        ],
                        orelse=[],
                    ),
                ],
                orelse=[],
            ) as copy
        ) if (asked, first, second, third) == (event, rest, rest, rest) and name == tested == stored:
            yield copy, None if key == "status_message" else f"the message of a status is copied from {key!r}"
        case other:
            yield other, f"{function.name} does not begin by copying a status's status_message to message"


# --- a slice's end is inclusive, and zero is a bound --------------------------------------------------------


def _is_set(test: ast.expr, name: str) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id=found), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return found == name
    return False


def _check_slice(tree: ast.Module) -> Iterator[Checked]:
    for outer in functions(tree):
        bounds = {
            key: node.targets[0].id
            for node in scope(outer)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and (key := _config_key(node.value)) in ("dataset_slice_start", "dataset_slice_end")
        }
        if len(bounds) != 2:
            continue
        first, last = bounds["dataset_slice_start"], bounds["dataset_slice_end"]
        slicers = [
            node
            for node in scope(outer)
            if isinstance(node, ast.FunctionDef)
            and {first, last} & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        ]
        for slicer in slicers:
            yield from _check_slicer(slicer, first, last)


def _check_slicer(slicer: ast.FunctionDef, first: str, last: str) -> Iterator[Checked]:
    rows = slicer.args.args[0].arg if slicer.args.args else ""
    match slicer.body[0]:
        case ast.If(test=ast.BoolOp(op=ast.Or(), values=[left, right])) as asked if _is_set(left, first) and _is_set(
            right, last
        ):
            yield asked.test, None
        case other:
            yield other, "the slice does not begin by asking whether one of its two bounds is set"
    chosen: dict[str, str] = {}
    yield from _check_bounds(slicer, {first: "0", last: f"len({rows}) - 1"}, chosen)
    yield from _check_cut(slicer, rows, chosen.get(first, ""), chosen.get(last, ""))


def _check_bounds(slicer: ast.FunctionDef, defaults: dict[str, str], chosen: dict[str, str]) -> Iterator[Checked]:
    """Each bound is asked by `is not None` wherever it is read; `chosen` gets what it is called then."""
    allowed: set[int] = set()
    for node in scope(slicer):
        match node:
            case ast.Compare(left=ast.Name(id=name) as left) if name in defaults and _is_set(node, name):
                allowed.add(id(left))
            case ast.Assign(
                targets=[ast.Name(id=bound)],
                value=ast.IfExp(test=test, body=ast.Name(id=name) as taken, orelse=other),
            ) if name in defaults and _is_set(test, name):
                allowed.add(id(taken))
                chosen[name] = bound
                wanted, found = defaults[name], ast.unparse(other)
                yield node, None if found == wanted else f"an unset {name} means `{found}`, not `{wanted}`"
    for node in scope(slicer):
        if isinstance(node, ast.Name) and node.id in defaults and isinstance(node.ctx, ast.Load):
            asked = id(node) in allowed
            yield node, None if asked else f"{node.id} is used without `is not None`, so 0 is no bound"


def _check_cut(slicer: ast.FunctionDef, rows: str, start: str, end: str) -> Iterator[Checked]:
    """The rows from start up to and with end, cut at the length, and none where the end comes first."""
    cut = [node for node in scope(slicer) if _cuts(node, rows, start, end)]
    empty = [node for node in scope(slicer) if _empties(node, rows, start, end)]
    for node in (*cut, *empty):
        yield node, None
    if not cut:
        wanted = "select(range(start, min(end + 1, len(rows))))"
        yield slicer.args, f"the rows are not {wanted}: an inclusive end, cut at the length"
    if not empty:
        yield slicer.args, "an end before the start does not give an empty dataset"


def _cuts(node: ast.AST, rows: str, start: str, end: str) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=cut), attr="select"),
            args=[ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=low), shortest])],
        ) if (cut, low) == (rows, start):
            match shortest:
                case ast.Call(
                    func=ast.Name(id="min"),
                    args=[
                        ast.BinOp(left=ast.Name(id=high), op=ast.Add(), right=ast.Constant(value=1)),
                        ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=measured)]),
                    ],
                ):
                    return (high, measured) == (end, rows)
    return False


def _empties(node: ast.AST, rows: str, start: str, end: str) -> bool:
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=high), ops=[ast.Lt()], comparators=[ast.Name(id=low)]),
            body=[ast.Return(value=ast.Call(func=func, args=[ast.List(elts=[])]))],
        ):
            return (high, low, dotted(func)) == (end, start, f"{rows}.select")
    return False


# --- the stop poller returns on a broken pipe ---------------------------------------------------------------


def _check_poller(tree: ast.Module) -> Iterator[Checked]:
    for function in functions(tree):
        for loop in scope(function):
            if not isinstance(loop, ast.While):
                continue
            for attempt in (node for node in scope(loop) if isinstance(node, ast.Try)):
                gets = list(_inside(ast.Module(body=attempt.body, type_ignores=[]), "stop_queue.get"))
                for call in gets:
                    yield call, None if keyword(call, "timeout") else "the poller waits without a timeout"
                if gets:
                    yield from _check_handlers(attempt)


def _check_handlers(attempt: ast.Try) -> Iterator[Checked]:
    seen: set[str] = set()
    for handler in attempt.handlers:
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        caught = {dotted(item).rpartition(".")[2] for item in types}
        match handler.body:
            case [ast.Continue()] if caught == {"Empty"}:
                yield handler, None
            case [ast.Return(value=None)] if caught <= {"EOFError", "OSError", "ValueError"}:
                yield handler, None
            case _:
                yield handler, f"the poller does not end, or not only ends, on {', '.join(sorted(caught))}"
        seen |= caught
    for wanted in sorted({"Empty", "EOFError", "OSError"} - seen):
        yield attempt, f"the poller does not handle {wanted}"


# --- a missing MLX module gives the friendly ImportError ----------------------------------------------------


def _check_import_error(tree: ast.Module) -> Iterator[Checked]:
    for function in functions(tree):
        imports = [
            node
            for node in scope(function)
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("unsloth_zoo.mlx.")
            and _ZOO_NAMES & {alias.name for alias in node.names}
        ]
        attempts = [node for node in scope(function) if isinstance(node, ast.Try)]
        for statement in imports:
            around = [attempt for attempt in attempts if statement in attempt.body]
            if not around:
                yield statement, f"the import of {statement.module} is not inside a `try`"
            for attempt in around:
                yield statement, None
                match attempt.handlers:
                    case [
                        ast.ExceptHandler(
                            type=ast.Name(id="ImportError"),
                            name=str(name),
                            body=[
                                ast.Raise(
                                    exc=ast.Call(
                                        func=ast.Name(id="ImportError"),
                                        args=[ast.Constant(value=str()) | ast.JoinedStr()],
                                    ),
                                    cause=ast.Name(id=cause),
                                )
                            ],
                        ) as handler
                    ] if name == cause:
                        yield handler, None
                    case _:
                        yield (
                            attempt,
                            "a missing module is not raised anew as an ImportError that says how to mend it",
                        )


# --- samples ------------------------------------------------------------------------------------------------


_TOKEN = """
def train(config):
    key = config.get("hf_token") or None
    try:
        model = FastMLXModel.from_pretrained(config["model"], token=key)
    except OSError:
        model = FastMLXModel.from_pretrained("hub/" + config["model"], token=key, revision=None)
"""
_TOKEN_BY_HELPER = """
def key_of(config):
    return three_valued(config.get("hf_token"), ambient=config.get("ambient", True))
def train(config):
    FastMLXModel.from_pretrained("model", token=key_of(config))
"""
TOKEN = Guard(
    id="token-reaches-the-model",
    source=WORKER,
    mend=f"Pass token=, read from the config's hf_token, to every call of {LOAD}, the fallback load included.",
    check=_check_token,
    good={"both loads": _TOKEN, "through a helper": _TOKEN_BY_HELPER},
    bad={
        "first load without": other(_TOKEN, ('["model"], token=key)', '["model"])')),
        "fallback without": other(_TOKEN, (", token=key, revision", ", revision")),
        "None": other(_TOKEN, ("token=key, revision", "token=None, revision")),
        "another key of the config": other(_TOKEN, ("hf_token", "wandb_token")),
        "lost on the way": other(_TOKEN, ("    try:", "    key = None\n    try:")),
        "turned into a truth value": other(_TOKEN, ("or None", "and None")),
        "under another keyword": other(_TOKEN, ("token=key)", "auth=key)")),
        "never assigned": other(_TOKEN, ("    key =", "    other =")),
        "helper reads something else": other(_TOKEN_BY_HELPER, ("hf_token", "user")),
    },
)

_SECRETS = """
def track(config, send):
    import wandb as tracker
    login(config.get("wandb_token"), config["hf_token"], config.get("s3_config"))
    hidden = {"hf_token", "wandb_token", "s3_config"}
    return tracker.init(project="p", config={key: val for key, val in config.items() if key not in hidden})
"""
SECRETS = Guard(
    id="secrets-stay-out-of-wandb",
    source=WORKER,
    mend="Filter every secret that the worker reads from its config out of what wandb.init gets.",
    check=_check_secrets,
    good={
        "by a name": _SECRETS,
        "spelled out": other(_SECRETS, ("not in hidden", 'not in ("wandb_token", "hf_token", "s3_config", "subject")')),
    },
    bad={
        "the whole config": other(
            _SECRETS, ("{key: val for key, val in config.items() if key not in hidden}", "config")
        ),
        "no filter": other(_SECRETS, (" if key not in hidden", "")),
        "filter turned round": other(_SECRETS, ("key not in hidden", "key in hidden")),
        "a filter that can be passed by": other(_SECRETS, ("key not in hidden", "key not in hidden or val")),
        "values tested for keys": other(_SECRETS, ("if key not", "if val not")),
        "one secret forgotten": other(_SECRETS, ('{"hf_token", ', "{")),
        "a new secret forgotten": other(_SECRETS, ("login(", 'login(config.get("hub_password"), ')),
        "no config at all": other(
            _SECRETS, (", config={key: val for key, val in config.items() if key not in hidden}", "")
        ),
        "list from elsewhere": other(_SECRETS, ('{"hf_token", "wandb_token", "s3_config"}', "load_hidden()")),
    },
)

_LOCAL = """
def run(config):
    def local(paths):
        found = _resolve_mlx_local_dataset_files(paths)
        kind = _mlx_local_dataset_loader_for_files(found)
        return load_dataset(kind, data_files=found, split="train")
    rows = local(config["local_datasets"])
"""
LOCAL_DATASETS = Guard(
    id="local-datasets-as-data-files",
    source=WORKER,
    mend='Load local files by load_dataset(loader, data_files=files, split="train"), '
    "files and loader as resolved for them.",
    check=_check_local_datasets,
    good={
        "by names": _LOCAL,
        "loader in place": other(
            _LOCAL,
            ("load_dataset(kind", "load_dataset(_mlx_local_dataset_loader_for_files(found)"),
            ("        kind = _mlx_local_dataset_loader_for_files(found)\n", ""),
        ),
    },
    bad={
        "no data_files": other(_LOCAL, (" data_files=found,", "")),
        "the paths as given": other(_LOCAL, ("data_files=found", "data_files=paths")),
        "unresolved": other(_LOCAL, ("_resolve_mlx_local_dataset_files(paths)", "list(paths)")),
        "a fixed loader": other(_LOCAL, ("load_dataset(kind", 'load_dataset("json"')),
        "loader of other files": other(_LOCAL, ("for_files(found)", "for_files(paths)")),
        "no split": other(_LOCAL, (', split="train"', "")),
        "another split": other(_LOCAL, ('"train"', '"test"')),
        "not loaded": other(_LOCAL, ("load_dataset(kind", "read(kind")),
        "not given the config's files": other(_LOCAL, ('local(config["local_datasets"])', "local([])")),
    },
)

_STATUS = """
def run(queue):
    def _send(kind, **more):
        if kind == "status" and "message" not in more:
            text = more.get("status_message")
            if text is not None:
                more["message"] = text
        queue.put({"type": kind, "ts": now(), **more})
    _send("status", status_message="Loading")
    _send("error", error="no")
"""
STATUS = Guard(
    id="status-under-both-keys",
    source=WORKER,
    mend="Send every status with status_message, and copy it to message before the event is put on the queue.",
    check=_check_status,
    good={"copied": _STATUS},
    bad={
        "not copied": other(_STATUS, ('more["message"] = text', "pass")),
        "copied for other events": other(_STATUS, ('kind == "status"', 'kind != "status"')),
        "copied where it is there": other(_STATUS, ('"message" not in', '"message" in')),
        "copied from another key": other(_STATUS, ('get("status_message")', 'get("text")')),
        "copied to another key": other(_STATUS, ('more["message"]', 'more["text"]')),
        "copied when None": other(_STATUS, ("text is not None", "text is None")),
        "either condition": other(_STATUS, ('"status" and', '"status" or')),
        "copied too late": other(
            _STATUS, ("        if kind ==", '        queue.put({"type": kind, **more})\n        if kind ==')
        ),
        "sent under one key": other(_STATUS, ('status_message="Loading"', 'message="Loading"')),
    },
)

_SLICE = """
def run(config):
    low = config.get("dataset_slice_start")
    high = config.get("dataset_slice_end")
    def cut(rows):
        if low is not None or high is not None:
            start = low if low is not None else 0
            end = high if high is not None else len(rows) - 1
            if end < start:
                return rows.select([])
            return rows.select(range(start, min(end + 1, len(rows))))
        return rows
    return cut(load())
"""
SLICE = Guard(
    id="slice-end-inclusive",
    source=WORKER,
    mend="Keep a slice's end inclusive and cut at the length, "
    "and ask its bounds by `is not None`, since zero is a bound.",
    check=_check_slice,
    good={"inclusive": _SLICE},
    bad={
        "exclusive end": other(_SLICE, ("min(end + 1, ", "min(end, ")),
        "one too many": other(_SLICE, ("end + 1", "end + 2")),
        "not cut at the length": other(_SLICE, ("min(end + 1, len(rows))", "end + 1")),
        "longest for shortest": other(_SLICE, ("min(", "max(")),
        "zero end is none": other(_SLICE, ("or high is not None:", "or high:")),
        "zero start is none": other(_SLICE, ("start = low if low is not None", "start = low if low")),
        "zero end falls back": other(_SLICE, ("end = high if high is not None", "end = high if high")),
        "both bounds needed": other(_SLICE, ("None or high", "None and high")),
        "bounds unset": other(_SLICE, ("if low is not None or", "if low is None or")),
        "start from one": other(_SLICE, ("else 0", "else 1")),
        "last row lost": other(_SLICE, ("len(rows) - 1", "len(rows) - 2")),
        "bounds swapped": other(_SLICE, ("range(start, min(end", "range(end, min(start")),
        "empty for one row": other(_SLICE, ("end < start", "end <= start")),
        "no empty dataset": other(
            _SLICE, ("            if end < start:\n                return rows.select([])\n", "")
        ),
        "never cut": other(_SLICE, ("rows.select(range(start, min(end + 1, len(rows))))", "rows")),
    },
)

_POLLER = """
def start(stop_queue, trainer):
    def poll():
        while True:
            try:
                message = stop_queue.get(timeout=0.5)
                if message:
                    trainer.stop = True
            except queue.Empty:
                continue
            except (EOFError, OSError):
                return
    thread(poll)
"""
POLLER = Guard(
    id="stop-poller-ends",
    source=WORKER,
    mend="Poll the stop queue with a timeout, go on when it is empty, and return when its pipe is broken or closed.",
    check=_check_poller,
    good={"two errors": _POLLER, "three errors": other(_POLLER, ("OSError)", "OSError, ValueError)"))},
    bad={
        "EOFError escapes": other(_POLLER, ("(EOFError, OSError)", "OSError")),
        "OSError escapes": other(_POLLER, ("(EOFError, OSError)", "EOFError")),
        "polls a broken pipe": other(
            _POLLER, ("OSError):\n                return", "OSError):\n                continue")
        ),
        "ends when empty": other(_POLLER, ("Empty:\n                continue", "Empty:\n                return")),
        "Empty escapes": other(_POLLER, ("            except queue.Empty:\n                continue\n", "")),
        "swallows everything": other(_POLLER, ("(EOFError, OSError)", "Exception")),
        "goes on after anything": other(
            _POLLER,
            (
                "            except queue",
                "            except Exception:\n                continue\n            except queue",
            ),
        ),
        "waits for ever": other(_POLLER, ("timeout=0.5", "")),
    },
)

_IMPORT = """
def run():
    try:
        from unsloth_zoo.mlx.loader import FastMLXModel
        from unsloth_zoo.mlx.trainer import MLXTrainer, MLXTrainingConfig
    except ImportError as error:
        raise ImportError("install a zoo that has MLX") from error
"""
FRIENDLY_IMPORT = Guard(
    id="missing-mlx-says-how",
    source=WORKER,
    mend="Import unsloth_zoo's MLX modules in one `try` "
    "whose ImportError is raised anew with a text that names the mend.",
    check=_check_import_error,
    good={"raised anew": _IMPORT},
    bad={
        "no try": "def run():\n    from unsloth_zoo.mlx.loader import FastMLXModel\n",
        "one import outside": other(
            _IMPORT,
            (
                "    try:\n        from unsloth_zoo.mlx.loader import FastMLXModel",
                "    from unsloth_zoo.mlx.loader import FastMLXModel\n    try:",
            ),
        ),
        "swallowed": other(_IMPORT, ('raise ImportError("install a zoo that has MLX") from error', "return")),
        "raised as it is": other(_IMPORT, ('raise ImportError("install a zoo that has MLX") from error', "raise")),
        "another error": other(_IMPORT, ('raise ImportError("', 'raise RuntimeError("')),
        "cause lost": other(_IMPORT, (" from error", "")),
        "without a text": other(_IMPORT, ('"install a zoo that has MLX"', "")),
        "another error caught": other(_IMPORT, ("except ImportError", "except AttributeError")),
    },
)

GUARDS = (TOKEN, SECRETS, LOCAL_DATASETS, STATUS, SLICE, POLLER, FRIENDLY_IMPORT)

# --- the lines that carry the contracts ---------------------------------------------------------------------

# Functions that are contract from the first line to the last; a release that lacks one has it inside
# _run_mlx_training.
_WHOLE = {
    TOKEN.id: ("_worker_hf_token",),
    LOCAL_DATASETS.id: (FILES_OF, LOADER_OF),
    POLLER.id: ("_start_worker_stop_poller", "_start_mlx_stop_poller"),
    "finalization": ("_finalize_mlx_training",),
}


def contract_lines(tree: ast.Module) -> dict[str, set[int]]:
    """Contract id -> the lines of worker.py that carry it: what the guards look at and what the behaviours
    drive."""
    lines = {guard.id: _lines(node for node, _ in guard.look(tree)) for guard in GUARDS}
    for contract, wanted in _WHOLE.items():
        whole = [statement for name in wanted if (part := _top_function(tree, name)) for statement in _body(part)]
        lines.setdefault(contract, set()).update(_lines(whole))
    for function in functions(tree):
        for node in scope(function):
            match node:
                case ast.If(test=ast.Call() as test) if _config_key(test) == "enable_wandb":
                    if any(isinstance(part, ast.Import) and part.names[0].name == "wandb" for part in ast.walk(node)):
                        lines[SECRETS.id] |= _lines([node])
                case ast.If(
                    test=ast.Name(),
                    body=[ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value="HF_TOKEN"))])],
                ):
                    if any(_inside(function, LOAD)):
                        lines[TOKEN.id] |= _lines([node])
                case ast.Try(body=body, handlers=handlers) if any(
                    _inside(ast.Module(body=body, type_ignores=[]), LOAD)
                ):
                    lines[TOKEN.id] |= _lines(handlers)
    return lines


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def _lines(nodes: Iterable[ast.AST]) -> set[int]:
    placed = [node for node in nodes if isinstance(node, ast.stmt | ast.expr | ast.keyword | ast.ExceptHandler)]
    return {line for node in placed for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
