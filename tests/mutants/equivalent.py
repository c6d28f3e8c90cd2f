"""Mutants that decide as the subject does, each with the reason; `python -m tests.mutants --all` tries them too.

The key is what the runner prints below a survivor: file, function, before -> after.
"""

from __future__ import annotations

_HARDWARE = "studio/backend/utils/hardware/hardware.py"
_REPAIR = "studio/backend/utils/mlx_repair.py"
_SYSCTL = (
    f"{_HARDWARE} _running_under_rosetta: subprocess.run(['sysctl', '-n', 'hw.optional.arm64'], captur "
    "... ors='replace', timeout=2) -> without"
)
_TORCH_TRIED = "TORCH_IMPORT_ERROR is not None and _TORCH_IMPORT_FAILED_EPOC ... orch' not in sys.modules)"
_NONE_IS_NO = "every caller asks only whether it holds, and None holds as little as False"
_LOCKED = f"{_HARDWARE} _detect_hardware_locked:"
_XPU = f"{_LOCKED} hasattr(torch, 'xpu') and torch.xpu.is_available() -> without hasattr(torch, 'xpu')"
_NO_XPU = "without the attribute the probe raises AttributeError, which the handler takes for a no as well"
_PREFERRED = (
    "in this branch XPU is either forced, or asked for by a mask while CUDA is hidden or unavailable; so where it is "
    "not forced, the other predicate does not hold"
)
_APPLE = "this branch is taken on Apple silicon alone, where platform.machine() is 'arm64', as the default is"
_ONE_DIGIT = "the tool prints one digit, which every encoding decodes alike and without an error"

EQUIVALENT: dict[str, str] = {
    "nvidia_cuda: without devices[0]['processors']": "a card that states none answers 40 too",
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
    f"{_REPAIR} _mlx_runtime_import_blocker: return None -> pass": "it is the last statement: the end returns None too",
    _XPU: _NO_XPU,
    f"{_XPU} (2)": _NO_XPU,
    f"{_LOCKED} force_xpu and (not cuda_hidden) and (not cuda_unavailable) -> without force_xpu": _PREFERRED,
    f"{_LOCKED} force_xpu and (not ze_mask) -> without force_xpu": _PREFERRED,
    f"{_LOCKED} CHAT_ONLY_REASON = None -> pass (2)": "the pass has set it to None at its start, and nothing since",
    f"{_LOCKED} platform.machine() or 'arm64' -> without 'arm64'": _APPLE,
    f"{_LOCKED} platform.machine() or 'arm64' -> without platform.machine()": _APPLE,
    f"{_LOCKED} platform.machine() or 'arm64' -> and, or swapped": _APPLE,
    f"{_LOCKED} platform.machine() -> (not platform.machine())": _APPLE,
    f"{_LOCKED} 'arm64' -> ('arm64_')": _APPLE,
    f"{_LOCKED} platform.system() == 'Darwin' and _running_under_rosetta() -> without platform.system() == 'Darwin'": (
        "_running_under_rosetta() asks for Darwin itself"
    ),
}
