"""The training worker keeps its promises: its source has the shapes, and its own code does what they say."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.studio.fakes import Lab, Trainer
from tests.studio.guards import Guard
from tests.studio.guards.worker import GUARDS, secret_keys
from tests.studio.subject import WORKER, Subject
from tests.studio.training import (
    ClosableQueue,
    Run,
    data_file,
    has_own,
    output_dir,
    pipe_queue,
    run,
    worker_of,
)

TOKEN = "hf_a_token_of_the_user"
# What the secret keys of the config hold in these runs: key -> value. Which of them a release knows, its
# source says.
SECRETS = {
    "hf_token": TOKEN,
    "wandb_token": "wandb-key-of-the-user",
    "subject": "user@example.org",
    "s3_config": {"bucket": "b", "credentials": {"secret_access_key": "s3-key-of-the-user"}},
}


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.id)
def test_the_worker_has_the_shape(guard: Guard, subject: Subject) -> None:
    """The lines of worker.py that keep a promise still stand as the guard knows them."""
    assert [] == guard.complaints(subject.tree(WORKER)), f"{guard.id}: {guard.mend}"


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.id)
def test_guard_tells_good_from_bad(guard: Guard) -> None:
    """Each good sample passes, each bad one makes the guard fire, and an empty module is an error."""
    assert [] == guard.failures()


@pytest.fixture(scope="module")
def worker(subject: Subject) -> Iterator[ModuleType]:
    """The subject's own worker module."""
    with worker_of(subject) as module:
        yield module


@pytest.fixture(scope="module")
def tracked(worker: ModuleType, subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One whole run on a CSV, tracked by wandb, with a secret under every secret key that this release
    reads."""
    home = tmp_path_factory.mktemp("tracked")
    secrets: dict[str, Any] = {key: SECRETS[key] for key in secret_keys(subject.tree(WORKER))}
    found = run(worker, home, enable_wandb=True, local_datasets=[data_file(home, "rows.csv")], **secrets)
    assert {"output_dir": output_dir(home), "status_message": "Training completed"} == found.completed()
    return found


# --- token --------------------------------------------------------------------------------------------------


def test_token_reaches_the_first_load(tracked: Run) -> None:
    """FastMLXModel.from_pretrained gets the user's token, and so does whatever reads HF_TOKEN."""
    (load,) = tracked.lab.asked("from_pretrained")

    assert TOKEN == load.kwargs["token"]
    assert TOKEN == tracked.environ["HF_TOKEN"]


def test_token_reaches_the_fallback_load(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """Where the cached copy of a model is broken, the load from the Hub gets the token too."""
    broken = OSError("Can't load processor for 'pinned'")
    lab, pinned = Lab(load_errors=[broken]), tmp_path / "pinned"
    pinned.mkdir()

    found = run(
        worker,
        tmp_path,
        lab,
        offline=False,
        hf_token=TOKEN,
        model_snapshot_path=str(pinned),
        model_revision="0123",
    )

    loads = [(call.args[0], call.kwargs["token"], call.kwargs.get("revision")) for call in lab.asked("from_pretrained")]
    model = str(tmp_path / "model")
    if has_own(subject, "_drop_model_pin_for_fallback"):
        assert [(str(pinned), TOKEN, None), (model, TOKEN, "0123")] == loads
        assert "Training completed" == found.completed()["status_message"]
    else:
        assert [(model, TOKEN, None)] == loads, "a release without a fallback loads once"
        assert broken is found.error


# --- wandb --------------------------------------------------------------------------------------------------


def test_wandb_gets_the_config_without_its_secrets(tracked: Run, subject: Subject) -> None:
    """wandb.init gets every key of the config but the secret ones, whose values do not turn up under another
    key."""
    (init,) = tracked.lab.asked("wandb.init")
    secret = secret_keys(subject.tree(WORKER))

    assert {"hf_token", "wandb_token"} <= secret
    assert {key: value for key, value in tracked.config.items() if key not in secret} == init.kwargs["config"]
    assert {"project": "unsloth-mlx", "reinit": True} == {
        key: init.kwargs[key] for key in init.kwargs.keys() - {"config"}
    }
    assert [] == [value for value in ("hf_a_token", "wandb-key", "user@", "s3-key") if value in repr(init)]
    assert SECRETS["wandb_token"] == tracked.environ["WANDB_API_KEY"]


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="wandb.init gets the config filtered by its top-level keys alone: a secret inside a value, "
    "such as one that the user wrote into custom_format_mapping, is uploaded",
)
def test_no_secret_at_any_depth_reaches_wandb(worker: ModuleType, tmp_path: Path) -> None:
    """A key that holds a secret is kept out of what wandb.init gets, however deep it lies."""
    found = run(worker, tmp_path, enable_wandb=True, custom_format_mapping={"source": {"hf_token": TOKEN}})

    (init,) = found.lab.asked("wandb.init")
    assert TOKEN not in repr(init)


def test_missing_wandb_does_not_end_the_run(worker: ModuleType, tmp_path: Path) -> None:
    """A user who asked for wandb without having it is told so, and the run goes on to its end."""
    found = run(worker, tmp_path, Lab(missing=("wandb",)), enable_wandb=True)

    assert 1 == sum(text.startswith("wandb init failed: ") for text in found.statuses())
    assert "Training completed" == found.completed()["status_message"]


# --- local datasets -----------------------------------------------------------------------------------------


def test_csv_goes_through_load_dataset_as_data_files(tracked: Run) -> None:
    """A local CSV is read by load_dataset("csv", data_files=[path], split="train")."""
    (load,) = tracked.lab.asked("load_dataset")

    assert ("csv",) == load.args
    assert (tracked.config["local_datasets"], "train") == (load.kwargs["data_files"], load.kwargs["split"])


@pytest.mark.parametrize(("name", "loader"), [("rows.jsonl", "json"), ("rows.parquet", "parquet")])
def test_local_file_goes_through_load_dataset_as_data_files(
    name: str, loader: str, worker: ModuleType, tmp_path: Path
) -> None:
    """Other local files are read by the loader of their kind, and nothing else is passed."""
    path = data_file(tmp_path, name)

    (load,) = run(worker, tmp_path, local_datasets=[path]).lab.asked("load_dataset")

    assert (loader,) == load.args
    assert {"data_files": [path], "split": "train"} == load.kwargs


# --- slices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [(None, 0, [0]), (2, 4, [2, 3, 4]), (0, None, list(range(10)))],
    ids=["zero is an end", "the end is in", "zero is a start"],
)
def test_slice_has_its_end_and_zero_is_a_bound(
    start: int | None, end: int | None, rows: list[int], worker: ModuleType, tmp_path: Path
) -> None:
    """A slice of ten rows trains on these; tests/studio/behaviors has every other edge."""
    found = run(worker, tmp_path, dataset_slice_start=start, dataset_slice_end=end)

    assert [f"row {number}" for number in rows] == found.lab.trainer.train_dataset


# --- statuses -----------------------------------------------------------------------------------------------


def test_status_carries_its_message_under_both_keys(tracked: Run) -> None:
    """Every status has the same text as message and as status_message, and other events are left as they
    are."""
    statuses = tracked.of("status")

    assert "Loading MLX libraries..." == statuses[0]["message"]
    assert [{"message": text, "status_message": text} for text in tracked.statuses()] == statuses
    assert [] == [event for event in tracked.events if event["type"] != "status" and "message" in event]


def test_sender_copies_only_what_is_missing(tracked: Run) -> None:
    """The worker's own sender keeps a message that was given, and adds none where a status has no text."""
    (on_step,) = tracked.lab.trainer._step_callbacks
    inner = inspect.getclosurevars(on_step).nonlocals["_send"]
    events = inspect.getclosurevars(inner).nonlocals["event_queue"]

    inner("status", status_message="long", message="short")
    inner("status", status_message=None)
    inner("status", status_message="")

    sent = [events.get_nowait() for _ in range(3)]
    assert [("short", "long"), ("none", None), ("", "")] == [
        (event.get("message", "none"), event["status_message"]) for event in sent
    ]


# --- stops and the queue ------------------------------------------------------------------------------------


def _stopping(stops: ClosableQueue, **message: object) -> Lab:
    """A lab in which the user stops the run while it trains."""

    def stop(trainer: Trainer) -> None:
        stops.put({"type": "stop", **message})
        trainer.wait_for_stop()

    return Lab(while_training=stop)


def test_stop_saves_the_model(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A stopped run saves its model and, in releases that can go on from it, the state that they need."""
    stops = ClosableQueue()
    lab = _stopping(stops)

    found = run(worker, tmp_path, lab, stops=stops)

    resumable = has_own(subject, "_write_mlx_stop_checkpoint")
    out = output_dir(tmp_path)
    assert [(out,)] == [call.args for call in lab.asked("save_model")]
    assert {
        "output_dir": out,
        "status_message": "Training stopped" if resumable else "Training completed",
    } == found.completed()
    written = {path.name for path in Path(out).glob("checkpoint-1/*")}
    assert (
        {"adapters.safetensors", "optimizer_state.safetensors", "trainer_state.json"} if resumable else set()
    ) == written


def test_cancel_saves_nothing(worker: ModuleType, tmp_path: Path) -> None:
    """A stop without saving ends the run with no model and no output."""
    stops = ClosableQueue()
    lab = _stopping(stops, save=False)

    found = run(worker, tmp_path, lab, stops=stops)

    assert [] == lab.asked("save_model")
    assert {"output_dir": None, "status_message": "Training cancelled"} == found.completed()


@pytest.mark.parametrize("broken", [EOFError(), OSError(), ValueError()], ids=lambda error: type(error).__name__)
def test_poller_ends_with_its_pipe(broken: Exception, worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """When the pipe of the stop queue breaks or is closed, the poller ends after that one read, and training
    goes on."""
    stops = ClosableQueue(broken)

    found = run(worker, tmp_path, stops=stops)

    assert "Training completed" == found.completed()["status_message"]
    assert 1 == len(stops.timeouts)
    # Before there was a poller for all workers, one that met a closed queue ended by the ValueError itself.
    unhandled = isinstance(broken, ValueError) and not has_own(subject, "_start_worker_stop_poller")
    assert ([ValueError] if unhandled else []) == found.thread_errors


def test_poller_ends_with_a_real_pipe(worker: ModuleType, tmp_path: Path) -> None:
    """The same with a queue between processes whose writing end has gone."""
    stops = pipe_queue()
    stops._writer.close()

    found = run(worker, tmp_path, stops=stops)

    assert "Training completed" == found.completed()["status_message"]
    assert [] == found.thread_errors


# --- missing modules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["unsloth_zoo.mlx.loader", "unsloth_zoo.mlx.trainer"])
def test_missing_mlx_module_says_how_to_mend_it(module: str, worker: ModuleType, tmp_path: Path) -> None:
    """Without unsloth_zoo's MLX modules the worker raises an ImportError that names the package to
    install."""
    found = run(worker, tmp_path, Lab(missing=(module,)))

    assert ImportError is type(found.error)
    assert "unsloth-zoo" in str(found.error)
    assert isinstance(found.error.__cause__, ImportError)
    assert module == found.error.__cause__.name
    assert ["Loading MLX libraries..."] == found.statuses()
