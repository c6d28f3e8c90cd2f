"""The command-line tools of the machine: on PATH where it has them, gone where it has not, even if the host does.

Each stand-in is an executable, alone in a folder under standins/tools that goes on PATH; `answers/tools/` has what they
print. Nothing is written to disk, save where a folder of the host's PATH holds a tool that the machine lacks: such a
folder is replaced by a copy of it made of links, without that tool, in a private folder below the temporary one.
"""

import os
import sys

from spoofs import inventory, profiles

STANDINS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standins", "tools")
PYTHON = "HARDWARE_PROFILE_PYTHON"  # the interpreter that the stand-ins run on

# Tool -> whether a machine has it, where its row does not say.
TOOLS = {
    "nvidia-smi": lambda profile: bool(inventory.cards(profile, "nvidia")),
    "rocminfo": lambda profile: profile.system == "Linux" and bool(inventory.cards(profile, "amd")),
    "amd-smi": lambda profile: profile.system == "Linux" and bool(inventory.cards(profile, "amd")),
    "rocm-smi": lambda profile: profile.system == "Linux" and bool(inventory.cards(profile, "amd")),
    "xpu-smi": lambda profile: bool(inventory.cards(profile, "intel")),
    "sysctl": lambda profile: profile.system != "Windows",
    "lspci": lambda profile: profile.system == "Linux",
    "system_profiler": lambda profile: profile.system == "Darwin",
    # These print what a row states, and are on no other machine.
    "clinfo": lambda profile: False,
    "hipconfig": lambda profile: False,
    "hipinfo": lambda profile: False,
    "ioreg": lambda profile: False,
    "npu-smi": lambda profile: False,
}


def has(profile, tool):
    """Whether the machine has the tool. Raises ProfileError for one that nobody stands in for."""
    if tool in profile.tools:
        return profile.tools[tool] is not None
    return TOOLS[tool](profile)


def put_on_path(profile):
    """Have PATH show the machine's tools in place of the host's, or of another machine's."""
    for tool in profile.tools:
        if tool not in TOOLS:
            raise profiles.ProfileError(
                f"profile {profile.name!r}: tools: {tool!r} has no stand-in; {profiles.nearest(tool, list(TOOLS))}"
            )
    present = [tool for tool in TOOLS if has(profile, tool)]
    lacking = [tool for tool in TOOLS if tool not in present]
    folders = [os.path.join(STANDINS, tool) for tool in present]
    private = f"{os.environ.get('TMPDIR') or '/tmp'}/hardware-profile-{os.getuid()}"  # noqa: S108 - checked
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if entry.startswith(STANDINS):
            continue
        folder = entry.removeprefix(private).partition("/@")[0] if entry.startswith(private) else entry
        hidden = [tool for tool in lacking if os.access(f"{folder}/{tool}", os.X_OK)] if folder else ()
        folders.append(_without(hidden, os.path.abspath(folder), private) if hidden else folder)
    os.environ["PATH"] = os.pathsep.join(folders)
    os.environ[PYTHON] = sys.executable


def _without(hidden, folder, private):
    """A copy of a folder of programs, made of links, without the hidden ones; it is kept for the next time.

    What stands beside the folder is linked too: programs look for their libraries from where they lie.
    """
    os.makedirs(private, mode=0o700, exist_ok=True)
    status = os.lstat(private)
    if status.st_uid != os.getuid() or status.st_mode & 0o170077 != 0o040000:
        raise profiles.ProfileError(f"{private}: must be a folder of yours that nobody else can enter; remove it")
    above, name = os.path.split(folder)
    copy = f"{private}{folder}/@{'+'.join(hidden)}-{os.stat(folder).st_mtime_ns:x}"
    if not os.path.isdir(copy):
        building = f"{copy}-{os.getpid()}"
        os.makedirs(f"{building}/{name}")
        for place, source, but in ((building, above, [name]), (f"{building}/{name}", folder, hidden)):
            for entry in os.listdir(source):
                if entry not in but:
                    os.symlink(os.path.join(source, entry), f"{place}/{entry}")
        try:
            os.rename(building, copy)
        except OSError:  # another process was faster
            import shutil

            shutil.rmtree(building)
            if not os.path.isdir(copy):
                raise
    return f"{copy}/{name}"


def run(profile, tool, arguments):
    """(exit status, stdout, stderr, seconds) of the machine's tool for these arguments."""
    if tool not in TOOLS or not has(profile, tool):
        return 127, "", f"{tool}: not found\n", 0
    stated = profile.tools.get(tool, {})
    if isinstance(stated, str):
        return 0, stated, "", 0
    output = stated.get("output", {})
    if not isinstance(output, str):
        output = output.get(" ".join(arguments))
    if output is None:
        answers = f"spoofs.answers.tools.{tool.replace('-', '_')}"
        try:
            __import__(answers)
        except ModuleNotFoundError:
            return stated.get("status", 0), "", "", stated.get("seconds", 0)
        status, output, errors = sys.modules[answers].answer(profile, list(arguments))
    else:
        status, errors = 0, ""
    return stated.get("status", status), output, errors, stated.get("seconds", 0)


def main(arguments):
    """Be the tool that the first argument names; returns its exit status."""
    tool, *arguments = arguments
    name = os.environ.get("HARDWARE_PROFILE")
    if not name:
        print(f"{tool}: a stand-in, and HARDWARE_PROFILE is not set in this process's environment", file=sys.stderr)
        return 97
    try:
        profile = profiles.find(name)
    except profiles.ProfileError as error:
        print(f"{tool}: hardware profile {name!r}: {error}", file=sys.stderr)
        return 97
    status, output, errors, seconds = run(profile, tool, arguments)
    if seconds:
        import time

        time.sleep(seconds)
    sys.stdout.buffer.write(output.encode())
    sys.stderr.buffer.write(errors.encode())
    return status
