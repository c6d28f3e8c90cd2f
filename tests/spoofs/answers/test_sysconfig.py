"""The tag of wheels."""

import pytest

from spoofs.profiles import HardwareProfile
from tests.spoofs.probing import ask


@pytest.mark.parametrize(
    ("system", "machine", "tag"),
    [
        ("Linux", "x86_64", "linux-x86_64"),
        ("Linux", "aarch64", "linux-aarch64"),
        ("Darwin", "arm64", "macosx-11.0-arm64"),
        ("Darwin", "x86_64", "macosx-10.13-x86_64"),
        ("Windows", "AMD64", "win-amd64"),
        ("Windows", "ARM64", "win-arm64"),
        ("Windows", "x86", "win32"),
    ],
)
def test_the_tag_of_a_machine(system: str, machine: str, tag: str) -> None:
    source = "sysconfig.get_platform()"
    assert {source: repr(tag)} == ask(HardwareProfile("tagged", system=system, machine=machine), source)


def test_the_standard_library_still_finds_its_own_files() -> None:
    """`sysconfig` reads a build file that is named after the host's platform."""
    said = ask(
        "apple_silicon_mlx", "bool(sysconfig.get_config_vars()['EXT_SUFFIX'])", "sysconfig.get_path('purelib') != ''"
    )
    assert ["True", "True"] == list(said.values())
