"""Who asks: some callers need the host's truth, everything else gets the profile."""

import sys

# Standard library modules that only call what they are given: the asker is whoever gave it to them.
RUNNERS = frozenset(
    [
        "_pyrepl",
        "asyncio",
        "bdb",
        "cProfile",
        "code",
        "concurrent",
        "contextlib",
        "copy",
        "dataclasses",
        "doctest",
        "functools",
        "importlib",
        "inspect",
        "multiprocessing",
        "operator",
        "pdb",
        "pickle",
        "pkgutil",
        "profile",
        "reprlib",
        "runpy",
        "threading",
        "timeit",
        "trace",
        "traceback",
        "types",
        "unittest",
        "zipapp",
    ]
)

# Test tools and installers run on the host, whatever they test. They never ask a device's package on their own: a call
# of such a probe that comes through them is their caller's.
TOOLS = {
    "_pytest": "the test runner",
    "pytest": "the test runner",
    "pluggy": "the test runner's plugins",
    "xdist": "the test runner's workers",
    "execnet": "the channel to the test runner's workers",
    "coverage": "chooses its tracer by platform",
    "nox": "the session runner",
    "pip": "must install for the host",
    "uv": "must install for the host",
    "setuptools": "must build for the host",
    "distutils": "must build for the host",
    "_distutils_hack": "must build for the host",
    "virtualenv": "must make environments for the host",
}
# Packages with native code of their own load libraries by platform or by device.
NATIVE = {
    "torch": "loads a .dylib under Darwin, and asks its own C++ after a yes",
    "bitsandbytes": "loads libcudart or libhipblas on a yes from torch.cuda.is_available()",
    "triton": "loads a driver on a yes from torch.cuda.is_available()",
    "numpy": "chooses its BLAS checks by platform",
    "psutil": "chooses its C extension by platform",
    "truststore": "turns to macOS frameworks under Darwin and fails on platform.mac_ver()",
}
HOST_TRUTH = TOOLS | NATIVE


def is_host(module: str) -> bool:
    """Whether code of that module gets the host's truth about the platform.

    The standard library gets it too: `sysconfig` looks for a build file named after the platform, `ctypes` and
    `multiprocessing` choose system calls by it.
    """
    top = module.partition(".")[0]
    return top in HOST_TRUTH or (top in sys.stdlib_module_names and top != "__main__")


def asked_by_host(probed: str) -> bool:
    """Whether the call that is being answered comes from code that needs the host's truth.

    `probed` is the top-level module of the probe. Our own frames and those of runners are passed over, those of a
    probed standard module too; of a package's probe, also those of the standard library and of test tools.
    """
    platform = probed in sys.stdlib_module_names
    frame = sys._getframe(2)
    while frame is not None:
        top = (frame.f_globals.get("__name__") or "").partition(".")[0]
        if top == "spoofs" or top in RUNNERS or (platform and top == probed):
            pass
        elif platform:
            return is_host(top)
        elif top in NATIVE:
            return True
        elif top not in TOOLS and (top == "__main__" or top not in sys.stdlib_module_names):
            return False
        frame = frame.f_back
    return False
