"""The few files by which software finds hardware: those that the row states are there, those of the host are not.

Only what Python code asks through `os`, `io` and what builds on them (`open`, `pathlib`, `glob`, `os.path`) is
answered: the calls of a table are wrapped, and a path that is none of these files goes to the real call.
docs/limits.md says what sees through it, and which tool to take for that.
"""

import builtins
import errno
import io
import os
import stat

from spoofs import derived

# What tells the host's hardware. A name that ends in a star stands for all that begin so.
REVEALING = (
    "/dev/nvidia*",
    "/dev/kfd",
    "/dev/dri",
    "/dev/dxg",
    "/dev/accel",
    "/sys/class/drm",
    "/sys/class/kfd",
    "/sys/class/accel",
    "/sys/module/nvidia*",
    "/sys/module/amdgpu",
    "/sys/bus/pci/devices",
    "/proc/driver/nvidia",
    "/etc/nv_tegra_release",
    "/opt/rocm*",
    "/usr/bin/nvidia-smi",
    "/usr/lib/wsl",
)


class Files:
    """The files that a machine has, over those of the host."""

    def __init__(self, stated):
        self.texts = {path: text for path, text in stated.items() if text is not None}
        self.absent = [path for path, text in stated.items() if text is None]
        self.folders = {}  # folder -> stated names in it, for every folder of which something is stated or hidden
        for path in self.texts:
            above, below = os.path.split(path)
            while below:
                self.folders.setdefault(above, set()).add(below)
                above, below = os.path.split(above)
        for path in (*REVEALING, *self.absent):
            self.folders.setdefault(os.path.dirname(path), set())
        paths = [*REVEALING, *self.texts, *self.absent]
        self.roots = tuple({f"/{path.split('/')[1]}" for path in paths})

    def hides(self, path):
        """Whether the host's file of that path is not to be seen."""
        for hidden in self.absent:
            if path == hidden or path.startswith(f"{hidden}/"):
                return True
        for hidden in REVEALING:
            if path.startswith(hidden[:-1]) if hidden[-1] == "*" else f"{path}/".startswith(f"{hidden}/"):
                return True
        return False

    def place(self, path):
        """The path where it is one that we answer for; None where the host does."""
        if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
            return None
        path = os.fsdecode(path)
        if not path.startswith(self.roots):
            return None
        path = os.path.normpath(path)
        return path if path in self.texts or path in self.folders or self.hides(path) else None

    def real_below(self, path):
        """Whether the host has a folder there that shows through."""
        return not self.hides(path) and stat.S_ISDIR(_mode(path))

    def names(self, path):
        """What a folder of ours holds, the host's part of it too."""
        names = set(self.folders.get(path, ()))
        if self.real_below(path):
            names |= {name for name in REAL["listdir"](path) if not self.hides(os.path.join(path, name))}
        return sorted(names)

    def status(self, path):
        """A stat result, or None where the machine has no such file."""
        if path in self.texts:
            kind = stat.S_IFCHR | 0o666 if path.startswith("/dev/") else stat.S_IFREG | 0o444
            return os.stat_result((kind, 0, 0, 1, 0, 0, len(self.texts[path].encode()), 0, 0, 0))
        return os.stat_result((stat.S_IFDIR | 0o555, *[0] * 9)) if self.folders.get(path) else None


REAL = {}  # name of a wrapped call -> the call


def stated(profile):
    """Path -> text of the files that the row states, and those where the kernel says the release that it states."""
    found = {}
    if profile.system == "Linux" and profile.release is not None:
        version = f"Linux version {profile.release} {derived.VERSION[profile.system]}"
        found = {"/proc/version": f"{version}\n", "/proc/sys/kernel/osrelease": f"{profile.release}\n"}
    return found | dict(profile.files)


def _mode(path):
    try:
        return REAL["stat"](path).st_mode
    except OSError:
        return 0


def _failure(number, path):
    return OSError(number, os.strerror(number), os.fspath(path))  # of the class that belongs to the number


class Entry:
    """What `os.scandir` yields for a file of ours."""

    def __init__(self, files, folder, name):
        self.name, self.path = name, os.path.join(folder, name)
        self._status = files.status(self.path) or REAL["lstat"](self.path)

    def __fspath__(self):
        return self.path

    def is_dir(self, *, follow_symlinks=True):
        return stat.S_ISDIR(self._status.st_mode)

    def is_file(self, *, follow_symlinks=True):
        return stat.S_ISREG(self._status.st_mode)

    def is_symlink(self):
        return stat.S_ISLNK(self._status.st_mode)

    def is_junction(self):
        return False

    def inode(self):
        return self._status.st_ino

    def stat(self, *, follow_symlinks=True):
        return self._status


class Entries:
    """The iterator of `os.scandir`, which can be closed."""

    def __init__(self, entries):
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self._entries = iter(())


def _stat(files, place, path, **options):
    status = files.status(place)
    if status is None:
        raise _failure(errno.ENOENT, path)
    return status


def _access(files, place, path, mode, **options):
    status = files.status(place)
    if status is None:
        return False
    return not mode & os.W_OK or bool(status.st_mode & stat.S_IWOTH)


def _listdir(files, place, path="."):
    if place in files.texts:
        raise _failure(errno.ENOTDIR, path)
    if not files.real_below(place) and files.status(place) is None:
        raise _failure(errno.ENOENT, path)
    names = files.names(place)
    return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names


def _scandir(files, place, path="."):
    return Entries([Entry(files, place, name) for name in _listdir(files, place, os.fsdecode(path))])


def _readlink(files, place, path, **options):
    if files.status(place) is None:
        raise _failure(errno.ENOENT, path)
    raise _failure(errno.EINVAL, path)


def _descriptor(files, place, path, flags, mode=0o777, **options):
    """`os.open`: a file in memory that holds the text."""
    if files.status(place) is None:
        raise _failure(errno.ENOENT, path)
    if place not in files.texts or (flags & (os.O_WRONLY | os.O_RDWR) and not place.startswith("/dev/")):
        raise _failure(errno.EACCES, path)
    descriptor = os.memfd_create(os.path.basename(place))
    os.write(descriptor, files.texts[place].encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _open(files, place, file, mode="r", *args, **options):
    """`open`."""
    if place not in files.texts and files.status(place) is not None:
        raise _failure(errno.EISDIR, file)
    writes = set(mode) & set("wxa+")
    descriptor = _descriptor(files, place, file, os.O_RDWR if writes else os.O_RDONLY)
    return REAL["io.open"](descriptor, mode, *args, **options)


CALLS = {
    "stat": _stat,
    "lstat": _stat,
    "access": _access,
    "listdir": _listdir,
    "scandir": _scandir,
    "readlink": _readlink,
    "open": _descriptor,
}


def install(profile, module):
    """Wrap the calls of `os`, the module given, and `open`. Yields the name of each."""
    files = Files(stated(profile))

    def wrap(real, answer):
        real = getattr(real, "spoofed", real)

        def call(*args, **options):
            path = args[0] if args else options.get("path", options.get("file"))
            place = None if options.get("dir_fd") is not None else files.place(path)
            if place is None or (answer not in (_listdir, _scandir) and files.real_below(place)):
                return real(*args, **options)
            return answer(files, place, *args, **options)

        call.__name__ = call.__qualname__ = real.__name__
        call.__doc__, call.__module__, call.__wrapped__, call.spoofed = real.__doc__, real.__module__, real, real
        return real, call

    for name, answer in CALLS.items():
        REAL[name], call = wrap(getattr(module, name), answer)
        setattr(module, name, call)
        for supports in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if REAL[name] in supports:
                supports.add(call)  # `shutil.rmtree` looks here whether it can be safe
        yield f"os.{name}"
    REAL["io.open"], call = wrap(io.open, _open)
    io.open = builtins.open = call
    yield "io.open"
