"""The source behind every stand-in: a package that is built from the table of its module in answers/."""

from spoofs.standin import build as _build

_build(__name__)
del _build
