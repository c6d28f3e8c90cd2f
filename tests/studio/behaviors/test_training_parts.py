"""The parts of the training worker by themselves: the stop pollers, the files of a dataset, the end of a run.

A release before these parts had functions of their own does all of it inside `_run_mlx_training`, where the
whole runs of test_training_runs.py hold it. `part` says which it is, from the release's own source.
"""

from __future__ import annotations

import threading
from pathlib import Path
from queue import Empty
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.studio.fakes import PATIENCE
from tests.studio.subject import Subject
from tests.studio.training import ClosableQueue, data_file, has_own

STOP, CANCEL = {"type": "stop", "save": True}, {"type": "stop", "save": False}


def part(worker: ModuleType, subject: Subject, name: str) -> Any:
    """The function of that name; None where this release has none, as its source and its module agree."""
    assert has_own(subject, name) == hasattr(worker, name), f"{name}: the source and the module disagree"
    return getattr(worker, name, None)


def _end(thread: threading.Thread) -> None:
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the poller does not end"


# --- the poller of all workers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "completion", "heard", "unread"),
    [
        ([STOP, EOFError()], None, [True], 0),
        ([{"type": "stop"}, EOFError()], None, [True], 0),
        ([CANCEL, STOP], None, [False], 1),
        ([{"type": "stop", "save": 0}, STOP], None, [False], 1),
        ([STOP, STOP, EOFError()], None, [True, True], 0),
        ([STOP, CANCEL, STOP], None, [True, False], 1),
        (["noise", None, 7, {}, {"type": "status"}, CANCEL], None, [False], 0),
        ([Empty(), Empty(), CANCEL], None, [False], 0),
        ([{"type": "done"}, STOP], "done", [], 1),
        ([{"type": "done"}, CANCEL], None, [False], 0),
        ([{"type": "other"}, CANCEL], "done", [False], 0),
        ([EOFError(), STOP], None, [], 1),
        ([OSError(), STOP], None, [], 1),
        ([BrokenPipeError(), STOP], None, [], 1),
        ([ValueError(), STOP], None, [], 1),
    ],
    ids=[
        "stop", "a stop saves unless told", "cancel ends it", "any false save cancels", "two stops",
        "cancel after stop", "noise", "empty", "completion", "no completion asked for", "another type",
        "EOFError", "OSError", "broken pipe", "ValueError",
    ],
)  # fmt: skip
def test_poller_hears(
    messages: list[Any],
    completion: str | None,
    heard: list[bool],
    unread: int,
    worker: ModuleType,
    subject: Subject,
) -> None:
    """What the poller passes on, True to save, and how many messages it leaves when it has ended."""
    start = part(worker, subject, "_start_worker_stop_poller")
    if start is None:
        return
    stops = ClosableQueue(*messages)
    said: list[bool] = []

    thread = start(stops, said.append, completion_type=completion, timeout=0.125)
    _end(thread)

    assert (heard, unread) == (said, stops.qsize())
    assert {0.125} == set(stops.timeouts)
    assert thread.daemon


def test_poller_waits_a_second_unless_told(worker: ModuleType, subject: Subject) -> None:
    """It looks up once a second by default, and knows no completion."""
    start = part(worker, subject, "_start_worker_stop_poller")
    if start is None:
        return
    stops = ClosableQueue({}, {"type": None}, STOP, CANCEL)
    said: list[bool] = []

    _end(start(stops, said.append))

    assert ([True, False], {1.0}) == (said, set(stops.timeouts))


# --- the poller of the MLX worker ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "save", "stopped", "unread"),
    [
        ([STOP, EOFError()], True, True, (0, 1)),
        ([{"type": "stop"}, EOFError()], True, True, (0, 1)),
        ([CANCEL, STOP], False, True, (1, 1)),
        ([STOP, CANCEL, STOP], (False, True), True, (1, 2)),
        ([{}, {"type": "status"}, EOFError()], True, False, (0, 0)),
        ([Empty(), CANCEL], False, True, (0, 0)),
        ([{"type": "_mlx_worker_complete"}, CANCEL], True, False, (1, 1)),
        ([EOFError(), CANCEL], True, False, (1, 1)),
        ([OSError(), CANCEL], True, False, (1, 1)),
    ],
    ids=[
        "stop",
        "a stop saves unless told",
        "cancel",
        "cancel after stop",
        "noise",
        "empty",
        "completion",
        "EOFError",
        "OSError",
    ],
)
def test_mlx_poller_knows(
    messages: list[Any],
    save: bool | tuple[bool, bool],
    stopped: bool,
    unread: tuple[int, int],
    worker: ModuleType,
    subject: Subject,
) -> None:
    """Whether to save, whether a stop was asked for, and what is left unread; a pair is this release and one
    before.

    Before there was a poller for all workers, the first stop was the last word.
    """
    start = part(worker, subject, "_start_mlx_stop_poller")
    if start is None:
        return
    before = not has_own(subject, "_start_worker_stop_poller")
    stops = ClosableQueue(*messages)

    stop_save, stop_requested, trainer_ref, is_stop_requested, thread = start(stops)
    _end(thread)

    wanted = save[before] if isinstance(save, tuple) else save
    assert ([wanted], [stopped], [None]) == (stop_save, stop_requested, trainer_ref)
    assert stopped is is_stop_requested()
    assert unread[before] == stops.qsize()
    assert {0.25} == set(stops.timeouts)
    assert thread.daemon


@pytest.mark.parametrize("load_best", [True, False])
def test_mlx_poller_stops_the_trainer(load_best: bool, worker: ModuleType, subject: Subject) -> None:
    """A trainer that is known by then is told, and keeps what it has instead of going back to its best."""
    start = part(worker, subject, "_start_mlx_stop_poller")
    if start is None:
        return
    stops = ClosableQueue()
    _, _, trainer_ref, _, thread = start(stops)
    trainer = trainer_ref[0] = SimpleNamespace(
        stop_requested=False, args=SimpleNamespace(load_best_model_at_end=load_best)
    )

    stops.put(STOP)
    stops.put(EOFError())
    _end(thread)

    assert trainer.stop_requested
    assert (load_best and not has_own(subject, "_start_worker_stop_poller")) is trainer.args.load_best_model_at_end


@pytest.mark.parametrize("args", [{}, {"args": SimpleNamespace()}], ids=["no args", "args without it"])
def test_mlx_poller_takes_any_trainer(args: dict[str, Any], worker: ModuleType, subject: Subject) -> None:
    """A trainer that knows nothing of a best model is stopped like any other, and nothing is added to it."""
    start = part(worker, subject, "_start_mlx_stop_poller")
    if start is None:
        return
    stops = ClosableQueue()
    _, _, trainer_ref, _, thread = start(stops)
    trainer = trainer_ref[0] = SimpleNamespace(stop_requested=False, **args)

    stops.put(CANCEL)
    _end(thread)

    assert trainer.stop_requested
    assert {} == vars(args.get("args", SimpleNamespace()))


# --- the files of a dataset ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "loader"),
    [
        ("a.json", "json"),
        ("a.jsonl", "json"),
        ("a.csv", "csv"),
        ("a.parquet", "parquet"),
        ("a.b/A.PARQUET", "parquet"),
        ("A.Csv", "csv"),
    ],
)
def test_loader_for_a_kind_of_file(name: str, loader: str, worker: ModuleType) -> None:
    """The suffix of the first file decides, in any case."""
    assert loader == worker._mlx_local_dataset_loader_for_files([f"/data/{name}", "/data/other.txt"])


@pytest.mark.parametrize("name", ["a.txt", "a", "csv", "a.json.gz"])
def test_no_loader_for_other_files(name: str, worker: ModuleType) -> None:
    """Any other suffix is refused by the name of the file."""
    with pytest.raises(ValueError, match=f"^Unsupported dataset format: /data/{name}$"):
        worker._mlx_local_dataset_loader_for_files([f"/data/{name}", "/data/b.csv"])


def test_files_as_given(worker: ModuleType, tmp_path: Path) -> None:
    """Absolute paths stay as they are and in order, whether they are there or not; no paths are no files."""
    paths = [data_file(tmp_path, "b.csv"), str(tmp_path / "missing.json"), data_file(tmp_path, "a.csv")]

    assert paths == worker._resolve_mlx_local_dataset_files(paths)
    assert [] == worker._resolve_mlx_local_dataset_files([])
    assert [] == worker._resolve_mlx_local_dataset_files(None)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["b.parquet", "a.parquet", "c.json"], ["a.parquet", "b.parquet"]),
        (
            ["parquet-files/b.parquet", "parquet-files/a.parquet", "c.parquet"],
            ["parquet-files/a.parquet", "parquet-files/b.parquet"],
        ),
        (["b.csv", "a.csv", "b.jsonl", "a.json", "notes.txt"], ["a.json", "b.jsonl", "a.csv", "b.csv"]),
        (["parquet-files/notes.txt", "a.json"], ["a.json"]),
    ],
    ids=["parquet first", "the export first", "by kind then by name", "an export without parquet"],
)
def test_files_of_a_folder(files: list[str], found: list[str], worker: ModuleType, tmp_path: Path) -> None:
    """A folder stands for its data files, which follow and precede the files named beside it."""
    for name in files:
        data_file(tmp_path, name)
    before, after = data_file(tmp_path / "x", "1.json"), data_file(tmp_path / "x", "2.json")
    folder = tmp_path / "data"

    resolved = worker._resolve_mlx_local_dataset_files([before, str(folder), after])

    assert [before, *(str(folder / name) for name in found), after] == resolved


def test_folder_without_data(worker: ModuleType, tmp_path: Path) -> None:
    """A folder that holds no data file is refused by its name."""
    with pytest.raises(ValueError, match=str(tmp_path)):
        worker._resolve_mlx_local_dataset_files([str(tmp_path)])


def test_files_relative_to_studio(worker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no path from here is one of the datasets that were uploaded to Studio."""
    monkeypatch.setenv("UNSLOTH_STUDIO_HOME", str(tmp_path / "studio"))
    monkeypatch.chdir(tmp_path)

    (path,) = worker._resolve_mlx_local_dataset_files(["uploads/mine.json"])

    assert Path(path).is_absolute()
    assert (tmp_path / "studio") in Path(path).parents
    assert "mine.json" == Path(path).name


# --- the end of a run ---------------------------------------------------------------------------------------


class EndingTrainer:
    """A trainer that has trained, alone or as one of several ranks that agree on flags and failures."""

    def __init__(
        self,
        did: list[Any],
        world: int = 1,
        main: bool = True,
        stopped: bool = False,
        early: bool = False,
        peers: bool = False,
    ) -> None:
        self.did, self.distributed_world_size, self.is_main_process = did, world, main
        self.stop_requested, self._early_stopped, self.peers = stopped, early, peers

    def save_model(self, folder: str) -> None:
        """Noted, as all that is done."""
        self.did.append(("save", folder))

    def _distributed_any_flag(self, flag: bool) -> bool:
        self.did.append(("agree", flag))
        return flag or self.peers

    def _raise_distributed_failure(self, failed: bool, context: str, error: BaseException | None) -> None:
        self.did.append(("failed", failed, context))
        if failed:
            raise RuntimeError(context) from error


def _finalize(
    finalize: Any, trainer: EndingTrainer, snapshots: list[tuple[bool, bool]], checkpoint: bool = True
) -> list[Any]:
    """All that the end of a run does, in order; the last snapshot stands from then on."""
    did = trainer.did
    left = list(snapshots)

    def snapshot() -> tuple[bool, bool]:
        return left.pop(0) if len(left) > 1 else left[0]

    def write() -> bool:
        did.append("checkpoint")
        return checkpoint

    def send(kind: str, **event: Any) -> None:
        did.append((kind, event))

    finalize(trainer, snapshot, "out", lambda: did.append("synchronize"), send, write)
    return did


def _status(text: str) -> tuple[str, dict[str, str]]:
    return "status", {"status_message": text}


def _complete(folder: str | None, text: str) -> tuple[str, dict[str, str | None]]:
    return "complete", {"output_dir": folder, "status_message": text}


SAVE = [_status("Saving model..."), "synchronize", ("save", "out")]
SAVE_STOPPED = [_status("Saving stopped model..."), "synchronize", ("save", "out")]
COMPLETED = _complete("out", "Training completed")
STOP_TOLD = _complete("out", "Training stopped")
CANCEL_TOLD = _complete(None, "Training cancelled")
DONE_ELSEWHERE = _complete(None, "Training completed")
GOING, STOPPED, CANCELLED = (False, True), (True, True), (True, False)


@pytest.mark.parametrize(
    ("trainer", "snapshots", "did"),
    [
        ({}, [GOING], [*SAVE, COMPLETED]),
        ({}, [CANCELLED], [CANCEL_TOLD]),
        ({"stopped": True}, [CANCELLED], [CANCEL_TOLD]),
        ({}, [STOPPED], [*SAVE_STOPPED, "checkpoint", STOP_TOLD]),
        ({"stopped": True}, [GOING], [*SAVE_STOPPED, "checkpoint", STOP_TOLD]),
        ({"stopped": True}, [(False, False)], [*SAVE_STOPPED, "checkpoint", STOP_TOLD]),
        ({}, [GOING, STOPPED], [*SAVE, "checkpoint", STOP_TOLD]),
        ({}, [GOING, CANCELLED], [*SAVE, CANCEL_TOLD]),
        ({}, [STOPPED, CANCELLED], [*SAVE_STOPPED, CANCEL_TOLD]),
        ({"early": True}, [STOPPED], [*SAVE_STOPPED, "checkpoint", STOP_TOLD]),
        ({"main": False}, [GOING], [*SAVE, DONE_ELSEWHERE]),
    ],
    ids=[
        "completed", "cancelled", "cancelled, the trainer knows", "stopped", "stopped by the trainer",
        "no stop, nothing to save", "stopped while saving", "cancelled while saving",
        "cancelled after a stop", "stopped early and stopped", "not the main rank",
    ],
)  # fmt: skip
def test_end_of_a_run(
    trainer: dict[str, bool],
    snapshots: list[tuple[bool, bool]],
    did: list[Any],
    worker: ModuleType,
    subject: Subject,
) -> None:
    """What is sent, saved and written, in this order, whenever the stop comes."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is not None:
        assert did == _finalize(finalize, EndingTrainer([], **trainer), snapshots)


def test_end_of_a_run_without_a_checkpoint(worker: ModuleType, subject: Subject) -> None:
    """A stopped run whose checkpoint was not written ends with an error that marks it as not resumable."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is None:
        return

    *before, (kind, error) = _finalize(finalize, EndingTrainer([]), [STOPPED], checkpoint=False)

    assert [*SAVE_STOPPED, "checkpoint"] == before
    assert ("error", True, True) == (kind, error["keep_error_status"], error["resume_blocked"])
    assert {"error", "keep_error_status", "resume_blocked"} == set(error)
    assert "resum" in error["error"]


def test_end_of_a_run_that_stopped_early(worker: ModuleType, subject: Subject) -> None:
    """A run that its own early stopping ended is completed, and says that it was that."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is None:
        return

    *before, (kind, event) = _finalize(finalize, EndingTrainer([], early=True), [GOING])

    assert [*SAVE, "complete", "out"] == [*before, kind, event["output_dir"]]
    assert event["status_message"].startswith("Training completed (stopped early")


def _agreed(*flags: bool) -> list[tuple[str, bool]]:
    return [("agree", flag) for flag in flags]


def _went_well(context: str) -> tuple[str, bool, str]:
    return "failed", False, context


READY = ["synchronize", _went_well("final synchronization")]
SAVED = _went_well("final model save")


@pytest.mark.parametrize(
    ("trainer", "snapshots", "did"),
    [
        (
            {"world": 2},
            [GOING],
            [
                *_agreed(False, False),
                SAVE[0],
                *READY,
                ("save", "out"),
                SAVED,
                *_agreed(False, False),
                COMPLETED,
            ],
        ),
        (
            {"world": 2, "main": False},
            [GOING],
            [*_agreed(False, False), SAVE[0], *READY, SAVED, *_agreed(False, False), DONE_ELSEWHERE],
        ),
        (
            {"world": 2},
            [STOPPED],
            [
                *_agreed(True, False),
                SAVE_STOPPED[0],
                *READY,
                ("save", "out"),
                SAVED,
                *_agreed(True, False),
                "checkpoint",
                _went_well("stop checkpoint save"),
                *_agreed(True),
                STOP_TOLD,
            ],
        ),
        ({"world": 2, "peers": True}, [GOING], [*_agreed(False, False), CANCEL_TOLD]),
    ],
    ids=["main rank", "another rank", "stopped", "another rank was cancelled"],
)
def test_end_of_a_run_on_several_ranks(
    trainer: dict[str, Any], snapshots: list[Any], did: list[Any], worker: ModuleType, subject: Subject
) -> None:
    """Ranks agree on every flag and failure; only the main one saves, and names the folder."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is not None:
        assert did == _finalize(finalize, EndingTrainer([], **trainer), snapshots)


def test_checkpoint_that_no_rank_wrote(worker: ModuleType, subject: Subject) -> None:
    """On several ranks too, a checkpoint that failed ends in the error."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is None:
        return

    did = _finalize(finalize, EndingTrainer([], world=2), [STOPPED], checkpoint=False)

    assert (("agree", False), "error") == (did[-2], did[-1][0])


def test_checkpoint_that_another_rank_wrote(worker: ModuleType, subject: Subject) -> None:
    """A rank that did not write the checkpoint itself hears from the others that it is there."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is None:
        return

    class Peers(EndingTrainer):
        def _distributed_any_flag(self, flag: bool) -> bool:
            self.did.append(("agree", flag))
            return flag or "checkpoint asked" in self.did

        def _raise_distributed_failure(self, failed: bool, context: str, error: BaseException | None) -> None:
            if context == "stop checkpoint save":
                self.did.append("checkpoint asked")

    did = _finalize(finalize, Peers([], world=2, main=False), [STOPPED])

    assert [("agree", False), _complete(None, "Training stopped")] == did[-2:]


def test_device_that_fails_before_the_save(worker: ModuleType, subject: Subject) -> None:
    """Nothing is saved when the device cannot be synchronized; the error goes on."""
    finalize = part(worker, subject, "_finalize_mlx_training")
    if finalize is None:
        return
    trainer, lost = EndingTrainer([]), RuntimeError("device lost")

    def synchronize() -> None:
        raise lost

    with pytest.raises(RuntimeError) as raised:
        finalize(trainer, lambda: GOING, "out", synchronize, lambda kind, **event: None, lambda: True)

    assert lost is raised.value
    assert [] == trainer.did
