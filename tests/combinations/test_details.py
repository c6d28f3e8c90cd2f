"""What the detection says beside its verdicts: the line it prints, whether training is off and why, masks it sets."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from spoofs.profiles import MI300X, MLX, PROFILES, T4, HardwareProfile
from tests import forks
from tests.combinations import measuring
from tests.combinations.details import (
    UNKNOWN,
    Prepare,
    Refusing,
    answers_yes,
    detection,
    fails,
    import_fails,
    installed_without_torch,
    metadata_is_unreadable,
    settled_without_torch,
    torch_on_disk_is_broken,
    without_device_order,
    without_the_repair,
)
from tests.studio.guards.gate import ZOO_RUNTIME, zoo_path
from tests.studio.subject import Subject

NO_BACKEND = "CPU training backend (no PyTorch/MLX GPU backend available)"
FLOORS = {"mlx": "0.22.0", "mlx-lm": "0.31.2", "mlx-vlm": "0.4.4"}
MISSING = "; ".join(f"{name} is not installed (needs >={floor})" for name, floor in FLOORS.items())
CUDA = "NVIDIA GeForce RTX 4090"  # what a row without devices has
XPU = "Intel(R) Data Center GPU Max 1550"
W7900 = {"name": "AMD Radeon PRO W7900", "arch": "gfx1100"}
A100 = {"name": "NVIDIA A100"}
SDK = "2.13.0+rocm7.1"
ON_BUS = {"devices": (T4,), "tools": {"nvidia-smi": {}}}  # a card that torch does not reach

NAMED = {row.name: row for row in PROFILES}


def told(*said: str, **rest: Any) -> dict[str, Any]:
    """What the detection leaves behind where training is on; `rest` says what differs."""
    usual = {"said": [f"Hardware detected: {said[0]}", *said[1:]], "warned": [], "chat_only": False, "reason": None}
    usual |= {"detail": None, "vendors": [], "hint": None, "rosetta": False, "left over": None, "cuda_mask": None}
    return usual | rest


def off(reason: str, detail: str | None = None, **rest: Any) -> dict[str, Any]:
    """What it leaves behind where no device can train."""
    return told(NO_BACKEND, chat_only=True, reason=reason, detail=detail, **rest)


def mismatch(reason: str, detail: str) -> dict[str, Any]:
    """The same on a machine whose NVIDIA card this torch cannot use."""
    return off(reason, detail, vendors=["nvidia"], hint=reason)


Facts = dict[str, Any]
MAC: Facts = {"system": "Darwin", "machine": "arm64"}
BOTH: Facts = {"cuda_available": True, "xpu_available": True}
TORCHLESS: Facts = {"packages": {"torch": None}}


def environment(**variables: str) -> Facts:
    """Switches and masks."""
    return {"environment": variables}


# Machine -> its facts (or the profile of that name), what was done to the process, what is left behind.
DETAILS: dict[str, tuple[Facts | HardwareProfile, Prepare | None, dict[str, Any]]] = {
    "nvidia_cuda": (NAMED["nvidia_cuda"], None, told("CUDA -- Tesla T4")),
    "amd_rocm": (NAMED["amd_rocm"], None, told("ROCm (HIP 6.1) -- AMD Instinct MI300X")),
    "intel_xpu": (NAMED["intel_xpu"], None, told("XPU — Intel(R) Arc(TM) A770 Graphics")),
    "apple_silicon_mlx": (NAMED["apple_silicon_mlx"], None, told("MLX — Apple Silicon (arm64)")),
    "apple_silicon_no_mlx": (NAMED["apple_silicon_no_mlx"], None, off("mlx_unavailable", MISSING)),
    "linux_arm64_with_mlx": (NAMED["linux_arm64_with_mlx"], None, off("no_gpu")),
    "cpu_only": (NAMED["cpu_only"], None, off("no_gpu")),
    # All cards are named where there are several.
    "two_cards": (
        {"cuda_available": True, "devices": (T4, A100)},
        None,
        told(
            "CUDA -- Tesla T4", "CUDA devices (2, CUDA_DEVICE_ORDER=PCI_BUS_ID):", "  [0] Tesla T4", "  [1] NVIDIA A100"
        ),
    ),
    "two_cards_in_no_order": (
        {"cuda_available": True, "devices": (T4, A100)},
        without_device_order,
        told("CUDA -- Tesla T4", "CUDA devices (2, CUDA_DEVICE_ORDER=default):", "  [0] Tesla T4", "  [1] NVIDIA A100"),
    ),
    "two_amd": (
        {"cuda_available": True, "hip_version": "6.1", "devices": (W7900, MI300X)},
        None,
        told(
            "ROCm (HIP 6.1) -- AMD Radeon PRO W7900",
            "ROCm devices (2):",
            "  [0] AMD Radeon PRO W7900",
            "  [1] AMD Instinct MI300X",
        ),
    ),
    "amd_untagged": (  # a ROCm build of one's own: no tag, and the attribute
        {"cuda_available": True, "torch_version": "2.13.0", "hip_version": "6.1"},
        None,
        told("ROCm (HIP 6.1) -- AMD Radeon PRO W7900"),
    ),
    "amd_sdk": (
        {"cuda_available": True, "torch_version": SDK},
        None,
        told(f"ROCm (HIP {SDK}) -- AMD Radeon PRO W7900"),
    ),
    # CUDA goes first, however much else there is; what was asked for explicitly goes before it, and says so.
    "both": (BOTH, None, told(f"CUDA -- {CUDA}")),
    "both_mask_alone": (BOTH | environment(ZE_AFFINITY_MASK="0"), None, told(f"CUDA -- {CUDA}")),
    "both_forced": (
        BOTH | environment(UNSLOTH_FORCE_XPU="1"),
        None,
        told(f"XPU -- {XPU} (UNSLOTH_FORCE_XPU=1)", cuda_mask=""),
    ),
    "both_forced_masked": (
        BOTH | environment(UNSLOTH_FORCE_XPU="1", ZE_AFFINITY_MASK="0"),
        None,
        told(f"XPU -- {XPU} (UNSLOTH_FORCE_XPU=1 + ZE_AFFINITY_MASK)", cuda_mask=""),
    ),
    "both_forced_hidden": (
        BOTH | environment(UNSLOTH_FORCE_XPU="1", CUDA_VISIBLE_DEVICES=" -1 "),
        None,
        told(f"XPU -- {XPU} (UNSLOTH_FORCE_XPU=1)", cuda_mask=" -1 "),
    ),
    "both_masked_hidden": (
        BOTH | environment(ZE_AFFINITY_MASK="0", CUDA_VISIBLE_DEVICES="-1"),
        None,
        told(f"XPU -- {XPU} (ZE_AFFINITY_MASK hint honoured)", cuda_mask="-1"),
    ),
    "both_hidden": (
        BOTH | environment(CUDA_VISIBLE_DEVICES="-1"),
        None,
        told(f"XPU — {XPU}", cuda_mask="-1"),
    ),
    # A mask that names a card hides none; one that was set too late for torch hides it all the same.
    "both_masked_named": (
        BOTH | environment(ZE_AFFINITY_MASK="0", CUDA_VISIBLE_DEVICES="0"),
        None,
        told(f"CUDA -- {CUDA}", cuda_mask="0"),
    ),
    "both_masked_late": (
        BOTH | environment(ZE_AFFINITY_MASK="0", CUDA_VISIBLE_DEVICES="-1"),
        answers_yes("torch.cuda.is_available"),
        told(f"XPU -- {XPU} (ZE_AFFINITY_MASK hint honoured)", cuda_mask="-1"),
    ),
    "both_masked_late_empty": (
        BOTH | environment(ZE_AFFINITY_MASK="0", CUDA_VISIBLE_DEVICES=""),
        answers_yes("torch.cuda.is_available"),
        told(f"XPU -- {XPU} (ZE_AFFINITY_MASK hint honoured)", cuda_mask=""),
    ),
    "both_forced_late": (
        BOTH | environment(UNSLOTH_FORCE_XPU="1", CUDA_VISIBLE_DEVICES="-1"),
        answers_yes("torch.cuda.is_available"),
        told(f"XPU -- {XPU} (UNSLOTH_FORCE_XPU=1)", cuda_mask="-1"),
    ),
    # The mask is a hint where CUDA is not there to be hidden.
    "xpu_masked": (
        {"xpu_available": True} | environment(ZE_AFFINITY_MASK="0"),
        None,
        told(f"XPU -- {XPU} (ZE_AFFINITY_MASK hint honoured)"),
    ),
    # Level Zero takes these two for no mask at all, so neither is a hint.
    "both_hidden_default": (
        BOTH | environment(ZE_AFFINITY_MASK="default", CUDA_VISIBLE_DEVICES="-1"),
        None,
        told(f"XPU — {XPU}", cuda_mask="-1"),
    ),
    "both_hidden_empty": (
        BOTH | environment(ZE_AFFINITY_MASK="", CUDA_VISIBLE_DEVICES="-1"),
        None,
        told(f"XPU — {XPU}", cuda_mask="-1"),
    ),
    "xpu_forced": (
        {"xpu_available": True} | environment(UNSLOTH_FORCE_XPU="1"),
        None,
        told(f"XPU -- {XPU} (UNSLOTH_FORCE_XPU=1)"),
    ),
    "cuda_forced": (
        {"cuda_available": True} | environment(UNSLOTH_FORCE_XPU="1"),
        None,
        told(f"CUDA -- {CUDA}"),
    ),
    # An older torch lacks the probe; a wedged driver raises at it.
    "cuda_forced_no_probe": (
        {"cuda_available": True, "torch_lacks": ("torch.xpu",)} | environment(UNSLOTH_FORCE_XPU="1"),
        None,
        told(f"CUDA -- {CUDA}"),
    ),
    "no_probe": ({"torch_lacks": ("torch.xpu",)}, None, off("no_gpu")),
    "no_hip": ({"cuda_available": True, "torch_lacks": ("torch.version.hip",)}, None, told(f"CUDA -- {CUDA}")),
    "cuda_raises": (BOTH, fails("torch.cuda.is_available"), told(f"XPU — {XPU}")),
    "forced_xpu_raises": (
        BOTH | environment(UNSLOTH_FORCE_XPU="1"),
        fails("torch.xpu.is_available"),
        told(f"CUDA -- {CUDA}"),
    ),
    "xpu_raises": ({"xpu_available": True}, fails("torch.xpu.is_available"), off("no_gpu")),
    "xpu_name_raises": (
        {"xpu_available": True},
        fails("torch.xpu.get_device_name"),
        told("XPU — <unavailable>"),
    ),
    "cuda_name_raises": (
        {"cuda_available": True, "devices": (T4, A100)},
        fails("torch.cuda.get_device_properties"),
        told(
            "CUDA -- <unavailable>",
            "CUDA devices (2, CUDA_DEVICE_ORDER=PCI_BUS_ID):",
            "  [0] <unavailable>",
            "  [1] <unavailable>",
        ),
    ),
    # MLX counts as a whole.
    "mlx_at_the_floors": (MAC | {"packages": FLOORS}, None, told("MLX — Apple Silicon (arm64)")),
    "mlx_old": (
        MAC | {"packages": {**FLOORS, "mlx": "0.21.9", "mlx-vlm": "0.4.3"}},
        None,
        off("mlx_unavailable", "mlx 0.21.9 is older than 0.22.0; mlx-vlm 0.4.3 is older than 0.4.4"),
    ),
    "mlx_lm_old": (
        MAC | {"packages": {**FLOORS, "mlx-lm": "0.31.1"}},
        None,
        off("mlx_unavailable", "mlx-lm 0.31.1 is older than 0.31.2"),
    ),
    "mlx_lm_broken": (
        MAC | {"packages": {**MLX, "mlx-lm": {"version": "0.32.2", "error": "ImportError: no libmlx"}}},
        None,
        off("mlx_unavailable", "mlx_lm does not import (ImportError: no libmlx)"),
    ),
    "mlx_vlm_broken": (
        MAC | {"packages": {**MLX, "mlx-vlm": {"version": "0.7.9", "error": "OSError: no libmlx"}}},
        None,
        off("mlx_unavailable", "mlx_vlm does not import (OSError: no libmlx)"),
    ),
    "mlx_lm_absent": (
        MAC | {"packages": {**MLX, "mlx-lm": None}},
        None,
        off("mlx_unavailable", "mlx-lm is not installed (needs >=0.31.2)"),
    ),
    "mlx_unreadable": (
        MAC | {"packages": MLX},
        metadata_is_unreadable("mlx"),
        off("mlx_unavailable", "mlx could not be read (OSError: input/output error)"),
    ),
    "no_version_check": (
        MAC | {"packages": MLX},
        import_fails("packaging.version", ImportError("no packaging")),
        off("mlx_unavailable", "the version check could not run (ImportError: no packaging)"),
    ),
    # Without the module that measures the stack, mlx alone decides.
    "no_repair": (MAC | {"packages": {"mlx": "0.32.4"}}, without_the_repair, told("MLX — Apple Silicon (arm64)")),
    "no_repair_no_mlx": (MAC, without_the_repair, off("mlx_unavailable")),
    # The other reasons.
    "torch_broken": (
        {"packages": {"torch": {"version": "2.13.0+cu130", "error": "OSError: libcudart.so.13"}}},
        None,
        off("detection_failed", warned=["torch fails"]),
    ),
    "torch_absent": (TORCHLESS, None, off("no_gpu")),
    "torch_absent_with_card": (TORCHLESS | ON_BUS, None, off("no_gpu")),
    "no_torch": (MAC, installed_without_torch, off("no_torch")),
    "no_torch_mlx_broken": (
        MAC | {"packages": {"mlx": "0.32.4"}},
        installed_without_torch,
        off("mlx_unavailable", MISSING.partition("; ")[2]),
    ),
    "no_torch_settled": (MAC | {"packages": {"mlx": "0.32.4"}}, settled_without_torch, off("no_torch")),
    "no_torch_on_linux": (TORCHLESS | ON_BUS, installed_without_torch, off("no_torch", hint="no_torch")),
    "no_torch_no_card": (TORCHLESS, installed_without_torch, off("no_gpu")),
    "no_torch_yet_torch": (ON_BUS, installed_without_torch, mismatch("torch_cpu_build", "2.13.0+cpu")),
    "cpu_wheel": (ON_BUS, None, mismatch("torch_cpu_build", "2.13.0+cpu")),
    "cpu_wheel_wanted": (ON_BUS | environment(UNSLOTH_TORCH_INDEX_FAMILY="cpu"), None, off("no_gpu")),
    "cuda_wheel_no_driver": (
        ON_BUS | {"cuda_version": "13.0"},
        None,
        mismatch("torch_cuda_unavailable", "2.13.0+cu130"),
    ),
    "card_hidden": (ON_BUS | environment(CUDA_VISIBLE_DEVICES=""), None, off("no_gpu", cuda_mask="")),
    "wheel_broken": (
        ON_BUS,
        torch_on_disk_is_broken,
        mismatch("torch_cuda_unavailable", "2.13.0+cu130") | {"warned": ["torch fails"]},
    ),
    "wheel_broken_stray_mask": (  # a mask of AMD's hides no card of NVIDIA's, once the inventory has answered
        ON_BUS | environment(HIP_VISIBLE_DEVICES=""),
        torch_on_disk_is_broken,
        mismatch("torch_cuda_unavailable", "2.13.0+cu130") | {"warned": ["torch fails"]},
    ),
    "wheel_broken_no_card": ({}, torch_on_disk_is_broken, off("detection_failed", warned=["torch fails"])),
    "wheel_broken_hidden": (
        ON_BUS | environment(CUDA_VISIBLE_DEVICES="-1"),
        torch_on_disk_is_broken,
        off("detection_failed", warned=["torch fails"], cuda_mask="-1"),
    ),
    "wheel_broken_cpu_wanted": (
        ON_BUS | environment(UNSLOTH_TORCH_INDEX_FAMILY="cpu"),
        torch_on_disk_is_broken,
        off("detection_failed", warned=["torch fails"]),
    ),
    "intel_mac": ({"system": "Darwin"}, None, off("intel_mac")),
    "intel_mac_asked": ({"system": "Darwin", "tools": {"sysctl": "0\n"}}, None, off("intel_mac")),
    "intel_mac_fails": (
        {"system": "Darwin", "tools": {"sysctl": {"output": "1\n", "status": 1}}},
        None,
        off("intel_mac"),
    ),
    "intel_mac_no_tool": ({"system": "Darwin", "tools": {"sysctl": None}}, None, off("intel_mac")),
    "mac_of_no_make": ({"system": "Darwin", "machine": "AMD64", "tools": {"sysctl": "1\n"}}, None, off("intel_mac")),
    "linux_sysctl": ({"tools": {"sysctl": "1\n"}}, None, off("no_gpu")),
    "rosetta": ({"system": "Darwin", "tools": {"sysctl": "1\n"}}, None, off("rosetta", rosetta=True)),
    "windows": ({"system": "Windows", "machine": "AMD64"}, None, off("no_gpu")),
    "rosetta_in_vain": (  # the tool hangs: the subject waits two seconds for it
        {"system": "Darwin", "tools": {"sysctl": {"output": "1\n", "seconds": 4}}},
        None,
        off("intel_mac"),
    ),
}


def machine(name: str) -> HardwareProfile:
    """The row of that name."""
    facts = DETAILS[name][0]
    return facts if isinstance(facts, HardwareProfile) else HardwareProfile(name, **facts)


@pytest.fixture(scope="session")
def details(subject: Subject) -> Callable[[str], Any]:
    """Asks a machine, once, what two passes in one process left behind, and whether both came to the same verdict."""

    @cache
    def ask(name: str) -> Any:
        ((_, answer),) = forks.run([detection(machine(name), DETAILS[name][1], subject)])
        assert isinstance(answer, list), answer
        return answer

    return ask


def _known(found: dict[str, Any], of: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in of.items() if found[key] != UNKNOWN}


@pytest.mark.parametrize("name", DETAILS)
def test_the_detection_says_what_it_found(details: Callable[[str], Any], name: str) -> None:
    """The line it prints, CHAT_ONLY with its reason and detail, and CUDA's mask for the children."""
    found = details(name)[0]

    assert _known(found, DETAILS[name][2]) == _known(found, found)


@pytest.mark.parametrize("name", DETAILS)
def test_a_second_pass_remembers_nothing_of_the_first(details: Callable[[str], Any], name: str) -> None:
    """Detection is asked again in the same process; whatever stood there before, it says the same."""
    first, again, same = details(name)

    # A broken torch is told of once, until something changes.
    assert {**first, "warned": again["warned"]} == again
    assert again["warned"] in ([], first["warned"])
    assert same


# --- how often, and what counts as broken ------------------------------------------------------------------------


def _on(row: HardwareProfile, subject: Subject, work: Callable[[Any], Any]) -> Any:
    """What `work`, given the subject's hardware module, answers in a child that is the machine."""

    def job() -> Any:
        measuring.become(row)
        subject.go_on_path()
        with contextlib.redirect_stdout(io.StringIO()):
            return work(importlib.import_module("utils.hardware.hardware"))

    ((_, answer),) = forks.run([job])
    assert not isinstance(answer, forks.Died), answer
    return answer


def test_a_broken_torch_is_tried_once_until_something_changes(subject: Subject) -> None:
    """A failed import is slow: it is tried again only in the next epoch, or where someone else has imported torch."""

    def work(hardware: Any) -> Any:
        finder = Refusing("torch", OSError("libcudart.so.13"))
        found = []

        def detected() -> None:
            found.append([hardware.detect_hardware().name, finder.asked, hardware.TORCH_IMPORT_ERROR])

        detected()
        detected()
        hardware.invalidate_detection()
        detected()
        finder.error = None
        detected()
        hardware.invalidate_detection()
        detected()
        return found

    broken = repr(OSError("libcudart.so.13"))
    # The label of the wheel on disk is read by finding torch, which the finder sees too: only imports are counted here.
    found = _on(NAMED["nvidia_cuda"], subject, work)
    assert ["CPU", "CPU", "CPU", "CPU", "CUDA"] == [device for device, _, _ in found]
    assert [broken, broken, broken, broken, None] == [error for _, _, error in found]


def test_a_torch_that_another_thread_imported_is_taken(subject: Subject) -> None:
    """After a failed import, a torch that is there in the same epoch counts, and the error is forgotten."""

    def work(hardware: Any) -> Any:
        finder = Refusing("torch", OSError("libcudart.so.13"))
        first = hardware.detect_hardware().name
        sys.meta_path.remove(finder)
        importlib.import_module("torch")
        return [first, hardware.detect_hardware().name, hardware.CHAT_ONLY_REASON, hardware.TORCH_IMPORT_ERROR]

    assert ["CPU", "CUDA", None, None] == _on(NAMED["nvidia_cuda"], subject, work)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'torch'", name="torch"), "no_gpu"),
        (ModuleNotFoundError("No module named 'torch._C'", name="torch._C"), "detection_failed"),
        (ImportError("cannot import name 'cuda' from 'torch'", name="torch"), "detection_failed"),
        (OSError("libcudart.so.13"), "detection_failed"),
    ],
    ids=["absent", "a part is absent", "a name is absent", "a library is absent"],
)
def test_only_an_absent_torch_is_no_torch(subject: Subject, error: Exception, reason: str) -> None:
    """Whatever else the import raises is a torch that is installed and broken."""

    def work(hardware: Any) -> Any:
        Refusing("torch", error)
        hardware.detect_hardware()
        return hardware.CHAT_ONLY_REASON

    assert reason == _on(NAMED["cpu_only"], subject, work)


def test_what_a_failed_import_left_behind_is_cleared(subject: Subject) -> None:
    """Parts of torch without a torch would serve the next import half a package."""

    def work(hardware: Any) -> Any:
        sys.modules["torch.half"] = type(sys)("torch.half")
        Refusing("torch", OSError("libcudart.so.13"))
        hardware.detect_hardware()
        return "torch.half" in sys.modules

    assert not _on(NAMED["cpu_only"], subject, work)


def test_a_broken_mlx_stack_is_imported_once_a_pass(subject: Subject) -> None:
    """Such an import can park: what the gate measured is what the reason is told from."""

    def work(hardware: Any) -> Any:
        finder = Refusing("mlx_vlm", OSError("no libmlx"))
        hardware.detect_hardware()
        return [finder.asked, hardware.CHAT_ONLY_DETAIL]

    assert [1, "mlx_vlm does not import (OSError: no libmlx)"] == _on(NAMED["apple_silicon_mlx"], subject, work)


def test_the_reason_is_measured_where_nobody_has(subject: Subject) -> None:
    """Asked outside of a pass, the detail is what the stack lacks, and nothing where it lacks nothing."""

    def work(hardware: Any) -> Any:
        return hardware._mlx_stack_detail()

    assert MISSING == _on(NAMED["apple_silicon_no_mlx"], subject, work)
    assert _on(NAMED["apple_silicon_mlx"], subject, work) is None


def test_a_hidden_card_leaves_no_complaint_about_a_broken_wheel(subject: Subject) -> None:
    """What the health routes are told of the build afterwards is what the detection found: nothing to mend."""

    def work(hardware: Any) -> Any:
        torch_on_disk_is_broken()
        hardware.detect_hardware()
        return hardware.torch_build_snapshot(block=False)["reason"]

    facts = ON_BUS | environment(CUDA_VISIBLE_DEVICES="-1")
    assert _on(HardwareProfile("hidden", **facts), subject, work) is None
    assert "torch_cuda_unavailable" == _on(HardwareProfile("seen", **ON_BUS), subject, work)


@pytest.mark.parametrize(
    ("facts", "decides"),
    [
        (MAC | {"packages": MLX}, True),
        (MAC | {"packages": MLX} | environment(UNSLOTH_FORCE_GPU_PATH="0"), True),
        (MAC | {"packages": MLX} | environment(UNSLOTH_FORCE_GPU_PATH="1"), False),
        (MAC, False),
        ({"system": "Darwin", "packages": MLX}, False),
        ({"machine": "arm64", "packages": MLX}, False),
        ({}, False),
    ],
    ids=["Apple with MLX", "switch at 0", "forced off", "no MLX", "Intel", "Linux", "nothing"],
)
def test_the_zoo_decides_as_the_gate_does(subject: Subject, facts: Facts, decides: bool) -> None:
    """unsloth_zoo.mlx, which the gate asks last, asks for itself: on every machine, by the same facts."""

    def work(_: Any) -> Any:
        spec = importlib.util.spec_from_file_location("runtime", zoo_path(subject, ZOO_RUNTIME))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.is_mlx_available()

    assert decides is _on(HardwareProfile("any", **facts), subject, work)


def test_the_whole_stack_is_imported_part_by_part(subject: Subject) -> None:
    """Each of the four imports that Studio needs is tried, and the one that fails is named."""

    def work_on(module: str) -> Callable[[Any], Any]:
        def work(hardware: Any) -> Any:
            Refusing(module, OSError("gone"))
            for name in [name for name in sys.modules if name.partition(".")[0] == "mlx"]:
                del sys.modules[name]
            hardware.detect_hardware()
            return hardware.CHAT_ONLY_DETAIL

        return work

    names = ("mlx", "mlx_lm", "mlx_vlm")
    found = [_on(NAMED["apple_silicon_mlx"], subject, work_on(name)) for name in names]
    assert [f"{name} does not import (OSError: gone)" for name in ("mlx.core", "mlx_lm", "mlx_vlm")] == found
