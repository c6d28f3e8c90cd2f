"""A subject that decides wrongly on one kind of machine is caught on it, and the failure says all that is needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spoofs.profiles import MLX, HardwareProfile
from tests import forks
from tests.combinations import machines, measuring
from tests.studio import subject as subjects
from tests.studio.subject import GATE, HARDWARE, Subject

PLAIN = [row for row in machines.rows() if row.name.startswith("darwin_arm64") and not row.environment]
SWITCHED = [row for row in machines.rows() if row.name.startswith("linux_x86_64_cuda_xpu") and "mlx" not in row.name]


@pytest.fixture
def doctor(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Change one spot of one file of the subject, for the children of this test."""

    def change(file: str, old: str, new: str) -> None:
        text = subject.text(file)
        assert old in text, f"{file} has no {old!r} any more; doctor another spot"
        path = subject.path(file)
        monkeypatch.setitem(subjects.IN_MEMORY, path, text.replace(old, new))
        code = compile(text.replace(old, new), str(path), "exec", dont_inherit=True)
        monkeypatch.setitem(forks.CODE, str(path), code)

    return change


CASES = {
    "MLX asked before CUDA": (
        HARDWARE,
        "if not cuda_unavailable:",
        "if not cuda_unavailable and not (is_apple_silicon() and _has_usable_mlx_stack()):",
        PLAIN,
        HardwareProfile("it", system="Darwin", machine="arm64", cuda_available=True, packages=MLX),
        "device: expected 'CUDA', decided 'MLX'",
    ),
    "ROCm never told": (
        HARDWARE,
        "IS_ROCM = True",
        "pass",
        PLAIN,
        HardwareProfile("it", cuda_available=True, torch_version="2.13.0+rocm7.1"),
        "is_rocm: expected True, decided False",
    ),
    "AMD's own wheels not told": (
        HARDWARE,
        '"rocm" in torch.__version__.lower()',
        "False",
        PLAIN,
        HardwareProfile("it", cuda_available=True, torch_version="2.13.0+rocm7.1"),
        "is_rocm: expected True, decided False",
    ),
    "any mlx will do": (
        HARDWARE,
        "if is_apple_silicon() and _has_usable_mlx_stack():",
        "if is_apple_silicon() and _has_mlx():",
        PLAIN,
        HardwareProfile("it", system="Darwin", machine="arm64", packages={"mlx": MLX["mlx"]}),
        "device: expected 'CPU', decided 'MLX'",
    ),
    "the gate turned round": (
        GATE,
        "_IS_MLX = _is_mlx_available()",
        "_IS_MLX = not _is_mlx_available()",
        PLAIN,
        HardwareProfile("it"),
        "is_mlx: expected False, decided True",
    ),
    "UNSLOTH_FORCE_XPU ignored": (
        HARDWARE,
        'force_xpu = os.environ.get("UNSLOTH_FORCE_XPU") == "1"',
        "force_xpu = False",
        SWITCHED,
        HardwareProfile("it", cuda_available=True, xpu_available=True, environment={"UNSLOTH_FORCE_XPU": "1"}),
        "device: expected 'XPU', decided 'CUDA'",
    ),
    "the mask wins although CUDA answers": (
        HARDWARE,
        "(bool(ze_mask) and (cuda_hidden or cuda_unavailable))",
        "bool(ze_mask)",
        SWITCHED,
        HardwareProfile("it", cuda_available=True, xpu_available=True, environment={"ZE_AFFINITY_MASK": "0"}),
        "device: expected 'CUDA', decided 'XPU'",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "rows", "least", "why"), CASES.values(), ids=CASES.keys())
def test_a_slip_is_caught_on_its_smallest_machine(
    subject: Subject,
    doctor: Callable[[str, str, str], None],
    file: str,
    old: str,
    new: str,
    rows: list[HardwareProfile],
    least: HardwareProfile,
    why: str,
) -> None:
    """The report names the contract, and the machine as a row that has not one fact too many."""
    doctor(file, old, new)

    wrong = {each.machine: each for each in measuring.decide(rows, subject) if each.wrong}

    assert wrong
    last = next(row for row in reversed(rows) if row in wrong)
    report = measuring.report(wrong[last], subject)
    shown = [line.strip() for line in report.splitlines() if line.strip().startswith("HardwareProfile")]
    pasted = [eval(line, {"HardwareProfile": HardwareProfile})[0] for line in shown]
    assert [last, HardwareProfile(last.name, **least.facts())] == pasted
    assert why in report


def test_a_subject_that_raises_is_no_verdict(subject: Subject, doctor: Callable[[str, str, str], None]) -> None:
    """An error of the subject is told as such, with the error, and no machine counts as decided."""
    doctor(HARDWARE, "def is_apple_silicon() -> bool:", "raise RuntimeError('broken')\ndef is_apple_silicon() -> bool:")

    decided = list(measuring.decide(PLAIN[:4], subject))

    assert [["no verdict: RuntimeError: broken"]] * 4 == [each.wrong for each in decided]
