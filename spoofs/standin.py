"""Stand-ins: a package built from its table of answers, with those names and no others."""

import sys

import spoofs
from spoofs import activate, hooks, installed, patching

ModuleType = type(sys)


class StandIn(ModuleType):
    """A module that has the modelled names only; any other raises AttributeError that says so."""

    def __getattr__(self, name):
        said = f"module {self.__name__!r} has no attribute {name!r}"
        package = self.__name__.partition(".")[0]
        if (name.startswith("__") and name.endswith("__")) or f"{self.__name__}.{name}".startswith(_lacking(package)):
            raise AttributeError(said)
        raise AttributeError(
            f"{said}: this is a stand-in that models the probes listed by "
            f"`python -m spoofs show {spoofs.active.profile.name}`; for the rest install the real {package}"
        )


def _lacking(package):
    """What the machine's release of the package does not have either."""
    if package not in hooks.ANSWERS:
        return ()
    return patching.lacking(hooks.answers(package), spoofs.active.profile)


def build(name):
    """Fill the module of that name, which is being imported, and register the modules below it.

    Raises the profile's error where the profile has the package broken.
    """
    profile = spoofs.active.profile
    package = installed.packages(profile)[name.partition(".")[0]]
    if name == package.at:
        kind, _, message = package.error.partition(":")
        raise getattr(sys.modules["builtins"], kind)(message.strip())
    module = sys.modules[name]
    module.__class__ = StandIn
    if name not in hooks.ANSWERS:
        module.__version__ = package.version
        return
    answers = hooks.answers(name)
    gone = patching.lacking(answers, profile) + ((package.at,) if package.at else ())
    for dotted in getattr(answers, "MODULES", ()):
        if not patching.is_below(dotted, gone):
            _module(dotted, module)
    stands = [getattr(answers, "TYPES", {})]
    stands.append({probe: answer(profile) for probe, answer in getattr(answers, "VALUES", {}).items()})
    functions = getattr(answers, "FUNCTIONS", {})
    stands.append({probe: patching.spoof(probe, answer, profile) for probe, answer in functions.items()})
    for table in stands:
        for dotted, value in table.items():
            if not patching.is_below(dotted, gone):
                holder, last = patching.parent_of(module, dotted)
                setattr(holder, last, value)
                activate.note(dotted, value)


def _module(dotted, package):
    spec = type(package.__spec__)(dotted, package.__spec__.loader, origin=package.__spec__.origin, is_package=True)
    module = StandIn(dotted)
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    module.__package__, module.__path__ = dotted, []
    sys.modules[dotted] = module
    parent, _, last = dotted.rpartition(".")
    setattr(sys.modules[parent], last, module)
