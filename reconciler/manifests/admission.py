"""What an API server records of an object that it admits, and other notes of its status file.

creationTimestamp is the moment of the pass that first saw the object, never a commit's date: a
rebase brings old dates, and a rebalancer dated before the last scheduling would be ignored in
silence. generation counts the changes of the spec. What a person writes into these fields is
ignored.

A pass keeps small mappings for the next one in annotations, as JSON in a line. A cluster's status
file keeps when a taint that names no moment was first seen. An annotation by which a person
suspends the scheduling of an object is read here, too.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.model.body import Body
from reconciler.model.fields import at, mapping, text, with_value, without
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.moments import format_moment, is_moment, parse_moment, stamp
from reconciler.model.records import dataclass
from reconciler.model.world import Manifest

SPEC_DIGEST = "reconciler.dev/spec-digest"
GENERATION_SEEN_AT = "reconciler.dev/generation-seen-at"

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """When an object was first seen, and when its present generation was."""

    created_at: datetime
    generation: int
    generation_seen_at: datetime


def digest(value: object) -> str:
    """Return a digest of a decoded value that does not depend on the order of keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return f"sha256:{hashlib.sha256(_encode(value).encode()).hexdigest()}"


def admit(
    key: ObjectKey, spec: object, record: Body | None, now: datetime
) -> tuple[Admitted, Body]:
    """Return the admission of an object and the `metadata` of its status file.

    Args:
        key: Whose.
        spec: Its spec as written.
        record: `metadata` of the status file of the last pass, `None` if there is none.
        now: Moment of this pass.
    """
    fingerprint = digest(spec)
    recorded = _known(record)
    created: str
    seen: str
    if recorded is None:
        admitted = Admitted(created_at=now, generation=1, generation_seen_at=now)
        created, seen = stamp(now), stamp(now)
    elif recorded[1] == fingerprint:
        admitted = recorded[0]
        created = format_moment(admitted.created_at)
        seen = format_moment(admitted.generation_seen_at)
    else:
        admitted = Admitted(
            created_at=recorded[0].created_at,
            generation=recorded[0].generation + 1,
            generation_seen_at=now,
        )
        created, seen = format_moment(admitted.created_at), stamp(now)
    metadata: dict[str, object] = {"name": key.name}
    if key.namespace:
        metadata["namespace"] = key.namespace
    metadata |= {
        "uid": uid_of(key),
        "creationTimestamp": created,
        "generation": admitted.generation,
        "annotations": {SPEC_DIGEST: fingerprint, GENERATION_SEEN_AT: seen},
    }
    return admitted, metadata


def _known(record: Body | None) -> tuple[Admitted, str] | None:
    """Read a record back; one that lost a part counts as none."""
    annotations = record.get("annotations") if record is not None else None
    if record is None or not isinstance(annotations, Mapping):
        return None
    created, generation = record.get("creationTimestamp"), record.get("generation")
    fingerprint = annotations.get(SPEC_DIGEST)
    seen = annotations.get(GENERATION_SEEN_AT, created)
    try:
        admitted = Admitted(
            created_at=parse_moment(str(created)),
            generation=generation if isinstance(generation, int) else 1,
            generation_seen_at=parse_moment(str(seen)),
        )
    except ValueError:
        return None
    return admitted, str(fingerprint)


OURS = "reconciler.dev/"
SUSPEND = f"{OURS}suspend"
SUSPEND_REASON = f"{OURS}suspend-reason"
SUSPEND_UNTIL = f"{OURS}suspend-until"
SUSPENDED_BY = f"{OURS}suspended-by"
RESTORE = f"{OURS}restore"
"""Names a commit of the branch with the outputs, from which the next pass goes on."""


def without_ours(body: Body) -> Body:
    """Return a manifest without the annotations that are for us; the same one if it has none.

    They say what passes do with an object, so they are no part of what clusters get.

    >>> without_ours({"metadata": {"name": "web", "annotations": {SUSPEND: "true"}}})
    {'metadata': {'name': 'web'}}
    """
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping) or not any(map(_is_ours, annotations)):
        return body
    kept = {name: value for name, value in annotations.items() if not _is_ours(name)}
    path = ("metadata", "annotations")
    return with_value(body, path, kept) if kept else without(body, path)


def _is_ours(name: object) -> bool:
    return isinstance(name, str) and name.startswith(OURS)


def is_suspended(body: Body) -> bool:
    """Return whether a manifest carries the annotation with the value `true`.

    A policy or placement that does leaves all that it governs where it is; a workload itself only.
    """
    return at(body, "metadata", "annotations").get(SUSPEND) == "true"


def suspends(kind: Kind, body: Body, known: KnownKinds) -> bool:
    """Return whether a person's manifest suspends anything.

    A rebalancer says so by a field, as its schedule rests then; kinds of the APIs that are not
    suspendable say nothing by the annotation.
    """
    if kind in known.removable:
        return at(body, "spec").get("suspend") is True
    return is_suspended(body) and (kind[0] not in known.groups or kind in known.suspendable)


def write_note(entries: Mapping[str, object]) -> str:
    """Return a mapping as the text of an annotation.

    >>> write_note({"b": 1, "a": "x"})
    '{"a":"x","b":1}'
    """
    return _encode(entries)


def read_note(text: str) -> Mapping[str, object]:
    """Return the mapping of an annotation, an empty one if it is absent or a person garbled it.

    >>> read_note('{"a": 1}'), read_note("{"), read_note("[1]")
    ({'a': 1}, {}, {})
    """
    if not text:
        return {}
    try:
        note = json.loads(text)
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def read_moments(text: str) -> Mapping[str, str]:
    """Return the entries of an annotation that are moments, as RFC 3339 text."""
    note = read_note(text)
    moments = {at for at in note.values() if isinstance(at, str)}  # most clusters share one
    moments = {at for at in moments if is_moment(at)}
    return {name: at for name, at in note.items() if isinstance(at, str) and at in moments}


TAINTS_ADDED_AT = "reconciler.dev/taints-added-at"


def taint_id(taint: Body) -> str:
    """Return what makes a taint the same taint: key, value and effect."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' if value else ''}{value}:{text(taint, 'effect')}"


def first_seen(taints: Iterable[Body], present: Manifest | None, now: datetime) -> dict[str, str]:
    """Return when each taint without `timeAdded` was first seen, as RFC 3339 text.

    A date that a person garbled starts anew.

    Args:
        taints: As written; those with a `timeAdded` are passed over.
        present: The cluster's status file of the last pass, `None` if there is none.
        now: Moment that dates taints first seen in this pass.
    """
    undated = sorted({taint_id(taint) for taint in taints if not text(taint, "timeAdded")})
    metadata = mapping(present.body, "metadata") if present is not None else {}
    recorded = text(mapping(metadata, "annotations"), TAINTS_ADDED_AT)
    moments = read_moments(recorded)
    return {taint: moments.get(taint) or str(stamp(now)) for taint in undated}


def dated(taints: Sequence[Body], added_at: Mapping[str, str]) -> list[Body]:
    """Return the taints, each with its moment."""
    return [
        taint if text(taint, "timeAdded") else {**taint, "timeAdded": added_at[taint_id(taint)]}
        for taint in taints
    ]


def taint_record(
    manifest: Manifest, added_at: Mapping[str, str], notes: Mapping[str, str] | None = None
) -> Body:
    """Return the status file of a cluster: the moments of its taints, and what else is noted."""
    moments = {TAINTS_ADDED_AT: write_note(added_at)} if added_at or not notes else {}
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": {
            "name": manifest.key.name,
            "uid": uid_of(manifest.key),
            "annotations": {**moments, **(notes or {})},
        },
    }
