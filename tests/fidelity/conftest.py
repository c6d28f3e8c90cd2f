"""What a run of the comparison prints at its end."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

COMPARED = "probes compared"


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a run without the real package: there would be nothing to hold the stand-in against."""
    try:
        metadata.version("torch")
    except metadata.PackageNotFoundError:
        raise pytest.UsageError("the real torch is not installed: run `nox -s fidelity`") from None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how much was compared; that it is something is a part of the comparison itself."""
    counts = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in report.user_properties
        if name == COMPARED
    ]
    terminalreporter.section("fidelity")
    terminalreporter.write_line(
        f"{sum(same for same, _ in counts)} probes compared on {len(counts)} machines, "
        f"{sum(different for _, different in counts)} differences"
    )
