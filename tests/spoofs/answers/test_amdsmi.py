"""`amdsmi` says of every card what torch says, where the row has the package."""

from __future__ import annotations

from spoofs.profiles import HardwareProfile
from tests.spoofs.machines import run

CARDS = (
    {"name": "AMD Instinct MI300X", "arch": "gfx942:sramecc+:xnack-", "total_memory": 205822885888, "processors": 304},
    {"name": "AMD Radeon RX 7900 XTX", "arch": "gfx1100", "total_memory": 24 * 1024**3},
)


def test_every_card_is_what_torch_says() -> None:
    machine = HardwareProfile(
        "two", cuda_available=True, hip_version="6.4", devices=CARDS, packages={"amdsmi": "25.3.0"}
    )
    code = """
import amdsmi, torch
amdsmi.amdsmi_init()
for index, card in enumerate(amdsmi.amdsmi_get_processor_handles()):
    asic, vram = amdsmi.amdsmi_get_gpu_asic_info(card), amdsmi.amdsmi_get_gpu_vram_usage(card)
    said = torch.cuda.get_device_properties(index)
    assert asic["market_name"] == said.name
    assert asic["target_graphics_version"] == said.gcnArchName.partition(":")[0]
    assert asic["num_compute_units"] == said.multi_processor_count
    assert vram["vram_total"] == said.total_memory // 2**20
    assert amdsmi.amdsmi_get_gpu_device_bdf(card) == f"0000:0{index + 1}:00.0"
print(index + 1, amdsmi.__version__)
amdsmi.amdsmi_shut_down()
"""
    child = run(machine, code)
    assert ("2 25.3.0\n", "") == (child.stdout, child.stderr)


def test_without_a_card_it_finds_no_driver() -> None:
    code = """
import amdsmi
try: amdsmi.amdsmi_init()
except amdsmi.AmdSmiException as error: print(type(error).__name__, error.get_error_code())
"""
    assert "AmdSmiLibraryException 34\n" == run(HardwareProfile("none", packages={"amdsmi": "25.3.0"}), code).stdout


def test_it_is_absent_where_no_row_names_it() -> None:
    assert "No module named 'amdsmi'" in run("amd_rocm", "import amdsmi").stderr
