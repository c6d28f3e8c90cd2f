"""What the sessions found, as markdown: profile x contract from their JUnit reports, then the merged coverage.

`python ci/summary.py >> "$GITHUB_STEP_SUMMARY"`, or the same in a terminal. It ends with the count of all tests, and
fails where a test failed, a profile has no report, or a contract was not asserted at all.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent))
import matrix

# Column -> what the ids of its tests, `module::name`, match. Each must be asserted on every profile.
COLUMNS = {
    "_IS_MLX": r"test_hardware_dispatch_matrix::test_is_mlx_gate",
    "DEVICE": r"test_hardware_dispatch_matrix::test_detect_hardware",
    "IS_ROCM": r"test_hardware_dispatch_matrix::test_is_rocm",
    "is_apple_silicon": r"test_hardware_dispatch_matrix::test_is_apple_silicon",
    "canaries": r"test_hardware_dispatch_matrix::test_(cuda|xpu)_takes_priority",
    "gate's guard": r"test_is_mlx_dispatch_gate\b",
    "worker": r"test_mlx_training_worker_behaviors\b",
}
REST = "rest"


@dataclass
class Count:
    """How many tests passed and how many did not."""

    passed: int = 0
    failed: int = 0

    def add(self, passed: bool) -> None:
        """Count one test."""
        self.passed += passed
        self.failed += not passed

    def __str__(self) -> str:
        """As the cell of a table; a cell that counts nothing says so."""
        if self.failed:
            return f"**{self.failed} of {self.passed + self.failed} failed**"
        return f"{self.passed} ok" if self.passed else "**none**"


@dataclass
class Suite:
    """One session's report: its name, its tests by column, and its seconds."""

    name: str
    columns: dict[str, Count]
    seconds: float

    @property
    def total(self) -> Count:
        """All tests of the session."""
        counts = self.columns.values()
        return Count(sum(count.passed for count in counts), sum(count.failed for count in counts))


def read(name: str, report: Path) -> Suite:
    """One session's JUnit file; a skipped test that was not expected to fail counts as failed, as in the session."""
    suite = next(ElementTree.parse(report).getroot().iter("testsuite"))  # noqa: S314  our own pytest wrote it
    columns = {name: Count() for name in [*COLUMNS, REST]}
    for case in suite.iter("testcase"):
        test = f"{case.get('classname')}::{case.get('name')}"
        column = next((name for name, pattern in COLUMNS.items() if re.search(pattern, test)), REST)
        skipped = case.find("skipped")
        lost = skipped is not None and skipped.get("type") != "pytest.xfail"
        columns[column].add(case.find("failure") is None and case.find("error") is None and not lost)
    return Suite(name, columns, float(suite.get("time", "0")))


def table(suites: list[Suite], headings: list[str]) -> list[str]:
    """A markdown table, one row a session."""
    lines = ["| session |", "| --- |"]
    for heading in [*headings, "seconds"]:
        lines[0] += f" {heading} |"
        lines[1] += " --- |"
    for suite in suites:
        cells = [str(suite.columns.get(heading, suite.total)) for heading in headings]
        lines.append(f"| {' | '.join([f'`{suite.name}`', *cells, f'{suite.seconds:.1f}'])} |")
    return lines


def problems(suites: list[Suite], profiles: list[str]) -> list[str]:
    """What keeps the summary from being green, a line each."""
    absent = set(profiles) - {suite.name for suite in suites}
    found = [f"{name}: no report, so its session did not come to its tests" for name in profiles if name in absent]
    for suite in suites:
        if suite.total.failed:
            found.append(f"{suite.name}: {suite.total.failed} failed")
        if not suite.total.passed:
            found.append(f"{suite.name}: nothing passed")
        empty = [column for column in COLUMNS if suite.columns[column] == Count()]
        if suite.name in profiles and empty:
            found.append(f"{suite.name}: no test of {', '.join(empty)}")
    return found


def coverage(root: Path) -> list[str]:
    """The merged coverage as a markdown table; a sentence where there is none."""
    if not (root / ".nox/reports/coverage/.coverage").exists():
        return ["No merged coverage: `nox --no-dependencies -s coverage` merges what the sessions left."]
    command = [sys.executable, "-m", "coverage", "report", "--format=markdown"]
    report = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return [(report.stdout.strip() if not report.returncode else report.stderr.strip()) or "coverage said nothing"]


def main(root: Path = matrix.ROOT) -> int:
    """Print the summary of the reports below `.nox/reports/`; 1 where it is not green."""
    profiles = matrix.profiles(root)
    reports = root / ".nox" / "reports"
    found = sorted(reports.rglob("junit.xml"))
    suites = [read(str(path.parent.relative_to(reports)), path) for path in found]
    machines = sorted(
        (suite for suite in suites if suite.name in profiles), key=lambda suite: profiles.index(suite.name)
    )
    others = [suite for suite in suites if suite.name not in profiles]
    print("\n".join(["## Profiles", "", *table(machines, [*COLUMNS, REST]), ""]))
    if others:
        print("\n".join(["## Other sessions", "", *table(others, ["tests"]), ""]))
    print("\n".join(["## Merged coverage", "", *coverage(root), ""]))
    wrong = problems(suites, profiles)
    if wrong:
        print("\n".join(["## Not green", "", *(f"- {line}" for line in wrong), ""]))
    totals = [suite.total for suite in suites]
    print(f"{sum(total.passed for total in totals)} passed, {sum(total.failed for total in totals)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
