"""What the two kinds of snapshots have in common: owner, revisions, the latest of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.kinds import PlacementKinds, kinds_in, named_in
from reconciler.dialects.kubefleet.api.names import API_VERSION, IS_LATEST, PARENT
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior, as_integer
from reconciler.model import fields
from reconciler.model.body import Body


@dataclass(frozen=True, slots=True)
class Owner:
    """The placement that snapshots belong to, as far as they show it."""

    name: str
    uid: str
    generation: int
    namespace: str = ""

    @property
    def kinds(self) -> PlacementKinds:
        """The kinds of its scope."""
        return kinds_in(self.namespace)

    @property
    def reference(self) -> Body:
        """Its entry in ownerReferences."""
        return {
            "apiVersion": API_VERSION,
            "kind": self.kinds.placement,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def identity(self, name: str) -> dict[str, str]:
        """Return name and namespace of an object that belongs to it."""
        return named_in(self.namespace, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRevisions:
    """The snapshots of a placement after a change.

    Attributes:
        snapshots: By name.
        latest: Name of the one in force, `""` after an error.
        until: When a change that is held back may be taken, `None` if none is.
        error: Why it stopped, `None` if it did not; what was done before stands.
    """

    snapshots: Mapping[str, Body]
    latest: str = ""
    until: datetime | None = None
    error: UnexpectedBehavior | None = None


def owned(snapshots: Iterable[Body], owner: Owner) -> dict[str, Body]:
    """Return the snapshots of a placement by name, ascending; those of other namespaces are not."""
    found = {
        fields.text(fields.mapping(body, "metadata"), "name"): body
        for body in snapshots
        if labels_of(body).get(PARENT) == owner.name
        and fields.text(fields.mapping(body, "metadata"), "namespace") == owner.namespace
    }
    return dict(sorted(found.items()))


def labels_of(body: Body) -> dict[str, str]:
    """Return the labels of a snapshot."""
    return dict(fields.pairs_or_none(fields.mapping(body, "metadata"), "labels") or ())


def annotations_of(body: Body) -> dict[str, str]:
    """Return the annotations of a snapshot."""
    return dict(fields.pairs_or_none(fields.mapping(body, "metadata"), "annotations") or ())


def is_latest(body: Body) -> bool:
    """Return whether a snapshot is labelled as the one in force."""
    return labels_of(body).get(IS_LATEST) == "true"


def marked(body: Body, *, latest: bool) -> Body:
    """Return a snapshot labelled as the one in force, or as not."""
    return relabelled(body, labels={IS_LATEST: "true" if latest else "false"})


def relabelled(
    body: Body,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Body:
    """Return a snapshot with some labels and annotations set."""
    metadata = {
        **fields.mapping(body, "metadata"),
        "labels": {**labels_of(body), **(labels or {})},
        "annotations": {**annotations_of(body), **(annotations or {})},
    }
    return {**body, "metadata": metadata}


def index_of(body: Body, label: str) -> int:
    """Return the index that a snapshot's label holds.

    Raises:
        UnexpectedBehavior: It is missing, not an integer, or negative.

    Source: kubefleet@e160c1c pkg/utils/labels/labels.go `ExtractIndex`.
    """
    written = labels_of(body).get(label, "")
    index = as_integer(written)
    if index is None or index < 0:
        raise UnexpectedBehavior(f'invalid index "{written}" of {label}: must be 0 or more')
    return index
