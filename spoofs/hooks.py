"""The finder: it patches a probed module right after its import, and puts stand-ins where the host has none.

`PathFinder` is where every import from a path ends: the import statement, `importlib.util.find_spec`,
`importlib.metadata`, and other tools' import hooks all ask it. So that is what is wrapped, and only that.
"""

import os
import sys

import spoofs
from spoofs import activate
from spoofs.installed import BOUND, packages

_external = sys.modules["_frozen_importlib_external"]

# Probed module -> the file in answers/ that answers for it. A module loads no answers before it is itself loaded.
ANSWERS = {
    "os": "os",
    "platform": "platform",
    "sysconfig": "sysconfig",
    "torch": "torch",
    "mlx": "mlx",
    "mlx_lm": "mlx_lm",
    "mlx_vlm": "mlx_vlm",
    "pynvml": "pynvml",
    "amdsmi": "amdsmi",
    "importlib_metadata": "importlib_metadata",
}

STANDIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standins", "package.py")

_find_spec = _external.PathFinder.find_spec
_find_distributions = _external.PathFinder.find_distributions


def install(profile):
    """Wrap `PathFinder` and patch what is loaded already."""
    decided = packages(profile)

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        top = fullname.partition(".")[0]
        package = decided.get(top)
        after = patch if fullname in ANSWERS else None
        spec = None
        if package is not None:
            if package.version is None:
                return None
            if fullname == package.at:
                return _standin(fullname)
            if fullname == top and top != "torch" and after is None:
                after = _number(package.version)
        if package is None or fullname != top or top not in BOUND:  # the host's own; a stand-in has nothing below it
            spec = _find_spec(fullname, path, target)
        if spec is None and package is not None and fullname == top:
            return _standin(fullname)
        return spec if spec is None or after is None else _watch(spec, after)

    @staticmethod
    def find_distributions(*args, **kwargs):
        from spoofs import distributions  # only `importlib.metadata` and its like come here

        return distributions.find(decided, _find_distributions, *args, **kwargs)

    _external.PathFinder.find_spec = find_spec
    _external.PathFinder.find_distributions = find_distributions
    for name in ANSWERS:
        if name in sys.modules and name != "os":
            patch(sys.modules[name])
    _patch_os(profile)
    if decided["mlx"].version is not None and decided["mlx"].at != "mlx":
        __import__("mlx")  # the first place where software looks for it is sys.modules


# Where one of these is, the host has an accelerator whose files are to be hidden.
_SIGNS = (
    "/dev/nvidiactl",
    "/dev/kfd",
    "/dev/dri",
    "/dev/dxg",
    "/dev/accel",
    "/sys/class/drm",
    "/sys/class/kfd",
    "/proc/driver/nvidia",
    "/etc/nv_tegra_release",
    "/opt/rocm",
    "/usr/bin/nvidia-smi",
    "/usr/lib/wsl",
)


def _patch_os(profile):
    """Patch `os`, which every interpreter has loaded and few ask: its answers load with the first question.

    Where there are files to show or to hide, they load at once, since `open` is no question that could wait.
    """
    real = getattr(os.uname, "spoofed", os.uname)

    def uname():
        if getattr(os, "uname", uname) is uname:
            try:
                patch(os)
            except BaseException as error:
                spoofs.end(error)
        return os.uname()

    uname.spoofed = real
    os.uname = uname
    if "posix" in sys.modules:
        sys.modules["posix"].uname = uname  # where a reloaded `os` takes it from
    if profile.files or profile.release or any(os.access(sign, os.F_OK) for sign in _SIGNS):
        patch(os)
        from spoofs import files

        for probe in files.install(profile, os):
            activate.note(probe, "the row's files")
    else:
        activate.note("os.uname", "answered when it is asked")


def _standin(fullname):
    spec = _external.spec_from_file_location(fullname, STANDIN, submodule_search_locations=[])
    spec.submodule_search_locations.clear()  # filled with the folder of the file, whose modules are not the package's
    return spec


def _number(version):
    """Have a real package say the version that the row states."""

    def number(module):
        if hasattr(module, "__version__"):
            module.__version__ = version

    return number


def _watch(spec, after):
    """Have `after` see the module right after its code has run; the loader stays the one that it was."""
    loader = spec.loader
    if not hasattr(loader, "exec_module"):
        return spec
    run = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        run(module)
        after(module)

    loader.exec_module = exec_module
    return spec


def patch(module):
    """Put the profile's answers into a probed module. Raises ImportError by name where a probe has gone or changed."""
    from spoofs import patching

    file = answers(module.__name__)
    if hasattr(file, "install"):  # what is no probe, and so stands in no table
        file.install(module)
    for probe, value in patching.apply(module, file, spoofs.active.profile):
        activate.note(probe, value)


def answers(name):
    """The file of answers for a probed module, which must not import that module: its import leads here."""
    file = f"spoofs.answers.{ANSWERS[name]}"
    __import__(file)
    if sys.modules[file].__spec__._initializing:
        raise ImportError(f"hardware profile: {file} imports {name} itself, so that {name} went unpatched")
    return sys.modules[file]
