"""One machine, one answer: all the ways in which software asks for a fact agree, on every machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from spoofs import derived, hooks, installed, inventory
from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.spoofs.field_cases import CASES
from tests.spoofs.machines import INTERPRETERS
from tests.spoofs.probing import ask, visible

MACHINES = [*PROFILES, *CANARIES, *(case.machine for case in CASES)]
ORDINALS = "for each in range(torch.{kind}.device_count())"


class Fact(NamedTuple):
    """What the row says, and all expressions that must say so too; on the machines where it can be asked."""

    says: Callable[[HardwareProfile], Any]
    ways: tuple[str, ...]
    where: Callable[[HardwareProfile], bool] = lambda profile: True


def has(name: str) -> Callable[[HardwareProfile], bool]:
    """Whether the machine's torch has a part."""
    return lambda profile: not name.startswith(derived.lacking(profile) or "\0")


def unmasked_nvidia(profile: HardwareProfile) -> bool:
    return (
        derived.is_built(profile, "cuda")
        and bool(inventory.cards(profile, "nvidia"))
        and profile.system != "Darwin"
        and not profile.environment
        and not profile.nvml
        and not any("slice_of" in device for device in profile.devices)
    )


def marker(name: str) -> str:
    return f"importlib.import_module('packaging.markers').default_environment()[{name!r}]"


def accelerator(profile: HardwareProfile) -> str | None:
    return next((kind for kind in ("cuda", "xpu", "mps") if derived.is_built(profile, kind)), None)


FACTS = {
    # platform
    "system": Fact(
        lambda profile: profile.system,
        (
            "platform.system()",
            "platform.uname().system",
            "platform.uname()[0]",
            "list(platform.uname())[0]",
            marker("platform_system"),
            "{'macOS': 'Darwin'}.get(platform.platform().split('-')[0], platform.platform().split('-')[0])",
            "{'macOS': 'Darwin'}.get(platform.platform(1, 1).split('-')[0], platform.platform(1, 1).split('-')[0])",
            (
                "next(system for start, system in [('linux', 'Linux'), ('macosx', 'Darwin'), ('win', 'Windows')]"
                " if sysconfig.get_platform().startswith(start))"
            ),
            (
                "{'': 'Linux', 'ELF': 'Linux', 'WindowsPE': 'Windows', 'Mach-O': 'Darwin'}[platform.architecture()[1]]"
                " if not platform.mac_ver()[0] else 'Darwin'"
            ),
            "'Darwin' if platform.mac_ver()[0] else 'Windows' if platform.win32_ver()[0] else 'Linux'",
        ),
    ),
    "kernel": Fact(
        lambda profile: (profile.system, derived.release(profile), derived.VERSION[profile.system], profile.machine),
        (
            "(os.uname().sysname, os.uname().release, os.uname().version, os.uname().machine)",
            "(os.uname()[0], *os.uname()[2:])",
            "(platform.system(), platform.release(), platform.version(), platform.machine())",
            "(platform.uname()[0], *platform.uname()[2:5])",
            (
                f"({marker('platform_system')}, {marker('platform_release')}, {marker('platform_version')},"
                f" {marker('platform_machine')})"
            ),
        ),
        lambda profile: profile.system != "Windows",
    ),
    "machine": Fact(
        lambda profile: profile.machine,
        (
            "platform.machine()",
            "platform.uname().machine",
            "platform.uname()[4]",
            "tuple(platform.uname())[4]",
            marker("platform_machine"),
            (
                "{'win-amd64': 'AMD64', 'win-arm64': 'ARM64'}.get(sysconfig.get_platform(),"
                " sysconfig.get_platform().partition('-')[2].rpartition('-')[2])"
            ),
            "platform.mac_ver()[2] or platform.machine()",
        ),
    ),
    "node": Fact(
        lambda profile: os.uname().nodename, ("platform.node()", "platform.uname().node", "platform.uname()[1]")
    ),
    "processor": Fact(
        derived.processor,
        ("platform.processor()", "platform.uname().processor", "platform.uname()[5]", "list(platform.uname())[5]"),
    ),
    "macOS": Fact(
        derived.mac_version,
        ("platform.mac_ver()[0]", "platform.platform().split('-')[1]", "platform.platform(terse=True).split('-')[1]"),
        lambda profile: profile.system == "Darwin",
    ),
    "C library": Fact(
        lambda profile: profile.system == "Linux",
        ("platform.libc_ver() != ('', '')", "'with' in platform.platform()", "platform.architecture()[1] == 'ELF'"),
    ),
    "distribution of Linux": Fact(
        lambda profile: profile.system == "Linux",
        (
            "bool(platform.freedesktop_os_release()) if platform.system() == 'Linux' else False",
            "not platform.mac_ver()[0] and not platform.win32_ver()[0]",
        ),
    ),
    # torch's build
    "torch": Fact(
        derived.torch_version,
        (
            "str(torch.__version__)",
            "torch.version.__version__",
            "importlib.metadata.version('torch')",
            "importlib.metadata.distribution('torch').version",
            "next(each.version for each in importlib.metadata.distributions() if each.metadata['Name'] == 'torch')",
        ),
    ),
    "torch.version.cuda": Fact(
        derived.cuda_version, ("torch.version.cuda", "__import__('torch.version').version.cuda")
    ),
    "torch.version.hip": Fact(lambda profile: profile.hip_version, ("torch.version.hip", "vars(torch.version)['hip']")),
    "torch.version.rocm": Fact(derived.rocm_version, ("torch.version.rocm",), has("torch.version.rocm")),
    "torch.version.xpu": Fact(lambda profile: profile.xpu_version, ("torch.version.xpu",), has("torch.version.xpu")),
    "built for CUDA": Fact(
        lambda profile: derived.is_built(profile, "cuda"),
        (
            "torch.backends.cuda.is_built()",
            "torch.backends.cudnn.is_available()",
            "torch.cuda._is_compiled()",
            "torch.has_cuda",
            "torch.has_cudnn",
            "bool(torch.cuda.get_arch_list())",
            "torch.version.cuda is not None or torch.version.hip is not None or '+rocm' in torch.__version__",
        ),
    ),
    "built for CUDA's own language": Fact(
        lambda profile: derived.cuda_version(profile) is not None,
        ("bool(torch.cuda.get_gencode_flags())", "any(each.startswith('sm_') for each in torch.cuda.get_arch_list())"),
    ),
    "NCCL": Fact(
        lambda profile: derived.is_built(profile, "cuda") and profile.system == "Linux",
        ("torch.distributed.is_nccl_available()",),
    ),
    "distributed": Fact(
        lambda profile: not profile.torch_lacks,
        ("torch.distributed.is_available()", "hasattr(torch.distributed, 'Work')"),
    ),
    "built for XPU": Fact(
        lambda profile: derived.is_built(profile, "xpu"),
        ("torch.xpu._is_compiled()", "bool(torch.xpu.get_arch_list())"),
        has("torch.xpu"),
    ),
    "built for MPS": Fact(
        lambda profile: derived.is_built(profile, "mps"),
        ("torch.backends.mps.is_built()", "torch.has_mps", "platform.system() == 'Darwin'"),
    ),
    # torch.cuda
    "CUDA devices": Fact(
        lambda profile: [device["name"] for device in visible(profile, "cuda")],
        (
            f"[torch.cuda.get_device_name(each) {ORDINALS.format(kind='cuda')}]",
            f"[torch.cuda.get_device_name(f'cuda:{{each}}') {ORDINALS.format(kind='cuda')}]",
            f"[torch.cuda.get_device_name(torch.device('cuda', each)) {ORDINALS.format(kind='cuda')}]",
            f"[torch.cuda.get_device_properties(each).name {ORDINALS.format(kind='cuda')}]",
            f"[torch.get_device_module('cuda').get_device_name(each) {ORDINALS.format(kind='cuda')}]",
        ),
    ),
    "CUDA available": Fact(
        lambda profile: bool(visible(profile, "cuda")),
        (
            "torch.cuda.is_available()",
            "torch.cuda.device_count() > 0",
            "torch.get_device_module('cuda').is_available()",
            "torch.cuda.is_available() and torch.cuda.current_device() == 0",
            "torch.cuda.is_available() and [torch.cuda.init()] == [None]",
            "torch.cuda.is_available() and [torch.cuda._lazy_init()] == [None]",
            "torch.cuda.is_available() and torch.cuda.is_initialized()",
            "torch.cuda.is_available() and [torch.cuda.synchronize()] == [None]",
            (
                "torch.cuda.is_available() and [torch.cuda.reset_peak_memory_stats(), torch.cuda.set_device(0),"
                " torch.cuda.set_per_process_memory_fraction(0.5)] == [None] * 3"
            ),
            "torch.cuda.is_available() and torch.cuda.is_bf16_supported()",
        ),
    ),
    "CUDA capability": Fact(
        lambda profile: [derived.capability(device) for device in visible(profile, "cuda")],
        (
            f"[torch.cuda.get_device_capability(each) {ORDINALS.format(kind='cuda')}]",
            (
                "[(each.major, each.minor) for each in map(torch.cuda.get_device_properties,"
                " range(torch.cuda.device_count()))]"
            ),
        ),
        lambda profile: "HSA_OVERRIDE_GFX_VERSION" not in profile.environment,
    ),
    "CUDA memory": Fact(
        lambda profile: [derived.total_memory(device) for device in visible(profile, "cuda")],
        (
            f"[torch.cuda.mem_get_info(each)[1] {ORDINALS.format(kind='cuda')}]",
            f"[torch.cuda.mem_get_info(f'cuda:{{each}}')[1] {ORDINALS.format(kind='cuda')}]",
            f"[torch.cuda.get_device_properties(each).total_memory {ORDINALS.format(kind='cuda')}]",
        ),
    ),
    "native bfloat16 and TF32 of NVIDIA's first": Fact(
        lambda profile: bool(visible(profile, "cuda")) and derived.capability(visible(profile, "cuda")[0]) >= (8, 0),
        ("torch.cuda.is_bf16_supported(including_emulation=False)", "torch.cuda.is_tf32_supported()"),
        lambda profile: profile.hip_version is None,
    ),
    "the second selected": Fact(
        lambda profile: 1,
        (
            "[torch.cuda.set_device(1), torch.cuda.current_device(), torch.cuda.set_device(0)][1]",
            (
                "[[torch.cuda.current_device() for context.idx in [1]] and context.idx for context in"
                " [torch.cuda.device('cuda:1')]][0]"
            ),
            (
                "(lambda card: [card.__enter__(), torch.cuda.current_device(), card.__exit__(None, None, None)])"
                "(torch.cuda.device(1))[1]"
            ),
        ),
        lambda profile: len(visible(profile, "cuda")) > 1,
    ),
    "what NVIDIA's tools list": Fact(
        lambda profile: [device["name"] for device in inventory.cards(profile, "nvidia")],
        (
            (
                "__import__('subprocess').run(['nvidia-smi', '--query-gpu=name', '--format=csv,noheader'],"
                " capture_output=True, text=True).stdout.splitlines()"
            ),
            (
                "(lambda nvml: [nvml.nvmlInit(), [nvml.nvmlDeviceGetName(nvml.nvmlDeviceGetHandleByIndex(each))"
                " for each in range(nvml.nvmlDeviceGetCount())]])(importlib.import_module('pynvml'))[1]"
            ),
            "sorted(torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count()))",
        ),
        unmasked_nvidia,
    ),
    # torch.xpu
    "XPU available": Fact(
        lambda profile: bool(visible(profile, "xpu")),
        (
            "torch.xpu.is_available()",
            "torch.xpu.device_count() > 0",
            "torch.xpu.is_available() and torch.xpu.current_device() == 0",
            "torch.xpu.is_available() and [torch.xpu.init()] == [None]",
            "torch.xpu.is_available() and [torch.xpu._lazy_init()] == [None]",
            "torch.xpu.is_available() and torch.xpu.is_initialized()",
            (
                "torch.xpu.is_available() and [torch.xpu.synchronize(), torch.xpu.set_device(0),"
                " torch.xpu.reset_peak_memory_stats()] == [None] * 3"
            ),
            "torch.xpu.is_bf16_supported()",
            "torch.xpu.is_bf16_supported(including_emulation=False)",
            "torch.xpu.is_tf32_supported()",
            (
                "torch.xpu.is_available() and (lambda card: [card.__enter__(), card.__exit__(None, None, None)])"
                "(torch.xpu.device(0)) == [None, False]"
            ),
        ),
        has("torch.xpu"),
    ),
    "XPU devices": Fact(
        lambda profile: [(device["name"], derived.total_memory(device)) for device in visible(profile, "xpu")],
        (
            (f"[(torch.xpu.get_device_name(each), torch.xpu.mem_get_info(each)[1]) {ORDINALS.format(kind='xpu')}]"),
            (
                "[(each.name, each.total_memory) for each in map(torch.xpu.get_device_properties,"
                " range(torch.xpu.device_count()))]"
            ),
            (
                "[(each['name'], each['total_memory']) for each in map(torch.xpu.get_device_capability,"
                " range(torch.xpu.device_count()))]"
            ),
        ),
        has("torch.xpu"),
    ),
    # torch.mps
    "MPS available": Fact(
        lambda profile: profile.mps_available,
        (
            "torch.backends.mps.is_available()",
            "torch.mps.is_available()",
            "torch.mps.device_count() > 0",
            "torch.mps.is_available() and torch.backends.mps.is_macos_or_newer(12, 3)",
            "torch.mps.is_available() and torch.backends.mps.is_macos13_or_newer()",
            "torch.mps.is_available() and torch.mps.current_allocated_memory() == 0",
            "torch.mps.is_available() and torch.mps.driver_allocated_memory() == 0",
            "torch.mps.is_available() and [torch.mps.synchronize(), torch.mps.empty_cache()] == [None, None]",
            "torch.mps.is_available() and torch.backends.mps.get_core_count() > 0",
        ),
    ),
    "the Apple GPU": Fact(
        lambda profile: (visible(profile, "mps")[0]["name"], derived.working_set(visible(profile, "mps")[0])),
        (
            "(torch.backends.mps.get_name(), torch.mps.recommended_max_memory())",
            (
                "(lambda said: (said['device_name'], said['max_recommended_working_set_size']))"
                "(importlib.import_module('mlx.core').metal.device_info()) if 'mlx' in sys.modules else"
                " (torch.backends.mps.get_name(), torch.mps.recommended_max_memory())"
            ),
        ),
        lambda profile: profile.mps_available,
    ),
    "Metal": Fact(
        lambda profile: profile.system == "Darwin" and profile.machine == "arm64",
        (
            "importlib.import_module('mlx.core').metal.is_available()",
            "str(importlib.import_module('mlx.core').default_device()) == 'Device(gpu, 0)'",
        ),
        lambda profile: isinstance(profile.packages.get("mlx"), str),
    ),
    # torch.accelerator
    "accelerator": Fact(
        accelerator,
        (
            "(lambda found: found and found.type)(torch.accelerator.current_accelerator())",
            "{'torch.cpu': None}.get(torch.get_device_module().__name__, torch.get_device_module().__name__[6:])",
        ),
        has("torch.accelerator"),
    ),
    "accelerator available": Fact(
        lambda profile: bool(accelerator(profile) and visible(profile, str(accelerator(profile)))),
        (
            "torch.accelerator.is_available()",
            "torch.accelerator.device_count() > 0",
            "torch.accelerator.current_accelerator(check_available=True) is not None",
            "torch.get_device_module().is_available() and torch.get_device_module().__name__ != 'torch.cpu'",
            "torch.accelerator.is_available() and torch.accelerator.current_device_index() == 0",
            "torch.accelerator.is_available() and torch.accelerator.current_device_idx() == 0",
            "torch.accelerator.is_available() and torch.accelerator.get_memory_info()[0] > 0",
            (
                "torch.accelerator.is_available() and torch.float32 in"
                " torch.accelerator.get_device_capability()['supported_dtypes']"
            ),
            (
                "torch.accelerator.is_available() and"
                " [torch.accelerator.set_device_index(0), torch.accelerator.synchronize()] == [None, None]"
            ),
            (
                "torch.accelerator.is_available() and (lambda context: [context.__enter__(), context.__exit__()])"
                "(torch.accelerator.device_index(0)) == [None, None]"
            ),
        ),
        has("torch.accelerator"),
    ),
}


def package_facts(profile: HardwareProfile) -> dict[str, Fact]:
    """For each package that the machine decides on: found, imported and listed, or none of these."""
    facts = {}
    for module, package in installed.packages(profile).items():
        there = package.version is not None
        ways = [
            f"importlib.util.find_spec({module!r}) is not None",
            f"{package.distribution!r} in [each.metadata['Name'] for each in importlib.metadata.distributions()]",
        ]
        if package.error is None:
            ways.append(
                f"(lambda: [importlib.import_module({module!r})])() != []" if there else f"{module!r} in sys.modules"
            )
            if there and module != "torch":
                ways.append(
                    f"importlib.metadata.version({package.distribution!r}) == {package.version!r} =="
                    f" getattr(importlib.import_module({module!r}), '__version__', {package.version!r})"
                )
        facts[f"package {module}"] = Fact(lambda _, there=there: there, tuple(ways))  # type: ignore[misc]
    return facts


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_all_ways_of_asking_agree(machine: HardwareProfile) -> None:
    """Each fact, in each way in which software asks for it, is what the row says."""
    facts = {name: fact for name, fact in {**FACTS, **package_facts(machine)}.items() if fact.where(machine)}
    said = ask(machine, *dict.fromkeys(way for fact in facts.values() for way in fact.ways))
    disagreements = {
        way: (said[way], repr(fact.says(machine)))
        for fact in facts.values()
        for way in fact.ways
        if said[way] != repr(fact.says(machine))
    }
    assert {} == disagreements


@pytest.mark.parametrize("python", INTERPRETERS.values(), ids=INTERPRETERS.keys())
@pytest.mark.parametrize("machine", PROFILES, ids=lambda machine: machine.name)
def test_platform_agrees_on_every_python(machine: HardwareProfile, python: str) -> None:
    """What `platform` has cached, and what it computes from what, differs between versions."""
    names = ("system", "machine", "node", "processor", "macOS", "C library", "distribution of Linux")
    ways = {
        way: repr(FACTS[name].says(machine))
        for name in names
        if FACTS[name].where(machine)
        for way in FACTS[name].ways
        if "packaging" not in way
    }
    assert ways == ask(machine, *ways, python=python)


def test_every_probe_is_a_way_of_asking() -> None:
    """A probe that no fact above is asked by would be one that may disagree."""
    told = " ".join(way for fact in FACTS.values() for way in fact.ways).replace(
        "importlib.import_module('mlx.core')", "mlx.core"
    )
    elsewhere = {
        "pynvml": "held to the cards in the tests of its answers",
        "amdsmi": "held to the cards in the tests of its answers",
        "mlx_lm": "its version is asked as every package's is",
        "mlx_vlm": "its version is asked as every package's is",
        "mlx.core.__version__": "its version is asked as every package's is",
        "importlib_metadata": "has no probes of its own",
    }
    unasked = []
    for module in hooks.ANSWERS:
        answers = hooks.answers(module)
        for dotted in [*getattr(answers, "VALUES", {}), *getattr(answers, "FUNCTIONS", {})]:
            parts = dotted.split(".")
            short = dotted if not parts[-1].startswith("__") or parts[-1] == "__version__" else ".".join(parts[:-1])
            if short not in told and not {module, dotted} & set(elsewhere):
                unasked.append(dotted)
    assert [] == unasked
