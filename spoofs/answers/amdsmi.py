"""What AMD's own Python package `amdsmi` says: the few calls by which software finds out that this is a ROCm machine.

It comes with ROCm or from PyPI, so that a row states it: `packages={"amdsmi": "25.3.0"}`. The names are those of
https://rocm.docs.amd.com/projects/amdsmi/en/latest/reference/amdsmi-py-api.html.
"""

import sys

from spoofs import derived, installed, inventory

MIB = 1024**2
INIT_AMD_GPUS = 2
NO_DRIVER = 34  # AMDSMI_STATUS_DRIVER_NOT_LOADED


class AmdSmiException(Exception):
    """All errors of the package."""


class AmdSmiLibraryException(AmdSmiException):
    """An error of the library below, by its code."""

    def __init__(self, err_code):
        super().__init__(f"Error code:\n\t{err_code}")
        self.err_code = err_code

    def get_error_code(self):
        return self.err_code


class Handle:
    """A card, to the other functions."""

    def __init__(self, index):
        self.index = index


def _card(profile, processor_handle):
    return inventory.cards(profile, "amd")[processor_handle.index]


def amdsmi_init(profile, flag=INIT_AMD_GPUS):
    if not inventory.cards(profile, "amd"):
        raise sys.modules["amdsmi"].AmdSmiLibraryException(NO_DRIVER)


def amdsmi_shut_down():
    """Nothing is open."""


def amdsmi_get_processor_handles(profile):
    return [Handle(index) for index in range(len(inventory.cards(profile, "amd")))]


def amdsmi_get_gpu_asic_info(profile, processor_handle):
    card = _card(profile, processor_handle)
    return {
        "market_name": card["name"],
        "vendor_id": "0x1002",
        "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
        "num_compute_units": card.get("processors", 40),
        "target_graphics_version": card.get("arch", "gfx900").partition(":")[0],
    }


def amdsmi_get_gpu_device_uuid(profile, processor_handle):
    return derived.uuid(_card(profile, processor_handle)).removeprefix("GPU-")


def amdsmi_get_gpu_device_bdf(profile, processor_handle):
    return _card(profile, processor_handle)["bus"]


def amdsmi_get_gpu_vram_usage(profile, processor_handle):
    """{"vram_total", "vram_used"} in MiB."""
    card = _card(profile, processor_handle)
    total = derived.total_memory(card)
    return {"vram_total": total // MIB, "vram_used": (total - derived.free_memory(card)) // MIB}


TYPES = {
    "amdsmi.AmdSmiException": AmdSmiException,
    "amdsmi.AmdSmiLibraryException": AmdSmiLibraryException,
    "amdsmi.amdsmi_shut_down": amdsmi_shut_down,
}
VALUES = {
    "amdsmi.__version__": lambda profile: installed.version(profile, "amdsmi"),
}
FUNCTIONS = {
    f"amdsmi.{answer.__name__}": answer
    for answer in (
        amdsmi_init,
        amdsmi_get_processor_handles,
        amdsmi_get_gpu_asic_info,
        amdsmi_get_gpu_device_uuid,
        amdsmi_get_gpu_device_bdf,
        amdsmi_get_gpu_vram_usage,
    )
}
