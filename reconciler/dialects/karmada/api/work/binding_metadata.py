"""The metadata of a binding, and its whole manifest."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus, encode_status
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.known_kinds import Kind

API_VERSION = "work.karmada.io/v1alpha2"
BINDING = "ResourceBinding"
CLUSTER_BINDING = "ClusterResourceBinding"
BINDINGS: tuple[Kind, ...] = ((WORK_GROUP, CLUSTER_BINDING), (WORK_GROUP, BINDING))

NOTHING: Body = {}


class BindingMetadata(NamedTuple):
    """The metadata of a binding; an empty field is an absent one.

    Attributes:
        namespace: `""` for a ClusterResourceBinding.
        creation_timestamp: As written.
        deleting: Whether it is being deleted.
        annotations: As written, texts by name.
        labels: As written, texts by name.
    """

    namespace: str = ""
    name: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deleting: bool = False
    annotations: Mapping[str, object] = NOTHING
    labels: Mapping[str, object] = NOTHING

    def note(self, name: str) -> str:
        """Return an annotation, `""` without it."""
        return fields.text(self.annotations, name)

    def label(self, name: str) -> str:
        """Return a label, `""` without it."""
        return fields.text(self.labels, name)


def decode_metadata(manifest: Body) -> BindingMetadata:
    """Return the metadata of a binding's manifest.

    Raises:
        UserError: A field has the wrong type.
    """
    metadata = fields.mapping(manifest, "metadata")
    return BindingMetadata(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        uid=fields.text(metadata, "uid"),
        generation=fields.number(metadata, "generation"),
        creation_timestamp=fields.text(metadata, "creationTimestamp"),
        deleting=bool(metadata.get("deletionTimestamp")),
        annotations=fields.mapping(metadata, "annotations"),
        labels=fields.mapping(metadata, "labels"),
    )


def decode_marks(manifest: Body) -> BindingMetadata:
    """Return the labels and annotations of a binding's manifest alone.

    Raises:
        UserError: One of both has the wrong type.
    """
    metadata = fields.mapping(manifest, "metadata")
    return BindingMetadata(
        annotations=fields.mapping(metadata, "annotations"),
        labels=fields.mapping(metadata, "labels"),
    )


def encode_metadata(metadata: BindingMetadata, owners: Sequence[Body] = ()) -> Body:
    """Return the metadata of a binding as it is written, annotations by name."""
    annotations = metadata.annotations
    body: dict[str, object] = {"name": metadata.name}
    if metadata.namespace:
        body["namespace"] = metadata.namespace
    body |= {
        "uid": metadata.uid,
        "creationTimestamp": metadata.creation_timestamp,
        "generation": metadata.generation,
        "annotations": {name: annotations[name] for name in sorted(annotations)},
    }
    if metadata.labels:
        body["labels"] = dict(metadata.labels)
    if owners:
        body["ownerReferences"] = owners
    return body


def encode_manifest(
    metadata: BindingMetadata, spec: Body, status: BindingStatus, owners: Sequence[Body] = ()
) -> Body:
    """Return the manifest of a binding as it is written, given its encoded spec."""
    return {
        "apiVersion": API_VERSION,
        "kind": BINDING if metadata.namespace else CLUSTER_BINDING,
        "metadata": encode_metadata(metadata, owners),
        "spec": spec,
        "status": encode_status(status),
    }


def says_the_same(manifest: Body | None, spec: Body) -> bool:
    """Return whether a manifest, `None` for none, has this spec to the letter."""
    return manifest is not None and fields.mapping(manifest, "spec") == spec
