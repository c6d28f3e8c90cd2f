"""Putting answers into a real module.

A file in answers/ has up to three flat tables, dotted name -> what answers:

- FUNCTIONS: a function whose first parameter is the profile; the rest is the probe's own signature;
- VALUES: a function of the profile that returns the attribute's value;
- TYPES: what the stand-in needs beside the probes, as it is. The real package keeps its own.
"""

import sys

from spoofs import askers


def parent_of(module, dotted):
    """The object that holds the last part of a dotted name below a module, or None; and that last part."""
    *parents, last = dotted.split(".")[1:]
    holder = module
    for name in parents:
        holder = getattr(holder, name, None)
    return holder, last


def lacking(answers, profile):
    """The dotted names that the machine's version of the package does not have, what stands below them included."""
    return tuple(getattr(answers, "lacking", lambda profile: ())(profile))


def is_below(dotted, names):
    """Whether a dotted name is one of those, or stands below one."""
    return f"{dotted}.".startswith(tuple(f"{name}." for name in names))


def apply(module, answers, profile):
    """Patch the module; yield each dotted name and what stands there now.

    Raises ImportError that names the probe where the module no longer has it, or has it with another signature.
    """
    version = getattr(module, "__version__", "")  # the real one, before it is answered for
    gone = lacking(answers, profile)
    for dotted, answer in getattr(answers, "VALUES", {}).items():
        if is_below(dotted, gone):
            continue
        holder, last = parent_of(module, dotted)
        if not _has(holder, last):
            raise ImportError(_gone(module, version, dotted))
        value = answer(profile)
        _by_asker(module, holder, last)
        setattr(holder, last, value)
        yield dotted, value
    for dotted, answer in getattr(answers, "FUNCTIONS", {}).items():
        if is_below(dotted, gone):
            continue
        holder, last = parent_of(module, dotted)
        original = getattr(holder, last, None)
        original = getattr(original, "spoofed", original)  # a reloaded module is patched anew
        if original is None:
            raise ImportError(_gone(module, version, dotted))
        probe = spoof(dotted, answer, profile, original)
        check_signature(module, dotted, probe, original)
        setattr(holder, last, probe)
        yield dotted, probe
    for dotted in gone:
        holder, last = parent_of(module, dotted)
        if _has(holder, last):
            _by_asker(module, holder, last, lacks=True)
            vars(holder).pop(last, None)
            yield dotted, "(lacking)"


def _has(holder, name):
    if name in vars(holder or object):
        return True
    import warnings

    with warnings.catch_warnings():  # asking for a deprecated name warns
        warnings.simplefilter("ignore")
        return hasattr(holder, name)


def _by_asker(module, holder, name, lacks=False):
    """Have an attribute that is no function answer by who asks, as the probes do.

    Not those of the package itself, unless it lacks them: pickling tools know a module by its exact type.
    """
    if isinstance(holder, type(sys)) and (lacks or holder is not module):
        kind = type(holder)
        host = getattr(vars(kind).get(name), "host", None) or (getattr(holder, name),)
        if not hasattr(kind, "answers_by_asker"):
            kind = holder.__class__ = type(kind.__name__, (kind,), {"answers_by_asker": True})
        setattr(kind, name, _Attribute(module.__name__, name, host))


class _Attribute:
    """A module's attribute: what stands in the module, or the host's value for those who need that."""

    def __init__(self, package, name, host):
        self.package, self.name, self.host = package, name, host

    def __get__(self, module, owner=None):
        if askers.asked_by_host(self.package):
            return self.host[0]
        try:
            return vars(module)[self.name]
        except KeyError:
            raise AttributeError(f"module {module.__name__!r} has no attribute {self.name!r}") from None

    def __set__(self, module, value):
        vars(module)[self.name] = value

    def __delete__(self, module):
        del vars(module)[self.name]


def _gone(module, version, dotted):
    return f"hardware profile: {module.__name__} {version} has no {dotted}; mend spoofs/answers/{module.__name__}.py"


def spoof(dotted, answer, profile, original=None):
    """The function that stands at a probe: the profile's answer, or the original's for those who need the host's."""
    top = dotted.partition(".")[0]

    def probe(*args, **kwargs):
        if original is not None and askers.asked_by_host(top):
            return original(*args, **kwargs)
        return answer(profile, *args, **kwargs)

    probe.__module__, _, probe.__name__ = dotted.rpartition(".")
    probe.__qualname__ = probe.__name__
    probe.__doc__ = getattr(original, "__doc__", None) or answer.__doc__
    probe.__wrapped__ = _Unbound(answer)
    probe.spoofed = original
    return probe


class _Unbound:
    """What `inspect.signature` follows from a probe to its answer: the answer's parameters less the profile."""

    def __init__(self, answer):
        self.answer = answer

    @property
    def __signature__(self):
        import inspect

        signature = inspect.signature(self.answer)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(self):
        raise TypeError("only stands for a signature")


def check_signature(module, dotted, probe, original):
    """Raise ImportError where the parameters of the real function are not the ones that the answer was written for."""
    if module.__name__ in sys.stdlib_module_names:
        return  # versions of the standard library are few and in the test matrix
    import inspect

    def parameters(function):
        found = inspect.signature(function).parameters.values()
        return [(each.name, each.kind, each.default) for each in found]

    try:
        real = parameters(original)
    except (TypeError, ValueError):
        return  # a builtin that does not tell
    if real != parameters(probe):
        raise ImportError(
            f"hardware profile: {dotted} has changed its signature to {inspect.signature(original)}, "
            f"the answer knows {inspect.signature(probe)}; mend spoofs/answers/{module.__name__}.py"
        )
