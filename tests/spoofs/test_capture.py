"""A machine in a file is the machine again, and a file that is none is refused in one line."""

import tomllib

import pytest

from spoofs.capture import dump, load
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile, ProfileError
from tests.spoofs.field_cases import CASES
from tests.spoofs.machines import run

ODD = [
    HardwareProfile("empty_texts", processor="", environment={"CUDA_VISIBLE_DEVICES": ""}, files={"/etc/x": ""}),
    HardwareProfile(
        "odd_texts",
        release='"quoted" \\ and\ttabbed',
        files={"/proc/version": "\n\nfirst\r\n'''\n\"\"\"\nlast without an end", "/etc/é": "\x00\x1b[1m\x7f\U0001d518"},
        environment={"A B": "1", "é": "2", "c": ""},
    ),
    HardwareProfile("absent", packages={"torch": None, "a.b": "1.0"}, tools={"lspci": None}, files={"/dev/kfd": None}),
    HardwareProfile(
        "nested",
        packages={"mlx": {"version": "0.20", "error": "ImportError: libmlx.so", "at": "mlx.core"}},
        tools={"nvidia-smi": {"output": {"-L": "GPU 0\nGPU 1\n", "": ""}, "status": 9, "seconds": 0.5}, "lspci": "x"},
        xpu_available=True,
        devices=({"name": "A", "properties": {"sizes": (16, 32), "wide": True}}, {"name": "B", "integrated": False}),
        torch_lacks=("torch.xpu", "torch.accelerator"),
    ),
]
ROWS = {row.name: row for row in [*PROFILES, *CANARIES, *ODD, *(case.machine for case in CASES)]}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_machine_written_and_read_is_equal(row, tmp_path):
    file = tmp_path / "machine.toml"
    file.write_bytes(dump(row).encode())
    assert row == load(file)
    assert repr(row) == repr(load(str(file)))


@pytest.mark.parametrize("row", ODD, ids=lambda row: row.name)
def test_a_written_machine_has_one_fact_a_line(row):
    """A person reads the file, and edits it: tables for what has names of its own, plain lines for the rest."""
    facts = tomllib.loads(dump(row))
    assert ["name", *row.facts()] == sorted(facts, key=["name", *row.facts()].index)


def test_a_file_without_a_name_is_named_by_its_own(tmp_path):
    file = tmp_path / "2 cards, ROCm-6.toml"
    file.write_text("hip_version = '6.4'\n")
    assert HardwareProfile("_2_cards__ROCm_6", hip_version="6.4") == load(file)


BAD = {
    "no TOML": (
        "system = Linux",
        "is no TOML: Invalid value (at line 1, column 10); mend that line or record the file anew",
    ),
    "no text": (b"\xff\xfe", "is no TOML: 'utf-8' codec can't decode byte"),
    "unknown fact": ("cuda_availble = true", "cuda_availble: no such fact; did you mean 'cuda_available'?"),
    "wrong type": ("cuda_available = 'yes'", "cuda_available: 'yes' is a str; the default is False"),
    "table for a text": ("[release]\na = 1", "release: {'a': 1} is a dict; the default is None"),
    "text for a table": ("packages = 'mlx'", "packages: 'mlx' is a str; the default is "),
    "list of texts for devices": ("cuda_available = true\ndevices = ['T4']", "devices: a device is a table"),
    "device without a name": ("cuda_available = true\n[[devices]]\ntotal_memory = 1", "devices: a device is a table"),
    "contradiction": ("[[devices]]\nname = 'T4'", "devices: listed, but no accelerator is available"),
    "present without a version": ("[packages]\nmlx = true", "packages: mlx: True is no version"),
    "name that is no identifier": ("name = 'my machine'", "profile 'my machine': name: a name is an identifier"),
    "name that is no text": ("name = 3", "profile 3: name: a name is an identifier"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD.keys())
def test_a_file_that_is_no_machine_is_refused_in_one_line(text, said, tmp_path):
    """With the file, the line or fact, and what to do."""
    file = tmp_path / "bad.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ProfileError) as refusal:
        load(file)
    assert str(refusal.value).startswith(f"{file}: ")
    assert said in str(refusal.value)
    assert 1 == len(str(refusal.value).splitlines())


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path):
    with pytest.raises(ProfileError, match=r"missing\.toml: no such file; `python -m spoofs record` writes one"):
        load(tmp_path / "missing.toml")
    with pytest.raises(ProfileError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_a_bad_file_ends_the_interpreter(tmp_path):
    """As a bad name does: status 97, one line, nothing run."""
    (tmp_path / "bad.toml").write_text("cuda_available = 1\n")
    child = run("./bad.toml", "print('ran')", cwd=tmp_path)
    assert (97, "", 1) == (child.returncode, child.stdout, len(child.stderr.splitlines()))
    assert "./bad.toml: profile 'bad': cuda_available: 1 is a int" in child.stderr
