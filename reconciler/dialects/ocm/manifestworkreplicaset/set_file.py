"""The status file of a set: its status as upstream has it, and our record of its works.

Source: ours for the record; the status is that of `set_status.py`.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import SetDecision
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import record_annotations
from reconciler.dialects.ocm.manifestworkreplicaset.set_status import status_after
from reconciler.dialects.ocm.manifestworkreplicaset.sync import APPLIED, AS_EXPECTED
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.conditions import Condition
from reconciler.model.enumeration import enumerated
from reconciler.model.fields import mapping
from reconciler.model.moments import stamp
from reconciler.model.world import Manifest

ASSUMED = "AssumedAsExpected"
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
    outcome = replace(decision.outcome, conditions=tuple(_conditions(decision)))
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": {**metadata, "annotations": dict(sorted(annotations.items()))},
        "status": status_after(mapping(present or {}, "status"), outcome, at=stamp(now)),
    }


def _conditions(decision: SetDecision) -> Iterator[Condition]:
    """Yield the conditions; one that rests on what is assumed says so."""
    assumed = [one.work.cluster for one in decision.works if one.assumed]
    for condition in decision.outcome.conditions:
        if condition.type == APPLIED and assumed:
            expected = condition.reason == AS_EXPECTED
            told = f"assumed of {enumerated(assumed, NAMED)}, which did not report"
            yield replace(condition, reason=ASSUMED if expected else condition.reason, message=told)
        else:
            yield condition
