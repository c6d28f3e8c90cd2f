"""Mutants that decide as the subject does, each with the reason; `python -m tests.mutants --all` tries them too.

The key is what the runner prints of a survivor: file, function, before -> after.
"""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
