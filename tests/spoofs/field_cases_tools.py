"""Machines from public reports whose tools, NVML, files or packages led software astray, each as a row.

`says` has what the report says that the machine answered: a Python expression over the names of `ASKING` -> its value.
"""

from __future__ import annotations

from typing import NamedTuple

from spoofs.profiles import HardwareProfile

GIB = 1024**3


class Case(NamedTuple):
    """One report."""

    source: str
    machine: HardwareProfile
    says: dict[str, object]


ASKING = """
import glob, importlib, importlib.metadata, importlib.util, os, platform, re, shutil, subprocess

def out(command):
    return subprocess.run(command.split(), capture_output=True, text=True).stdout

def status(command):
    return subprocess.run(command.split(), capture_output=True, text=True).returncode

def error(call, *arguments):
    try: call(*arguments)
    except Exception as problem: return f"{type(problem).__name__}: {problem}"

def importing(name):
    return error(importlib.import_module, name)

def found(name):
    return importlib.util.find_spec(name) is not None

def version(name):
    return importlib.metadata.version(name)

def text(path):
    with open(path) as file: return file.read()

def agents():
    return re.findall(r"^  Name: +(gfx[0-9a-f]+)$", out("rocminfo"), re.M)

def card(index=0):
    import pynvml
    pynvml.nvmlInit()
    return pynvml.nvmlDeviceGetHandleByIndex(index)

def by_uuid(uuid):
    import pynvml
    return pynvml.nvmlDeviceGetHandleByUUID(uuid)

def lazy(module):
    return importlib.import_module(module)
"""

RTX_3090 = {"name": "NVIDIA GeForce RTX 3090", "capability": (8, 6), "total_memory": 24 * GIB, "driver": "610.62"}
UUIDS = ("GPU-3f8e2b1a-0000-4000-8000-000000000001", "GPU-3f8e2b1a-0000-4000-8000-000000000002")
GB10 = {"name": "NVIDIA GB10", "capability": (12, 1), "total_memory": int(121.7 * GIB)}
H100 = {"name": "NVIDIA H100 80GB HBM3", "total_memory": 40 * GIB}
MIG = "MIG-377e0049-554c-540b-93c6-d0976f8426cb"
RX_7900 = {"name": "AMD Radeon RX 7900 XTX", "arch": "gfx1100", "total_memory": 24 * GIB}
WSL = "5.15.167.4-microsoft-standard-WSL2"
GENERIC_ONLY = "  ISA Info:\n    ISA 1\n      Name:                    amdgcn-amd-amdhsa--gfx11-generic\n"
STRIX_NODE = "/sys/class/kfd/kfd/topology/nodes/1/properties"

CASES = (
    Case(
        "https://github.com/unslothai/unsloth/issues/8873",
        HardwareProfile(
            "two_rtx_3090",
            system="Windows",
            machine="AMD64",
            torch_version="2.10.0+cu130",
            cuda_available=True,
            devices=tuple(RTX_3090 | {"uuid": uuid} for uuid in UUIDS),
            environment={"CUDA_VISIBLE_DEVICES": ",".join(UUIDS)},
        ),
        {
            "lazy('torch').__version__": "2.10.0+cu130",
            "lazy('torch').cuda.device_count()": 2,
            "out('nvidia-smi --query-gpu=index,uuid --format=csv,noheader')": f"0, {UUIDS[0]}\n1, {UUIDS[1]}\n",
            "re.search('KMD Version: ([0-9.]+)', out('nvidia-smi'))[1]": "610.62",
            "os.environ['CUDA_VISIBLE_DEVICES']": ",".join(UUIDS),
        },
    ),
    Case(
        "https://github.com/huggingface/accelerate/issues/3754",
        HardwareProfile(
            "npu_without_library",
            packages={
                "torch-npu": {"version": "2.5.1", "error": "OSError: libascend_hal.so: cannot open shared object file"}
            },
        ),
        {
            "found('torch_npu')": True,
            "importing('torch_npu')": "OSError: libascend_hal.so: cannot open shared object file",
            "lazy('torch').cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/ml-explore/mlx/issues/2390",
        HardwareProfile(
            "mlx_on_linux",
            packages={"mlx": {"version": "0.26.5", "error": "ImportError: libmlx.so: cannot open", "at": "mlx.core"}},
        ),
        {
            "(platform.system(), platform.machine())": ("Linux", "x86_64"),
            "found('mlx')": True,
            "importing('mlx')": None,
            "importing('mlx.core')": "ImportError: libmlx.so: cannot open",
        },
    ),
    Case(
        "https://github.com/deepspeedai/DeepSpeed/issues/7028",
        HardwareProfile("triton_without_gpu", packages={"triton": "3.2.0"}),
        {
            "found('triton')": True,
            "importing('triton')": None,
            "version('triton')": "3.2.0",
            "lazy('torch').cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/5106",
        HardwareProfile(
            "rocm_with_failing_nvidia_smi",
            cuda_available=True,
            hip_version="6.4",
            devices=(RX_7900,),
            tools={"nvidia-smi": {"status": 9, "output": "NVIDIA-SMI has failed\n"}},
        ),
        {
            "lazy('torch').version.hip": "6.4",
            "lazy('torch').cuda.is_available()": True,
            "status('nvidia-smi')": 9,
            "lazy('torch').cuda.mem_get_info()[1]": 24 * GIB,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/6353",
        HardwareProfile(
            "two_orders",
            cuda_available=True,
            devices=(
                {"name": "NVIDIA RTX PRO 6000 Blackwell", "capability": (12, 0), "processors": 188},
                {"name": "NVIDIA GeForce RTX 5090", "capability": (12, 0), "processors": 170},
            ),
        ),
        {
            "'CUDA_DEVICE_ORDER' in os.environ": False,
            "out('nvidia-smi --query-gpu=index,name --format=csv,noheader').splitlines()": [
                "0, NVIDIA RTX PRO 6000 Blackwell",
                "1, NVIDIA GeForce RTX 5090",
            ],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/8403",
        HardwareProfile(
            "windows_rocm",
            system="Windows",
            machine="AMD64",
            cuda_available=True,
            hip_version="7.1",
            devices=(RX_7900 | {"total_memory": 24560 * 1024**2, "free_memory": 24410 * 1024**2},),
        ),
        {
            "platform.system()": "Windows",
            "shutil.which('amd-smi')": None,
            "[each // 1024**2 for each in lazy('torch').cuda.mem_get_info()]": [24410, 24560],
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/8655",
        HardwareProfile(
            "xpu_without_ipex",
            xpu_available=True,
            packages={
                "intel-extension-for-pytorch": {"version": "2.5.0", "error": "ImportError: libsycl.so.8: cannot open"}
            },
        ),
        {
            "lazy('torch').xpu.is_available()": True,
            "importing('intel_extension_for_pytorch')": "ImportError: libsycl.so.8: cannot open",
            "lazy('torch').cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/pull/57378",
        HardwareProfile(
            "gb10",
            machine="aarch64",
            cuda_available=True,
            devices=(GB10,),
            nvml="nvmlDeviceGetMemoryInfo: NotSupported",
        ),
        {
            "error(lazy('pynvml').nvmlDeviceGetMemoryInfo, card())": "NVMLError_NotSupported: Not Supported",
            "lazy('pynvml').nvmlDeviceGetName(card())": "NVIDIA GB10",
            "lazy('torch').cuda.get_device_properties(0).total_memory": int(121.7 * GIB),
            "out('nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits')": "[N/A]\n",
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/9728",
        HardwareProfile(
            "jetson_orin",
            machine="aarch64",
            cuda_available=True,
            devices=({"name": "Orin", "capability": (8, 7), "integrated": True, "total_memory": 61 * GIB},),
            nvml="LibraryNotFound",
            tools={"nvidia-smi": None},
            files={"/etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n"},
        ),
        {
            "platform.machine()": "aarch64",
            "lazy('torch').cuda.get_device_capability()": (8, 7),
            "lazy('torch').cuda.is_available()": True,
            "error(lazy('pynvml').nvmlInit)": "NVMLError_LibraryNotFound: NVML Shared Library Not Found",
            "os.path.exists('/etc/nv_tegra_release')": True,
            "text('/etc/nv_tegra_release')[:6]": "# R36 ",
            "shutil.which('nvidia-smi')": None,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/pull/38434",
        HardwareProfile(
            "rocm_on_wsl",
            release=WSL,
            cuda_available=True,
            hip_version="6.4",
            devices=(RX_7900,),
            files={"/dev/kfd": None},
        ),
        {
            "'microsoft' in ' '.join(platform.uname()).lower()": True,
            "'microsoft' in text('/proc/version')": True,
            "lazy('torch').version.hip": "6.4",
            "lazy('torch').cuda.is_available()": True,
            "importing('amdsmi')": "ModuleNotFoundError: No module named 'amdsmi'",
            "os.path.exists('/dev/kfd')": False,
            "lazy('torch').cuda.get_device_properties(0).gcnArchName": "gfx1100",
            "agents()": ["gfx1100"],
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/47387",
        HardwareProfile(
            "cuda_on_wsl",
            release=WSL,
            cuda_available=True,
            devices=({"name": "NVIDIA GeForce RTX 5050", "capability": (12, 0)},),
        ),
        {
            "'microsoft' in ' '.join(platform.uname()).lower()": True,
            "text('/proc/sys/kernel/osrelease')": f"{WSL}\n",
            "out('sysctl -n kernel.osrelease')": f"{WSL}\n",
            "lazy('torch').cuda.get_device_name()": "NVIDIA GeForce RTX 5050",
            "out('nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader')": "NVIDIA GeForce RTX 5050, 12.0\n",
            "'VLLM_WSL2_ENABLE_PIN_MEMORY' in os.environ": False,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/11739",
        HardwareProfile(
            "cpu_build_on_a_gpu_machine",
            packages={"vllm": "0.6.6+cpu"},
            devices=({"name": "NVIDIA A100-SXM4-40GB", "capability": (8, 0)},),
            tools={"nvidia-smi": {}},
        ),
        {
            "'cpu' in version('vllm')": True,
            "card() is not None and lazy('pynvml').nvmlDeviceGetCount()": 1,
            "lazy('torch').cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/41848",
        HardwareProfile(
            "h100_slice",
            torch_version="2.11.0+cu130",
            cuda_available=True,
            devices=(
                {
                    "name": "NVIDIA H100 80GB HBM3 MIG 2g.20gb",
                    "capability": (9, 0),
                    "total_memory": 20 * GIB,
                    "uuid": MIG,
                    "slice_of": H100,
                },
            ),
            environment={"CUDA_VISIBLE_DEVICES": MIG},
        ),
        {
            "os.environ['CUDA_VISIBLE_DEVICES']": MIG,
            "lazy('torch').cuda.device_count()": 1,
            "lazy('torch').cuda.get_device_properties(0).total_memory": 20 * GIB,
            "lazy('pynvml').nvmlDeviceGetMemoryInfo(card()).total": 40 * GIB,
            f"lazy('pynvml').nvmlDeviceGetMemoryInfo(by_uuid({MIG!r})).total": 20 * GIB,
            "out('nvidia-smi -L').splitlines()[1].split()": ["MIG", "2g.20gb", "Device", "0:", "(UUID:", f"{MIG})"],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/7331",
        HardwareProfile(
            "strix_halo_in_disguise",
            torch_version="2.9.1+rocm6.3",
            hip_version="6.3",
            cuda_available=True,
            devices=({"name": "AMD Radeon 8060S", "arch": "gfx1151"},),
            environment={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"},
            files={
                "/proc/cpuinfo": "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\n",
                STRIX_NODE: "vendor_id 4098\ngfx_target_version 110501\n",
            },
        ),
        {
            "os.environ['HSA_OVERRIDE_GFX_VERSION']": "11.0.0",
            "agents()": ["gfx1100"],
            "'RYZEN AI MAX' in text('/proc/cpuinfo')": True,
            "glob.glob('/sys/class/kfd/kfd/topology/nodes/*/properties')": [STRIX_NODE],
            f"'gfx_target_version 110501' in text({STRIX_NODE!r})": True,
            "lazy('torch').__version__": "2.9.1+rocm6.3",
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/5033",
        HardwareProfile("generic_isa_only", tools={"rocminfo": GENERIC_ONLY}),
        {
            "re.findall('gfx.*', out('rocminfo'))": ["gfx11-generic"],
            "agents()": [],
            "status('rocminfo')": 0,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/7776",
        HardwareProfile(
            "igpu_first",
            cuda_available=True,
            hip_version="6.4",
            devices=(
                {"name": "AMD Radeon Graphics", "arch": "gfx1036", "integrated": True},
                {"name": "AMD Radeon RX 9060 XT", "arch": "gfx1200"},
            ),
        ),
        {
            "agents()": ["gfx1036", "gfx1200"],
            "re.findall('TARGET_GRAPHICS_VERSION: (.*)', out('amd-smi static --asic'))": ["gfx1036", "gfx1200"],
            "[name for name in os.environ if name.endswith('VISIBLE_DEVICES')]": [],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/9124",
        HardwareProfile(
            "mlx_lm_races",
            system="Darwin",
            machine="arm64",
            mps_available=True,
            packages={
                "mlx": "0.32.4",
                "mlx-lm": {"version": "0.32.2", "error": "ImportError: cannot import name 'AutoTokenizer'"},
                "mlx-vlm": "0.7.9",
            },
        ),
        {
            "(platform.system(), platform.machine())": ("Darwin", "arm64"),
            "[version(name) for name in ('mlx', 'mlx-lm', 'mlx-vlm')]": ["0.32.4", "0.32.2", "0.7.9"],
            "importing('mlx_lm')": "ImportError: cannot import name 'AutoTokenizer'",
            "importing('mlx_vlm')": None,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/8303",
        HardwareProfile(
            "mlx_vlm_too_old",
            system="Darwin",
            machine="arm64",
            mps_available=True,
            packages={"mlx": "0.32.4", "mlx-lm": "0.32.2", "mlx-vlm": "0.1.0"},
        ),
        {
            "version('mlx-vlm')": "0.1.0",
            "lazy('mlx_vlm').__version__": "0.1.0",
            "[importing(name) for name in ('mlx', 'mlx_lm', 'mlx_vlm')]": [None, None, None],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/3553",
        HardwareProfile(
            "gb10_with_cpu_wheel",
            machine="aarch64",
            torch_version="2.9.1+cpu",
            devices=(GB10,),
            tools={"nvidia-smi": {}},
        ),
        {
            "(platform.system(), platform.machine())": ("Linux", "aarch64"),
            "out('nvidia-smi --query-gpu=name --format=csv,noheader')": "NVIDIA GB10\n",
            "'NVIDIA GB10' in out('lspci')": True,
            "lazy('torch').cuda.is_available()": False,
            "lazy('torch').__version__": "2.9.1+cpu",
            "lazy('torch').version.cuda": None,
        },
    ),
)
