"""Every combination of what the probes can say, each on a machine of its own; `nox -s combinations` runs them."""
