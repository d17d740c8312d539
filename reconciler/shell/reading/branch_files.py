"""Which files stand on the other branches that are delivered to, for those who only look."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from reconciler.delivery.destinations import roots_of
from reconciler.delivery.settings import decode_delivery
from reconciler.manifests.paths import DELIVERY
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.delivered_files import DeliveredFiles
from reconciler.shell.reading.listings import Listing, Listings
from reconciler.shell.reading.trees import GitTrees


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


def on_branch(
    world: World,
    name: str,
    listings: Listings,
    head: str | None,
    files: DeliveredFiles,
    roots: Collection[str],
) -> World:
    """Return a world with what stands below the folders of delivery on another branch.

    Args:
        world: What is delivered there.
        name: The branch.
        listings: Those of its commits.
        head: Full hex id of the commit that it is at, `None` if there is no such branch.
        files: Its delivered files, followed.
        roots: The folders, as `BRANCH:PATH`.
    """
    prefix = f"{name}:"
    plain = frozenset(root.removeprefix(prefix) for root in roots)
    listings.watch(plain)
    listing = Listing({}, frozenset(), frozenset()) if head is None else listings.listing(head)
    return replace(
        world,
        delivered=files.follow(listing.files, frozenset(roots)),
        obstacles=frozenset(f"{prefix}{path}" for path in listing.in_the_way(plain)),
    )
