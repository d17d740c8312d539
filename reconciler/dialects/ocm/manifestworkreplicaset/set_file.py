"""The status file of a set: its status as upstream has it, and our record of its works.

Source: ours for the record; the status is that of `set_status.py`.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import (
    SetDecision,
    WrittenOutcome,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import record_annotations
from reconciler.dialects.ocm.manifestworkreplicaset.set_status import status_after
from reconciler.dialects.ocm.manifestworkreplicaset.sync import APPLIED, AS_EXPECTED
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.enumeration import enumerated
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.moments import stamp
from reconciler.model.world import Manifest

ASSUMED = "AssumedAsExpected"
ASSUMED_OF = "assumed of "
NAMED = 3


def render_set(
    manifest: Manifest, present: Body | None, decision: SetDecision, now: datetime
) -> Body:
    """Return the status file of a set.

    Args:
        manifest: The set as written.
        present: Its status file, `None` before the first pass.
        decision: What became of it.
        now: Moment of the pass.
    """
    before = mapping(present, "metadata") if present is not None else None
    _, metadata = admit(manifest.key, mapping(manifest.body, "spec"), before, now)
    annotations = {**mapping(metadata, "annotations"), **record_annotations(decision.record)}
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": {**metadata, "annotations": dict(sorted(annotations.items()))},
        "status": set_status(present or {}, decision.written, at=stamp(now)),
    }


def set_status(present: Body, written: WrittenOutcome, *, at: str) -> Body:
    """Return the status of a set; the condition that rests on what is assumed says so.

    Args:
        present: Its status file so far.
        written: What is said of it.
        at: Text of the moment.
    """
    outcome = replace(written.outcome, conditions=tuple(_conditions(written)))
    return status_after(mapping(present, "status"), outcome, at=at)


def says_assumed(present: Body | None) -> bool:
    """Return whether a status file rests on what is assumed, as older rules wrote it."""
    status = {} if present is None else mapping(present, "status")
    applied = (one for one in bodies(status, "conditions") if one.get("type") == APPLIED)
    return any(text(one, "message").startswith(ASSUMED_OF) for one in applied)


def _conditions(written: WrittenOutcome) -> Iterator[Condition]:
    for condition in written.outcome.conditions:
        if condition.type == APPLIED and written.assumed:
            expected = condition.reason == AS_EXPECTED
            told = f"{ASSUMED_OF}{enumerated(written.assumed, NAMED)}, which did not report"
            yield condition._replace(reason=ASSUMED if expected else condition.reason, message=told)
        else:
            yield condition
