"""The fakes behave as they say, come and go without a trace, and have the names and parameters of the real
ones."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.studio.fakes import OWNED, Lab, Rows, Trainer
from tests.studio.guards import dotted
from tests.studio.guards.gate import zoo_path
from tests.studio.subject import Subject
from tests.studio.training import ClosableQueue, data_file, has_own, run, worker_of


def _owned() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in OWNED}


def test_fakes_come_and_go_without_a_trace() -> None:
    """While they are in, imports find them; afterwards sys.modules is as it was."""
    before = _owned()
    with pytest.MonkeyPatch.context() as patch:
        Lab().install(patch)
        mx = importlib.import_module("mlx.core")
        loader = importlib.import_module("unsloth_zoo.mlx.loader")

        assert (mx, loader) == (sys.modules["mlx"].core, sys.modules["unsloth_zoo.mlx"].loader)
        assert "FastMLXModel" in vars(loader)

    assert before == _owned()


@pytest.mark.parametrize("name", ["mlx.nn", "unsloth_zoo.mlx.generate", "datasets.arrow_dataset"])
def test_what_is_not_faked_is_not_there(name: str) -> None:
    """A module below a faked package is not let in from the real one."""
    with pytest.MonkeyPatch.context() as patch:
        Lab().install(patch)
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


@pytest.mark.parametrize("name", ["unsloth_zoo.mlx.loader", "wandb", "mlx.core"])
def test_missing_takes_what_is_below_with_it(name: str) -> None:
    """A package that is missing is missing whole."""
    with pytest.MonkeyPatch.context() as patch:
        Lab(missing=(name.partition(".")[0],)).install(patch)
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_rows_are_selected_as_datasets_does() -> None:
    """By position, in the order asked for; a position that is not there is an IndexError."""
    rows = Rows("abc")

    assert ["c", "a"] == rows.select([2, 0])
    assert [] == rows.select([])
    for index in (3, -1):
        with pytest.raises(IndexError):
            rows.select([index])


def test_trainer_notices_that_no_stop_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trainer that waits for a stop in vain fails, and one that was stopped does not wait."""
    monkeypatch.setattr("tests.studio.fakes.PATIENCE", 0.01)
    trainer = Trainer(Lab(), None, None, None, None, None)

    with pytest.raises(AssertionError, match="did not pass the stop on"):
        trainer.wait_for_stop()
    trainer.stop_requested = True
    trainer.wait_for_stop()


def test_queue_raises_what_is_put_in() -> None:
    """An exception in the queue is raised by the read that meets it; other items are returned."""
    queue = ClosableQueue(1, EOFError())

    assert 1 == queue.get(timeout=1)
    with pytest.raises(EOFError):
        queue.get(timeout=2)
    assert ([1, 2], False) == (queue.timeouts, queue.drained.is_set())


# --- against the real ones ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """What one run of this release's worker asks of the fakes."""
    home = tmp_path_factory.mktemp("asked")
    stops = ClosableQueue()

    def stop(trainer: Trainer) -> None:
        stops.put({"type": "stop"})
        trainer.wait_for_stop()

    with worker_of(subject) as worker:
        found = run(worker, home, Lab(while_training=stop), stops=stops, local_datasets=[data_file(home, "a.json")])
    assert found.error is None
    return found.lab


def _real(subject: Subject, module: str) -> ast.Module:
    path: Path = zoo_path(subject, f"unsloth_zoo/mlx/{module}.py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _definitions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Name -> definition of the functions and classes in these statements, also in branches."""
    found: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.If | ast.Try):
            found |= _definitions([*node.body, *node.orelse])
    return found


def _parameters(function: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """The names of the parameters, in order; TypeError for a class."""
    if isinstance(function, ast.ClassDef):
        raise TypeError(f"{function.name} is a class")
    return [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]


def test_model_is_asked_for_as_the_real_one_takes_it(subject: Subject, asked: Lab) -> None:
    """Every keyword that the worker passes to FastMLXModel is a parameter of the real methods."""
    methods = _definitions(_definitions(_real(subject, "loader").body)["FastMLXModel"].body)

    for name in ("from_pretrained", "get_peft_model"):
        (call,) = asked.asked(name)
        # use_dora is the fake's own default, which the worker passes only where it is wanted
        assert set() == call.kwargs.keys() - {*_parameters(methods[name]), "use_dora"}, name


def test_trainer_is_made_and_used_as_the_real_one(subject: Subject, asked: Lab) -> None:
    """The real trainer takes what the worker passes, has the methods that the fake has, and its configuration
    the fields."""
    real = _definitions(_real(subject, "trainer").body)
    trainer, config = _definitions(real["MLXTrainer"].body), real["MLXTrainingConfig"]
    (made,) = asked.asked("MLXTrainer")

    assert set() == made.kwargs.keys() - set(_parameters(trainer["__init__"]))
    own = {name for name, value in vars(Trainer).items() if callable(value) and not name.startswith("__")} - {
        "wait_for_stop"
    }
    assert set() == own - trainer.keys()
    attributes = {node.attr for node in ast.walk(real["MLXTrainer"]) if isinstance(node, ast.Attribute)}
    assert {"stop_requested", "args", "_global_step", "_train_loss_history"} <= attributes | trainer.keys()
    fields = {dotted(node.target) for node in config.body if isinstance(node, ast.AnnAssign)}
    assert set() == vars(made.kwargs["args"]).keys() - fields
    assert "train_on_responses_only" in real


def test_checkpoint_is_written_by_real_names(subject: Subject) -> None:
    """What a worker that writes stop checkpoints writes them with exists in unsloth_zoo, as functions of what
    and where."""
    real = _definitions(_real(subject, "utils").body)
    used = [name for name in Lab().modules()["unsloth_zoo.mlx.utils"].__dict__ if name.startswith("save_")]

    assert 3 == len(used)
    for name in used if has_own(subject, "_write_mlx_stop_checkpoint") else ():
        assert "path" == _parameters(real[name])[1], name
