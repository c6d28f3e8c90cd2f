"""What `importlib.metadata` says: the profile's packages, with their versions, and none that the machine lacks."""

from importlib.metadata import Distribution


class StandInDistribution(Distribution):
    """The metadata of a package that the profile has: its name, its version and its import name."""

    def __init__(self, package):
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {package.distribution}\nVersion: {package.version}\n",
            "INSTALLER": "hardware profile\n",
            "top_level.txt": f"{package.module}\n",
        }

    def read_text(self, filename):
        return self._texts.get(str(filename))

    def locate_file(self, path):
        from spoofs import hooks

        return hooks.STANDIN


def _normal(name):
    return name.lower().replace("_", "-").replace(".", "-")


def find(packages, find_distributions, context=None):
    """The host's distributions less those that the profile decides on, then the profile's own."""
    arguments = () if context is None else (context,)
    wanted = getattr(context, "name", None)
    # Asked about certain folders, the answer is what lies there: a stand-in lies in none.
    elsewhere = "path" in vars(context or object)
    decided = {_normal(package.distribution): package for package in packages.values()}
    for distribution in find_distributions(*arguments):
        package = decided.get(_normal(distribution.metadata["Name"] or ""))
        if package is None or (elsewhere and package.version is not None):
            yield distribution
    for name, package in decided.items():
        if package.version is not None and not elsewhere and (wanted is None or _normal(wanted) == name):
            yield StandInDistribution(package)
