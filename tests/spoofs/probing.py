"""Ask a machine: expressions evaluated in one child interpreter on it."""

from __future__ import annotations

import json
import os
from typing import Any

from spoofs import derived
from spoofs.profiles import HardwareProfile
from tests.spoofs.machines import run

# What `importlib.metadata` and the like need no import statement for.
ASK = """
import importlib, importlib.metadata, importlib.util, json, os, platform, sys, sysconfig
try: import torch
except Exception: pass
for source in json.loads(sys.argv[1]):
    try: print(repr(eval(source)))
    except Exception as error: print(f"raises {error!r}")
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
