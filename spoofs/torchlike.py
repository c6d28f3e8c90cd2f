"""Types that stand for torch's own where it is not installed; `nox -s fidelity` holds them against the real ones."""

import sys


class TorchVersion(str):
    """`torch.__version__`: a string that compares as a version (PEP 440) with strings and with tuples."""

    __slots__ = ()
    __hash__ = str.__hash__

    def _compared(self, other, method):
        if not isinstance(other, (str, tuple, list)):
            return NotImplemented
        ours, theirs = _key(self), _key(other if isinstance(other, str) else ".".join(map(str, other)))
        if theirs is None:  # no version: compared as a string
            return getattr(str, method)(self, other) if isinstance(other, str) else NotImplemented
        return getattr(tuple, method)(ours, theirs)

    def __eq__(self, other):
        return self._compared(other, "__eq__")

    def __lt__(self, other):
        return self._compared(other, "__lt__")

    def __le__(self, other):
        return self._compared(other, "__le__")

    def __gt__(self, other):
        return self._compared(other, "__gt__")

    def __ge__(self, other):
        return self._compared(other, "__ge__")


def _key(version):
    """What a version is ordered by: its numbers, whether it comes before the release, its local tag."""
    release, _, local = version.partition("+")
    numbers, stage, place = [], 0, 0
    for part in release.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        rest = part[len(digits) :]
        if rest:
            name = rest.rstrip("0123456789")
            if name not in _STAGES:
                return None
            stage, place = _STAGES[name], int(rest[len(name) :] or 0)
        elif not digits:
            return None
        if digits:
            numbers.append(int(digits))
    while numbers and numbers[-1] == 0:
        numbers.pop()
    tag = [(int(part), "") if part.isdigit() else (-1, part) for part in local.split(".")] if local else []
    return tuple(numbers), stage, place, tuple(tag)


_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "post": 1}


class Device:
    """`torch.device`: a type and, perhaps, an index.

    Raises RuntimeError for a string that names no device. A bare number is a device of the machine's accelerator.
    """

    __slots__ = ("_index", "_kind")
    __module__ = "torch"
    _KINDS = [
        "cpu",
        "cuda",
        "ipu",
        "xpu",
        "mkldnn",
        "opengl",
        "opencl",
        "ideep",
        "hip",
        "ve",
        "fpga",
        "maia",
        "xla",
        "lazy",
        "vulkan",
        "mps",
        "meta",
        "hpu",
        "mtia",
        "privateuseone",
    ]

    def __init__(self, type, index=None):
        if isinstance(type, Device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            if type < 0:
                raise RuntimeError("Device index must not be negative")
            accelerator = sys.modules["torch"].accelerator.current_accelerator()
            if accelerator is None:
                raise RuntimeError("Cannot access accelerator device when none is available.")
            type, index = accelerator.type, type
        elif index is not None and ":" in type:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        kind, colon, number = type.partition(":")
        if not type:
            raise RuntimeError("Device string must not be empty")
        plain = number.isdigit() and number == str(int(number))
        if not kind.replace("_", "").isalpha() or bool(colon) != plain:
            raise RuntimeError(f"Invalid device string: {type!r}")
        if kind not in self._KINDS:
            known = ", ".join(self._KINDS)
            raise RuntimeError(f"Expected one of {known} device type at start of device string: {kind}")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self._kind, self._index = kind, int(number) if colon else index

    type = property(lambda self: self._kind)
    index = property(lambda self: self._index)

    def __eq__(self, other):
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return Device, (self.type, self.index)

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"


Device.__name__ = Device.__qualname__ = "device"


class DType:
    """`torch.dtype`: its name."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return repr(self).partition(".")[2]


DType.__module__, DType.__name__, DType.__qualname__ = "torch", "dtype", "dtype"
DTYPES = [
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
    "bfloat16",
]


class OutOfMemoryError(RuntimeError):
    """`torch.OutOfMemoryError`."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """`torch.AcceleratorError`: what the driver's runtime reports."""

    __module__ = "torch"


def context(dotted, **methods):
    """A context manager that selects a device, as `torch.cuda.device` does; its other methods are probes."""
    module, _, name = dotted.rpartition(".")
    return type(name, (), {"__module__": module, "__doc__": "Context manager that selects a device.", **methods})


class Properties:
    """What `get_device_properties` returns: the attributes that follow from the facts, and no others."""

    def __init__(self, attributes):
        self.__dict__.update(attributes)

    def __getattr__(self, name):
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}: no fact of this machine tells; "
            f'state it in the device\'s "properties", as in {{"{name}": ...}}'
        )

    def __repr__(self):
        said = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({said})"


class _CudaDeviceProperties(Properties):
    """Those of an NVIDIA or AMD device."""


class _XpuDeviceProperties(Properties):
    """Those of an Intel device."""


class Uuid:
    """`torch._C._CUuuid`: sixteen bytes, written with dashes."""

    def __init__(self, digits):
        self._hex = digits.replace("-", "")[:32].ljust(32, "0")

    @property
    def bytes(self):
        """The sixteen bytes."""
        return bytes.fromhex(self._hex)

    def __str__(self):
        digits = self._hex
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def __repr__(self):
        return f"'{self}'"

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))
