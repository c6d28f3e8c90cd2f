"""The files that a row states are there for Python code, those of the host that tell of hardware are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spoofs.profiles import HardwareProfile, ProfileError
from tests.spoofs.machines import INTERPRETERS, run

NODE = "/sys/class/kfd/kfd/topology/nodes/1"
MACHINE = HardwareProfile(
    "stated",
    files={
        "/proc/cpuinfo": "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\n",
        f"{NODE}/properties": "vendor_id 4098\ngfx_target_version 110501\n",
        f"{NODE}/gpu_id": "1234\n",
        "/sys/class/drm/card0/device/vendor": "0x1002\n",
        "/dev/kfd": "",
        "/etc/passwd": None,
    },
)
every_python = pytest.mark.parametrize("python", INTERPRETERS.values(), ids=INTERPRETERS.keys())


def asked(machine: object, code: str, **options: Any) -> Any:
    child = run(machine, f"import glob, io, json, os, pathlib\n{code}\nprint(json.dumps(answer))", **options)
    assert (0, "") == (child.returncode, child.stderr)
    return json.loads(child.stdout)


@every_python
def test_a_stated_file_is_read_in_every_way(python: str) -> None:
    code = """
path = "/proc/cpuinfo"
descriptor = os.open(path, os.O_RDONLY)
with open(path) as text, open(file=path, mode="rb") as binary, io.open(pathlib.Path(path), encoding="utf-8") as other:
    answer = [text.read(), binary.read().decode(), next(other), pathlib.Path(path).read_text(),
              os.read(descriptor, 1000).decode()]
"""
    assert [MACHINE.files["/proc/cpuinfo"]] * 5 == asked(MACHINE, code, python=python)


@every_python
def test_a_stated_file_is_found_in_every_way(python: str) -> None:
    code = f"""
node = {NODE!r}
answer = [
    [os.path.exists(f"{{node}}/gpu_id"), os.path.isfile(f"{{node}}/gpu_id"), os.path.isdir(node),
     os.access(node, os.R_OK)],
    sorted(os.listdir(node)), sorted(each.name for each in os.scandir(node)),
    sorted(each.name for each in pathlib.Path(node).iterdir()),
    glob.glob("/sys/class/drm/card*/device/vendor"),
    [str(each) for each in pathlib.Path("/sys/class/drm").glob("card*/device/vendor")],
    [folder for folder, _, files in os.walk("/sys/class/kfd") if files],
    ["drm" in os.listdir("/sys/class"), "kfd" in os.listdir("/dev"), "null" in os.listdir("/dev")],
    os.path.realpath(node),
]
"""
    names, vendor = ["gpu_id", "properties"], ["/sys/class/drm/card0/device/vendor"]
    expected = [[True] * 4, names, names, names, vendor, vendor, [NODE], [True] * 3, NODE]
    assert expected == asked(MACHINE, code, python=python)


@every_python
def test_an_absent_file_is_missing_in_every_way(python: str) -> None:
    code = """
path = "/etc/passwd"
answer = []
def descriptor(path): os.open(path, os.O_RDONLY)
def by_pathlib(path): pathlib.Path(path).read_text()
for call in (open, os.stat, os.lstat, os.listdir, os.readlink, descriptor, by_pathlib):
    try: call(path)
    except FileNotFoundError as error: answer.append([error.errno, error.filename])
answer.append([os.path.exists(path), pathlib.Path(path).exists(), os.access(path, os.F_OK),
               "passwd" in os.listdir("/etc")])
answer.append("group" in os.listdir("/etc"))
"""
    assert [[2, "/etc/passwd"]] * 7 + [[False] * 4, True] == asked(MACHINE, code, python=python)


def test_only_devices_can_be_written() -> None:
    code = """
answer = [os.access("/dev/kfd", os.R_OK | os.W_OK), os.access("/proc/cpuinfo", os.W_OK)]
for path in ("/dev/kfd", "/proc/cpuinfo"):
    try: open(path, "r+b", buffering=0).close(); answer.append("opened")
    except PermissionError: answer.append("refused")
"""
    assert [True, False, "opened", "refused"] == asked(MACHINE, code)


def test_folders_and_files_are_not_mistaken() -> None:
    code = """
answer = []
for call, path in ((open, "/sys/class/kfd"), (os.listdir, "/dev/kfd")):
    try: call(path)
    except OSError as error: answer.append(type(error).__name__)
"""
    assert ["IsADirectoryError", "NotADirectoryError"] == asked(MACHINE, code)


@every_python
def test_all_other_files_stay_the_hosts(python: str) -> None:
    """In particular `shutil.rmtree` stays the safe one, which looks for the very functions that are wrapped."""
    code = """
import shutil, tempfile
folder = tempfile.mkdtemp()
with open(f"{folder}/file", "w") as file: file.write("text")
os.mkdir(f"{folder}/below")
here = os.open(folder, os.O_RDONLY)
answer = [shutil.rmtree.avoids_symlink_attacks, open(f"{folder}/file").read(), os.stat("file", dir_fd=here).st_size,
          sorted(os.listdir(here))]
shutil.rmtree(folder)
answer.append(os.path.exists(folder))
"""
    assert [True, "text", 4, ["below", "file"], False] == asked(MACHINE, code, python=python)


def test_the_hosts_own_hardware_is_hidden() -> None:
    """A host with a bus of cards, drivers and device nodes looks as if it had none."""
    code = """
from spoofs.files import REVEALING
paths = [path.replace("*", "0") for path in REVEALING] + [f"{path.rstrip('*')}/below" for path in REVEALING]
answer = [path for path in paths if os.path.lexists(path)]
try: os.listdir("/sys/bus/pci/devices")
except FileNotFoundError: answer.append("hidden")
"""
    assert ["hidden"] == asked(HardwareProfile("bare", files={"/etc/nv_tegra_release": None}), code)


def test_the_kernel_says_its_release_in_files_too() -> None:
    """https://github.com/vllm-project/vllm/issues/47387 is about machines whose release says that they are WSL."""
    release = "5.15.167.4-microsoft-standard-WSL2"
    code = """
answer = [open("/proc/version").read().split()[2], open("/proc/sys/kernel/osrelease").read().strip(),
          os.uname().release]
"""
    assert [release] * 3 == asked(HardwareProfile("wsl", release=release), code)


def test_files_are_in_no_child_that_is_not_python() -> None:
    """The limit that docs/limits.md leads with: the kernel answers them."""
    code = "import subprocess; answer = subprocess.run(['sh', '-c', 'test -e /etc/passwd']).returncode"
    assert 0 == asked(MACHINE, code)


@pytest.mark.parametrize("files", [{"proc/cpuinfo": "text"}, {"/proc/cpuinfo": 3}])
def test_a_file_that_is_no_path_to_text_is_refused(files: dict[str, object]) -> None:
    with pytest.raises(ProfileError, match="files: "):
        HardwareProfile("machine", files=files)
