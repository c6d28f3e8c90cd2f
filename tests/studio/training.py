"""Run the subject's own training worker in this process, with the fakes of a Lab around it and no network."""

from __future__ import annotations

import ast
import gc
import importlib
import multiprocessing
import os
import queue
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.studio.fakes import PATIENCE, Lab
from tests.studio.subject import WORKER, Subject

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
# Set by the worker, or what it would otherwise take from the shell that runs us.
_OF_A_RUN = ("HF_TOKEN", "WANDB_API_KEY", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "UNSLOTH_HOME", "STUDIO_HOME")
# The worker changes the process it lives in; these are the subject's own switches against that.
_TAME = {"UNSLOTH_STUDIO_NATIVE_TLS": "0", "UNSLOTH_STUDIO_HAPPY_EYEBALLS": "0"}


@contextmanager
def worker_of(subject: Subject) -> Iterator[ModuleType]:
    """The subject's `core.training.worker`, imported from its own file and forgotten afterwards.

    Its package is entered without its `__init__`, which loads the parent process's side and with it a web
    framework that no worker needs.
    """
    before = dict(os.environ)
    os.environ |= _TAME
    folder = subject.path(WORKER).parent
    package = ModuleType("core.training")
    package.__path__ = [str(folder)]
    sys.modules["core.training"] = package
    try:
        yield importlib.import_module("core.training.worker")
    finally:
        for name in [name for name in sys.modules if name == "core.training" or name.startswith("core.training.")]:
            del sys.modules[name]
        os.environ.clear()
        os.environ |= before


def has_own(subject: Subject, function: str) -> bool:
    """Whether the worker of this release has that function; an older one has what it does inside
    _run_mlx_training."""
    own = {node.name for node in subject.tree(WORKER).body if isinstance(node, ast.FunctionDef)}
    if "_run_mlx_training" not in own:
        raise LookupError(f"{subject.path(WORKER)} has no _run_mlx_training: the behaviours have nothing to run")
    return function in own


class ClosableQueue(queue.Queue[Any]):
    """A queue in which an exception can be put: the reader of a pipe meets one when the other end has
    gone."""

    def __init__(self, *items: Any) -> None:
        super().__init__()
        self.timeouts: list[float | None] = []
        """How long each read was ready to wait, in seconds."""
        self.drained = threading.Event()
        """Set when the reader comes back and finds nothing more."""
        for item in items:
            self.put(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """The next item; raises it where it is an exception."""
        self.timeouts.append(timeout)
        if self.empty():
            self.drained.set()
        item = super().get(block, timeout)
        if isinstance(item, BaseException):
            raise item
        return item


@dataclass
class Run:
    """What one run of the worker left behind."""

    lab: Lab
    events: list[dict[str, Any]]
    """All that was put on the event queue, in order."""
    error: BaseException | None
    """What the worker raised."""
    environ: dict[str, str]
    """The environment as the worker left it."""
    config: dict[str, Any]
    thread_errors: list[type[BaseException]]
    """What ended a thread of the worker unhandled."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type, without their time."""
        return [
            {key: event[key] for key in event if key not in ("type", "ts")}
            for event in self.events
            if event["type"] == kind
        ]

    def statuses(self) -> list[str]:
        """The texts of all statuses."""
        return [event["status_message"] for event in self.of("status")]

    def completed(self) -> dict[str, Any]:
        """The one `complete` event of a run that raised nothing."""
        assert self.error is None, repr(self.error)
        (event,) = self.of("complete")
        return event


def _drain(events: Any) -> list[dict[str, Any]]:
    found = []
    while True:
        try:
            found.append(events.get_nowait())
        except queue.Empty:
            return found


def _refuse(*args: Any, **kwargs: Any) -> None:
    raise AssertionError(f"the worker went to the network: {args}")


def run(
    worker: ModuleType,
    home: Path,
    lab: Lab | None = None,
    *,
    offline: bool = True,
    web: bool = False,
    stops: Any = None,
    **config: Any,
) -> Run:
    """Drive `_run_mlx_training` from the first status to the last event, over a small local run.

    `home` is a folder for this run alone, `config` what differs from the small run. `web` lets the worker find the
    web framework of the process that starts it: it does without, save for datasets from S3, and loading it takes
    half a second. `stops` is the stop queue, a ClosableQueue of its own where it is left out. The poller thread is
    let go and waited for, whatever the worker did.
    """
    lab = lab or Lab()
    stops = ClosableQueue() if stops is None else stops
    events: queue.Queue[dict[str, Any]] = queue.Queue()
    full = local_config(home) | config
    error = None
    before = set(threading.enumerate())
    thread_errors: list[type[BaseException]] = []
    with pytest.MonkeyPatch.context() as patch:
        _settle(patch, home, offline)
        patch.setattr(threading, "excepthook", lambda hook: thread_errors.append(hook.exc_type))
        lab.install(patch)
        if not web:
            patch.setitem(sys.modules, "fastapi", None)
        gc.freeze()  # the worker collects in every run; what was there before need not be walked again
        try:
            worker._run_mlx_training(events, stops, full)
        except BaseException as raised:  # noqa: BLE001 - whatever it raises is what a test looks at
            error = raised
        environ = dict(os.environ)
        if isinstance(stops, ClosableQueue):
            stops.put(EOFError())
        _wait_for(set(threading.enumerate()) - before)
    return Run(lab, _drain(events), error, environ, full, thread_errors)


def _settle(patch: pytest.MonkeyPatch, home: Path, offline: bool) -> None:
    """The environment of a run: a home of its own, no network."""
    for name in (*_OF_A_RUN, *OFFLINE):
        patch.setenv(name, "")  # set before it is deleted, so that a value from the worker is undone too
        patch.delenv(name)
    for name in OFFLINE if offline else ():
        patch.setenv(name, "1")
    patch.setenv("UNSLOTH_STUDIO_HOME", str(home / "studio"))
    patch.setenv("HF_HOME", str(home / "hf"))
    for name in ("getaddrinfo", "create_connection"):
        patch.setattr(socket, name, _refuse)
    patch.setattr(socket.socket, "connect", _refuse)


def _wait_for(threads: set[threading.Thread]) -> None:
    """Wait for the worker's own threads; AssertionError for one that does not end."""
    for thread in threads:
        if thread.name == "QueueFeederThread":
            continue  # belongs to a queue between processes, which lives on
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"{thread.name} of the worker still runs after its queue was closed"


def local_config(home: Path) -> dict[str, Any]:
    """A small run: a model folder, one local dataset file, a folder for the output; no secrets, no
    tracker."""
    model = home / "model"
    model.mkdir(parents=True, exist_ok=True)
    (model / "config.json").write_text("{}", encoding="utf-8")
    return {
        "model_name": str(model),
        "local_datasets": [data_file(home, "rows.json")],
        "output_dir": "run",
        "max_steps": 2,
        "num_epochs": 1,
    }


def data_file(home: Path, name: str) -> str:
    """A dataset file of that name, with a header row and one row where it is a CSV; returns its path."""
    path = home / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text,number\nhello,1\n" if path.suffix.lower() == ".csv" else "{}", encoding="utf-8")
    return str(path)


def output_dir(home: Path) -> str:
    """Where Studio puts the output `run` of a run at home."""
    return str(home / "studio" / "outputs" / "run")


def pipe_queue() -> Any:
    """A real queue between processes, that can be closed and whose pipe can be cut."""
    return multiprocessing.get_context("fork").Queue()
