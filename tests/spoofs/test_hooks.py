"""The finder: probed modules are patched after import and stay so; hardware packages are there as the row says."""

import pytest

from spoofs.hooks import ANSWERS, BOUND
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.spoofs.machines import INTERPRETERS, STARTUP, run

every_python = pytest.mark.parametrize("python", INTERPRETERS.values(), ids=INTERPRETERS.keys())
every_machine = pytest.mark.parametrize("profile", PROFILES + CANARIES, ids=lambda profile: profile.name)


class Host:
    """A folder of packages that the host has installed: a call adds one, `env` is that of a child that has them."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {"PYTHONPATH": f"{STARTUP}:{folder}"}

    def __call__(self, name, source="", version="9.9"):
        (self.folder / name).mkdir()
        (self.folder / name / "__init__.py").write_text(source)
        info = self.folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def host(tmp_path):
    """A host without packages, yet."""
    return Host(tmp_path)


def said(machine, code, **options):
    child = run(machine, code, **options)
    assert (0, "") == (child.returncode, child.stderr)
    return child.stdout.splitlines()


@pytest.mark.parametrize("module", ["platform", "os", "sysconfig"])
@every_python
def test_a_reloaded_module_stays_patched(module, python):
    """`importlib.reload` is how tests of dispatch code get a fresh one."""
    code = f"""
import importlib, {module}, os, platform, sysconfig
def ask(): return os.uname().machine, platform.machine(), sysconfig.get_platform()[-5:]
print(ask()); importlib.reload({module}); print(ask()); importlib.reload({module}); print(ask())
"""
    assert ["('arm64', 'arm64', 'arm64')"] * 3 == said("apple_silicon_mlx", code, python=python)


def test_a_reloaded_torch_stays_patched():
    code = "import importlib, torch; importlib.reload(torch); import torch.cuda; print(torch.cuda.is_available())"
    assert ["True"] == said("nvidia_cuda", code)


def test_a_module_imported_anew_is_patched_anew():
    """Tests drop modules from sys.modules to have them decide again."""
    code = (
        "import sys, platform; del sys.modules['platform']; import platform as p; print(p.system(), p is not platform)"
    )
    assert ["Darwin True"] == said("apple_silicon_mlx", code)


@every_python
@every_machine
def test_mlx_is_there_in_every_way_or_in_none(profile, python):
    """sys.modules, find_spec, import and importlib.metadata agree, and with the row."""
    code = """
import sys, importlib.util, importlib.metadata
print('mlx' in sys.modules)
print(importlib.util.find_spec('mlx') is not None)
try: import mlx.core; print(True)
except ModuleNotFoundError: print(False)
try: print(importlib.metadata.version('mlx'))
except importlib.metadata.PackageNotFoundError: print(None)
print('mlx' in {each.metadata['Name'] for each in importlib.metadata.distributions()})
"""
    there = "mlx" in profile.packages
    expected = [there, there, there, profile.packages.get("mlx"), there]
    assert list(map(str, expected)) == said(profile, code, python=python)


@every_machine
def test_a_real_mlx_of_the_host_is_never_seen(profile, host):
    """A machine has mlx where its row says so; the Linux wheel of the host would answer for the host."""
    host("mlx", "raise SystemExit('imported')")
    code = """
import importlib.util, importlib.metadata
print(importlib.util.find_spec('mlx') is not None)
print([each.version for each in importlib.metadata.distributions(name='mlx')])
try: import mlx; print(True)
except ModuleNotFoundError: print(False)
"""
    version = profile.packages.get("mlx")
    expected = [version is not None, [version] if version else [], version is not None]
    assert list(map(str, expected)) == said(profile, code, env=host.env)


@pytest.mark.parametrize("module", sorted(set(BOUND) - {"pynvml"}))
def test_a_hardware_package_of_the_host_is_hidden(module, host):
    """cpu_only has none of them, whatever the host has installed."""
    host(module, "raise SystemExit('imported')")
    code = f"""
import importlib.util
print(importlib.util.find_spec({module!r}))
try: import {module}
except ModuleNotFoundError as error: print(error)
"""
    assert ["None", f"No module named '{module}'"] == said("cpu_only", code, env=host.env)


def test_a_package_that_is_broken_is_found_and_fails_with_its_error():
    """accelerate 3754: torch_npu has a spec and fails on a shared library."""
    error = "OSError: libascend_hal.so: cannot open shared object file"
    machine = HardwareProfile("broken", packages={"torch-npu": {"version": "2.5", "error": error}})
    code = """
import importlib.util, importlib.metadata
print(importlib.util.find_spec('torch_npu') is not None, importlib.metadata.version('torch-npu'))
for _ in range(2):
    try: import torch_npu
    except OSError as error: print(error)
"""
    assert ["True 2.5", *[error.removeprefix("OSError: ")] * 2] == said(machine, code)


def test_a_real_package_can_be_broken_or_absent(host):
    """The host's own copy does not mend a machine on which it is broken."""
    host("triton")
    ask = "import importlib.util; print(importlib.util.find_spec('triton') is not None)\ntry: import triton; "
    ask += "print('imports')\nexcept ImportError as error: print(type(error).__name__, error)"
    assert ["True", "imports"] == said("cpu_only", ask, env=host.env)
    absent = HardwareProfile("absent", packages={"triton": None})
    assert ["False", "ModuleNotFoundError No module named 'triton'"] == said(absent, ask, env=host.env)
    broken = HardwareProfile("broken", packages={"triton": {"error": "ImportError: libtriton.so"}})
    assert ["True", "ImportError libtriton.so"] == said(broken, ask, env=host.env)


def test_a_package_without_its_probe_fails_its_import_by_name(host):
    """A probe that moved must not be left unspoofed in silence."""
    host("torch", "__version__ = '99.0'")
    child = run("nvidia_cuda", "import torch", env=host.env)
    assert 1 == child.returncode
    assert "ImportError: hardware profile: torch 99.0 has no torch.version" in child.stderr
    assert "mend spoofs/answers/torch.py" in child.stderr


def test_an_unmodelled_name_of_a_stand_in_says_what_to_do(tmp_path):
    """Not None and not a mock: what is not modelled is an AttributeError."""
    code = "import torch\ntry: torch.nothing_of_the_kind\nexcept AttributeError as error: print(error)"
    (line,) = said("amd_rocm", code, env={"PYTHONPATH": STARTUP}, python=INTERPRETERS["system"])
    assert "module 'torch' has no attribute 'nothing_of_the_kind'" in line
    assert "python -m spoofs show amd_rocm" in line
    assert "install the real torch" in line


def test_modules_of_nobody_are_left_alone(host):
    """The finder hands everything else through, with the loader's own spec."""
    host("other", "value = 3")
    code = "import other, json; print(other.value, type(json.__spec__.loader).__name__, hasattr(other, 'spoofed'))"
    assert ["3 SourceFileLoader False"] == said("amd_rocm", code, env=host.env)


def test_a_package_that_the_row_states_keeps_the_modules_of_the_host(host, tmp_path):
    """Only the version of triton is the machine's then."""
    host("triton")
    (tmp_path / "triton" / "language.py").write_text("value = 3")
    machine = HardwareProfile("stated", packages={"triton": "3.5.0"})
    code = "import triton.language, importlib.metadata as m; print(triton.language.value, m.version('triton'))"
    assert ["3 3.5.0"] == said(machine, code, env=host.env)


@every_python
def test_no_answers_are_loaded_before_their_module(python):
    """The start of an interpreter pays for what it uses."""
    code = "import sys; print(sorted(each[15:] for each in sys.modules if each.startswith('spoofs.answers.')))"
    (line,) = said("nvidia_cuda", code, python=python)
    assert line == "[]"
    (line,) = said("nvidia_cuda", f"import os; os.uname(); {code}", python=python)
    assert line == "['os']"


def test_each_probed_module_has_its_file_of_answers():
    """What happens to a module stands in the file of its name."""
    assert [] == [name for name, file in ANSWERS.items() if not __import__(f"spoofs.answers.{file}", fromlist=["x"])]
