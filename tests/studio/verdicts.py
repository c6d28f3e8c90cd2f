"""What the subject decides in this interpreter. `python -m tests.studio.verdicts` prints it as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

from spoofs.__main__ import environment
from tests.studio import subject as subjects
from tests.studio.guards.gate import evaluate_gate
from tests.studio.specification import Verdicts

ROOT = Path(__file__).parents[2]


def measure(subject: subjects.Subject) -> Verdicts:
    """Ask the subject's own code for its four verdicts, once, in this interpreter."""
    subject.go_on_path()
    is_mlx = evaluate_gate(subject)
    with contextlib.redirect_stdout(io.StringIO()):
        from utils import hardware

        device = hardware.detect_hardware()
    return Verdicts(is_mlx, device.name, hardware.IS_ROCM, hardware.is_apple_silicon())


def measure_on(machine: str, subject: subjects.Subject) -> Verdicts:
    """Ask in a fresh interpreter on the machine of that name; RuntimeError with its last line where it fails."""
    command = [sys.executable, "-m", "tests.studio.verdicts", str(subject.root)]
    child = subprocess.run(command, env=environment(machine), cwd=ROOT, capture_output=True, text=True, check=False)
    if child.returncode:
        raise RuntimeError(f"{machine}: exit status {child.returncode}: {child.stderr.strip().splitlines()[-1:]}")
    return Verdicts(**json.loads(child.stdout))


if __name__ == "__main__":
    print(json.dumps(measure(subjects.locate(*sys.argv[1:])).as_dict()))
