"""Which packages the machine has, by import name: what finders, stand-ins and metadata go by."""

from spoofs import derived, inventory

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
NVML = "13.615.71"  # of nvidia-ml-py, which the answers were checked against


class Package:
    """A distribution as the machine has it: its `version` is None where absent; `error` is raised by importing `at`."""

    def __init__(self, distribution, state, module):
        self.distribution = distribution
        stated = state if isinstance(state, dict) else {"version": state}
        self.version = stated.get("version", "0")
        self.error = stated.get("error")
        self.module = stated.get("module", module)
        self.at = stated.get("at", self.module) if self.error else None


def packages(profile):
    """Import name -> Package, for all that the profile decides on: the bound ones, torch, and what the row names."""
    stated = dict(profile.packages)
    if profile.nvml != "absent" and inventory.cards(profile, "nvidia"):
        stated.setdefault("nvidia-ml-py", NVML)
    torch = stated.pop("torch", {})
    if torch is not None:
        torch = {**(torch if isinstance(torch, dict) else {}), "version": derived.torch_version(profile)}
    found = [Package("torch", torch, "torch")]
    found += [Package(name, stated.pop(name, None), module) for module, name in BOUND.items()]
    found += [Package(name, state, name.replace("-", "_")) for name, state in stated.items()]
    return {package.module: package for package in found}


def version(profile, module):
    """The version of an installed package."""
    return packages(profile)[module].version
