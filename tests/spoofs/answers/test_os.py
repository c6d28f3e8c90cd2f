"""The kernel's own words."""

from spoofs.profiles import HardwareProfile
from tests.spoofs.probing import ask


def test_uname_is_the_machines() -> None:
    said = ask(
        "apple_silicon_mlx",
        "os.uname().sysname, os.uname()[4]",
        "type(os.uname()) is os.uname_result",
        "len(os.uname())",
    )
    assert ["('Darwin', 'arm64')", "True", "5"] == list(said.values())


def test_windows_has_no_such_call() -> None:
    windows = HardwareProfile("windows", system="Windows", machine="AMD64")
    error = AttributeError("module 'os' has no attribute 'uname'")
    assert {"os.uname()": f"raises {error!r}"} == ask(windows, "os.uname()")


def test_what_the_standard_library_chooses_by_stays_the_hosts() -> None:
    """Changing these breaks imports of the standard library itself."""
    assert ["'posix'", "'linux'", "'/'"] == list(ask("apple_silicon_mlx", "os.name", "sys.platform", "os.sep").values())
