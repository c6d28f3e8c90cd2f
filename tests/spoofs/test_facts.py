"""Every answer follows from a fact, and every fact is answered for."""

from __future__ import annotations

import json
from pathlib import Path

from spoofs.profiles import FACTS
from tests.spoofs.machines import run

# Runs on a machine, so that the stand-ins are there; asks each answer of every row by a profile that notes its reads.
RECORD = """
import inspect, json, sys, types, pynvml, torch
from spoofs import activate, devices, files, hooks, installed, tools
from spoofs.profiles import CANARIES, FACTS, PROFILES, HardwareProfile
from tests.spoofs.field_cases import CASES

class Recording(HardwareProfile):
    read = set()
    def __getattribute__(self, name):
        if name in FACTS: Recording.read.add(name)
        return object.__getattribute__(self, name)

ARGUMENTS = {"self": types.SimpleNamespace(idx=0, prev_idx=0), "major": 13, "minor": 0, "fraction": 0.5}
cited = {}

def note(name, call):
    Recording.read = set()
    devices._initialized.clear(); devices._current.clear()
    try: call()
    except Exception: pass
    cited[name] = sorted(Recording.read | set(cited.get(name, ())))

for row in [*PROFILES, *CANARIES, *(case.machine for case in CASES)]:
    profile = Recording(row.name, **row.facts())
    for module in hooks.ANSWERS:
        table = hooks.answers(module)
        handle = table.Handle(0) if hasattr(table, "Handle") else 0
        for name, answer in getattr(table, "VALUES", {}).items():
            note(name, lambda: answer(profile))
        for name, answer in getattr(table, "FUNCTIONS", {}).items():
            required = [each.name for each in list(inspect.signature(answer).parameters.values())[1:]
                        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
            if module == "pynvml": note("nvmlInit", lambda: table.FUNCTIONS["pynvml.nvmlInit"](profile))
            for device in (handle, None) if module == "torch" else (handle,):  # an index, and the current one
                known = {**ARGUMENTS, "device": device, "handle": handle}
                note(name, lambda: answer(profile, *(known.get(each, 0) for each in required)))
    note("which packages there are", lambda: installed.packages(profile))
    note("which files there are", lambda: files.stated(profile))
    note("the environment", lambda: activate.set_environment(profile))
    for tool in tools.TOOLS:
        note(f"whether there is {tool}", lambda: tools.has(profile, tool))
json.dump(cited, sys.stdout)
"""


def cited() -> dict[str, list[str]]:
    """Answer -> the facts that it reads on any of the machines."""
    child = run("nvidia_cuda", RECORD, cwd=Path(__file__).parents[2])
    assert (0, "") == (child.returncode, child.stderr)
    said: dict[str, list[str]] = json.loads(child.stdout)
    return said


def test_every_answer_cites_a_fact_and_every_fact_is_cited() -> None:
    """A constant belongs into TYPES; a fact that nothing uses is a row's idle talk."""
    said = cited()
    assert [] == [name for name, facts in said.items() if not facts]
    assert set(FACTS) == {fact for facts in said.values() for fact in facts}
