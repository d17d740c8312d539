"""A resource snapshot: which objects it holds, each by its identity, its hash and its git blob."""

from collections.abc import Iterable
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.gojson import hash_of
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.content import at, mappings_of
from reconciler.model.identity import ObjectKey, group_of

RESOURCES = "selectedResources"


class SnapshotEntry(NamedTuple):
    """An object that a snapshot holds; `body` is the entry as it is written.

    Unlike upstream: there is no content in it. `hash` is that of the content, `blob` the git blob
    in which it stood, `document` and `pointer` say where in it.
    """

    key: ObjectKey
    hash: str
    blob: str
    document: int
    pointer: str
    body: Body

    @property
    def identity(self) -> tuple[object, ...]:
        """What of an entry does not depend on where the object is written."""
        body = self.body
        return body.get("apiVersion"), body.get("kind"), body.get("metadata"), body.get("hash")


def decode_entry(body: Body) -> SnapshotEntry:
    """Return an entry of a resource snapshot.

    Raises:
        UserError: A field has the wrong type.
    """
    text = fields.text
    return SnapshotEntry(
        resource_key(body),
        text(body, "hash"),
        text(body, "blob"),
        fields.number(body, "document"),
        text(body, "pointer"),
        body,
    )


def encode_entry(
    api_version: str, key: ObjectKey, *, content_hash: str, blob: str, document: int, pointer: str
) -> Body:
    """Return an entry as it is written."""
    scope = {"namespace": key.namespace} if key.namespace else {}
    return {
        "apiVersion": api_version,
        "kind": key.kind,
        "metadata": {**scope, "name": key.name},
        "hash": content_hash,
        "blob": blob,
        "document": document,
        **({"pointer": pointer} if pointer else {}),
    }


def resource_key(entry: Body) -> ObjectKey:
    """Return the object that an entry of a snapshot is for."""
    metadata, group = fields.mapping(entry, "metadata"), group_of(fields.text(entry, "apiVersion"))
    named = fields.text(metadata, "namespace"), fields.text(metadata, "name")
    return ObjectKey(group, fields.text(entry, "kind"), *named)


def decode_resources(manifest: Body) -> tuple[SnapshotEntry, ...]:
    """Return what a resource snapshot's manifest holds, in order of application.

    Raises:
        UserError: A field has the wrong type.
    """
    return tuple(map(decode_entry, fields.bodies(fields.mapping(manifest, "spec"), RESOURCES)))


def readable_entries(manifest: Body) -> list[Body]:
    """Return the entries of a snapshot as written, whatever a person did to its file."""
    return mappings_of(at(manifest, "spec").get(RESOURCES))


def encode_resources(entries: Iterable[Body]) -> Body:
    """Return the spec of a resource snapshot as it is written."""
    return {RESOURCES: list(entries)}


def hash_of_resources(contents: str) -> str:
    """Return the hash of a spec that holds these contents, given as the JSON of their list."""
    return hash_of(f'{{"{RESOURCES}":{contents}}}')
