"""What is imported before `_IS_MLX` is decided: a machine with MLX has no need of torch, and may not have
it."""

from __future__ import annotations

from tests.studio.guards import NothingMatched
from tests.studio.guards.gate import NO_TORCH_AT_IMPORT, modules_before_gate
from tests.studio.subject import GATE, Subject


def test_modules_before_the_gate_import_no_torch(subject: Subject) -> None:
    """The package's own modules that are imported ahead of the gate, and what they import in turn, leave
    torch alone."""
    wrong = {}
    for module in modules_before_gate(subject):
        try:
            wrong[module] = NO_TORCH_AT_IMPORT.complaints(subject.tree(module))
        except NothingMatched:
            wrong[module] = []  # it imports nothing at all

    assert {} == {module: complaints for module, complaints in wrong.items() if complaints}, NO_TORCH_AT_IMPORT.mend
    ahead = subject.text(GATE).partition("\n_IS_MLX")[0]
    assert ("\nfrom ." in ahead) == bool(wrong), "the relative imports ahead of the gate are followed"
