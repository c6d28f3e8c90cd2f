"""The tools on PATH are the machine's: there where it has them, and in agreement with what torch says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from spoofs import tools
from spoofs.profiles import CANARIES, PROFILES, T4, HardwareProfile, find
from tests.spoofs.machines import run

every_machine = pytest.mark.parametrize("profile", PROFILES + CANARIES, ids=lambda profile: profile.name)

ROCM = {"rocminfo", "amd-smi", "rocm-smi"}
LINUX = {"sysctl", "lspci"}
DARWIN = {"sysctl", "system_profiler"}
# Literally, for the machines that the table must hold.
HAS = {
    "nvidia_cuda": LINUX | {"nvidia-smi"},
    "amd_rocm": LINUX | ROCM,
    "intel_xpu": LINUX | {"xpu-smi"},
    "apple_silicon_mlx": DARWIN,
    "apple_silicon_no_mlx": DARWIN,
    "linux_arm64_with_mlx": LINUX,
    "cpu_only": LINUX,
    "canary_cuda_over_mlx": DARWIN | {"nvidia-smi"},
    "canary_xpu_over_mlx": DARWIN | {"xpu-smi"},
}
CARDS = (
    T4 | {"uuid": "GPU-11111111-2222-3333-4444-555555555555", "bus": "0000:3b:00.0"},
    {"name": "NVIDIA H100 80GB HBM3", "capability": (9, 0), "total_memory": 85 * 10**9, "free_memory": 80 * 10**9},
)
TWO = HardwareProfile("two_cards", cuda_available=True, devices=CARDS)
GFX1100 = {"name": "AMD Radeon RX 7900 XTX", "arch": "gfx1100", "total_memory": 24 * 1024**3}


def printed(profile: HardwareProfile, command: str) -> str:
    """What a tool of the machine prints, asked without a child."""
    tool, *arguments = command.split()
    status, output, errors, _ = tools.run(profile, tool, arguments)
    assert (0, "") == (status, errors)
    assert isinstance(output, str)
    return output


def asked(machine: object, code: str, **options: Any) -> Any:
    """What code in a child on the machine leaves in `answer`."""
    child = run(machine, f"import json, os, shutil, subprocess, sys\n{code}\nprint(json.dumps(answer))", **options)
    assert (0, "") == (child.returncode, child.stderr)
    return json.loads(child.stdout)


def test_each_tool_is_an_executable_alone_in_its_folder() -> None:
    """The folder goes on PATH, so that anything else in it would be on PATH too."""
    folders = {
        path.name: [each.name for each in path.iterdir()] for path in Path(tools.STANDINS).iterdir() if path.is_dir()
    }
    folders.pop("__pycache__", None)
    assert {tool: [tool] for tool in tools.TOOLS} == folders
    for tool in tools.TOOLS:
        assert os.access(Path(tools.STANDINS, tool, tool), os.X_OK)


@pytest.mark.parametrize("name", HAS)
def test_a_machine_has_the_tools_of_its_hardware(name: str) -> None:
    """`shutil.which`, and `command -v` of a shell that it starts, find these and no others."""
    code = f"""
tools = {list(tools.TOOLS)!r}
shell = "for tool in " + " ".join(tools) + "; do command -v $tool; done"
lines = subprocess.run(["sh", "-c", shell], capture_output=True, text=True).stdout.splitlines()
answer = [[tool for tool in tools if shutil.which(tool)], [os.path.basename(line) for line in lines]]
"""
    which, shell = asked(find(name), code)
    assert HAS[name] == set(which)
    assert HAS[name] == set(shell)


@pytest.mark.parametrize(
    "profile", [find("nvidia_cuda"), TWO, find("canary_cuda_over_mlx")], ids=lambda profile: profile.name
)
def test_nvidia_smi_agrees_with_torch(profile: HardwareProfile) -> None:
    """Every card has one name, UUID, memory, capability and bus, whichever way it is asked."""
    code = """
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
import torch
fields = "--query-gpu=index,name,uuid,memory.total,memory.free,compute_cap"
command = ["nvidia-smi", fields, "--format=csv,noheader,nounits"]
rows = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.splitlines()
said = []
for index in range(torch.cuda.device_count()):
    card = torch.cuda.get_device_properties(index)
    free, total = torch.cuda.mem_get_info(index)
    uuid = str(card.uuid)
    uuid = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
    said.append([index, card.name, uuid, total // 2**20, free // 2**20, f"{card.major}.{card.minor}"])
answer = [rows, listed, said]
"""
    rows, listed, said = asked(profile, code)
    assert [", ".join(map(str, row)) for row in said] == rows
    assert [f"GPU {row[0]}: {row[1]} (UUID: {row[2]})" for row in said] == listed


def test_rocm_tools_agree_with_torch() -> None:
    code = """
import re, torch
card = torch.cuda.get_device_properties(0)
def out(*command): return subprocess.run(command, capture_output=True, text=True).stdout
agent = out("rocminfo").split("Agent 2")[1]
static = json.loads(out("amd-smi", "static", "--json"))[0]
metric = json.loads(out("amd-smi", "metric", "--json"))[0]["mem_usage"]
product = json.loads(out("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json"))["card0"]
free, total = torch.cuda.mem_get_info(0)
gfx = card.gcnArchName.partition(":")[0]
answer = [
    [card.name, gfx, total // 2**20, total],
    [re.search("Marketing Name: +(.*)", agent)[1], re.search(" Name: +(.*)", agent)[1],
     int(re.search("      Size: +([0-9]+)", agent)[1]) // 2**10, total],
    [static["asic"]["market_name"], static["asic"]["target_graphics_version"], static["vram"]["size"]["value"], total],
    [product["Card Series"], product["GFX Version"], metric["total_vram"]["value"],
     int(product["VRAM Total Memory (B)"])],
]
"""
    machine = HardwareProfile("radeon", cuda_available=True, hip_version="6.4", devices=(GFX1100,))
    torch, *answers = asked(machine, code)
    assert [torch] * 3 == answers


def test_xpu_smi_agrees_with_torch() -> None:
    code = """
import torch
card = torch.xpu.get_device_properties(0)
def out(*command): return subprocess.run(command, capture_output=True, text=True).stdout
listed = json.loads(out("xpu-smi", "discovery", "-j"))["device_list"]
details = json.loads(out("xpu-smi", "discovery", "-d", "0", "-j"))
answer = [[card.name], [each["device_name"] for each in listed],
          [card.total_memory, int(details["memory_physical_size_byte"])], card.name in out("xpu-smi", "discovery")]
"""
    torch, listed, (memory, tool), in_table = asked("intel_xpu", code)
    assert (torch, memory, True) == (listed, tool, in_table)


def test_masks_hide_nothing_from_nvidia_smi() -> None:
    """It asks NVML, which no mask of CUDA's reaches."""
    code = "answer = subprocess.run(['nvidia-smi', '-L'], capture_output=True, text=True).stdout.count('GPU ')"
    assert 2 == asked(TWO, f"os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n{code}")


def test_rocminfo_heeds_the_runtimes_mask_and_disguise() -> None:
    """Both belong to the runtime that it asks; amd-smi asks the driver."""
    machine = HardwareProfile(
        "two", cuda_available=True, hip_version="6.4", devices=(GFX1100, GFX1100 | {"arch": "gfx1200"})
    )
    code = """
def out(*command): return subprocess.run(command, capture_output=True, text=True).stdout
def agents(): return [line.split()[1] for line in out("rocminfo").splitlines() if line.startswith("  Name:")][1:]
answer = [agents()]
os.environ["ROCR_VISIBLE_DEVICES"] = "1"
answer.append(agents())
os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"
answer.append(agents())
answer.append(out("amd-smi", "list").count("GPU:"))
"""
    assert [["gfx1100", "gfx1200"], ["gfx1200"], ["gfx1030"], 2] == asked(machine, code)


@pytest.mark.parametrize(
    ("driver", "header", "width"),
    [
        ("470.256.02", "| NVIDIA-SMI 470.256.02 Driver Version: 470.256.02 CUDA Version: 11.4 |", 79),
        ("535.183.01", "| NVIDIA-SMI 535.183.01 Driver Version: 535.183.01 CUDA Version: 12.2 |", 89),
        ("570.133.20", "| NVIDIA-SMI 570.133.20 Driver Version: 570.133.20 CUDA Version: 12.8 |", 91),
        ("610.43.02", "| NVIDIA-SMI 610.43.02 KMD Version: 610.43.02 CUDA UMD Version: 13.3 |", 91),
    ],
)
def test_nvidia_smi_prints_the_table_of_its_generation(driver: str, header: str, width: int) -> None:
    machine = HardwareProfile("one", cuda_available=True, devices=(T4 | {"driver": driver},))
    lines = printed(machine, "nvidia-smi").splitlines()
    assert header == " ".join(lines[2].split())
    assert {width} == {len(line) for line in lines[1:]}
    assert any("Tesla T4" in line for line in lines)


@pytest.mark.parametrize("cuda", ["11.8", "12.4", "12.8", "13.0"])
def test_the_driver_of_a_machine_runs_its_cuda(cuda: str) -> None:
    machine = HardwareProfile("one", cuda_available=True, cuda_version=cuda, devices=(T4,))
    assert f" CUDA Version: {cuda} " in printed(machine, "nvidia-smi")


def test_an_old_driver_knows_no_compute_cap() -> None:
    """The field came with R510."""
    machine = HardwareProfile("one", cuda_available=True, devices=(T4 | {"driver": "470.256.02"},))
    status, output, *_ = tools.run(machine, "nvidia-smi", ["--query-gpu=compute_cap", "--format=csv"])
    assert (2, 'Field "compute_cap" is not a valid field to query.') == (status, output.strip())


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("csv", "index, memory.total [MiB]\n0, 15095 MiB\n"),
        ("csv,nounits", "index, memory.total\n0, 15095\n"),
        ("csv,noheader", "0, 15095 MiB\n"),
        ("csv,noheader,nounits", "0, 15095\n"),
    ],
)
def test_nvidia_smi_queries_in_every_form(form: str, expected: str) -> None:
    assert expected == printed(find("nvidia_cuda"), f"nvidia-smi --query-gpu=index,memory.total --format={form}")


def test_nvidia_smi_asks_one_card_by_index_uuid_or_bus() -> None:
    query = "nvidia-smi --query-gpu=name --format=csv,noheader"
    assert "NVIDIA H100 80GB HBM3\n" == printed(TWO, f"{query} -i 1")
    assert "Tesla T4\n" == printed(TWO, f"{query} --id={CARDS[0]['uuid']}")
    assert "Tesla T4\n" == printed(TWO, f"{query} -i 00000000:3B:00.0")
    assert (6, "No devices were found\n") == tools.run(TWO, "nvidia-smi", ["-i", "7"])[:2]


def test_nvidia_smi_logs_as_text_and_as_xml() -> None:
    from xml.etree import ElementTree

    cards = ElementTree.fromstring(printed(TWO, "nvidia-smi -q -x")).findall("gpu")
    assert [card["name"] for card in CARDS] == [card.findtext("product_name") for card in cards]
    assert ["15095 MiB", "81062 MiB"] == [card.findtext("fb_memory_usage/total") for card in cards]
    assert ["Tesla T4", "NVIDIA H100 80GB HBM3"] == re.findall("Product Name +: (.*)", printed(TWO, "nvidia-smi -q"))


def test_nvidia_smi_refuses_what_it_does_not_know() -> None:
    assert 2 == tools.run(TWO, "nvidia-smi", ["--no-such-option"])[0]
    assert 2 == tools.run(TWO, "nvidia-smi", ["--query-gpu=no.such.field", "--format=csv"])[0]
    assert 1 == tools.run(TWO, "nvidia-smi", ["--query-gpu=name"])[0]


def test_nvidia_smi_draws_the_topology_of_every_pair() -> None:
    header, *rows = printed(TWO, "nvidia-smi topo -m").splitlines()[:3]
    assert ["GPU0", "GPU1"] == header.split()[:2]
    assert [["GPU0", "X", "PHB"], ["GPU1", "PHB", "X"]] == [row.split()[:3] for row in rows]


@pytest.mark.parametrize(
    ("error", "status"), [("DriverNotLoaded", 9), ("LibraryNotFound", 12), ("LibRmVersionMismatch", 18)]
)
def test_nvidia_smi_fails_as_nvml_does(error: str, status: int) -> None:
    machine = HardwareProfile("one", cuda_available=True, devices=(T4,), nvml=error)
    assert status == tools.run(machine, "nvidia-smi", ["-L"])[0]


@pytest.mark.parametrize(
    ("rocm", "generic", "envelope", "ids", "tool"),
    [
        ("6.0", False, list, False, "23.4.2"),
        ("6.1", True, list, False, "24.5.1"),
        ("6.4", True, list, True, "25.3.0"),
        ("7.0", True, dict, True, "26.0.0"),
    ],
)
def test_rocm_tools_print_in_the_form_of_their_release(
    rocm: str, generic: bool, envelope: type, ids: bool, tool: str
) -> None:
    """Generic ISAs since 6.1, HIP's ids since 6.4, an envelope around the JSON since 7.0."""
    machine = HardwareProfile("one", cuda_available=True, hip_version=rocm, devices=(GFX1100,))
    assert generic == ("gfx11-generic" in printed(machine, "rocminfo"))
    assert envelope is type(json.loads(printed(machine, "amd-smi static --json")))
    assert list is type(json.loads(printed(machine, "amd-smi list --json")))
    assert (0 if ids else 2) == tools.run(machine, "amd-smi", ["list", "-e"])[0]
    versions = f"AMDSMI Tool: {tool} | AMDSMI Library version: {tool} | ROCm version: {rocm}.0\n"
    assert versions == printed(machine, "amd-smi version")
    key = "Card series" if rocm == "6.0" else "Card Series"
    assert GFX1100["name"] == json.loads(printed(machine, "rocm-smi --showproductname --json"))["card0"][key]


def test_darwin_tells_its_chip_and_memory() -> None:
    machine = find("apple_silicon_mlx")
    assert "1\n" == printed(machine, "sysctl -n hw.optional.arm64")
    assert "hw.memsize: 17179869184\n" == printed(machine, "sysctl hw.memsize")
    chip = printed(machine, "sysctl -n machdep.cpu.brand_string").strip()
    displays = json.loads(printed(machine, "system_profiler SPDisplaysDataType -json"))["SPDisplaysDataType"]
    assert [chip] == [display["sppci_model"] for display in displays]
    assert f"Chipset Model: {chip}" in printed(machine, "system_profiler SPDisplaysDataType")
    assert (1, "", "sysctl: unknown oid 'hw.nothing'\n", 0) == tools.run(machine, "sysctl", ["-n", "hw.nothing"])


def test_an_intel_mac_knows_nothing_of_arm64() -> None:
    machine = HardwareProfile("intel_mac", system="Darwin", machine="x86_64")
    assert 1 == tools.run(machine, "sysctl", ["-n", "hw.optional.arm64"])[0]


def test_linux_has_no_names_of_darwins() -> None:
    machine = find("cpu_only")
    error = "sysctl: cannot stat /proc/sys/hw/memsize: No such file or directory\n"
    assert (1, "", error, 0) == tools.run(machine, "sysctl", ["-n", "hw.memsize"])
    assert "kernel.ostype = Linux\n" == printed(machine, "sysctl kernel.ostype")


def test_lspci_lists_every_card_in_every_form() -> None:
    laptop = HardwareProfile(
        "laptop",
        cuda_available=True,
        devices=(T4, {"name": "AMD Radeon 780M", "arch": "gfx1103"}, {"name": "Intel(R) Arc(TM) A770 Graphics"}),
    )
    lines = printed(laptop, "lspci -nn").splitlines()
    form = re.compile(r" (?:VGA compatible|3D) controller \[030[02]\]: .*? \[(\w+):\w+\]$")
    assert {"10de", "1002", "8086"} == {found[1] for found in map(form.search, lines[1:]) if found}
    assert 4 == len(printed(laptop, "lspci -mm").splitlines())
    assert all(line.startswith("0000:") for line in printed(laptop, "lspci -D").splitlines())


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (None, None),
        ("any text\n", [0, "any text\n"]),
        ({"status": 9, "output": "NVIDIA-SMI has failed\n"}, [9, "NVIDIA-SMI has failed\n"]),
        ({"status": 3}, [3, "GPU 0: Tesla T4 (UUID: GPU-1)\n"]),
        ({"output": {"-L": "GPU 0: as recorded\n"}}, [0, "GPU 0: as recorded\n"]),
        ({"output": {"-q": "not asked"}}, [0, "GPU 0: Tesla T4 (UUID: GPU-1)\n"]),
        ({}, [0, "GPU 0: Tesla T4 (UUID: GPU-1)\n"]),
    ],
    ids=["absent", "text", "failing", "status alone", "by arguments", "other arguments", "as the facts say"],
)
def test_a_row_states_what_a_tool_does(state: Any, expected: list[object] | None) -> None:
    machine = HardwareProfile(
        "stated", cuda_available=True, devices=(T4 | {"uuid": "GPU-1"},), tools={"nvidia-smi": state}
    )
    code = """
try:
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    answer = [done.returncode, done.stdout]
except FileNotFoundError:
    answer = None
"""
    assert expected == asked(machine, code)


def test_a_slow_tool_runs_into_the_callers_timeout() -> None:
    """And is gone then: the interpreter that sleeps is the process that was started."""
    machine = HardwareProfile("slow", tools={"rocminfo": {"seconds": 3600}})
    code = """
child = subprocess.Popen(["rocminfo"])
try:
    child.wait(0.3)
except subprocess.TimeoutExpired:
    child.kill()
answer = child.wait()
"""
    assert -9 == asked(machine, code)


def test_a_tool_without_a_stand_in_is_refused() -> None:
    child = run(HardwareProfile("typo", tools={"nvidia-sm": "text"}), "pass")
    assert 97 == child.returncode
    assert "'nvidia-sm' has no stand-in; did you mean 'nvidia-smi'?" in child.stderr


def test_a_tool_in_a_cleared_environment_says_so() -> None:
    """Without HARDWARE_PROFILE it cannot know the machine, and must not pass for the host's."""
    code = """
done = subprocess.run(["nvidia-smi"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
print(json.dumps([done.returncode, done.stdout, done.stderr]))
"""
    child = run("nvidia_cuda", f"import json, os, subprocess\n{code}")
    status, output, errors = json.loads(child.stdout)
    assert (97, "") == (status, output)
    assert "HARDWARE_PROFILE is not set" in errors


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    """The environment of a host that has every tool in one folder, beside a program and above a library of its own."""
    programs = tmp_path / "host" / "bin"
    programs.mkdir(parents=True)
    for name in [*tools.TOOLS, "program"]:
        (programs / name).write_text('#!/bin/sh\necho "the host\'s ${0##*/}: $(cat "$(dirname "$0")/../lib/text")"\n')
        (programs / name).chmod(0o755)
    (tmp_path / "host" / "lib").mkdir()
    (tmp_path / "host" / "lib" / "text").write_text("hello")
    (tmp_path / "temporary").mkdir()
    return {"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(tmp_path / "temporary")}


@every_machine
def test_a_tool_of_the_host_is_never_seen(profile: HardwareProfile, host: dict[str, str]) -> None:
    """Neither where the machine has one of its own, nor where it has none; other programs of the folder stay."""
    code = f"""
def out(*command):
    try: return subprocess.run(command, capture_output=True, text=True).stdout
    except FileNotFoundError: return None
outputs = {{tool: out(tool) for tool in {list(tools.TOOLS)!r}}}
answer = [sorted(tool for tool in outputs if outputs[tool] is not None), "host" in str(outputs), out("program")]
"""
    has = HAS.get(profile.name, {tool for tool in tools.TOOLS if tools.has(profile, tool)})
    assert [sorted(has), False, "the host's program: hello\n"] == asked(profile, code, env=host)


def test_a_child_on_another_machine_sees_that_ones_tools(host: dict[str, str]) -> None:
    """Whichever machine its parent was: the folders of that one leave PATH, and hidden ones are chosen anew."""
    code = """
inner = "import shutil; print([tool for tool in ('nvidia-smi', 'rocminfo', 'program') if shutil.which(tool)])"
child = dict(os.environ, HARDWARE_PROFILE="amd_rocm")
answer = subprocess.run([sys.executable, "-c", inner], env=child, capture_output=True, text=True).stdout
"""
    for parent in ("cpu_only", "nvidia_cuda", "amd_rocm"):
        assert "['rocminfo', 'program']\n" == asked(parent, code, env=host)


def test_a_folder_is_copied_once_and_privately(host: dict[str, str]) -> None:
    where = 'answer = os.environ["PATH"].split(":")'
    first, second = (asked("cpu_only", where, env=host) for _ in range(2))
    assert first == second
    copies = [entry for entry in first if entry.startswith(host["TMPDIR"])]
    assert 1 == len(copies)
    (private,) = Path(host["TMPDIR"]).iterdir()
    assert 0o700 == private.stat().st_mode & 0o777


def test_a_changed_folder_is_copied_anew(host: dict[str, str]) -> None:
    code = "answer = shutil.which('added') is not None"
    assert not asked("cpu_only", code, env=host)
    added = Path(host["PATH"].partition(":")[0], "added")
    added.write_text("#!/bin/sh\n")
    added.chmod(0o755)
    assert asked("cpu_only", code, env=host)


def test_a_private_folder_that_others_can_enter_is_refused(host: dict[str, str]) -> None:
    """They could put programs into it."""
    private = Path(host["TMPDIR"], f"hardware-profile-{os.getuid()}")
    private.mkdir()
    private.chmod(0o777)
    child = run("cpu_only", "pass", env=host)
    assert (97, "") == (child.returncode, child.stdout)
    assert f"{private}: must be a folder of yours" in child.stderr


def test_nothing_is_written_where_the_host_has_nothing_to_hide(tmp_path: Path) -> None:
    asked("cpu_only", "answer = None", env={"PATH": "/nonexistent", "TMPDIR": str(tmp_path)})
    assert [] == list(tmp_path.iterdir())


def test_a_virtual_environment_works_from_its_copy(tmp_path: Path) -> None:
    """ROCm's own wheels put rocminfo beside the interpreter, which finds its packages from where it lies."""
    import venv

    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    (home / "bin" / "rocminfo").write_text("#!/bin/sh\n")
    (home / "bin" / "rocminfo").chmod(0o755)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "only_there.py").write_text("")
    code = """
done = subprocess.run(["python", "-c", "import only_there"], capture_output=True, text=True)
answer = [shutil.which("rocminfo"), done.returncode, done.stderr]
"""
    env = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    assert [None, 0, ""] == asked("cpu_only", code, env=env)
