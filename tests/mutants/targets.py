"""What is mutated: the functions that a verdict depends on, and the worker's lines that carry a contract."""

from __future__ import annotations

import ast

from tests.mutants.operators import Mutant, mutants
from tests.studio.guards.gate import ZOO_RUNTIME
from tests.studio.guards.worker import contract_lines
from tests.studio.subject import GATE, HARDWARE, WORKER, Subject

MLX_REPAIR = "studio/backend/utils/mlx_repair.py"

# File -> the functions, and the names assigned at the top of the file, that lead to a verdict.
DISPATCH = {
    GATE: ("_is_mlx_available", "_IS_MLX"),
    ZOO_RUNTIME: ("is_mlx_available",),
    HARDWARE: (
        "_detect_hardware_locked",
        "is_apple_silicon",
        "_running_under_rosetta",
        "_has_torch",
        "_has_mlx",
        "_has_usable_mlx_stack",
        "_mlx_stack_detail",
        "_ze_affinity_mask",
        "_xpu_device_name_or_placeholder",
        "_print_cuda_device_list",
    ),
    MLX_REPAIR: (
        "_MLX_MIN_VERSIONS",
        "_MLX_RUNTIME_IMPORTS",
        "mlx_stack_blockers",
        "_mlx_version_blockers",
        "_mlx_runtime_import_blocker",
    ),
}


def dispatch_mutants(subject: Subject) -> list[Mutant]:
    """The mutants of the dispatch code; LookupError where the subject lacks all of a file's functions."""
    found = []
    for file, names in DISPATCH.items():
        if not (subject.root / file).is_file():
            continue  # older releases know no repair of MLX
        tree = subject.tree(file)
        roots = [node for node in tree.body if _named(node) & set(names)]
        if not roots:
            raise LookupError(f"{file} has none of {', '.join(names)}; teach tests/mutants/targets.py the new names")
        found += mutants(file, subject.text(file), roots)
    return found


def worker_mutants(subject: Subject) -> list[Mutant]:
    """The mutants of the worker's lines that carry a contract."""
    lines = set().union(*contract_lines(subject.tree(WORKER)).values())
    return mutants(WORKER, subject.text(WORKER), list(subject.tree(WORKER).body), lines)


def _named(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()
