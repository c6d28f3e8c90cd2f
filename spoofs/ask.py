"""Asking every modelled probe of the machine that this interpreter runs on, spoofed or not."""

import importlib
import inspect

from spoofs import hooks


def probes():
    """The dotted name of every modelled probe, in the order of the tables."""
    for module in hooks.ANSWERS:
        answers = hooks.answers(module)
        yield from getattr(answers, "VALUES", {})
        yield from getattr(answers, "FUNCTIONS", {})


def ask(dotted, *arguments):
    """What a probe says: its value, or "ErrorType: message" where it raises or is not there."""
    module, _, rest = dotted.partition(".")
    try:
        found = importlib.import_module(module)
        for name in rest.split("."):
            found = getattr(found, name)
        return repr(found(*arguments) if callable(found) else found)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"


def needs_arguments(dotted):
    """Whether a probe cannot be called bare."""
    answer = getattr(hooks.answers(dotted.partition(".")[0]), "FUNCTIONS", {}).get(dotted)
    if answer is None:
        return False
    parameters = list(inspect.signature(answer).parameters.values())[1:]
    return any(each.default is each.empty and each.kind <= each.POSITIONAL_OR_KEYWORD for each in parameters)


def everything():
    """Each probe that can be called bare, with what it says."""
    return {dotted: ask(dotted) for dotted in probes() if not needs_arguments(dotted)}


def main():
    """Print each probe with what it says."""
    answered = everything()
    width = max(map(len, answered))
    for dotted, answer in answered.items():
        print(f"{dotted:{width}}  {answer}")
