"""What the backport of `importlib.metadata` says: the same, though it has a finder of its own.

On import it takes `find_distributions` away from `PathFinder`, so that the standard library's goes through it too.
"""

import spoofs
from spoofs import distributions, installed


def install(module):
    finder = module.MetadataPathFinder
    find_distributions = finder.find_distributions
    decided = installed.packages(spoofs.active.profile)

    @classmethod
    def find(cls, *args, **kwargs):
        return distributions.find(decided, find_distributions, *args, **kwargs)

    finder.find_distributions = find
