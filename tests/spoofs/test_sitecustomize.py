"""The entry keeps its promises: silent without a profile, spoofed or exit 97 with one, and the next one still runs."""

import shutil

import pytest

from spoofs.profiles import CANARIES, PROFILES
from tests.spoofs.machines import INTERPRETERS, PACKAGE, STARTUP, run

MODULES = "import sys; print(*sorted(set(sys.modules) - {'sitecustomize'}))"
SYSTEM = "import platform; print(platform.system())"

every_python = pytest.mark.parametrize("python", INTERPRETERS.values(), ids=INTERPRETERS.keys())


@pytest.fixture
def copy(tmp_path):
    """A copy of the package to damage, and the startup folder in it."""
    package = tmp_path / "spoofs"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def with_path(*folders):
    return {"PYTHONPATH": ":".join(map(str, folders))}


def test_every_named_interpreter_is_of_a_supported_version():
    """The table of interpreters cannot be empty: the one that runs the tests stands in it."""
    assert set(INTERPRETERS) & {"3.11", "3.12", "3.13", "3.14"}


@every_python
def test_without_a_profile_no_module_is_imported(python):
    """Promise 1: a shim that has nothing to do costs and changes nothing."""
    bare = run(None, MODULES, python=python, env={"PYTHONPATH": None})
    shim = run(None, MODULES, python=python)
    assert (bare.stdout, "") == (shim.stdout, shim.stderr)


def test_an_empty_profile_is_no_profile():
    """CI systems set variables to nothing to unset them."""
    child = run("", MODULES)
    assert (0, "") == (child.returncode, child.stderr)
    assert "spoofs" not in child.stdout.split()


@every_python
def test_a_profile_is_answered(python):
    child = run("apple_silicon_mlx", SYSTEM, python=python)
    assert (0, "Darwin\n", "") == (child.returncode, child.stdout, child.stderr)


def assert_ends(child, *said):
    """The interpreter ended before its program ran: status 97, nothing on stdout, one line that says why."""
    assert (97, "") == (child.returncode, child.stdout)
    assert [child.stderr] == [f"{line}\n" for line in child.stderr.splitlines()]
    assert [] == [each for each in said if each not in child.stderr]


@every_python
def test_unknown_profile_exits_97_and_names_the_nearest(python):
    child = run("amd_rcom", SYSTEM, python=python)
    assert_ends(child, "'amd_rcom'", "'amd_rocm'", "`python -m spoofs list`")


def test_profile_that_is_near_to_none_lists_all():
    assert_ends(run("xyzzy", SYSTEM), "'xyzzy'", *(row.name for row in PROFILES + CANARIES))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ('"amd_rocm", cuda_available=True, colour="red"', "profile 'amd_rocm': colour: no such fact"),
        (
            '"amd_rocm", cuda_available=True, cuda_version="new"',
            "profile 'amd_rocm': cuda_version: 'new' is no version",
        ),
        ('"nvidia_cuda", cuda_available=True', "profile 'nvidia_cuda': name: stands twice"),
        ('"amd_rocm", cuda_available=False, tools={}', "profile 'amd_rocm': devices: listed, but"),
    ],
    ids=["unknown fact", "no version", "name twice", "contradiction"],
)
def test_a_table_that_contradicts_itself_exits_97(copy, damage, said):
    """Every profile is refused then, not only the damaged one: the table is one."""
    table = copy / "profiles.py"
    text = table.read_text()
    assert 1 == text.count('"amd_rocm", cuda_available=True')
    table.write_text(text.replace('"amd_rocm", cuda_available=True', damage))
    assert_ends(run("cpu_only", SYSTEM, env=with_path(copy / "startup")), said)


@pytest.mark.parametrize("file", ["hooks.py", "activate.py", "profiles.py", "__init__.py", "answers/os.py"])
@pytest.mark.parametrize(
    "failure",
    [
        "raise RuntimeError('boom')",
        "raise SystemExit(0)",
        "raise KeyboardInterrupt",
        "1 = 2",
        "import nothing_of_that_name",
    ],
)
def test_a_failure_in_the_shim_exits_97(copy, file, failure):
    """Promise 2: `site` swallows an exception and runs on, as programs do; an unspoofed run must not come of it.

    The answers of `os` load with the first question, and end the interpreter as late.
    """
    with (copy / file).open("a") as source:
        source.write(f"\n{failure}\n")
    asking = f"import contextlib, os\nwith contextlib.suppress(BaseException): os.uname()\n{SYSTEM}"
    assert_ends(run("amd_rocm", asking, env=with_path(copy / "startup")), "'amd_rocm'")


def test_a_package_with_a_missing_file_exits_97(copy):
    (copy / "hooks.py").unlink()
    assert_ends(run("amd_rocm", SYSTEM, env=with_path(copy / "startup")), "cannot import name 'hooks'")


def test_a_python_that_is_too_old_exits_97():
    """Its own syntax and library would fail somewhere in the middle, with a message that helps nobody."""
    code = f"import sys, runpy; sys.version_info = (3, 8, 18); runpy.run_path('{STARTUP}/sitecustomize.py')"
    child = run("amd_rocm", ["-S", "-c", code])
    assert_ends(child, "Python 3.8 cannot be spoofed")


@every_python
@pytest.mark.parametrize("debug", ["0", "1"])
def test_nothing_is_written_to_stdout(python, debug):
    """Promise 3: an xdist worker's protocol runs there."""
    child = run(
        "apple_silicon_mlx", "import platform, torch, mlx.core", python=python, env={"HARDWARE_PROFILE_DEBUG": debug}
    )
    assert (0, "") == (child.returncode, child.stdout)


def test_debug_says_each_patch_with_its_answer():
    """Promise 9: what was patched, when (a module is patched as it is imported) and with which answer."""
    code = "import sys; print('imports torch', file=sys.stderr); import torch"
    child = run("amd_rocm", code, env={"HARDWARE_PROFILE_DEBUG": "1"})
    before, _, after = child.stderr.partition("imports torch\n")
    assert "hardware profile amd_rocm: os.uname -> " in before
    assert "torch" not in before
    assert "hardware profile amd_rocm: torch.version.hip -> 6.1" in after.splitlines()
    assert all(line.startswith("hardware profile amd_rocm: ") for line in (before + after).splitlines())


def test_without_debug_nothing_is_said():
    child = run("amd_rocm", "import torch, platform")
    assert ("", "") == (child.stdout, child.stderr)


NEXT = "import builtins; builtins.ran = getattr(builtins, 'ran', 0) + 1"


def next_one(folder, code, package=False):
    file = folder / "sitecustomize" / "__init__.py" if package else folder / "sitecustomize.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    return folder


@every_python
@pytest.mark.parametrize("machine", [None, "apple_silicon_mlx"])
@pytest.mark.parametrize("package", [False, True], ids=["file", "package"])
def test_the_next_sitecustomize_runs_once(tmp_path, python, machine, package):
    """Promise 4: distributions, virtual environments and the subject ship their own."""
    behind = next_one(tmp_path, NEXT, package)
    # startup stands twice, once by another spelling: the shim must not find itself again
    env = with_path(STARTUP, f"{STARTUP}/../startup/", behind)
    child = run(machine, "import platform; print(ran, platform.system())", python=python, env=env)
    assert (f"1 {'Darwin' if machine else 'Linux'}\n", "") == (child.stdout, child.stderr)


def test_the_next_sitecustomize_sees_the_machine(tmp_path):
    behind = next_one(tmp_path, "import platform, sys; sys.seen = platform.system()")
    assert "Darwin\n" == run("apple_silicon_mlx", "import sys; print(sys.seen)", env=with_path(STARTUP, behind)).stdout


def test_a_sitecustomize_in_a_zip_file_runs_too(tmp_path):
    shutil.make_archive(tmp_path / "packed", "zip", next_one(tmp_path / "packed", NEXT))
    assert "1\n" == run("cpu_only", "print(ran)", env=with_path(STARTUP, tmp_path / "packed.zip")).stdout


@every_python
@pytest.mark.parametrize("machine", [None, "apple_silicon_mlx"])
def test_a_next_sitecustomize_that_raises_does_not_end_the_spoof(tmp_path, python, machine):
    """It fails as it does without us: `site` says so and goes on."""
    behind = next_one(tmp_path, "raise ValueError('theirs')")
    child = run(machine, SYSTEM, python=python, env=with_path(STARTUP, behind))
    assert (0, "Darwin\n" if machine else "Linux\n") == (child.returncode, child.stdout)
    assert "ValueError: theirs" in child.stderr
    assert "hardware profile" not in child.stderr


@pytest.mark.parametrize("profile", PROFILES + CANARIES, ids=lambda profile: profile.name)
def test_neither_torch_nor_the_subject_is_imported(profile, tmp_path):
    """Promise 5: one that breaks on import must not be touched by the start of an interpreter."""
    for name in ("torch", "unsloth", "unsloth_zoo", "studio", "utils"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} was imported')")
    code = "import sys; print({'torch', 'unsloth', 'unsloth_zoo', 'studio', 'utils'} & set(sys.modules))"
    child = run(profile, code, env=with_path(STARTUP, tmp_path))
    assert ("set()\n", "") == (child.stdout, child.stderr)
