"""Children forked from a warmed process: each is as good as a fresh interpreter, and starts in milliseconds.

The parent imports the test tools and what the subject needs of the standard library, and compiles the subject's files;
it never imports the subject, or a module that a profile answers for and that is not loaded in every interpreter anyway.
So a child that becomes a machine imports the subject for the first time, on that machine.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from spoofs.hooks import ANSWERS, BOUND

_external: Any = sys.modules["_frozen_importlib_external"]

# Path -> code that the import system runs in place of the file's own.
CODE: dict[str, CodeType] = {}
WORKERS = os.cpu_count() or 1
# Packages that the subject uses and that ask no probe as they are imported.
NEUTRAL = {"structlog", "psutil", "packaging"}


class Died(Exception):
    """A child that ended without an answer; the message says how."""


class TimedOut(Died):
    """A child that was stopped."""


_from_disk = _external.SourceFileLoader.get_code


def _get_code(self: Any, fullname: str) -> CodeType | None:
    return CODE.get(self.path) or _from_disk(self, fullname)


def answer_from_memory() -> None:
    """Have every import by path look into CODE first."""
    _external.SourceFileLoader.get_code = _get_code


def keep(path: Path, text: str) -> None:
    """Run `text` wherever the file at `path` is imported. SyntaxError where it does not compile."""
    CODE[str(path)] = compile(text, str(path), "exec", dont_inherit=True)


def loaded(before: set[str]) -> list[tuple[str, str | None]]:
    """Name and file of each module that was imported since `before`."""
    return [(name, getattr(sys.modules[name], "__file__", None)) for name in set(sys.modules) - before]


def warm(needed: Iterable[tuple[str, str | None]], root: Path, neutral: Container[str] = NEUTRAL) -> None:
    """Import what is neutral of what a child needed, and compile what it took from the subject at `root`.

    `needed` holds what `loaded` gives; `neutral` is the packages that may be imported beside the standard library.
    """
    answer_from_memory()
    for name, file in sorted(needed, key=lambda each: each[0]):
        top = name.partition(".")[0]
        if file in CODE:
            continue
        if file is not None and file.endswith(".py") and Path(file).is_relative_to(root):
            keep(Path(file), Path(file).read_text(encoding="utf-8"))
        elif name not in ANSWERS and top not in BOUND and (top in sys.stdlib_module_names or top in neutral):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is there now stays: children need not look at it again


def run(jobs: Iterable[Callable[[], Any]], *, workers: int = WORKERS, seconds: float = 60) -> Iterator[tuple[int, Any]]:
    """Run each job in a child of its own; yield its number and its answer, which JSON can say, as they come.

    A child that raises, dies or takes longer than `seconds` yields a `Died`. `jobs` may grow while it is iterated: it
    is asked for the next only when a worker is free.
    """
    waiting = enumerate(jobs)
    running: dict[int, tuple[int, int, float, bytearray]] = {}  # pipe -> number, process, deadline, answer so far
    more = True
    try:
        while True:
            while more and len(running) < workers:
                following = next(waiting, None)
                if following is None:
                    more = False
                    break
                number, job = following
                pipe, process = _start(job, [*running])
                running[pipe] = (number, process, time.monotonic() + seconds, bytearray())
            if not running:
                return
            first = min(deadline for _, _, deadline, _ in running.values())
            ready, _, _ = select.select(list(running), [], [], max(0.0, first - time.monotonic()))
            for pipe in list(running):
                number, process, deadline, answer = running[pipe]
                if pipe in ready:
                    chunk = os.read(pipe, 1 << 16)
                    if chunk:
                        answer += chunk
                        continue
                elif time.monotonic() < deadline:
                    continue
                del running[pipe]
                yield number, _end(pipe, process, answer, in_time=pipe in ready, seconds=seconds)
                more = True
    finally:
        for pipe, (_, process, _, _) in running.items():
            _kill(process)
            os.close(pipe)


def _start(job: Callable[[], Any], others: list[int]) -> tuple[int, int]:
    receiver, sender = os.pipe()
    process = os.fork()
    if process:
        os.close(sender)
        return receiver, process
    status = 1
    try:
        os.setpgid(0, 0)
        for pipe in (receiver, *others):
            os.close(pipe)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        try:
            answer = json.dumps({"answer": job()})
        except BaseException as error:  # noqa: BLE001 -- a child says how it failed, whatever it was
            answer = json.dumps({"died": f"{type(error).__name__}: {error}"})
        with os.fdopen(sender, "w", encoding="utf-8") as out:
            out.write(answer)
        status = 0
    finally:
        os._exit(status)


def _end(pipe: int, process: int, answer: bytearray, *, in_time: bool, seconds: float) -> Any:
    os.close(pipe)
    if not in_time:
        _kill(process)
        return TimedOut(f"took longer than {seconds:.0f} s")
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        said = json.loads(answer)
    except ValueError:
        return Died(f"ended with status {status} and no answer")
    return said["answer"] if "answer" in said else Died(said["died"])


def _kill(process: int) -> None:
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
