"""The content of a resource snapshot: which names the git blob of each object, and no content."""

from collections.abc import Iterator
from contextlib import suppress

from reconciler.dialects.kubefleet.api.binding import resource_snapshot_of
from reconciler.dialects.kubefleet.api.gojson import hash_of, sorted_keys
from reconciler.dialects.kubefleet.api.kinds import BINDINGS, named_in
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.resource_snapshot import (
    SnapshotEntry,
    decode_entry,
    readable_entries,
)
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT
from reconciler.dialects.kubefleet.snapshots.resource_selection import content_of
from reconciler.dialects.kubefleet.snapshots.stripped_resources import strip
from reconciler.dialects.kubefleet.workgenerator.placement_files import snapshots_of_group
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import at, mapping_of
from reconciler.model.world import Manifest, World

SHOWN = 12  # hexadecimal digits of a git id


class PastContent(UserError):
    """A version of an object that this repository does not hold any more."""


def content_at(world: World, entry: SnapshotEntry) -> Body:
    """Return the object that an entry of a snapshot stands for, as it was then.

    Raises:
        PastContent: It is another one by now, and what it was cannot be read.
    """
    found = _present(world, entry) or _past(world, entry)
    if found is None:
        raise PastContent(
            f"{entry.key} is held on an earlier version{_blob_named(entry)}, "
            "which is not in this repository"
        )
    return stored(found)


def _blob_named(entry: SnapshotEntry) -> str:
    return f" (git blob {entry.blob[:SHOWN]})" if entry.blob else ""


def stored(manifest: Manifest) -> Body:
    """Return what of an object goes to clusters, with its namespace.

    Its keys are sorted, since a snapshot stays the same in whatever order a person writes them.
    """
    body, key = strip(manifest.body), manifest.key
    identity = named_in(key.namespace, key.name)
    return mapping_of(sorted_keys({**body, "metadata": {**at(body, "metadata"), **identity}}))


def _present(world: World, entry: SnapshotEntry) -> Manifest | None:
    """Return the object as it stands in the repository, if that is what the snapshot holds."""
    found = world.inputs.get(entry.key)
    if found is None:
        return None
    same = world.blobs.get(found.origin.path) == entry.blob
    place = found.origin.index, found.origin.pointer
    if same and place == (entry.document, entry.pointer):
        return found
    return found if hash_of(content_of(found.body)) == entry.hash else None


def _past(world: World, entry: SnapshotEntry) -> Manifest | None:
    """Return the object as it stood in a version of its file."""
    place = entry.document, entry.pointer
    for found in world.past.get(entry.blob, ()):
        if found.key == entry.key and (found.origin.index, found.origin.pointer) == place:
            return found
    return None


def past_blobs(world: World) -> Iterator[tuple[str, str]]:
    """Yield the git blobs from which clusters still have objects that are others by now.

    Each comes with a path under which to read it: that of the object now, if there is one.
    """
    seen: set[tuple[str, str, str]] = set()
    for kind in sorted(BINDINGS):
        for binding in world.outputs_of_kind((GROUP, kind)):
            for name in _snapshots(binding.body):
                snapshot = (binding.key.namespace, kind, name)
                if name and snapshot not in seen:
                    seen.add(snapshot)
                    yield from _needed(world, binding.key.namespace, name)


def _snapshots(binding: Body) -> tuple[str, str]:
    """Return the snapshots that a binding may be on: what it says, and what a pass has seen."""
    seen = at(binding, "metadata", "annotations").get(ROLLED_OUT)
    return resource_snapshot_of(binding), str(seen or "")


def _needed(world: World, namespace: str, master: str) -> Iterator[tuple[str, str]]:
    """Yield what a group of snapshots needs; an entry that a person made unreadable is none."""
    with suppress(UserError):  # the placement is a fault in the pass
        for snapshot in snapshots_of_group(world, namespace, master):
            for entry in readable_entries(snapshot):
                with suppress(UserError):
                    yield from _blob_of(world, decode_entry(entry))


def _blob_of(world: World, entry: SnapshotEntry) -> Iterator[tuple[str, str]]:
    """Yield the blob of an entry, if it is not the object as it stands."""
    blob = entry.blob
    if blob and _present(world, entry) is None:
        found = world.inputs.get(entry.key)
        yield blob, f"{blob}.yaml" if found is None else found.origin.path
