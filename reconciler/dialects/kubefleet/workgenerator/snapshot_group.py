"""The resource snapshots of one index: a master, and more where it has not room for all."""

from collections.abc import Iterable

from reconciler.dialects.kubefleet.api.names import NUMBER_OF_SNAPSHOTS, RESOURCE_INDEX, SUBINDEX
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior, as_count
from reconciler.dialects.kubefleet.snapshots.revision import annotations_of, labels_of
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text


def snapshot_group(master: str, snapshots: Iterable[Body]) -> tuple[Body, ...]:
    """Return the snapshots of the group of a master, which comes first, in their order.

    Args:
        master: Its name.
        snapshots: All of the placement.

    Raises:
        UnexpectedBehavior: The master is missing, does not say how many there are, or there are
            more or fewer of them.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `FetchAllResourceSnapshots`.
    """
    found = {text(mapping(one, "metadata"), "name"): one for one in snapshots}
    if master not in found:
        raise UnexpectedBehavior(f"the master resource snapshot {master} is not found")
    first = found[master]
    index = index_of(first)
    others = [one for name, one in found.items() if name != master and index_of(one) == index]
    count = as_count(annotations_of(first).get(NUMBER_OF_SNAPSHOTS), NUMBER_OF_SNAPSHOTS)
    if count != len(others) + 1:
        raise UnexpectedBehavior(
            f"the resource snapshot {master} is one of {count}, there are {len(others) + 1}"
        )
    by_place = {as_count(subindex_of(one), SUBINDEX): one for one in others}
    return (first, *(by_place[place] for place in sorted(by_place)))


def index_of(snapshot: Body) -> str:
    """Return the index of the group of a snapshot."""
    return labels_of(snapshot).get(RESOURCE_INDEX, "")


def subindex_of(snapshot: Body) -> str | None:
    """Return the place of a snapshot in its group, `None` for the master."""
    return annotations_of(snapshot).get(SUBINDEX)
