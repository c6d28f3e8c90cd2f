"""The finder: it patches a probed module right after its import, and puts stand-ins where the host has none.

`PathFinder` is where every import from a path ends: the import statement, `importlib.util.find_spec`,
`importlib.metadata`, and other tools' import hooks all ask it. So that is what is wrapped, and only that.
"""

import os
import sys

import spoofs
from spoofs import activate

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
}

# Packages bound to hardware: a machine has them where its row says so, whatever the host has installed.
BOUND = {
    "mlx": "mlx",
    "mlx_lm": "mlx-lm",
    "mlx_vlm": "mlx-vlm",
    "mlx_metal": "mlx-metal",
    "amdsmi": "amdsmi",
    "intel_extension_for_pytorch": "intel-extension-for-pytorch",
    "pynvml": "nvidia-ml-py",
    "torch_npu": "torch-npu",
}

STANDIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standins", "package.py")

_find_spec = _external.PathFinder.find_spec
_find_distributions = _external.PathFinder.find_distributions


def install(profile):
    """Wrap `PathFinder` and patch what is loaded already."""
    packages = {module: profile.packages.get(name) for module, name in BOUND.items()}
    for name, state in profile.packages.items():
        packages.setdefault(name.replace("-", "_"), state)

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        top, _, below = fullname.partition(".")
        if top not in packages:
            spec = _find_spec(fullname, path, target)
            if fullname == "torch" and spec is None:
                return _standin(fullname)
            return _watch(spec) if spec is not None and fullname in ANSWERS else spec
        state = packages[top]
        spec = None
        if top not in BOUND and isinstance(state, str):
            spec = _find_spec(fullname, path, target)
        if spec is None:
            # a stand-in registers its modules itself and has no others
            return None if state is None or below else _standin(fullname)
        return _watch(spec) if fullname in ANSWERS else spec

    @staticmethod
    def find_distributions(*args, **kwargs):
        from spoofs import distributions  # only `importlib.metadata` and its like come here

        return distributions.find(profile, packages, _find_distributions, *args, **kwargs)

    _external.PathFinder.find_spec = find_spec
    _external.PathFinder.find_distributions = find_distributions
    for name in ANSWERS:
        if name in sys.modules:
            patch(sys.modules[name])
    if "posix" in sys.modules:
        sys.modules["posix"].uname = os.uname  # where a reloaded `os` takes it from
    if packages["mlx"] is not None and not isinstance(packages["mlx"], dict):
        __import__("mlx")  # the first place where software looks for it is sys.modules


def _standin(fullname):
    spec = _external.spec_from_file_location(fullname, STANDIN, submodule_search_locations=[])
    spec.submodule_search_locations.clear()  # filled with the folder of the file, whose modules are not the package's
    return spec


def _watch(spec):
    """Have the module patched right after its code has run; the loader stays the one that it was."""
    loader = spec.loader
    if not hasattr(loader, "exec_module"):
        return spec
    run = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        run(module)
        patch(module)

    loader.exec_module = exec_module
    return spec


def patch(module):
    """Put the profile's answers into a probed module. Raises ImportError by name where a probe has gone or changed."""
    from spoofs import patching

    for probe, value in patching.apply(module, answers(module.__name__), spoofs.active.profile):
        activate.note(probe, value)


def answers(name):
    """The file of answers for a probed module, which must not import that module: its import leads here."""
    file = f"spoofs.answers.{ANSWERS[name]}"
    __import__(file)
    if sys.modules[file].__spec__._initializing:
        raise ImportError(f"hardware profile: {file} imports {name} itself, so that {name} went unpatched")
    return sys.modules[file]
