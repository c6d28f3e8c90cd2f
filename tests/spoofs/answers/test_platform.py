"""What `platform` says, in the form of each system; that all of it agrees is held elsewhere."""

from __future__ import annotations

import platform

import pytest

from spoofs.profiles import HardwareProfile
from tests.spoofs.machines import INTERPRETERS, run
from tests.spoofs.probing import ask

every_python = pytest.mark.parametrize("python", INTERPRETERS.values(), ids=INTERPRETERS.keys())
MAC = HardwareProfile("mac", system="Darwin", machine="arm64", mac_version="14.7.1")
INTEL_MAC = HardwareProfile("intel_mac", system="Darwin", machine="x86_64", mac_version="13.6")
WINDOWS = HardwareProfile("windows", system="Windows", machine="AMD64")
WSL = HardwareProfile("wsl", release="5.15.167.4-microsoft-standard-WSL2")
LIBC = "".join(platform.libc_ver())


@pytest.mark.parametrize(
    ("machine", "full", "terse"),
    [
        (MAC, "macOS-14.7.1-arm64-arm-64bit", "macOS-14.7.1"),
        (INTEL_MAC, "macOS-13.6-x86_64-i386-64bit", "macOS-13.6"),
        (WINDOWS, "Windows-11-10.0.26100-SP0", "Windows-11"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@every_python
def test_the_line_of_a_system(python: str, machine: HardwareProfile, full: str, terse: str) -> None:
    said = ask(
        machine,
        "platform.platform()",
        "platform.platform(aliased=True)",
        "platform.platform(terse=True)",
        python=python,
    )
    newer = ask(None, "sys.version_info >= (3, 13) and " + str(machine.system == "Darwin"), python=python)
    form = "-Mach-O" if "True" in newer.values() else ""
    assert [repr(full + form), repr(full + form), repr(terse)] == list(said.values())


def test_linux_shows_its_c_library_and_its_processor_where_that_differs() -> None:
    assert f"Linux-{WSL.release}-x86_64-with-{LIBC}" in ask(WSL, "platform.platform()")["platform.platform()"]
    other = HardwareProfile("other", machine="aarch64", processor="Neoverse N1", release="6.1")
    assert (
        f"Linux-6.1-aarch64-Neoverse_N1-with-{LIBC}" in ask(other, "platform.platform(1, 1)")["platform.platform(1, 1)"]
    )


@every_python
def test_a_row_that_describes_the_host_says_what_the_host_says(python: str) -> None:
    """The answers follow the real module's own rules, whichever version of Python has them."""
    code = """
import os, platform, sys
sys.path.insert(0, "")
def ask():
    lines = [platform.platform(*each) for each in ((), (True,), (False, True), (True, True))]
    bare = [platform.architecture(), platform.libc_ver(), platform.mac_ver(), platform.win32_ver(), platform.uname()]
    return [*lines, *bare, platform.mac_ver("1", ("", "", ""), "m"), platform.win32_ver("1", "2", "3", "4"),
            platform.libc_ver("/bin/sh"), platform.architecture("/bin/sh")]
host, kernel, processor = ask(), os.uname(), platform.processor()
from spoofs import activate, derived, profiles
derived.VERSION[kernel.sysname] = kernel.version
row = dict(system=kernel.sysname, machine=kernel.machine, release=kernel.release, processor=processor)
activate.become(profiles.HardwareProfile("host", **row))
print([pair for pair in zip(host, ask()) if pair[0] != pair[1]], platform.system.spoofed.__name__)
"""
    child = run(None, code, python=python, cwd=".")
    assert ("[] system\n", "") == (child.stdout, child.stderr)


@every_python
def test_a_uname_is_whole(python: str) -> None:
    """Fields, order, length, and the lazy sixth."""
    said = ask(
        MAC,
        "tuple(platform.uname())[2:]",
        "platform.uname()[-1], len(platform.uname()), platform.uname().processor",
        "[*platform.uname()] == [platform.system(), platform.node(), platform.release(), platform.version(),"
        " platform.machine(), platform.processor()]",
        "'Darwin' in platform.uname(), type(platform.uname()) is platform.uname_result",
        python=python,
    )
    expected = [
        ("24.6.0", "Darwin Kernel Version 24.6.0", "arm64", "arm"),
        ("arm", 6, "arm"),
        True,
        (True, True),
    ]
    assert list(map(repr, expected)) == list(said.values())


def test_the_fields_of_os_release_are_the_rows() -> None:
    source = "platform.freedesktop_os_release()['ID']"
    stated = HardwareProfile("rocky", files={"/etc/os-release": 'NAME="Rocky Linux"\nID="rocky"\n'})
    assert {source: "'rocky'"} == ask(stated, source)
    absent = HardwareProfile("bare", files={"/etc/os-release": None})
    for machine in (MAC, WINDOWS, absent):
        assert "raises FileNotFoundError(2, 'Unable to read files" in ask(machine, source)[source]


def test_wheels_are_chosen_for_the_machine() -> None:
    """`packaging` reads several of the probes together."""
    source = "next(iter(importlib.import_module('packaging.tags').sys_tags())).platform"
    assert ask(MAC, source)[source].endswith("_arm64'")
    assert ask(MAC, source)[source].startswith("'macosx_")
    assert ask(WINDOWS, source)[source] == "'win_amd64'"
    marker = "importlib.import_module('packaging.markers').Marker(\"platform_machine == 'arm64'\").evaluate()"
    assert {marker: "True"} == ask(MAC, marker)
