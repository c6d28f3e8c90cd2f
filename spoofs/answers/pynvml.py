"""What `pynvml` says, which is nvidia-ml-py's: every NVIDIA card in the order of the bus, whatever the masks say.

Names, parameters, errors and returned shapes are those of nvidia-ml-py 13.615.71.
"""

import sys

from spoofs import derived, inventory

# Code -> class, sentence.
ERRORS = {
    1: ("Uninitialized", "Uninitialized"),
    2: ("InvalidArgument", "Invalid Argument"),
    3: ("NotSupported", "Not Supported"),
    4: ("NoPermission", "Insufficient Permissions"),
    6: ("NotFound", "Not Found"),
    9: ("DriverNotLoaded", "Driver Not Loaded"),
    12: ("LibraryNotFound", "NVML Shared Library Not Found"),
    13: ("FunctionNotFound", "Function Not Found"),
    15: ("GpuIsLost", "GPU is lost"),
    18: ("LibRmVersionMismatch", "RM has detected an NVML/RM version mismatch."),
    999: ("Unknown", "Unknown Error"),
}
CODES = {name: code for code, (name, _) in ERRORS.items()}


class NVMLError(Exception):
    """`NVMLError(code)` is an instance of the class for that code, as in the real package."""

    def __new__(cls, value):
        made = Exception.__new__(_CLASSES.get(value, cls) if cls is NVMLError else cls)
        made.value = value
        return made

    def __init__(self, *args):
        super().__init__(self.value)

    def __str__(self):
        return ERRORS.get(self.value, ("", f"NVML Error with code {self.value}"))[1]


def _class_for(code, name):
    def new(cls, *args):
        return NVMLError.__new__(cls, code)

    return type(f"NVMLError_{name}", (NVMLError,), {"__new__": new, "__module__": "pynvml"})


NVMLError.__module__ = "pynvml"
_CLASSES = {code: _class_for(code, name) for code, (name, _) in ERRORS.items()}


class Structure:
    """What NVML fills in: named fields."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __repr__(self):
        return f"Structure({', '.join(f'{name}: {value}' for name, value in self.__dict__.items())})"


class Handle:
    """A card, or a slice of it, to NVML's other functions."""

    def __init__(self, index, part=None):
        self.index = index
        self.part = part


_open = []  # one entry for each nvmlInit that no nvmlShutdown has answered


def _fail(name):
    """Raise NVML's error of that name, of the class that the program sees."""
    raise sys.modules["pynvml"].NVMLError(CODES[name])


def _checked(call, answer):
    """The answer, or the error that the row states for this call, or the one of a library that is not open."""

    def checked(profile, *args, **kwargs):
        where, _, name = (profile.nvml or "").partition(": ")
        if where == call:
            _fail(name)
        if not _open:
            _fail("Uninitialized")
        return answer(profile, *args, **kwargs)

    checked.__wrapped__ = answer
    return checked


def nvmlInitWithFlags(profile, flags):
    if profile.nvml in CODES:
        _fail(profile.nvml)
    if not inventory.cards(profile, "nvidia"):
        _fail("LibraryNotFound")
    _open.append(flags)


def nvmlInit(profile):
    return nvmlInitWithFlags(profile, 0)


def nvmlShutdown(profile):
    _open.pop()


def nvmlErrorString(result):
    return ERRORS.get(result, ("", "Unknown Error"))[1]


def nvmlSystemGetDriverVersion(profile):
    return inventory.driver(profile)


def nvmlSystemGetNVMLVersion(profile):
    return f"{inventory.driver_cuda(profile).partition('.')[0]}.{inventory.driver(profile)}"


def nvmlSystemGetCudaDriverVersion(profile):
    major, minor = inventory.numbers(inventory.driver_cuda(profile))[:2]
    return 1000 * major + 10 * minor


def nvmlDeviceGetCount(profile):
    return len(inventory.cards(profile, "nvidia"))


def nvmlDeviceGetHandleByIndex(profile, index):
    if not 0 <= index < nvmlDeviceGetCount(profile):
        _fail("InvalidArgument")
    return Handle(index)


def _handle(profile, matches):
    for index, card in enumerate(inventory.cards(profile, "nvidia")):
        for part, device in enumerate([card, *card.get("slices", ())], -1):
            if matches(device):
                return Handle(index, part if part >= 0 else None)
    return _fail("NotFound")


def nvmlDeviceGetHandleByUUID(profile, uuid):
    return _handle(profile, lambda card: derived.uuid(card) == _text(uuid))


def nvmlDeviceGetMigDeviceHandleByIndex(profile, device, index):
    if not 0 <= index < len(_card(profile, device).get("slices", ())):
        _fail("NotFound")
    return Handle(device.index, index)


def nvmlDeviceIsMigDeviceHandle(profile, device):
    _card(profile, device)
    return int(device.part is not None)


def nvmlDeviceGetHandleByPciBusId(profile, pciBusId):
    wanted = _text(pciBusId).lower().rpartition(":")
    number = wanted[0].rpartition(":")[2] + ":" + wanted[2]
    return _handle(profile, lambda card: card.get("bus", "").partition(":")[2] == number)


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _card(profile, handle):
    if not isinstance(handle, Handle):
        _fail("InvalidArgument")
    card = inventory.cards(profile, "nvidia")[handle.index]
    return card if handle.part is None else card["slices"][handle.part]


def nvmlDeviceGetName(profile, handle):
    return _card(profile, handle)["name"]


def nvmlDeviceGetUUID(profile, handle):
    return derived.uuid(_card(profile, handle))


def nvmlDeviceGetIndex(profile, handle):
    _card(profile, handle)
    return handle.index


def nvmlDeviceGetMemoryInfo(profile, handle, version=None):
    card = _card(profile, handle)
    total, free = derived.total_memory(card), derived.free_memory(card)
    if version:
        return Structure(version=version, total=total, reserved=0, free=free, used=total - free)
    return Structure(total=total, free=free, used=total - free)


def nvmlDeviceGetCudaComputeCapability(profile, handle):
    return derived.capability(_card(profile, handle))


def nvmlDeviceGetPciInfo(profile, handle):
    bus = _card(profile, handle)["bus"].upper()
    domain, number, rest = bus.split(":")
    return Structure(
        busIdLegacy=bus,
        domain=int(domain, 16),
        bus=int(number, 16),
        device=int(rest.partition(".")[0], 16),
        busId=f"0000{bus}",
    )


def nvmlDeviceGetMigMode(profile, device):
    """[current, pending], where the card can be split at all: data centre cards from the A100 on."""
    card = _card(profile, device)
    if derived.capability(card) not in ((8, 0), (9, 0), (10, 0), (10, 3)):
        _fail("NotSupported")
    return [1, 1] if "slices" in card else [0, 0]


def nvmlDeviceGetMaxMigDeviceCount(profile, device):
    return 7 if "slices" in _card(profile, device) else 0


def nvmlDeviceGetComputeMode(profile, handle):
    _card(profile, handle)
    return 0


def nvmlDeviceGetUtilizationRates(profile, handle):
    _card(profile, handle)
    return Structure(gpu=0, memory=0)


def nvmlDeviceGetTemperature(profile, handle, sensor):
    _card(profile, handle)
    return 30


def nvmlDeviceGetPowerUsage(profile, handle):
    _card(profile, handle)
    return 20000


def nvmlDeviceGetEnforcedPowerLimit(profile, handle):
    _card(profile, handle)
    return 300000


def nvmlDeviceGetComputeRunningProcesses(profile, handle):
    _card(profile, handle)
    return []


def nvmlDeviceGetNvLinkState(profile, device, link):
    _card(profile, device)
    return _fail("NotSupported")


def nvmlDeviceGetP2PStatus(profile, device1, device2, p2pIndex):
    """NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED: no links are modelled."""
    _card(profile, device1), _card(profile, device2)
    return 1


TYPES = {
    "pynvml.NVMLError": NVMLError,
    "pynvml.nvmlErrorString": nvmlErrorString,
    **{f"pynvml.NVMLError_{name}": _CLASSES[code] for code, (name, _) in ERRORS.items()},
    "pynvml.NVML_SUCCESS": 0,
    "pynvml.NVML_ERROR_UNINITIALIZED": 1,
    "pynvml.NVML_ERROR_NOT_SUPPORTED": 3,
    "pynvml.NVML_ERROR_NOT_FOUND": 6,
    "pynvml.NVML_ERROR_DRIVER_NOT_LOADED": 9,
    "pynvml.NVML_ERROR_LIBRARY_NOT_FOUND": 12,
    "pynvml.NVML_DEVICE_MIG_DISABLE": 0,
    "pynvml.NVML_DEVICE_MIG_ENABLE": 1,
    "pynvml.NVML_TEMPERATURE_GPU": 0,
    "pynvml.NVML_P2P_CAPS_INDEX_NVLINK": 2,
    "pynvml.NVML_P2P_STATUS_OK": 0,
    "pynvml.nvmlMemory_v2": 0x02000028,
}
FUNCTIONS = {
    "pynvml.nvmlInit": nvmlInit,
    "pynvml.nvmlInitWithFlags": nvmlInitWithFlags,
}
for _answer in (
    nvmlShutdown,
    nvmlSystemGetDriverVersion,
    nvmlSystemGetNVMLVersion,
    nvmlSystemGetCudaDriverVersion,
    nvmlDeviceGetCount,
    nvmlDeviceGetHandleByIndex,
    nvmlDeviceGetHandleByUUID,
    nvmlDeviceGetHandleByPciBusId,
    nvmlDeviceGetName,
    nvmlDeviceGetUUID,
    nvmlDeviceGetIndex,
    nvmlDeviceGetMemoryInfo,
    nvmlDeviceGetCudaComputeCapability,
    nvmlDeviceGetPciInfo,
    nvmlDeviceGetMigMode,
    nvmlDeviceGetMigDeviceHandleByIndex,
    nvmlDeviceIsMigDeviceHandle,
    nvmlDeviceGetMaxMigDeviceCount,
    nvmlDeviceGetComputeMode,
    nvmlDeviceGetUtilizationRates,
    nvmlDeviceGetTemperature,
    nvmlDeviceGetPowerUsage,
    nvmlDeviceGetEnforcedPowerLimit,
    nvmlDeviceGetComputeRunningProcesses,
    nvmlDeviceGetNvLinkState,
    nvmlDeviceGetP2PStatus,
):
    FUNCTIONS[f"pynvml.{_answer.__name__}"] = _checked(_answer.__name__, _answer)
FUNCTIONS["pynvml.nvmlSystemGetCudaDriverVersion_v2"] = FUNCTIONS["pynvml.nvmlSystemGetCudaDriverVersion"]
FUNCTIONS["pynvml.nvmlDeviceGetMinorNumber"] = FUNCTIONS["pynvml.nvmlDeviceGetIndex"]
FUNCTIONS["pynvml.nvmlDeviceGetPciInfo_v3"] = FUNCTIONS["pynvml.nvmlDeviceGetPciInfo"]
