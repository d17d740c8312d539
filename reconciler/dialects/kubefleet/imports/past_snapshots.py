"""Earlier resource snapshots of a live hub, for the bindings that its rollout has not reached.

Our snapshots name the git blob of each object. What an earlier one holds is otherwise in the
repository by now, or not at all, so an import writes it into a file of its own, below a folder that
no pass reads: its blob stays in the history, also when a person removes the file later.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.dialects.importer import FOLDER
from reconciler.dialects.kubefleet.api.binding import resource_snapshot_of
from reconciler.dialects.kubefleet.api.gojson import hash_of
from reconciler.dialects.kubefleet.api.kinds import kinds_in
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    GROUP,
    IS_LATEST,
    NUMBER_OF_ENVELOPES,
    NUMBER_OF_SNAPSHOTS,
    PARENT,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SUBINDEX,
)
from reconciler.dialects.kubefleet.api.resource_snapshot import (
    encode_entry,
    encode_resources,
    readable_entries,
    resource_key,
)
from reconciler.dialects.kubefleet.snapshots.resource_selection import content_of
from reconciler.dialects.kubefleet.snapshots.revision import (
    Owner,
    annotations_of,
    is_latest,
    labels_of,
)
from reconciler.manifests.paths import blob_id, output_path
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.world import World

KEPT = (RESOURCE_HASH, NUMBER_OF_SNAPSHOTS, NUMBER_OF_ENVELOPES, SUBINDEX)
STAYS = "so what {count} of its clusters have stays as it is until the rollout reaches them"


@dataclass(frozen=True, slots=True)
class PastSnapshots:
    """Earlier snapshots of a placement, with what they hold, and what of that is not here."""

    snapshots: Mapping[ObjectKey, Body]
    contents: Mapping[ObjectKey, tuple[str, str]]
    left: Mapping[ObjectKey, str]


def past_snapshots(world: World, owner: Owner, parts: Mapping[ObjectKey, Body]) -> PastSnapshots:
    """Return the snapshots that live bindings are on, but for the latest.

    Args:
        world: The repository, with everything that was imported.
        owner: The placement.
        parts: All that is live of it.
    """
    kinds = kinds_in(owner.namespace)
    if not any(key.kind == kinds.resource_snapshot and is_latest(b) for key, b in parts.items()):
        return PastSnapshots({}, {}, {})  # none is earlier than another
    bound = Counter(
        ObjectKey(GROUP, kinds.resource_snapshot, key.namespace, name)
        for key, body in parts.items()
        if key.kind == kinds.binding and (name := resource_snapshot_of(body))
    )
    snapshots: dict[ObjectKey, Body] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    left: dict[ObjectKey, str] = {}
    for master, count in sorted(bound.items()):
        if master not in parts:
            left[master] = f"the export has it not, {STAYS.format(count=count)}"
        elif not is_latest(parts[master]):
            for key in _group(master, parts):
                file = _ContentFile(world, output_path(FOLDER, key))
                snapshots[key] = _snapshot(key, parts[key], owner, file)
                if file.listed:
                    contents[key] = file.path, file.text
                left |= {one: _why(one, key, count) for one in file.secrets}
    return PastSnapshots(snapshots, contents, left)


def _group(master: ObjectKey, parts: Mapping[ObjectKey, Body]) -> Iterable[ObjectKey]:
    """Yield the live snapshots that belong together with a master, itself included."""
    index = labels_of(parts[master]).get(RESOURCE_INDEX)
    for key, body in parts.items():
        if key.kind == master.kind and labels_of(body).get(RESOURCE_INDEX) == index:
            yield key


def _why(secret: ObjectKey, snapshot: ObjectKey, count: int) -> str:
    return f"{snapshot.name} has this {secret.kind} in plain, {STAYS.format(count=count)}"


class _ContentFile:
    """A file of what is otherwise in the repository than a snapshot has it."""

    def __init__(self, world: World, path: str) -> None:
        self.world, self.path = world, path
        self.listed: list[Body] = []
        self.secrets: list[ObjectKey] = []

    @property
    def text(self) -> str:
        """What the file holds: one document an object."""
        return "---\n".join(map(encode, self.listed))

    def take(self, content: Body) -> Origin | None:
        """Return where an object stands: in the repository, else in this file.

        `None` of what must not come into Git as it is.
        """
        key = resource_key(content)
        known = self.world.inputs.get(key)
        if known is not None and content_of(known.body) == content_of(content):
            return known.origin
        if without_secrets(content) is not content:
            self.secrets.append(key)
            return None
        self.listed.append(content)
        return Origin(self.path, len(self.listed) - 1)

    def blob(self, place: Origin | None) -> str:
        """Return the git blob in which an object stands, `""` if there is none."""
        if place is None:
            return ""
        if place.path == self.path:
            return blob_id(self.text.encode(), like=self.world.revision)
        return self.world.blobs.get(place.path, "")


def _snapshot(key: ObjectKey, body: Body, owner: Owner, file: _ContentFile) -> Body:
    """Return a live snapshot as a pass leaves an earlier one."""
    live = readable_entries(body)
    places = [file.take(one) for one in live]
    marks, labels = annotations_of(body), labels_of(body)
    latest = {IS_LATEST: "false"} if RESOURCE_HASH in marks else {}
    created = text(mapping(body, "metadata"), "creationTimestamp")
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            **owner.identity(key.name),
            **({"creationTimestamp": created} if created else {}),
            "generation": 1,
            "labels": {
                PARENT: owner.name,
                RESOURCE_INDEX: labels.get(RESOURCE_INDEX, ""),
                **latest,
            },
            "annotations": {name: marks[name] for name in KEPT if name in marks},
            "ownerReferences": [owner.reference],
        },
        "spec": encode_resources(
            encode_entry(
                text(one, "apiVersion"),
                resource_key(one),
                content_hash=hash_of(content_of(one)),
                blob=file.blob(place),
                document=0 if place is None else place.index,
                pointer="" if place is None else place.pointer,
            )
            for one, place in zip(live, places, strict=True)
        ),
    }
