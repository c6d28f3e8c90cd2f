"""Fakes of what the training worker is given by others: mlx, unsloth_zoo's MLX modules, datasets, wandb and
their like.

They record what they are asked and compute nothing. Nothing of `studio/` is faked. `behaviors/test_fakes.py`
holds them against the sources of the real unsloth_zoo.
"""

from __future__ import annotations

import csv
import random
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, Self

import pytest

OWNED = ("mlx", "unsloth_zoo", "datasets", "wandb", "pandas", "pyarrow", "safetensors", "tensorboardX")
"""The packages whose real modules, if any, are out of the way while the fakes are in."""

PATIENCE = 5.0
"""Seconds that a fake waits for the worker before it fails: far beyond any real delay, so that only a bug
runs it out."""


class Call(NamedTuple):
    """One call that a fake received."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Rows(list[Any]):
    """A dataset: what `datasets.Dataset` does for the worker, over a list of rows."""

    column_names = ("text",)

    def select(self, indices: Iterable[int]) -> Rows:
        """The rows at these positions; IndexError for one that is not there, as datasets has it."""
        wanted = list(indices)
        for index in wanted:
            if not 0 <= index < len(self):
                raise IndexError(f"Index {index} out of range for dataset of size {len(self)}.")
        return Rows(self[index] for index in wanted)

    def shuffle(self, seed: int) -> Rows:
        """The rows in another order, the same for the same seed."""
        return Rows(random.Random(seed).sample(self, len(self)))


@dataclass
class Model:
    """What FastMLXModel.from_pretrained returns as the model."""

    _is_vlm_model: bool


class Optimizer:
    """What the trainer builds, and the stop checkpoint saves."""


class Trainer:
    """unsloth_zoo.mlx.trainer.MLXTrainer: one step, one evaluation, and whatever the test does meanwhile."""

    distributed_world_size = 1
    is_main_process = True

    def __init__(self, lab: Lab, model: Any, tokenizer: Any, train_dataset: Any, eval_dataset: Any, args: Any) -> None:
        self.lab, self.model, self.tokenizer, self.args = lab, model, tokenizer, args
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.state = SimpleNamespace(epoch=None)
        self._global_step = 0
        self._train_loss_history: list[float] = []
        self._step_callbacks: list[Callable[..., None]] = []
        self._eval_callbacks: list[Callable[..., None]] = []
        self._stopped = threading.Event()

    @property
    def stop_requested(self) -> bool:
        """Set by the worker, from whichever of its threads, where the user asked for a stop."""
        return self._stopped.is_set()

    @stop_requested.setter
    def stop_requested(self, value: bool) -> None:
        (self._stopped.set if value else self._stopped.clear)()

    def wait_for_stop(self) -> None:
        """Return when the worker has passed a stop on to this trainer; AssertionError where it does not."""
        assert self._stopped.wait(PATIENCE), "the worker did not pass the stop on to its trainer"

    def add_step_callback(self, callback: Callable[..., None]) -> None:
        """As the real one: called after each logged step."""
        self._step_callbacks.append(callback)

    def add_eval_callback(self, callback: Callable[..., None]) -> None:
        """As the real one: called after each evaluation."""
        self._eval_callbacks.append(callback)

    def _build_optimizer(self, total_steps: int) -> Optimizer:
        return Optimizer()

    def train(self, resume_from_checkpoint: str | None = None) -> None:
        """Take one step of two, evaluate once, then let the test act."""
        self.lab.record("train", resume_from_checkpoint=resume_from_checkpoint)
        self._build_optimizer(2)
        self._global_step = 1
        for callback in self._step_callbacks:
            callback(1, 2, 0.5, 1e-4, 100.0, 1.5, 2.0, 64, 0.25)
        for callback in self._eval_callbacks:
            callback(1, 0.75, 2.0)
        self.lab.while_training(self)

    def save_model(self, output_dir: str) -> None:
        """Record where to, then let the test act."""
        self.lab.record("save_model", output_dir)
        self.lab.while_saving(self)


@dataclass
class Lab:
    """The fakes of one run, what they were asked, and what they shall do."""

    rows: Rows = field(default_factory=lambda: Rows(f"row {number}" for number in range(10)))
    """What every load_dataset returns."""
    vision: bool = False
    """Whether the model that is loaded sees images."""
    load_errors: list[Exception] = field(default_factory=list)
    """Raised by the next loads of a model, one each; later loads succeed."""
    wandb_error: Exception | None = None
    """Raised by wandb.init."""
    tensorboard_error: Exception | None = None
    """Raised by tensorboardX.SummaryWriter."""
    missing: tuple[str, ...] = ()
    """Modules that shall not be importable, nor what is below them, by dotted name."""
    while_training: Callable[[Trainer], None] = lambda trainer: None
    while_saving: Callable[[Trainer], None] = lambda trainer: None
    calls: list[Call] = field(default_factory=list)
    trainers: list[Trainer] = field(default_factory=list)

    @property
    def trainer(self) -> Trainer:
        """The one trainer that was made."""
        (trainer,) = self.trainers
        return trainer

    def record(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Note a call."""
        self.calls.append(Call(name, args, kwargs))

    def asked(self, name: str) -> list[Call]:
        """The calls of that name, in order."""
        return [call for call in self.calls if call.name == name]

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Put the fakes into sys.modules until `patch` is undone; real modules of the same packages are set
        aside."""
        for name in [name for name in sys.modules if name.partition(".")[0] in OWNED]:
            patch.delitem(sys.modules, name)
        for name in self.missing:
            patch.setitem(sys.modules, name, None)  # an import of it raises ModuleNotFoundError
        fakes = self.modules()
        for name, module in fakes.items():
            parent, _, child = name.rpartition(".")
            if any(f"{name}.".startswith(f"{gone}.") for gone in self.missing):
                patch.setitem(sys.modules, name, None)
                continue
            patch.setitem(sys.modules, name, module)
            if parent:
                setattr(fakes[parent], child, module)

    def modules(self) -> dict[str, ModuleType]:
        """Dotted name -> fake module, parents before children."""
        return {
            "mlx": _module("mlx"),
            "mlx.core": _module("mlx.core", self._mlx_core()),
            "unsloth_zoo": _module("unsloth_zoo"),
            "unsloth_zoo.mlx": _module("unsloth_zoo.mlx"),
            "unsloth_zoo.mlx.loader": _module("unsloth_zoo.mlx.loader", {"FastMLXModel": self._fast_mlx_model()}),
            "unsloth_zoo.mlx.trainer": _module("unsloth_zoo.mlx.trainer", self._trainer()),
            "unsloth_zoo.mlx.utils": _module("unsloth_zoo.mlx.utils", _checkpoint_writers()),
            "datasets": _module("datasets", self._datasets()),
            "wandb": _module("wandb", {"init": self._wandb_init}),
            "tensorboardX": _module("tensorboardX", {"SummaryWriter": self._summary_writer}),
            "pandas": _module("pandas", {"read_csv": _Frame}),
            "pyarrow": _module("pyarrow", {"Table": _Table, "types": _ARROW_TYPES}),
            "safetensors": _module("safetensors", {"SafetensorError": ValueError, "safe_open": _SafeOpen}),
        }

    def _mlx_core(self) -> dict[str, Any]:
        return {
            "metal": SimpleNamespace(is_available=lambda: True),
            "device_info": lambda: {"device_name": "Apple M4", "max_recommended_working_set_size": 1000},
            "set_memory_limit": lambda limit: self.record("set_memory_limit", limit),
            "set_wired_limit": lambda limit: self.record("set_wired_limit", limit),
            "synchronize": lambda: self.record("synchronize"),
        }

    def _fast_mlx_model(self) -> type:
        lab = self

        class FastMLXModel:
            """unsloth_zoo.mlx.loader.FastMLXModel"""

            @staticmethod
            def from_pretrained(model_name: str, **kwargs: Any) -> tuple[Model, object]:
                lab.record("from_pretrained", model_name, **kwargs)
                if lab.load_errors:
                    raise lab.load_errors.pop(0)
                return Model(lab.vision), object()

            @staticmethod
            def get_peft_model(model: Model, *, use_dora: bool = False, **kwargs: Any) -> Model:
                lab.record("get_peft_model", use_dora=use_dora, **kwargs)
                return model

        return FastMLXModel

    def _trainer(self) -> dict[str, Any]:
        def trainer(**kwargs: Any) -> Trainer:
            self.record("MLXTrainer", **kwargs)
            self.trainers.append(Trainer(self, **kwargs))
            return self.trainers[-1]

        return {"MLXTrainer": trainer, "MLXTrainingConfig": SimpleNamespace, "train_on_responses_only": None}

    def _datasets(self) -> dict[str, Any]:
        def load_dataset(*args: Any, **kwargs: Any) -> Rows:
            self.record("load_dataset", *args, **kwargs)
            return self.rows

        return {
            "load_dataset": load_dataset,
            "load_from_disk": lambda path: self.record("load_from_disk", path),
            "Dataset": Rows,
            "DatasetDict": dict,
            "Features": dict,
            "Value": lambda dtype, **tag: (dtype, tag),
        }

    def _summary_writer(self, **kwargs: Any) -> SimpleNamespace:
        self.record("SummaryWriter", **kwargs)
        if self.tensorboard_error is not None:
            raise self.tensorboard_error
        return SimpleNamespace(
            add_scalar=lambda name, value, step: self.record("add_scalar", name, value, step),
            close=lambda: self.record("SummaryWriter.close"),
        )

    def _wandb_init(self, **kwargs: Any) -> SimpleNamespace:
        self.record("wandb.init", **kwargs)
        if self.wandb_error is not None:
            raise self.wandb_error
        return SimpleNamespace(
            log=lambda values, step: self.record("wandb.log", values, step=step),
            finish=lambda: self.record("wandb.finish"),
        )


def _module(name: str, content: dict[str, Any] | None = None) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    module.__path__ = []  # a package, so that a fake child is found and no real one is let in
    module.__dict__.update(content or {})
    return module


def _checkpoint_writers() -> dict[str, Callable[..., None]]:
    def writer(file: str, text: Callable[[Any], str]) -> Callable[..., None]:
        def write(content: Any, path: str) -> None:
            (Path(path) / file).write_text(text(content), encoding="utf-8")

        return write

    return {
        "save_trainable_adapters": writer("adapters.safetensors", lambda model: "tensor"),
        "save_optimizer_state": writer("optimizer_state.safetensors", lambda optimizer: type(optimizer).__name__),
        "save_trainer_state": writer("trainer_state.json", lambda state: f'{{"global_step": {state["global_step"]}}}'),
    }


class _SafeOpen:
    """safetensors.safe_open, for a file that has a tensor where it has a text."""

    def __init__(self, path: str, framework: str) -> None:
        self.text = Path(path).read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def keys(self) -> list[str]:
        return self.text.split()


class _Frame:
    """pandas.read_csv, also in chunks, as far as the names of the columns and which of them hold numbers."""

    def __init__(self, path: str, chunksize: int | None = None, nrows: int | None = None) -> None:
        with Path(path).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        self.columns = header
        self.types = ["int64" if all(row[at].isdigit() for row in rows) else "string" for at in range(len(header))]

    def __enter__(self) -> Any:
        return iter([self])

    def __exit__(self, *exc: object) -> None:
        pass


class _Table:
    """pyarrow.Table, as far as the schema of a frame."""

    @staticmethod
    def from_pandas(frame: _Frame) -> SimpleNamespace:
        pairs = zip(frame.columns, frame.types, strict=True)
        return SimpleNamespace(schema=[SimpleNamespace(name=name, type=kind) for name, kind in pairs])


_ARROW_TYPES = SimpleNamespace(is_string="string".__eq__, is_large_string="large_string".__eq__)
