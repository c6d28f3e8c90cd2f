"""From the environment to a spoofed interpreter: profile found, environment set, hooks installed, marker left."""

import os
import sys

import spoofs
from spoofs import hooks, profiles, tools

# Set once the profile's environment is in place, so that a child keeps what its parent changed on purpose.
APPLIED = "HARDWARE_PROFILE_APPLIED"

# Variables of the host's shell that would hide or reorder the profile's devices.
MASKS = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION",
    "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
)


class Active:
    """The marker of a spoofed interpreter.

    `profile`, `patched` (dotted names, as they are patched), `escaped` (children that see the host), `escapes` (what
    to do about those: policy and file, which a program cannot change by clearing its environment), `pid`, and `real`:
    whether this runs on the machine itself, with nothing spoofed (HARDWARE_PROFILE_REAL=1).
    """

    real = False

    def __init__(self, profile):
        self.profile = profile
        self.patched = []
        self.escaped = []
        policy = os.environ.get("HARDWARE_PROFILE_ESCAPES")
        if policy not in (None, "", "forbid"):
            raise profiles.ProfileError(f"HARDWARE_PROFILE_ESCAPES={policy}: the one policy to choose is 'forbid'")
        self.escapes = policy, os.environ.get("HARDWARE_PROFILE_ESCAPES_FILE")
        self.pid = os.getpid()


def activate(name):
    """Spoof this interpreter as the machine of that name, or of that file. Raises ProfileError where it cannot be."""
    profile = profiles.find(name)
    if profile.name != name:
        os.environ["HARDWARE_PROFILE"] = name = os.path.abspath(name)  # children may run in another directory
    if os.environ.get("HARDWARE_PROFILE_REAL") == "1":
        spoofs.active = Active(profile)
        spoofs.active.real = True
        return
    before, _, variables = os.environ.get(APPLIED, "").partition("\n")
    if before != name:
        for variable in variables.split():  # of the machine that the parent was
            os.environ.pop(variable, None)
    become(profile, before != name)
    os.environ[APPLIED] = "\n".join([name, *profile.environment])
    sys.addaudithook(watch)


def become(profile, environment=True):
    """Spoof this interpreter as a machine that need not stand in any table."""
    spoofs.active = Active(profile)
    if environment:
        set_environment(profile)
    hooks.install(profile)


# How a child can start. The first start by multiprocessing is seen by an import: it raises no event of its own.
STARTS = frozenset(("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"))
STARTERS = frozenset(("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver"))


def watch(event, args, starts=STARTS, starters=STARTERS):
    """The audit hook that has every child looked at. It runs at each audited event, so it only sorts them out."""
    if event in starts or (event == "import" and args[0] in starters):
        from spoofs import escapes

        escapes.look(event, args)


def set_environment(profile):
    """Clear the host's masks, set the profile's variables and have PATH show its tools."""
    for mask in MASKS:
        os.environ.pop(mask, None)
    os.environ.update(profile.environment)
    tools.put_on_path(profile)


def note(probe, value=None):
    """Record a patched probe in the marker; with HARDWARE_PROFILE_DEBUG=1, say it on stderr."""
    if probe not in spoofs.active.patched:
        spoofs.active.patched.append(probe)
    if os.environ.get("HARDWARE_PROFILE_DEBUG") == "1":
        print(f"hardware profile {spoofs.active.profile.name}: {probe} -> {value}", file=sys.stderr)
