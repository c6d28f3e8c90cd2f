"""Ask a machine: expressions evaluated in one child interpreter on it."""

from __future__ import annotations

import json
import os
from typing import Any

from spoofs import derived
from spoofs.profiles import HardwareProfile
from tests.spoofs.machines import run

# What an expression may name without an import statement. `error` is for exceptions that a test cannot make itself.
ASK = """
import glob, importlib, importlib.metadata, importlib.util, json, os, platform, re, shutil, subprocess, sys, sysconfig
try: import torch
except Exception: pass

module, version = importlib.import_module, importlib.metadata.version
def importing(name): module(name)
def found(name): return importlib.util.find_spec(name) is not None

def error(call, *arguments):
    try: call(*arguments)
    except Exception as problem: return f"{type(problem).__name__}: {problem}"

def called(command): return subprocess.run(command.split(), capture_output=True, text=True)
def out(command): return called(command).stdout
def status(command): return called(command).returncode
def agents(): return re.findall(r"^  Name: +(gfx[0-9a-f]+)$", out("rocminfo"), re.M)

def text(path):
    with open(path) as file: return file.read()

def nvml():
    module("pynvml").nvmlInit()
    return module("pynvml")
def card(index=0): return nvml().nvmlDeviceGetHandleByIndex(index)
def by_uuid(uuid): return nvml().nvmlDeviceGetHandleByUUID(uuid)

for source in json.loads(sys.argv[1]):
    try: print(repr(eval(source)))
    except Exception as problem: print(f"raises {problem!r}")
"""


def ask(machine: Any, *sources: str, **options: Any) -> dict[str, str]:
    """What each expression says on a machine: the repr of its value, or "raises " and that of its exception.

    All are evaluated in one interpreter, one after the other. `options` are those of `machines.run`.
    """
    child = run(machine, ["-c", ASK, json.dumps(sources)], **options)
    assert (0, "") == (child.returncode, child.stderr)
    return dict(zip(sources, child.stdout.splitlines(), strict=True))


def as_said(value: object) -> str:
    """How `ask` gives a value, or an exception that is raised."""
    return f"raises {value!r}" if isinstance(value, Exception) else repr(value)


def visible(profile: HardwareProfile, kind: str) -> tuple[Any, ...]:
    """The devices that the machine's own masks leave."""
    before = dict(os.environ)
    try:
        os.environ.update(profile.environment)
        return tuple(derived.visible(profile, kind))
    finally:
        os.environ.clear()
        os.environ.update(before)
