"""One session per machine, made from the rows of PROFILES. `nox` runs them all and merges their coverage.

`nox -l` is the menu; `nox -s amd_rocm` is one machine, `nox -t apple` a family, `nox -j auto` all at once. What follows
`--` reaches pytest: `nox -s amd_rocm -- -k gate -x`, `nox -s amd_rocm -- --subject ../unsloth`.
UNSLOTH=2026.8.1 tests another release of unsloth and unsloth_zoo; TORCH=2.13.0 puts that real torch under the spoofs.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nox
from nox.command import CommandFailed
from nox.logger import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

nox.needs_version = ">=2026.10.20"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).resolve().parent
REPORTS = ROOT / ".nox" / "reports"
PACKAGES = ROOT / ".nox" / "packages"  # what is big and the same for all sessions: subjects and real torches
REQUIREMENTS = ROOT / "ci" / "requirements"
REAL_TORCH = "2.13.0"  # the release that the answers were checked against
COVERAGE = REPORTS / "coverage"  # the merged data; what the sessions wrote stands in `sessions/`
# Without a shell's path, and with bytecode, whose absence would compile everything in every run.
HOST = {"PYTHONPATH": None, "PYTHONDONTWRITEBYTECODE": None}

# A shell may be on a spoofed machine; what nox does itself, installs above all, never is.
for variable in ("HARDWARE_PROFILE", "HARDWARE_PROFILE_APPLIED"):
    os.environ.pop(variable, None)

try:
    PROFILES = runpy.run_path(str(ROOT / "spoofs" / "profiles.py"))["PROFILES"]
except Exception as error:  # ProfileError, of a module that is no module here
    if type(error).__name__ != "ProfileError":
        raise
    sys.exit(f"spoofs/profiles.py: {error}")


# Environments. Every install is pinned with hashes, but for releases that are named on the command line.


def use(session: nox.Session, *groups: str) -> None:
    """Have the session's environment hold the pinned packages of these groups; a warm one is left as it is."""
    files = [REQUIREMENTS / f"{group}.txt" for group in groups]
    stamp = session.env_dir / "requirements.sha256"
    wanted = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    arguments = ["--require-hashes", *(f"--requirement={file}" for file in files)]
    if install(session, f"the packages of {', '.join(groups)}", *arguments):
        stamp.write_text(wanted)


def install(session: nox.Session, what: str, *arguments: str) -> bool:
    """Install with the session's own installer; False where -R forbids it, one line and the end where it fails."""
    command = ("uv", "pip", "install") if session.venv_backend == "uv" else ("python", "-m", "pip", "install")
    log = REPORTS / session.name / "install.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("w") as output, mute():
            return session.run_install(*command, *arguments, external=True, log=False, stdout=output) is not None
    except CommandFailed:
        session.error(f"cannot install {what}: {reason(log.read_text())} (its output: {log.relative_to(ROOT)})")


@contextlib.contextmanager
def mute() -> Iterator[None]:
    """Keep nox from printing the installer's whole command where one line says it better."""
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def reason(output: str) -> str:
    """Why pip or uv failed, as a sentence with its mend."""
    releases = re.search(r"from versions: (?!none)(.+?)\)", output)
    if releases:
        return f"no such release; the last ones are {', '.join(releases[1].split(', ')[-3:])}"
    if "there is no version of" in output:
        return "no such release; `python -m pip index versions NAME` lists them"
    if re.search(r"from versions: none|[Cc]onnect|[Ff]ailed to fetch|dns error|not found in the cache", output):
        return "no package index has it or answers; check the network and the installer's index settings"
    conflict = re.search(r"The conflict is caused by:\n((?: +.+\n)+)", output)
    if conflict:
        return "; ".join(line.strip() for line in conflict[1].splitlines())
    lines = output.split("\n") if output.strip() else ["the installer said nothing"]
    return next(line.strip() for line in reversed(lines) if line.strip())


def shelve(session: nox.Session, what: str, name: str, *arguments: str) -> None:
    """Have the session's environment see `.nox/packages/<name>`, installed once for all sessions."""
    shelf = PACKAGES / name
    PACKAGES.mkdir(parents=True, exist_ok=True)
    with (PACKAGES / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # sessions run side by side
        if not shelf.is_dir():
            session.log(f"Installing {what} for all sessions")
            partial = PACKAGES / ".partial"
            shutil.rmtree(partial, ignore_errors=True)
            if not install(session, what, f"--target={partial}", *arguments):
                session.error(f"{what} is not installed yet, and -R installs nothing: run once without -R")
            partial.rename(shelf)
    link = site_packages(session) / f"{name.partition('-')[0]}.pth"
    if not link.exists() or link.read_text() != f"{shelf}\n":
        link.write_text(f"{shelf}\n")


def site_packages(session: nox.Session) -> Path:
    """The folder that the session's environment installs into."""
    return next(Path(session.virtualenv.location).glob("lib/python*/site-packages"))


def use_subject(session: nox.Session) -> None:
    """Have the session's environment see the subject: the pinned release, or the one that UNSLOTH names."""
    pinned = re.search(r"^unsloth==(\S+)", (REQUIREMENTS / "subject.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    version = release(session, "UNSLOTH") or pinned[1]
    if version == pinned[1]:
        arguments = ["--require-hashes", f"--requirement={REQUIREMENTS / 'subject.txt'}"]
    else:
        arguments = [f"unsloth=={version}", f"unsloth_zoo=={version}"]
    shelve(session, f"unsloth and unsloth_zoo {version}", f"unsloth-{version}", "--no-deps", *arguments)


def use_torch(session: nox.Session, version: str) -> None:
    """Have the session's environment see a real torch, or none where the version is empty."""
    if version:
        python = site_packages(session).parent.name
        shelve(session, f"torch {version}", f"torch-{version}-{python}", f"torch=={version}")
    else:
        (site_packages(session) / "torch.pth").unlink(missing_ok=True)


def release(session: nox.Session, variable: str) -> str:
    """The release that a variable names, or "" where it is not set."""
    version = os.environ.get(variable, "").strip()
    if version and not re.fullmatch(r"\d+(\.\w+)*(\+[\w.]+)?", version):
        example = {"UNSLOTH": "2026.8.1", "TORCH": REAL_TORCH}[variable]
        session.error(f"{variable}={version} names no release; one looks like {variable}={example}")
    return version


# Sessions.


def spoofed(session: nox.Session, profile: str, reports: Path, *tests: str) -> None:
    """Run the shared suite on one machine; its JUnit report and its coverage stand in `.nox/reports/`."""
    data = COVERAGE / "sessions" / f".coverage.{'-'.join(dict.fromkeys([session.name, profile]))}"
    data.parent.mkdir(parents=True, exist_ok=True)
    escapes = reports / "escapes.txt"  # children that see the host, wherever in the session they are started
    for old in [escapes, *data.parent.glob(f"{data.name}.*")]:
        old.unlink(missing_ok=True)
    session.run(
        "python",
        "-m",
        "pytest",
        f"--junitxml={reports / 'junit.xml'}",
        f"--override-ini=junit_suite_name={profile}",
        f"--override-ini=cache_dir={reports / 'cache'}",  # its own, since sessions run side by side
        *tests,
        *posargs(session),
        env={
            **HOST,
            "HARDWARE_PROFILE": profile,
            "HARDWARE_PROFILE_ESCAPES_FILE": str(escapes),
            "PYTHONPATH": str(ROOT / "spoofs" / "startup"),
            "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"),
            "COVERAGE_FILE": str(data),
        },
    )


def unspoofed(session: nox.Session, *tests: str, workers: str = "0") -> None:
    """Run tests on the host itself, or those that follow `--` where it names any."""
    reports = REPORTS / session.name
    given = posargs(session)
    if any(Path(argument.partition("::")[0]).exists() for argument in given):
        tests = ()
    session.run(
        "python",
        "-m",
        "pytest",
        f"--junitxml={reports / 'junit.xml'}",
        f"--override-ini=junit_suite_name={session.name}",
        f"--override-ini=cache_dir={reports / 'cache'}",
        f"--numprocesses={0 if session.parallel else workers}",
        *tests,
        *given,
        env=HOST,
    )


def posargs(session: nox.Session) -> list[str]:
    """What follows `--`, verbatim, but for a --subject that is relative to where nox was called."""
    given = list(session.posargs)
    while "--subject" in given[:-1]:  # one word with its path, or pytest takes the path for one of its own
        at = given.index("--subject")
        given[at : at + 2] = [f"--subject={given[at + 1]}"]
    for index, argument in enumerate(given):
        if argument.startswith("--subject="):
            given[index] = f"--subject={Path(session.invoked_from, argument.partition('=')[2]).expanduser()}"
    return given


def summary(row: Any) -> str:
    """A row's facts as a line of the menu."""
    facts = [f"{row.system} {row.machine}"]
    if row.cuda_available:
        facts.append(f"CUDA by ROCm {row.hip_version}" if row.hip_version else "CUDA")
    facts += [name for name, present in (("XPU", row.xpu_available), ("MPS", row.mps_available)) if present]
    facts += [device["name"] for device in row.devices]
    facts += sorted(name for name, version in row.packages.items() if version is not None)
    return ", ".join(facts)


def families(row: Any) -> list[str]:
    """The tags of a row's session, from its facts."""
    tags = {
        "profile": True,
        "apple": row.system == "Darwin",
        "arm": row.machine in ("arm64", "aarch64"),
        "gpu": row.cuda_available or row.xpu_available,
        "cpu": not (row.cuda_available or row.xpu_available or row.mps_available),
    }
    return [tag for tag, applies in tags.items() if applies]


def on(row: Any) -> Callable[[nox.Session], None]:
    """The session of one row."""

    def session_of_row(session: nox.Session) -> None:
        use_subject(session)
        use_torch(session, release(session, "TORCH"))
        use(session, "test")
        spoofed(session, row.name, REPORTS / row.name)

    session_of_row.__doc__ = (
        f"{summary(row)}.\n\nRuns tests/studio on the machine {row.name!r}. What follows `--` reaches pytest."
    )
    return session_of_row


for row in PROFILES:
    nox.session(name=row.name, tags=families(row), allow_parallel=True)(on(row))


@nox.session(requires=[row.name for row in PROFILES])
def coverage(session: nox.Session) -> None:
    """Merge the coverage of the sessions and report it.

    The merged data knows which machine ran a line: `.nox/coverage/bin/coverage report --contexts=amd_rocm` is one
    machine's share, and `.nox/coverage/bin/coverage html` shows all of them beside each line, in
    `.nox/reports/coverage/html/`. `nox --no-dependencies -s coverage` merges what earlier runs left.
    """
    use(session, "cov")
    use_subject(session)  # its sources are read for the report, which a CI makes on a machine of its own
    sessions = COVERAGE / "sessions"
    if not list(sessions.glob(".coverage.*")):
        session.error("no coverage to merge: run `nox`, which runs the profiles first")
    session.run("coverage", "combine", "--keep", "--quiet", str(sessions))
    session.run("coverage", "report")


@nox.session(default=False, allow_parallel=True)
def host(session: nox.Session) -> None:
    """Test what needs no spoof: the shim, its answers, the mutations, and the scripts of ci/."""
    use_subject(session)
    use(session, "test", "nox")
    files = map(str, sorted(Path("tests").glob("test_*.py")))
    unspoofed(session, "tests/spoofs", "tests/mutants", "tests/ci", *files, workers="auto")


@nox.session(default=False, allow_parallel=True)
def combinations(session: nox.Session) -> None:
    """Run the contracts on every machine that the probes can describe, and off the diagonal."""
    use_subject(session)
    use(session, "test")
    unspoofed(session, "tests/combinations")


@nox.session(default=False, allow_parallel=True)
def behaviors(session: nox.Session) -> None:
    """Run every case of what the training worker does, where the profiles run those that matter everywhere."""
    use_subject(session)
    use(session, "test")
    spoofed(session, "apple_silicon_mlx", REPORTS / "behaviors", "tests/studio/behaviors")


@nox.session(default=False)
def mutants(session: nox.Session) -> None:
    """Break the dispatch code, the worker and the profiles in every small way; the suite must notice each."""
    use_subject(session)
    use(session, "test")
    session.run("python", "-m", "tests.mutants", *posargs(session), env=HOST)


@nox.session(default=False)
def fidelity(session: nox.Session) -> None:
    """Compare every probe of the stand-in with that of the real torch, TORCH or 2.13.0, on every machine."""
    use_subject(session)
    use_torch(session, release(session, "TORCH") or REAL_TORCH)
    beside = REQUIREMENTS / "fidelity.txt"
    name = f"fidelity-{hashlib.sha256(beside.read_bytes()).hexdigest()[:8]}-{site_packages(session).parent.name}"
    shelve(session, "what is real beside torch", name, "--no-deps", "--require-hashes", f"--requirement={beside}")
    use(session, "test")
    unspoofed(session, "tests/fidelity", workers="auto")


@nox.session(default=False)
def torch(session: nox.Session) -> None:
    """Run every profile on the real torch, TORCH or 2.13.0, in one environment."""
    use_subject(session)
    use_torch(session, release(session, "TORCH") or REAL_TORCH)
    use(session, "test")
    for row in PROFILES:
        spoofed(session, row.name, REPORTS / "torch" / row.name)


@nox.session(default=False, venv_backend="none")
def benchmark(session: nox.Session) -> None:
    """Time the shim and the sessions against their budgets; run `nox` before, and leave the machine alone."""
    session.run(sys.executable, "ci/benchmark.py", external=True)


@nox.session(default=False, tags=["static"], allow_parallel=True)
def lint(session: nox.Session) -> None:
    """Lint and check the format of the code, and lint the workflows."""
    use(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("zizmor", "--offline", "--persona=pedantic", "--quiet", ".github")
    if shutil.which("actionlint"):  # no wheel of it needs no download of its own
        session.run("actionlint", external=True)


@nox.session(default=False, tags=["static"], allow_parallel=True)
def types(session: nox.Session) -> None:
    """Check the types."""
    use(session, "types")
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Compile the groups of pyproject.toml into ci/requirements/, with hashes and without addresses."""
    session.install("uv")
    alone = ("subject", "fidelity")
    for group in ("test", "cov", "nox", "types", "lint", *alone):
        output = REQUIREMENTS / f"{group}.txt"
        arguments = ["--no-deps"] if group in alone else []
        if group not in ("test", *alone):
            arguments += ["--constraints", str((REQUIREMENTS / "test.txt").relative_to(ROOT))]
        session.run(
            "uv",
            "pip",
            "compile",
            "pyproject.toml",
            f"--group={group}",
            "--universal",
            "--python-version=3.11",
            "--generate-hashes",
            "--no-emit-index-url",
            "--no-emit-find-links",
            "--custom-compile-command=nox -s lock",
            f"--output-file={output.relative_to(ROOT)}",
            "--quiet",
            *arguments,
            *session.posargs,
        )


if taken := [row.name for row in PROFILES if row.name in globals()]:
    sys.exit(f"spoofs/profiles.py: profile {taken[0]!r}: name: a session of noxfile.py has it; choose another")

if __name__ == "__main__":
    nox.main()
