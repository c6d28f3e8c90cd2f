"""The entry: the interpreter imports this file as it starts, because its folder is on PYTHONPATH."""

import os
import sys

_external = sys.modules["_frozen_importlib_external"]  # importlib's own core, loaded in every interpreter


def _load(name, spec):
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _spoof(profile):
    def end(error):
        """Leave with one line and status 97: `site` would swallow the error, as programs do, and run on unspoofed."""
        reason = " ".join(str(error).split()) or type(error).__name__
        if type(error).__name__ != "ProfileError":
            reason = f"{type(error).__name__}: {reason}"
        try:
            os.write(2, f"hardware profile {profile!r}: {reason}\n".encode(errors="replace"))
        finally:  # also where stderr is closed or full
            os._exit(97)

    try:
        if sys.version_info < (3, 11):  # noqa: UP036  a child may be any Python
            raise RuntimeError("Python {}.{} cannot be spoofed, 3.11 and newer can".format(*sys.version_info))  # noqa: TRY301
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        init = os.path.join(package, "__init__.py")
        _load("spoofs", _external.spec_from_file_location("spoofs", init, submodule_search_locations=[package]))
        from spoofs import activate

        sys.modules["spoofs"].end = end
        activate.activate(profile)
    except BaseException as error:
        end(error)


def _may_hold_one(entry):
    """A few stats, where the path's finders would list every folder: this runs in every interpreter."""
    return any(os.path.exists(f"{entry}/sitecustomize{suffix}") for suffix in (".py", "", ".pyc")) or os.path.isfile(
        entry
    )


def _run_the_next_sitecustomize():
    """Only the first `sitecustomize` on the path is imported; distributions and subjects ship their own."""
    here = os.path.dirname(__file__)
    others = [entry for entry in sys.path if entry != here and _may_hold_one(entry)]
    if not others:
        return
    here = os.path.realpath(here)  # it may stand on the path under another name too
    others = [entry for entry in others if os.path.realpath(entry) != here]
    spec = _external.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        _load("sitecustomize", spec)


if os.environ.get("HARDWARE_PROFILE"):
    _spoof(os.environ["HARDWARE_PROFILE"])
_run_the_next_sitecustomize()
