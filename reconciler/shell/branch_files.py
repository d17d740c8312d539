"""Which files stand on the other branches that are delivered to, for those who only look."""

from collections.abc import Mapping

from reconciler.delivery.destinations import roots_of
from reconciler.delivery.settings import decode_delivery
from reconciler.manifests.paths import DELIVERY
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.delivered_files import DeliveredFiles
from reconciler.shell.git.repository import Repository
from reconciler.shell.listings import Listings
from reconciler.shell.trees import GitTrees


def branch_files(repository: Repository, world: World) -> dict[str, Mapping[str, str]]:
    """Return path to blob id of what is delivered, by branch, as the branches are now.

    A branch is the one of this repository, or else the one of its origin; one that is in neither
    is left out.
    """
    delivery = decode_delivery(settings_in(world))
    found = {}
    for name in delivery.branches:
        head = repository.find_fetched(name)
        if head is not None:
            listed = Listings(GitTrees(repository), DELIVERY.name).entries(head)
            roots = frozenset(roots_of(delivery.on(name).destinations))
            found[name] = DeliveredFiles(name).follow(listed, roots)
    return found
