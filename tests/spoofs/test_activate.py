"""The marker, the environment of a machine, and what a child keeps of it."""

import json

import pytest

from spoofs.activate import MASKS
from spoofs.capture import dump
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.spoofs.machines import run

MASKED = HardwareProfile("masked", environment={"CUDA_VISIBLE_DEVICES": "1", "FORCE_IT": "yes"})
# Prints what a child that inherits the environment says.
CHILD = "subprocess.run([sys.executable, '-c', 'import os, json; print(json.dumps(dict(os.environ)))'])"


@pytest.mark.parametrize("profile", PROFILES + CANARIES, ids=lambda profile: profile.name)
def test_the_marker_names_profile_patches_and_process(profile):
    """Promise 6: code can tell that it is spoofed, as what, and how far."""
    code = (
        "import os, spoofs, json; before = 'torch.cuda.is_available' in spoofs.active.patched; import torch;"
        "print(json.dumps([spoofs.active.profile.name, spoofs.active.pid == os.getpid(), spoofs.active.escaped,"
        "'os.uname' in spoofs.active.patched, before, 'torch.cuda.is_available' in spoofs.active.patched]))"
    )
    assert [profile.name, True, [], True, False, True] == json.loads(run(profile, code).stdout)


def test_without_a_profile_there_is_no_marker():
    """An interpreter on the host may have the package on its path; it says that nothing is spoofed."""
    child = run(
        None, "import spoofs; print(spoofs.active)", env={"PYTHONPATH": str(__import__("spoofs").__path__[0]) + "/.."}
    )
    assert ("None\n", "") == (child.stdout, child.stderr)


def test_the_masks_of_the_shell_are_cleared():
    shell = dict.fromkeys(MASKS, "7")
    child = run("amd_rocm", "import os, json; print(json.dumps(dict(os.environ)))", env=shell)
    assert {} == {mask: value for mask, value in json.loads(child.stdout).items() if mask in MASKS}


def test_the_variables_of_the_machine_are_set():
    child = run(MASKED, "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], os.environ['FORCE_IT'])")
    assert "1 yes\n" == child.stdout


def test_a_child_keeps_what_its_parent_changed():
    """A program that masks a device for its worker must be believed."""
    code = f"import os, sys, subprocess; os.environ['CUDA_VISIBLE_DEVICES'] = '0'; del os.environ['FORCE_IT']; {CHILD}"
    child = json.loads(run(MASKED, code).stdout)
    assert ("0", None) == (child["CUDA_VISIBLE_DEVICES"], child.get("FORCE_IT"))


def test_another_machine_starts_without_the_variables_of_the_first():
    """A profile changed in the environment is a new machine for the children: nothing of the old one stays."""
    code = f"import os, sys, subprocess; os.environ['HARDWARE_PROFILE'] = 'cpu_only'; {CHILD}"
    child = json.loads(run(MASKED, code).stdout)
    assert (None, None) == (child.get("CUDA_VISIBLE_DEVICES"), child.get("FORCE_IT"))


def test_a_file_named_by_a_relative_path_is_found_by_children_elsewhere(tmp_path):
    """`HARDWARE_PROFILE=./capture.toml` is made absolute in the environment."""
    (tmp_path / "capture.toml").write_text(dump(HardwareProfile("captured", system="Darwin", machine="arm64")))
    code = f"import os, sys, subprocess; os.chdir('/'); {CHILD}"
    child = run("./capture.toml", code, cwd=tmp_path)
    assert (0, "") == (child.returncode, child.stderr)
    assert str(tmp_path / "capture.toml") == json.loads(child.stdout)["HARDWARE_PROFILE"]


def test_a_file_that_is_missing_exits_97(tmp_path):
    child = run("./missing.toml", "print('ran')", cwd=tmp_path)
    assert (97, "") == (child.returncode, child.stdout)
    assert [
        "hardware profile './missing.toml': ./missing.toml: no such file; `python -m spoofs record` writes one"
    ] == (child.stderr.splitlines())


def test_a_module_that_is_loaded_already_is_patched_at_once():
    """Promise 5: `os` is loaded before any shim; so may be a module that a .pth file imports."""
    code = (
        "import sys, os, platform; sys.path.insert(0, PACKAGE); before = platform.system();"
        "from spoofs import activate; activate.activate('apple_silicon_mlx');"
        "print(before, platform.system(), os.uname().machine)"
    )
    package = str(__import__("spoofs").__path__[0]) + "/.."
    assert "Linux Darwin arm64\n" == run(None, code.replace("PACKAGE", repr(package))).stdout
