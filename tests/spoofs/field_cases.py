"""Machines of public reports in which software chose the wrong device: what their probes say, each with its source."""

from __future__ import annotations

from typing import NamedTuple

from spoofs.profiles import MLX, T4, HardwareProfile

MIB = 1024**2
GIB = 1024**3
R9700 = {"name": "AMD Radeon AI PRO R9700", "arch": "gfx1201", "total_memory": 32624 * MIB, "processors": 64}
W7900 = {"name": "AMD Radeon PRO W7900", "arch": "gfx1100", "total_memory": 46064 * MIB, "processors": 48}
RX_7900 = {"name": "AMD Radeon RX 7900 XTX", "arch": "gfx1100", "total_memory": 24560 * MIB, "processors": 48}
RTX_3090 = {"name": "NVIDIA GeForce RTX 3090", "capability": (8, 6), "total_memory": 24576 * MIB, "processors": 82}
UUIDS = ("GPU-5a1c0e1d-8c8b-4d6f-9f5e-2b7f6a3c9d01", "GPU-9b7d2f64-03ae-4c52-8d11-6e5f4a3b2c1d")
GB10 = {
    "name": "NVIDIA GB10",
    "capability": (12, 1),
    "total_memory": int(121.7 * GIB),
    "integrated": True,
    "processors": 48,
}
ORIN = {"name": "Orin", "capability": (8, 7), "total_memory": 64349 * MIB, "integrated": True, "processors": 16}
MIG = "MIG-377e0049-554c-540b-93c6-d0976f8426cb"
H100_SLICE = {
    "name": "NVIDIA H100 80GB HBM3 MIG 2g.20gb",
    "capability": (9, 0),
    "total_memory": 20 * GIB,
    "uuid": MIG,
    "processors": 32,
    "slice_of": {"name": "NVIDIA H100 80GB HBM3", "total_memory": 40 * GIB},
}
# As CUDA's bus order has them; by speed the second comes first.
RTX_5090 = {"name": "NVIDIA GeForce RTX 5090", "capability": (12, 0), "total_memory": 32607 * MIB, "processors": 170}
RTX_PRO = {"name": "NVIDIA RTX PRO 6000", "capability": (12, 0), "total_memory": 97887 * MIB, "processors": 188}
WSL = "5.15.167.4-microsoft-standard-WSL2"
STRIX_NODE = "/sys/class/kfd/kfd/topology/nodes/1/properties"
GENERIC_ONLY = "  ISA Info:\n    ISA 1\n      Name:                    amdgcn-amd-amdhsa--gfx11-generic\n"
NO_CUDA = AssertionError("Torch not compiled with CUDA enabled")
NO_DRIVER = RuntimeError(
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)


class Case(NamedTuple):
    """A reported machine, and what it says: an expression over `probing.ASK` -> its value, or what it raises."""

    source: str
    machine: HardwareProfile
    says: dict[str, object]


CASES = [
    Case(
        "https://github.com/unslothai/unsloth/issues/8873",
        HardwareProfile(
            "masked_by_uuid", system="Windows", machine="AMD64", torch_version="2.10.0+cu130", cuda_available=True,
            devices=tuple({**RTX_3090, "uuid": uuid, "driver": "610.62"} for uuid in UUIDS),
            environment={"CUDA_VISIBLE_DEVICES": ",".join(UUIDS)},
        ),
        {
            "platform.system()": "Windows",
            "str(torch.__version__)": "2.10.0+cu130",
            "torch.version.cuda": "13.0",
            "torch.cuda.device_count()": 2,
            "[str(torch.cuda.get_device_properties(each).uuid) for each in (0, 1)]": [each[4:] for each in UUIDS],
            "out('nvidia-smi --query-gpu=index,uuid --format=csv,noheader')": f"0, {UUIDS[0]}\n1, {UUIDS[1]}\n",
            "re.search('KMD Version: ([0-9.]+)', out('nvidia-smi'))[1]": "610.62",
            "os.environ['CUDA_VISIBLE_DEVICES']": ",".join(UUIDS),
        },
    ),
    Case(
        "https://github.com/ultralytics/ultralytics/pull/25018",
        HardwareProfile(
            "masked_to_the_fourth", cuda_available=True, devices=(T4,) * 4, environment={"CUDA_VISIBLE_DEVICES": "3"}
        ),
        {
            "torch.cuda.is_available()": True,
            "torch.cuda.device_count()": 1,
            "torch.cuda.init()": None,
            "torch.cuda.is_initialized()": True,
            "torch.cuda.get_device_name('cuda:0')": "Tesla T4",
            "torch.cuda.get_device_name(3)": AssertionError("Invalid device id"),
        },
    ),
    Case(
        "https://github.com/huggingface/accelerate/issues/3754",
        HardwareProfile(
            "npu_without_its_library",
            packages={
                "torch-npu": {"version": "2.5.1", "error": "OSError: libascend_hal.so: cannot open shared object file"}
            },
        ),
        {
            "found('torch_npu')": True,
            "version('torch-npu')": "2.5.1",
            "importing('torch_npu')": OSError("libascend_hal.so: cannot open shared object file"),
            "torch.cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/ml-explore/mlx/issues/2390",
        HardwareProfile(
            "mlx_on_linux",
            packages={"mlx": {"version": "0.26.1", "error": "ImportError: libmlx.so: no such file", "at": "mlx.core"}},
        ),
        {
            "platform.system(), platform.machine()": ("Linux", "x86_64"),
            "found('mlx')": True,
            "version('mlx')": "0.26.1",
            "importing('mlx')": None,
            "importing('mlx.core')": ImportError("libmlx.so: no such file"),
        },
    ),
    Case(
        "https://github.com/huggingface/kernels/issues/163",
        HardwareProfile("torch_2_5", torch_version="2.5.1"),
        {
            "hasattr(torch, 'xpu')": True,
            "hasattr(torch.version, 'xpu')": False,
            "torch.version.cuda": None,
        },
    ),
    Case(
        "https://github.com/hustvl/DiffusionDrive/issues/92",
        HardwareProfile("torch_2_0", torch_version="2.0.1", packages={"diffusers": "0.36.0"}),
        {
            "hasattr(torch, 'xpu')": False,
            "hasattr(torch, 'accelerator')": False,
            "version('diffusers')": "0.36.0",
        },
    ),
    Case(
        "https://github.com/pytorch/torchtitan/pull/4778",
        HardwareProfile(
            "mi350x", cuda_available=True, hip_version="7.1",
            devices=({"name": "AMD Instinct MI350X", "arch": "gfx950:sramecc+:xnack-"},) * 8,
        ),
        {
            "torch.version.hip": "7.1",
            "torch.cuda.device_count()": 8,
            "torch.cuda.get_device_properties(7).gcnArchName.partition(':')[0]": "gfx950",
            "torch.cuda.get_device_capability()": (9, 5),
            "torch.cuda.is_tf32_supported()": True,
        },
    ),
    Case(
        "https://github.com/huggingface/accelerate/pull/2524",
        HardwareProfile("nvml_check", cuda_available=True, environment={"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}),
        {
            "torch.cuda.is_available()": True,
            "os.environ['PYTORCH_NVML_BASED_CUDA_CHECK']": "1",
        },
    ),
    Case(
        "https://github.com/deepspeedai/DeepSpeed/issues/7028",
        HardwareProfile("triton_on_a_cpu", packages={"triton": "3.2.0"}),
        {
            "found('triton')": True,
            "version('triton')": "3.2.0",
            "importing('triton')": None,
            "module('triton').__version__": "3.2.0",
            "torch.cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/Comfy-Org/ComfyUI/issues/7433",
        HardwareProfile("cpu_wheel"),
        {
            "str(torch.__version__).endswith('+cpu')": True,
            "torch.cuda.is_available(), torch.xpu.is_available(), torch.backends.mps.is_available()": (False,) * 3,
            "hasattr(torch, 'npu')": False,
            "torch.cuda.current_device()": NO_CUDA,
        },
    ),
    Case(
        "https://github.com/pytorch/pytorch/issues/144567",
        HardwareProfile("xpu_wheel_without_a_device", xpu_version="20250301"),
        {
            "torch.accelerator.is_available()": False,
            "torch.accelerator.device_count()": 0,
            "str(torch.accelerator.current_accelerator())": "xpu",
            "torch.accelerator.current_accelerator(check_available=True)": None,
            "torch.xpu.init()": RuntimeError("No XPU devices are available."),
        },
    ),
    Case(
        "https://github.com/pytorch/pytorch/issues/144567",
        HardwareProfile("cuda_wheel_without_a_driver", cuda_version="12.6"),
        {
            "str(torch.__version__).partition('+')[2]": "cu126",
            "torch.accelerator.is_available()": False,
            "torch.cuda.is_available()": False,
            "torch.cuda.get_device_name()": NO_DRIVER,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/7272",
        HardwareProfile(
            "rocm_by_its_tag_alone", torch_version="2.11.0+rocm7.13.0", cuda_available=True,
            devices=(
                {"name": "AMD Radeon RX 7600", "arch": "gfx1102", "total_memory": 8176 * MIB},
                {"name": "AMD Radeon 780M", "arch": "gfx1103", "total_memory": 4096 * MIB, "integrated": True},
            ),
        ),
        {
            "torch.cuda.is_available()": True,
            "torch.version.hip": None,
            "torch.version.cuda": None,
            "str(torch.__version__)": "2.11.0+rocm7.13.0",
            "[torch.cuda.get_device_properties(each).gcnArchName for each in (0, 1)]": ["gfx1102", "gfx1103"],
            "[torch.cuda.get_device_properties(each).is_integrated for each in (0, 1)]": [0, 1],
        },
    ),
    Case(
        "https://github.com/pytorch/pytorch/issues/148322",
        HardwareProfile("t4_emulates_bfloat16", cuda_available=True, devices=(T4,)),
        {
            "torch.cuda.get_device_name()": "Tesla T4",
            "torch.cuda.get_device_capability()": (7, 5),
            "torch.cuda.is_bf16_supported()": True,
            "torch.cuda.is_bf16_supported(including_emulation=False)": False,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/41848",
        HardwareProfile(
            "slice_of_an_h100", torch_version="2.11.0+cu130", cuda_available=True, devices=(H100_SLICE,),
            environment={"CUDA_VISIBLE_DEVICES": MIG},
        ),
        {
            "os.environ['CUDA_VISIBLE_DEVICES']": MIG,
            "torch.cuda.device_count()": 1,
            "torch.cuda.mem_get_info()[1]": 20 * GIB,
            "torch.cuda.get_device_properties(0).total_memory": 20 * GIB,
            "module('pynvml').nvmlDeviceGetMemoryInfo(card()).total": 40 * GIB,
            f"module('pynvml').nvmlDeviceGetMemoryInfo(by_uuid({MIG!r})).total": 20 * GIB,
            "out('nvidia-smi -L').splitlines()[1].split()": ["MIG", "2g.20gb", "Device", "0:", "(UUID:", f"{MIG})"],
        },
    ),
    Case(
        "https://github.com/pytorch/pytorch/issues/90543",
        HardwareProfile(
            "uuid_on_an_old_torch", torch_version="1.13.0+cu117", cuda_available=True,
            devices=({"name": "NVIDIA A100-SXM4-40GB", "capability": (8, 0), "uuid": UUIDS[0]},),
            environment={"CUDA_VISIBLE_DEVICES": UUIDS[0]},
        ),
        {"torch.cuda.device_count()": 1, "torch.version.cuda": "11.7"},
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/4126",
        HardwareProfile("gfx1100", cuda_available=True, hip_version="6.4", devices=(W7900,)),
        {
            "torch.cuda.get_device_properties(0).gcnArchName": "gfx1100",
            "torch.cuda.get_device_capability()": (11, 0),
            "torch.cuda.is_tf32_supported()": False,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/8137",
        HardwareProfile(
            "t4_with_flex_attention", torch_version="2.7.0+cu126", cuda_available=True, devices=(T4,),
            packages={"transformers": "4.56.2"},
        ),
        {
            "torch.version.hip": None,
            "torch.cuda.get_device_capability()": (7, 5),
            "torch.__version__ >= '2.6'": True,
            "version('transformers')": "4.56.2",
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/8653",
        HardwareProfile(
            "cuda_hidden", cuda_available=True,
            environment={"CUDA_VISIBLE_DEVICES": "", "UNSLOTH_ALLOW_CPU": "1"},
        ),
        {
            "torch.cuda.is_available()": False,
            "torch.cuda.device_count()": 0,
            "torch.cuda.get_device_capability()": RuntimeError("No CUDA GPUs are available"),
            "torch.cuda.is_bf16_supported()": False,
            "torch.accelerator.is_available()": False,
            "os.environ['UNSLOTH_ALLOW_CPU']": "1",
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/5180",
        HardwareProfile(
            "r9700_masked_once", cuda_available=True, hip_version="7.1.1", devices=(R9700, R9700),
            environment={"HIP_VISIBLE_DEVICES": "1"},
        ),
        {"torch.cuda.device_count()": 1, "torch.cuda.get_device_properties(0).gcnArchName": "gfx1201"},
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/5180",
        HardwareProfile(
            "r9700_masked_twice", cuda_available=True, hip_version="7.1.1", devices=(R9700, R9700),
            environment={"HIP_VISIBLE_DEVICES": "1", "ROCR_VISIBLE_DEVICES": "1"},
        ),
        {"torch.cuda.device_count()": 0, "torch.cuda.init()": RuntimeError("No HIP GPUs are available")},
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/6353",
        HardwareProfile("fastest_first", cuda_available=True, devices=(RTX_5090, RTX_PRO)),
        {
            "'CUDA_DEVICE_ORDER' in os.environ": False,
            "torch.cuda.get_device_name(1)": "NVIDIA GeForce RTX 5090",
            "out('nvidia-smi --query-gpu=index,name --format=csv,noheader').splitlines()": [
                "0, NVIDIA GeForce RTX 5090",
                "1, NVIDIA RTX PRO 6000",
            ],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/6353",
        HardwareProfile(
            "in_the_order_of_the_bus", cuda_available=True, devices=(RTX_5090, RTX_PRO),
            environment={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        ),
        {"torch.cuda.get_device_name(1)": "NVIDIA RTX PRO 6000"},
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/8403",
        HardwareProfile(
            "rocm_on_windows", system="Windows", machine="AMD64", cuda_available=True, hip_version="7.1",
            devices=({**RX_7900, "free_memory": 24410 * MIB},),
        ),
        {
            "platform.system()": "Windows",
            "shutil.which('amd-smi')": None,
            "torch.cuda.mem_get_info()": (24410 * MIB, 24560 * MIB),
            "[each // 1024**2 for each in torch.cuda.mem_get_info()]": [24410, 24560],
            "torch.accelerator.get_memory_info()": (24410 * MIB, 24560 * MIB),
            "torch.version.hip": "7.1",
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/5106",
        HardwareProfile(
            "rocm_with_failing_nvidia_smi", cuda_available=True, hip_version="6.4", devices=(RX_7900,),
            tools={"nvidia-smi": {"status": 9, "output": "NVIDIA-SMI has failed\n"}},
        ),
        {
            "torch.version.hip": "6.4",
            "torch.cuda.is_available()": True,
            "status('nvidia-smi')": 9,
            "0 < torch.cuda.mem_get_info()[0] < torch.cuda.mem_get_info()[1]": True,
            "torch.cuda.mem_get_info()[1]": 24560 * MIB,
        },
    ),
    Case(
        "https://github.com/collabora/WhisperLive/pull/522",
        HardwareProfile("gfx1201", cuda_available=True, hip_version="7.1", devices=(R9700,)),
        {"torch.cuda.is_available()": True, "torch.version.hip is None": False},
    ),
    Case(
        "https://github.com/pytorch/pytorch/issues/125197",
        HardwareProfile(
            "mac_in_a_virtual_machine", system="Darwin", machine="arm64", mps_available=True,
            devices=({"name": "Apple Paravirtual device", "total_memory": 14 * 1024**3, "free_memory": 8514700083},),
        ),
        {
            "platform.system(), platform.machine()": ("Darwin", "arm64"),
            "torch.backends.mps.is_available(), torch.backends.mps.is_built()": (True, True),
            "round(torch.mps.recommended_max_memory() / 1024**3, 2)": 7.93,
        },
    ),
    Case(
        "https://github.com/facebookresearch/xformers/issues/1378",
        HardwareProfile(
            "jetson_without_distributed", machine="aarch64", release="5.15.148-tegra", cuda_available=True,
            devices=(ORIN,), torch_lacks=("torch.distributed.Work",),
        ),
        {
            "torch.distributed.is_available()": False,
            "hasattr(torch.distributed, 'Work')": False,
            "'tegra' in platform.release()": True,
        },
    ),
    Case(
        "https://github.com/ml-explore/mlx-examples/issues/1306",
        HardwareProfile("mlx_without_metal", packages={"mlx": "0.26.1"}),
        {
            "module('mlx.core').metal.is_available()": False,
            "module('mlx.core').metal.device_info()": RuntimeError(
                "[metal::device_info] Cannot get device info without metal backend"
            ),
            "str(module('mlx.core').default_device())": "Device(cpu, 0)",
        },
    ),
    Case(
        "https://github.com/huggingface/diffusers/pull/11288",
        HardwareProfile("xpu_alone", xpu_available=True),
        {
            "torch.xpu.is_available()": True,
            "torch.cuda.is_available()": False,
            "torch.cuda.init()": NO_CUDA,
            "torch.xpu.is_bf16_supported(including_emulation=False)": True,
        },
    ),
    Case(
        "https://github.com/meta-pytorch/monarch/pull/3740",
        HardwareProfile("rocm_that_says_cuda", cuda_available=True, hip_version="6.4"),
        {"torch.cuda.is_available()": True, "torch.version.hip is not None": True},
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/8655",
        HardwareProfile(
            "xpu_without_ipex", xpu_available=True,
            packages={
                "intel-extension-for-pytorch": {"version": "2.5.0", "error": "ImportError: libsycl.so.8: cannot open"}
            },
        ),
        {
            "torch.xpu.is_available()": True,
            "torch.cuda.is_available()": False,
            "found('intel_extension_for_pytorch')": True,
            "importing('intel_extension_for_pytorch')": ImportError("libsycl.so.8: cannot open"),
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/pull/57378",
        HardwareProfile(
            "gb10", machine="aarch64", cuda_available=True, devices=(GB10,),
            nvml="nvmlDeviceGetMemoryInfo: NotSupported",
        ),
        {
            "error(module('pynvml').nvmlDeviceGetMemoryInfo, card())": "NVMLError_NotSupported: Not Supported",
            "module('pynvml').nvmlDeviceGetName(card())": "NVIDIA GB10",
            "out('nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits')": "[N/A]\n",
            "torch.cuda.get_device_capability()": (12, 1),
            "torch.cuda.get_device_properties(0).total_memory": int(121.7 * GIB),
            "round(torch.cuda.get_device_properties(0).total_memory / 1024**3, 1)": 121.7,
            "torch.cuda.get_device_properties(0).is_integrated": 1,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/9728",
        HardwareProfile(
            "orin", machine="aarch64", release="5.15.148-tegra", cuda_available=True, devices=(ORIN,),
            nvml="LibraryNotFound", tools={"nvidia-smi": None},
            files={"/etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n"},
        ),
        {
            "platform.machine()": "aarch64",
            "torch.cuda.is_available()": True,
            "torch.cuda.get_device_capability()": (8, 7),
            "error(module('pynvml').nvmlInit)": "NVMLError_LibraryNotFound: NVML Shared Library Not Found",
            "os.path.exists('/etc/nv_tegra_release')": True,
            "text('/etc/nv_tegra_release')[:6]": "# R36 ",
            "shutil.which('nvidia-smi')": None,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/pull/38434",
        HardwareProfile(
            "rocm_in_wsl", release=WSL, cuda_available=True, hip_version="6.4", devices=(RX_7900,),
            packages={"amdsmi": None}, files={"/dev/kfd": None},
        ),
        {
            "'microsoft' in ' '.join(platform.uname()).lower()": True,
            "'microsoft' in text('/proc/version')": True,
            "torch.version.hip": "6.4",
            "torch.cuda.is_available()": True,
            "torch.cuda.is_available(), torch.accelerator.is_available()": (True, True),
            "importing('amdsmi')": ModuleNotFoundError("No module named 'amdsmi'"),
            "os.path.exists('/dev/kfd')": False,
            "torch.cuda.get_device_properties(0).gcnArchName": "gfx1100",
            "agents()": ["gfx1100"],
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/47387",
        HardwareProfile(
            "cuda_in_wsl", release=WSL, cuda_available=True,
            devices=({"name": "NVIDIA GeForce RTX 5050", "capability": (12, 0)},),
        ),
        {
            "'microsoft' in ' '.join(platform.uname()).lower()": True,
            "'microsoft' in platform.release(), 'microsoft' in os.uname().release": (True, True),
            "text('/proc/sys/kernel/osrelease')": f"{WSL}\n",
            "out('sysctl -n kernel.osrelease')": f"{WSL}\n",
            "torch.cuda.get_device_name()": "NVIDIA GeForce RTX 5050",
            "out('nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader')": "NVIDIA GeForce RTX 5050, 12.0\n",
            "'VLLM_WSL2_ENABLE_PIN_MEMORY' in os.environ": False,
        },
    ),
    Case(
        "https://github.com/vllm-project/vllm/issues/11739",
        HardwareProfile(
            "cpu_build_beside_a_card", packages={"vllm": "0.6.6+cpu"},
            devices=({"name": "NVIDIA A100-SXM4-40GB", "capability": (8, 0)},), tools={"nvidia-smi": {}},
        ),
        {
            "'cpu' in version('vllm')": True,
            "card() is not None and module('pynvml').nvmlDeviceGetCount()": 1,
            "torch.cuda.is_available()": False,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/7331",
        HardwareProfile(
            "strix_halo_disguised", torch_version="2.9.1+rocm6.3", cuda_available=True, hip_version="6.3",
            devices=({"name": "AMD Radeon 8060S", "arch": "gfx1151", "integrated": True},),
            environment={"HSA_OVERRIDE_GFX_VERSION": "11.0.0"},
            files={
                "/proc/cpuinfo": "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\n",
                STRIX_NODE: "vendor_id 4098\ngfx_target_version 110501\n",
            },
        ),
        {
            "os.environ['HSA_OVERRIDE_GFX_VERSION']": "11.0.0",
            "torch.cuda.get_device_properties(0).gcnArchName": "gfx1100",
            "torch.cuda.get_device_capability()": (11, 0),
            "agents()": ["gfx1100"],
            "'RYZEN AI MAX' in text('/proc/cpuinfo')": True,
            "glob.glob('/sys/class/kfd/kfd/topology/nodes/*/properties')": [STRIX_NODE],
            f"'gfx_target_version 110501' in text({STRIX_NODE!r})": True,
            "str(torch.__version__)": "2.9.1+rocm6.3",
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/5033",
        HardwareProfile("generic_isa_only", tools={"rocminfo": GENERIC_ONLY}),
        {"re.findall('gfx.*', out('rocminfo'))": ["gfx11-generic"], "agents()": [], "status('rocminfo')": 0},
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/7776",
        HardwareProfile(
            "integrated_first", cuda_available=True, hip_version="7.1",
            devices=(
                {"name": "AMD Radeon Graphics", "arch": "gfx1036", "integrated": True},
                {"name": "AMD Radeon RX 9060 XT", "arch": "gfx1200"},
            ),
        ),
        {
            "[torch.cuda.get_device_properties(each).gcnArchName for each in (0, 1)]": ["gfx1036", "gfx1200"],
            "agents()": ["gfx1036", "gfx1200"],
            "re.findall('TARGET_GRAPHICS_VERSION: (.*)', out('amd-smi static --asic'))": ["gfx1036", "gfx1200"],
            "[each for each in os.environ if each.endswith('_VISIBLE_DEVICES')]": [],
            "[each for each in os.environ if each.endswith('VISIBLE_DEVICES')]": [],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/8303",
        HardwareProfile(
            "mlx_vlm_too_old", system="Darwin", machine="arm64", mps_available=True,
            packages={**MLX, "mlx-vlm": "0.1.0"},
        ),
        {
            "version('mlx-vlm')": "0.1.0",
            "module('mlx_vlm').__version__": "0.1.0",
            "[importing(name) for name in ('mlx', 'mlx_lm', 'mlx_vlm')]": [None, None, None],
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/9124",
        HardwareProfile(
            "mlx_lm_half_imported", system="Darwin", machine="arm64", mps_available=True,
            packages={
                **MLX,
                "mlx-lm": {
                    "version": "0.32.2",
                    "error": "AttributeError: partially initialized module 'transformers' has no 'AutoTokenizer'",
                },
            },
        ),
        {
            "platform.system(), platform.machine()": ("Darwin", "arm64"),
            "version('mlx-lm')": "0.32.2",
            "[version(name) for name in ('mlx', 'mlx-lm', 'mlx-vlm')]": ["0.32.4", "0.32.2", "0.7.9"],
            "found('mlx_lm')": True,
            "importing('mlx_lm')": AttributeError(
                "partially initialized module 'transformers' has no 'AutoTokenizer'"
            ),
            "importing('mlx_vlm')": None,
            "module('mlx.core').metal.is_available()": True,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/issues/3553",
        HardwareProfile(
            "gb10_with_a_cpu_wheel", machine="aarch64", torch_version="2.9.1+cpu", devices=(GB10,),
            tools={"nvidia-smi": {}},
        ),
        {
            "platform.system(), platform.machine()": ("Linux", "aarch64"),
            "platform.machine()": "aarch64",
            "out('nvidia-smi --query-gpu=name --format=csv,noheader')": "NVIDIA GB10\n",
            "'NVIDIA GB10' in out('lspci')": True,
            "str(torch.__version__)": "2.9.1+cpu",
            "torch.version.cuda": None,
            "torch.cuda.is_available()": False,
            "torch.cuda.init()": NO_CUDA,
        },
    ),
    Case(
        "https://github.com/unslothai/unsloth/pull/10282",
        HardwareProfile(
            "windows_on_arm_emulating", system="Windows", machine="AMD64",
            environment={"PROCESSOR_ARCHITEW6432": "ARM64"},
        ),
        {
            "platform.machine()": "AMD64",
            "sysconfig.get_platform()": "win-amd64",
            "os.environ['PROCESSOR_ARCHITEW6432']": "ARM64",
        },
    ),
    Case(
        "https://github.com/pyinstaller/pyinstaller/issues/8219",
        HardwareProfile("windows_on_arm", system="Windows", machine="ARM64"),
        {"platform.machine()": "ARM64", "platform.uname().machine": "ARM64", "sysconfig.get_platform()": "win-arm64"},
    ),
]  # fmt: skip
