"""Mutants that decide as the subject does, each with the reason; `python -m tests.mutants --all` tries them too.

The key is what the runner prints below a survivor: file, function, before -> after.
"""

from __future__ import annotations

_HARDWARE = "studio/backend/utils/hardware/hardware.py"
_SYSCTL = (
    f"{_HARDWARE} _running_under_rosetta: subprocess.run(['sysctl', '-n', 'hw.optional.arm64'], captur "
    "... ors='replace', timeout=2) -> without"
)
_TORCH_TRIED = "TORCH_IMPORT_ERROR is not None and _TORCH_IMPORT_FAILED_EPOC ... orch' not in sys.modules)"
_NONE_IS_NO = "every caller asks only whether it holds, and None holds as little as False"
_ONE_DIGIT = "the tool prints one digit, which every encoding decodes alike and without an error"

EQUIVALENT: dict[str, str] = {
    f"{_SYSCTL} encoding='utf-8'": _ONE_DIGIT,
    f"{_SYSCTL} errors='replace'": _ONE_DIGIT,
    f"{_SYSCTL} text=True": "an encoding is given too, which makes it text",
    f"{_HARDWARE} _running_under_rosetta: True -> (False) (2)": (
        "this is text=True: an encoding is given too, which makes it text"
    ),
    f"{_HARDWARE} _running_under_rosetta: 'replace' -> ('replace_')": _ONE_DIGIT,
    f"{_HARDWARE} _has_torch: {_TORCH_TRIED} -> without TORCH_IMPORT_ERROR is not None": (
        "the epoch of a failure is set together with the error, and only then equals an epoch"
    ),
    f"{_HARDWARE} _has_torch: _TORCH_IMPORT_FAILED_EPOCH = None -> pass": (
        "it is read only where the error is set, and the line above has just cleared that"
    ),
    f"{_HARDWARE} _has_torch: return False -> pass (2)": _NONE_IS_NO,
    f"{_HARDWARE} _has_mlx: return False -> pass": _NONE_IS_NO,
    f"{_HARDWARE} _has_usable_mlx_stack: _MLX_BLOCKERS_MEASURED = None -> pass": (
        "the detection, its one caller, has reset it at the start of the pass"
    ),
    f"{_HARDWARE} _mlx_stack_detail: return None -> pass": (
        "the next test, on the same empty value, returns None as well"
    ),
}
