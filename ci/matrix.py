"""The list of sessions for a CI's matrix: `python ci/matrix.py >> "$GITHUB_OUTPUT"`.

It comes from nox itself and must name the rows of PROFILES, all and in order: a matrix that lost a leg is green too.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def profiles(root: Path = ROOT) -> list[str]:
    """The names of the rows in PROFILES."""
    return [row.name for row in runpy.run_path(str(root / "spoofs" / "profiles.py"))["PROFILES"]]


def sessions(root: Path = ROOT) -> list[str]:
    """The sessions that nox has for profiles; SystemExit with nox's own words where it has none to tell."""
    command = [sys.executable, "-m", "nox", "--list", "--json", "--tags", "profile"]
    listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if listing.returncode:
        sys.exit(f"nox lists no sessions: {listing.stderr.strip() or 'it does not say why'}")
    return [entry["session"] for entry in json.loads(listing.stdout)]


def check(listed: list[str], rows: list[str]) -> None:
    """Refuse a matrix that is empty or that is not PROFILES."""
    if not rows:
        sys.exit("spoofs/profiles.py: PROFILES is empty, so the matrix would prove nothing")
    if listed != rows:
        sys.exit(f"nox's sessions tagged 'profile' are {listed}, but PROFILES has {rows}: mend noxfile.py")


if __name__ == "__main__":
    names = sessions()
    check(names, profiles())
    print(f"sessions={json.dumps(names)}")
