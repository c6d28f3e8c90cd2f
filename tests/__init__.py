"""The tests: `studio` holds the subject to its contracts, `spoofs` holds the shim to its promises."""
