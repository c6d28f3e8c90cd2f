"""The workflows, as far as a linter does not know what they mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.ci.conftest import ROOT, Run

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}


def jobs() -> list[tuple[str, dict[str, Any]]]:
    return [(f"{name}.{job}", body) for name, flow in WORKFLOWS.items() for job, body in flow["jobs"].items()]


def test_every_session_that_a_workflow_runs_exists(run: Run) -> None:
    listing = run(ROOT, "-m", "nox", "--list", "--json", "-k", "not nothing").stdout
    known = {entry["session"] for entry in json.loads(listing)}

    named = {
        session
        for _, body in jobs()
        for session in body.get("strategy", {}).get("matrix", {}).get("session", ())
        if isinstance(body["strategy"]["matrix"]["session"], list)
    }
    assert {"lint", "mutants"} <= named <= known


def test_one_gate_waits_for_every_job() -> None:
    flow = WORKFLOWS["ci"]["jobs"]

    assert "always()" == flow["green"]["if"]
    assert set(flow) - {"green"} == set(flow["green"]["needs"])


@pytest.mark.parametrize(("name", "body"), jobs(), ids=[name for name, _ in jobs()])
def test_a_job_has_no_more_rights_than_it_says_and_a_limit(name: str, body: dict[str, Any]) -> None:
    assert {} == WORKFLOWS[name.partition(".")[0]]["permissions"]
    assert body["permissions"] in ({}, {"contents": "read"})
    assert body["timeout-minutes"] <= 90
