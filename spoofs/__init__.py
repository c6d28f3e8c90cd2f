"""Everything that runs inside a spoofed interpreter; standard library only."""

# The marker that code and tests read: an `activate.Active`, or None in an interpreter that is not spoofed.
active = None
