"""What `importlib.metadata` says: the profile's packages, with their versions, and none that the machine lacks."""

from importlib.metadata import Distribution

from spoofs import derived


class StandInDistribution(Distribution):
    """The metadata of a package that the profile has: its name and version."""

    def __init__(self, name, version):
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "INSTALLER": "hardware profile\n",
            "top_level.txt": name.replace("-", "_") + "\n",
        }

    def read_text(self, filename):
        return self._texts.get(str(filename))

    def locate_file(self, path):
        from spoofs import hooks

        return hooks.STANDIN


def _normal(name):
    return name.lower().replace("_", "-").replace(".", "-")


def find(profile, packages, find_distributions, context=None):
    """The host's distributions less those that the profile decides on, then the profile's own."""
    arguments = () if context is None else (context,)
    wanted = getattr(context, "name", None)
    decided = {_normal(name): version for name, version in derived.distributions(profile, packages).items()}
    if "path" in vars(context or object):  # asked about certain folders: a stand-in lies in none
        yield from find_distributions(*arguments)
        return
    for distribution in find_distributions(*arguments):
        if _normal(distribution.metadata["Name"] or "") not in decided:
            yield distribution
    for name, version in decided.items():
        if version is not None and (wanted is None or _normal(wanted) == name):
            yield StandInDistribution(name, version)
