"""How a run of pytest comes to its machines: one that the environment names, or each in an interpreter of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import pytest

import spoofs
from spoofs import escapes
from spoofs.__main__ import environment
from spoofs.hooks import STANDIN
from spoofs.profiles import PROFILES, ProfileError
from tests.studio import subject as subjects

STUDIO = Path(__file__).parent / "studio"
SUBJECT = pytest.StashKey[subjects.Subject]()
COLLECTED = pytest.StashKey[int]()
ESCAPES = "HARDWARE_PROFILE_ESCAPES_FILE"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    group = parser.getgroup("hardware profiles")
    group.addoption("--subject", metavar="PATH", help="a checkout or an unpacked wheel of Unsloth to test")


def _chosen(config: pytest.Config) -> list[Path]:
    return [Path(config.invocation_params.dir, argument.partition("::")[0]).resolve() for argument in config.args]


def runs_the_suite(config: pytest.Config) -> bool:
    """Whether the shared suite on the subject is among what was asked for."""
    return any(path.is_relative_to(STUDIO) or STUDIO.is_relative_to(path) for path in _chosen(config))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Without a profile in the environment, give each selected profile an interpreter of its own, in parallel."""
    if os.environ.get("HARDWARE_PROFILE") or not runs_the_suite(config) or config.option.collectonly:
        return
    if not all(path.is_relative_to(STUDIO) for path in _chosen(config)):
        raise pytest.UsageError(
            "tests/studio runs once per profile: name it alone, and the other tests in a run of their own"
        )
    if not config.pluginmanager.hasplugin("xdist"):
        raise pytest.UsageError(
            "without HARDWARE_PROFILE, tests/studio needs pytest-xdist, one worker a profile: install or allow it"
        )
    if ESCAPES not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="escapes-")
        config.add_cleanup(folder.cleanup)
        os.environ[ESCAPES] = str(Path(folder.name, "escapes.txt"))
    config.option.numprocesses = None
    config.option.dist = "each"
    config.option.tx = [f"popen//id={name}//python={_interpreter(name)}" for name in _selected(config)]


def _selected(config: pytest.Config) -> list[str]:
    """The profiles that -k or the ids of tests name, or all where they name none or exclude some."""
    ids = " ".join(argument.partition("[")[2] for argument in config.args)
    named = set(re.findall(r"\w+", f"{config.option.keyword} {ids}".lower()))
    names = [profile.name for profile in PROFILES]
    chosen = [name for name in names if name in named]
    return names if not chosen or "not" in named else chosen


def _interpreter(profile: str) -> str:
    """The command of a worker on a machine, as execnet takes it: two slashes would end it."""
    try:
        env = environment(profile)
    except ProfileError as error:
        raise pytest.UsageError(str(error)) from None
    settings = [f"{variable}={env[variable]}" for variable in ("HARDWARE_PROFILE", "PYTHONPATH")]
    return re.sub("//+", "/", shlex.join(["env", *settings, sys.executable]))


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a run that would prove nothing: a profile without its spoof, or no subject to test."""
    profile = os.environ.get("HARDWARE_PROFILE")
    if profile and spoofs.active is None:
        raise pytest.UsageError(
            f"HARDWARE_PROFILE={profile}, but this interpreter is not spoofed: put the absolute path of spoofs/startup "
            f"on PYTHONPATH, or run `nox -s {profile}`"
        )
    if spoofs.active is not None and spoofs.active.real and not hasattr(config, "workerinput"):
        from spoofs import record

        if differing := record.differences(spoofs.active.profile):
            raise pytest.UsageError(f"this machine is not {profile}: {'; '.join(differing)}")
    if runs_the_suite(config) and not config.option.collectonly:
        try:
            config.stash[SUBJECT] = subjects.locate(config.option.subject)
            subjects.check(config.stash[SUBJECT])
        except subjects.SubjectError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the machine, the subject and the torch of this run."""
    if SUBJECT not in config.stash:
        return []
    subject = config.stash[SUBJECT]
    active = spoofs.active.profile.name if spoofs.active else "each in an interpreter of its own"
    return [f"profile: {active}", f"subject: unsloth {subject.version} at {subject.root}", f"torch: {_torch()}"]


def _torch() -> str:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return "none" if spoofs.active is not None and spoofs.active.real else "stand-in"
    if spec.origin == STANDIN:
        return "stand-in"
    version = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    found = re.search(r"^__version__ = '([^']+)'", version, re.MULTILINE)
    return f"real, {found[1] if found else 'of unknown version'}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remember how many tests there are before any filter takes some away."""
    config.stash[COLLECTED] = len(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    """In a profile's session a skipped test is a failure: it would hide a contract that was not held."""
    report = yield
    if spoofs.active is not None and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.longrepr = f"{item.nodeid}: skipped under {spoofs.active.profile.name}, which counts as failed: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> object:
    """The same for a file that skips itself as it is collected."""
    report = yield
    if spoofs.active is not None and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: skipped under {spoofs.active.profile.name}, which counts as failed"
    return report


def _escaped() -> list[str]:
    """The children of this run that saw the host, each with its command, wherever in the tree they were started."""
    here: list[str] = spoofs.active.escaped if spoofs.active is not None else []
    return list(dict.fromkeys([*here, *escapes.collected(os.environ.get(ESCAPES))]))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Demand that no child saw the host: a contract that it was part of would prove nothing."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and reporter and reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.OK  # xdist counts what the last worker collected, and that one had none
    if runs_the_suite(session.config) and session.exitstatus == pytest.ExitCode.OK and _escaped():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the children that saw the host."""
    if runs_the_suite(config) and _escaped():
        terminalreporter.section("children that saw the host", red=True)
        for line in _escaped():
            terminalreporter.line(line)
