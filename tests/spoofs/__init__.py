"""The shim held to its promises, in real interpreters."""
