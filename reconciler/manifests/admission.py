"""What an API server records of an object that it admits, kept in the object's status file.

creationTimestamp is the moment of the pass that first saw the object, never a commit's date: a
rebase brings old dates, and a rebalancer dated before the last scheduling would be ignored in
silence. generation counts the changes of the spec. What a person writes into these fields is
ignored.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import format_moment, parse_moment, stamp

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
    known = _known(record)
    created: str
    seen: str
    if known is None:
        admitted = Admitted(created_at=now, generation=1, generation_seen_at=now)
        created, seen = stamp(now), stamp(now)
    elif known[1] == fingerprint:
        admitted = known[0]
        created = format_moment(admitted.created_at)
        seen = format_moment(admitted.generation_seen_at)
    else:
        admitted = Admitted(
            created_at=known[0].created_at,
            generation=known[0].generation + 1,
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
