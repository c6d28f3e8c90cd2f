"""Everything that runs inside a spoofed interpreter; standard library only."""

# The marker that code and tests read: an `activate.Active`, or None in an interpreter that is not spoofed.
active = None


def end(error):
    """What becomes of a failure in the shim after the interpreter has started; the entry puts its way out here."""
    raise error
