"""The stand-ins held against the real packages."""
