"""What is recorded is replayed: on every machine, on this one, and on one with planted cards, tools and secrets."""

import re
import subprocess
import sys
import tomllib

import pytest

from spoofs import capture
from spoofs.profiles import CANARIES, MI300X, PROFILES, T4, HardwareProfile
from spoofs.record import fewest
from spoofs.scrub import Scrubber
from tests.spoofs.machines import PACKAGE, STARTUP, environment, run

RECORD = "from spoofs import record; print(record.text(), end='')"
ROOT = str(PACKAGE.parent)

# Machines on which a fact is easily lost, beside those of the table.
HARD = (
    HardwareProfile("no_torch", packages={"torch": None}),
    HardwareProfile(
        "broken_torch", torch_version="2.5.1", packages={"torch": {"error": "OSError: libcudart.so.12: gone"}}
    ),
    HardwareProfile(
        "old_torch", torch_version="2.2.2+cpu", torch_lacks=("torch.backends.cudnn", "torch.mps.is_available")
    ),
    HardwareProfile(
        "two_cards",
        torch_version="2.10.0+cu128",
        cuda_available=True,
        devices=(
            T4,
            {**T4, "free_memory": 1073741824, "integrated": True, "properties": {"warp_size": 16, "L2_cache_size": 7}},
        ),
        environment={"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    ),
    HardwareProfile("cards_of_two_makers", cuda_available=True, xpu_available=True, devices=(T4,)),
    HardwareProfile(
        "tools",
        hip_version="6.4",
        release="5.15.167.4-microsoft-standard-WSL2",
        processor="",
        tools={"clinfo": {"output": {"-l": "Platform #0\n"}, "status": 3}, "lspci": None, "rocminfo": {}},
        files={"/dev/dxg": "", "/etc/nv_tegra_release": "# R36 (release)\n"},
    ),
    HardwareProfile("no_driver", packages={"nvidia-ml-py": "13.595.45"}, nvml="DriverNotLoaded"),
    HardwareProfile("card_unseen", devices=({"name": "NVIDIA GB10", "capability": (12, 1)},), tools={"nvidia-smi": {}}),
    HardwareProfile(
        "broken_mlx",
        system="Darwin",
        machine="arm64",
        mps_available=True,
        mac_version="14.5",
        devices=({"name": "Apple M1 Max", "total_memory": 34359738368, "processors": 32},),
        packages={"mlx": {"version": "0.20.0", "error": "ImportError: libmlx.so", "at": "mlx.core"}},
    ),
)


def facts(text):
    """A recording without its comments."""
    return tomllib.loads(text)


def record(machine, **options):
    child = run(machine, RECORD, **options)
    assert (0, "") == (child.returncode, child.stderr)
    return child.stdout


@pytest.mark.parametrize("row", PROFILES + CANARIES + HARD, ids=lambda row: row.name)
def test_a_record_of_a_machine_is_its_row_and_replays_as_the_same_record(row, tmp_path):
    """The guarantee, field by field: and nothing but the comments tells the two recordings apart."""
    first = tmp_path / "first.toml"
    first.write_text(record(row))
    assert fewest(row) == capture.load(first)
    second = record(str(first))
    assert facts(first.read_text()) == facts(second)
    assert without_head(first.read_text()) == without_head(second)


def without_head(text):
    """What follows the comments about the recording itself."""
    head, _, rest = text.partition("\n\n")
    assert all(line.startswith("# ") for line in head.splitlines())
    return rest


def record_here(folder=None, env=None):
    """Record the real machine that the tests run on, with packages and tools of a folder on it."""
    more = {"PYTHONPATH": f"{folder}:{ROOT}" if folder else ROOT} | (env or {})
    child = run(None, ["-m", "spoofs", "record", "--name", "here"], env=more)
    assert (0, "") == (child.returncode, child.stderr)
    return child.stdout


def test_a_record_of_the_real_machine_replays_as_itself(tmp_path):
    """The spoof of this computer is this computer."""
    file = tmp_path / "here.toml"
    file.write_text(record_here())
    assert " on a real machine, with Python 3." in file.read_text().splitlines()[0]
    assert without_head(file.read_text()) == without_head(record(str(file)))


# A computer with two cards, as far as this project asks: a torch, and tools of the vendor.
UUIDS = ("5a1c0e1d-8c8b-4d6f-9f5e-2b7f6a3c9d01", "9b7d2f64-03ae-4c52-8d11-6e5f4a3b2c1d")
TORCH = f"""
import os
__version__ = "2.13.0+cu130"
class Namespace:
    def __init__(self, **names): self.__dict__.update(names)
version = Namespace(cuda="13.0", hip=None, xpu=None)
def masked():
    mask = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [0, 1] if mask is None else [{UUIDS!r}.index(each[4:]) for each in mask.split(",")]
def properties(index):
    index = masked()[index]
    return Namespace(name="NVIDIA GeForce RTX 3090", major=8, minor=6, total_memory=25769803776 + index,
        multi_processor_count=82, is_integrated=0, uuid={UUIDS!r}[index], pci_bus_id=0x4b,
        gcnArchName="NVIDIA GeForce RTX 3090")
cuda = Namespace(is_available=lambda: True, device_count=lambda: len(masked()), get_device_properties=properties,
    mem_get_info=lambda index: (25000000000, 25769803776))
"""
SMI = f"""#!/bin/sh
case "$*" in
-L) echo "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-{UUIDS[0]})"
    echo "GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-{UUIDS[1]})";;
"") echo "Fri Nov 27 10:15:42 2026   Driver Version: 580.95.05"
    echo "| 0  NVIDIA GeForce RTX 3090  Off | 00000000:4B:00.0 Off |"
    echo "| 1  NVIDIA GeForce RTX 3090  Off | 00000000:B1:00.0 Off |"
    echo "| 4242 C /home/plantedname/bin/python as $USER on $(hostname) in $HOME |";;
*) exit 3;;
esac
"""
LSPCI = """#!/bin/sh
echo "00:1f.3 Audio device: Intel Corporation"
echo "4b:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090]"
echo "4b:00.1 Audio device: NVIDIA Corporation GA102"
echo "  Serial Number: 1A2B3C4D5E, MAC 0c:42:a1:5b:77:9e, at 10.11.12.13 and fe80::e42:a1ff:fe5b:779e"
"""


@pytest.fixture
def computer(tmp_path):
    """A folder that goes on PATH and PYTHONPATH, and an environment: a computer with two cards and a name."""
    folder = tmp_path / "computer"
    folder.mkdir()
    (folder / "torch.py").write_text(TORCH)
    for name, script in (("nvidia-smi", SMI), ("lspci", LSPCI)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    env = {"USER": "plantedname", "HOME": "/home/plantedname", "HOSTNAME": "planted-box.example.org"}
    return folder, env | {"PATH": f"{folder}:/usr/bin:/bin"}


SECRETS = ("planted", *UUIDS, "4B:00", "4b:00", "B1:00", "1A2B3C4D5E", "0c:42:a1", "10.11.12.13", "fe80", "e42:a1ff")


def test_nothing_that_tells_a_person_or_a_computer_apart_is_recorded(computer):
    """Names, homes, serials, UUIDs and addresses are planted in all that is asked; none is found."""
    folder, env = computer
    planted = run(
        None,
        ["-c", "import subprocess; print(*map(subprocess.getoutput, ('nvidia-smi', 'nvidia-smi -L', 'lspci')))"],
        env=env,
    )
    assert [] == [secret for secret in SECRETS[:-2] if secret not in planted.stdout]
    text = record_here(folder, env | {"CUDA_VISIBLE_DEVICES": f"GPU-{UUIDS[1]}"})
    assert [] == [secret for secret in SECRETS if secret in text]
    host = subprocess.run(["hostname"], capture_output=True, text=True, check=False).stdout.strip()
    assert [] == re.findall(rf"\b{re.escape(host or 'unnamed')}\b", text)
    assert "as user on host in /home/user" in text
    assert "Driver Version: 580.95.05" in text


def test_what_is_equal_stays_equal(computer, tmp_path):
    """A mask by UUID names the same card of the replayed machine, and what the tools print names it too."""
    folder, env = computer
    file = tmp_path / "here.toml"
    file.write_text(record_here(folder, env | {"CUDA_VISIBLE_DEVICES": f"GPU-{UUIDS[1]}"}))
    code = """
import os, subprocess, torch
mask = os.environ['CUDA_VISIBLE_DEVICES']
print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).total_memory)
print('GPU-' + str(torch.cuda.get_device_properties(0).uuid) == mask)
print(mask in subprocess.getoutput('nvidia-smi -L').splitlines()[1])
"""
    child = run(str(file), code)
    assert ["1 25769803777", "True", "True"] == child.stdout.splitlines(), child.stderr


def test_the_raw_output_of_the_tools_is_recorded_and_replayed(computer, tmp_path):
    """What a tool would print anyhow, as the list of the cards, need not be stated."""
    folder, env = computer
    file = tmp_path / "here.toml"
    file.write_text(record_here(folder, env))
    (said,) = facts(file.read_text())["tools"]["nvidia-smi"]["output"].values()
    assert said.startswith("Fri Nov 27 10:15:42 2026   Driver Version: 580.95.05\n")
    child = run(
        str(file), "import subprocess; print(subprocess.getoutput('nvidia-smi'), subprocess.getoutput('nvidia-smi -L'))"
    )
    assert child.stdout.startswith(said.rstrip("\n") + " GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-")
    assert without_head(file.read_text()) == without_head(record(str(file)))


def test_a_probe_that_fails_is_a_comment_and_the_rest_is_recorded(tmp_path):
    """A library that dies takes its own interpreter with it, and no more; a card that is lost hides no other fact."""
    (tmp_path / "torch.py").write_text("import os; os.write(2, b'Fatal: illegal instruction\\n'); os.abort()")
    (tmp_path / "amdsmi.py").write_text("raise KeyError('libamd_smi.so')")
    (tmp_path / "lspci").write_text("#!/nowhere/interpreter\n")
    (tmp_path / "lspci").chmod(0o755)
    text = record_here(tmp_path, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert "# torch: Fatal: illegal instruction\n" in text
    assert "# lspci : No such file or directory\n" in text
    assert {"version": "0", "error": "KeyError: 'libamd_smi.so'"} == facts(text)["packages"]["amdsmi"]


def test_a_tool_that_prints_what_is_no_text_is_recorded(tmp_path):
    (tmp_path / "clinfo").write_text("#!/bin/sh\nprintf 'Platform \\377\\033[1m\\000'\n")
    (tmp_path / "clinfo").chmod(0o755)
    said = facts(record_here(tmp_path, {"PATH": f"{tmp_path}:/usr/bin:/bin"}))["tools"]["clinfo"]["output"]
    assert {"-l": "Platform \ufffd\x1b[1m\x00"} == said


def test_a_device_that_fails_leaves_the_facts_of_its_torch(computer):
    folder, env = computer
    (folder / "torch.py").write_text(
        TORCH + "\ndef lost(index): raise RuntimeError('CUDA error: lost')\ncuda.mem_get_info = lost"
    )
    text = record_here(folder, env)
    assert "# torch.cuda: RuntimeError: CUDA error: lost\n" in text
    assert "2.13.0+cu130" == facts(text).get("torch_version", "2.13.0+cu130")
    assert facts(text)["cuda_available"]


REDUNDANT = {
    "torch's version": (HardwareProfile("x", torch_version="2.13.0+cpu"), {}),
    "CUDA by the tag": (
        HardwareProfile("x", cuda_available=True, cuda_version="12.8", torch_version="2.10.0+cu128"),
        {"cuda_available": True, "torch_version": "2.10.0+cu128"},
    ),
    "capability by the architecture": (
        HardwareProfile("x", cuda_available=True, hip_version="6.1", devices=({**MI300X, "capability": (9, 4)},)),
        {"cuda_available": True, "hip_version": "6.1", "devices": (MI300X,)},
    ),
    "absent by default": (
        HardwareProfile("x", packages={"mlx": None, "mlx-lm": "0.3"}),
        {"packages": {"mlx-lm": "0.3"}},
    ),
    "kernel": (HardwareProfile("x", system="Darwin", release="24.6.0", processor="i386"), {"system": "Darwin"}),
}


@pytest.mark.parametrize(("row", "stated"), REDUNDANT.values(), ids=REDUNDANT.keys())
def test_facts_that_follow_from_others_are_not_stated(row, stated):
    assert stated == fewest(row).facts()


@pytest.mark.parametrize("row", PROFILES + CANARIES, ids=lambda row: row.name)
def test_the_rows_of_the_table_state_no_fact_that_follows(row):
    assert row == fewest(row), f"some facts of {row.name} follow from the others; this is the same machine"


def test_a_name_that_is_none_is_refused():
    child = run(None, ["-m", "spoofs", "record", "--name", "my machine"], env={"PYTHONPATH": ROOT})
    assert (97, "") == (child.returncode, child.stdout)
    assert ["profile 'my machine': name: a name is an identifier, as in 'amd_rocm'"] == child.stderr.splitlines()


REPLACED = {
    "GPU-5a1c0e1d-8c8b-4d6f-9f5e-2b7f6a3c9d01": "GPU-00000000-0000-4000-8000-000000000001",
    "GPU-ffffffff-1111-2222-3333-444444444444": "GPU-cards-own",
    "Uuid: GPU-73d8c2c2ab5d8bc4": "Uuid: GPU-0000000000000001",
    '"unique_id": "0x73d8c2c2ab5d8bc4"': '"unique_id": "0x0000000000000001"',
    "MIG-5A1C0E1D-8C8B-4D6F-9F5E-2B7F6A3C9D01": "MIG-00000000-0000-4000-8000-000000000001",
    "link/ether 0c:42:a1:5b:77:9e brd": "link/ether 02:00:00:00:00:01 brd",
    "eth 0C-42-A1-5B-77-9E": "eth 02:00:00:00:00:01",
    "inet 10.1.2.3/24, 172.16.0.9": "inet 192.0.2.1/24, 192.0.2.2",
    "inet6 fe80::1:2 and 2001:0db8:1:2:3:4:5:6": "inet6 2001:db8::1 and 2001:db8::2",
    "00000000:4B:00.0 4b:00.1 0000:b1:00.0": "00000000:01:00.0 01:00.1 0000:02:00.0",
    "00:02.0 00:1f.3 00:02.1": "00:00.0 00:01.3 00:00.1",
    "Serial Number (system): C02XG2JHJGH5": "Serial Number (system): 000000000000",
    '"serial_number": "1654922006536"': '"serial_number": "0000000000000"',
    "Board Serial=1A2B-3C": "Board Serial=0000000",
    "/home/jane/venv /Users/Jane.Doe/x '/home/jane'": "/home/user/venv /Users/user/x '/home/user'",
    "jane@thebox:~ thebox.lan": "user@host:~ host.lan",
}
KEPT = (
    "5.15.167.4-microsoft-standard-WSL2",
    "Driver Version: 580.95.05  CUDA Version: 13.0",
    "13.580.82.07",
    "32.0.101.6129 (Windows driver)",
    "torch 2.13.0+cu130.1.2.3",
    "Fri Nov 27 10:15:42 2026",
    "127.0.0.1 0.0.0.0",
    "std::vector<a::b> at::cuda",
    "gfx942:sramecc+:xnack-",
    "Size: 50331648(0x3000000) KB",
    "Serial Number: N/A",
    "GPU 0: NVIDIA GeForce RTX 3090, 8.6, 24576 MiB",
    "janeway theboxer my-jane",
    "[10de:2204] (rev a1)",
)


@pytest.mark.parametrize("text", [*REPLACED, *KEPT])
def test_secrets_are_replaced_once_and_for_all_and_nothing_else_is(text):
    """What has been replaced is kept by the next recording."""

    def scrubber():
        return Scrubber(
            {"jane": "user", "thebox": "host", "root": "user"}, {"ffffffff-1111-2222-3333-444444444444": "cards-own"}
        )

    assert REPLACED.get(text, text) == scrubber().text(text)
    assert REPLACED.get(text, text) == scrubber().text(REPLACED.get(text, text))


# The suite on the real machine


def collect(machine, python=sys.executable):
    """Start pytest on the real machine that a profile describes, and only collect."""
    env = environment(str(machine), {"HARDWARE_PROFILE_REAL": "1"})
    command = [python, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests/spoofs/test_capture.py"]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)


def test_on_the_real_machine_nothing_is_spoofed_and_the_facts_are_those_recorded(tmp_path):
    file = tmp_path / "here.toml"
    file.write_text(record_here())
    code = "import platform, spoofs; print(spoofs.active.real, spoofs.active.patched, platform.release())"
    release = subprocess.run(["uname", "-r"], capture_output=True, text=True, check=False).stdout
    assert f"True [] {release}" == run(str(file), code, env={"HARDWARE_PROFILE_REAL": "1"}).stdout
    assert 0 == collect(file).returncode


def test_a_machine_that_is_not_the_profiles_is_refused_by_fact(tmp_path):
    """One line, before any test."""
    child = collect("apple_silicon_mlx")
    assert 4 == child.returncode
    (line,) = [line for line in child.stderr.splitlines() if line]
    assert line.startswith(
        "ERROR: this machine is not apple_silicon_mlx: system: apple_silicon_mlx has 'Darwin', this "
    )
    assert "; mps_available: apple_silicon_mlx has True, this machine has False; " in line
    assert STARTUP not in line
