"""Live decisions as state of ours: placements with the record of a run, sets with works."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.dialects.importer import Adopted
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import (
    PLACEMENT_LABEL,
    DecisionObject,
    decode_decision,
)
from reconciler.dialects.ocm.api.placement_status import live_status
from reconciler.dialects.ocm.decide import fingerprint_of
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionsSoFar, decided_by
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.decisions.placement_record import (
    DECIDED_AT,
    DECISION,
    SCHEDULING_DIGEST,
    render_decision,
)
from reconciler.dialects.ocm.decisions.sync import Hub, judge
from reconciler.dialects.ocm.followed import placement_key
from reconciler.dialects.ocm.imports.adopt_sets import adopt_sets
from reconciler.dialects.ocm.plan import Ocm
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.settings import settings_in
from reconciler.model.world import World


def adopt(world: World, live: Mapping[ObjectKey, Body], now: datetime) -> Adopted:
    """Return the state of the live decisions whose placement is in the repository.

    A pass runs a placement when the digest of what it decides from differs from the recorded one.
    So the digest is recorded as if the live decisions had just been made from what the repository
    holds; then they stay, and scores alone wait for the next period.
    """
    prepared = Ocm().prepare(world, settings_in(world), now)
    found: dict[ObjectKey, DecisionObject] = {
        key: decode_decision(body)
        for key, body in live.items()
        if (key.group, key.kind) == (GROUP, DECISION)
    }
    decided = decided_by(found.values())
    owners = {(key.namespace, key.name): draft for key, draft in prepared.drafts.drawn.items()}
    outputs: dict[ObjectKey, Body] = {}
    left: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    kept: set[tuple[str, str]] = set()
    for key, item in found.items():
        owner = item.owner
        if owner is None:
            left[key] = f"it has no label {PLACEMENT_LABEL}, which says whose it is"
            continue
        if owner not in owners:
            lacking[key] = placement_key(owner)
            continue
        kept.add(owner)
        placement = owners[owner].manifest.key
        outputs[key] = render_decision(item, placement, live[key], {}, now)
    for owner in sorted(kept):
        draft = owners[owner]
        key = draft.manifest.key
        outputs[key] = _record(draft, live.get(key, {}), decided, prepared.hub, now)
    sets = adopt_sets(world, live, now)
    return Adopted(
        outputs={**outputs, **sets.outputs},
        left={**left, **sets.left},
        lacking={**lacking, **sets.lacking},
        contents=sets.contents,
    )


def _record(
    draft: Draft, placement: Body, decided: DecisionsSoFar, hub: Hub, now: datetime
) -> Body:
    """Return the status file of a placement, with the record of a run at this moment."""
    key, body = draft.manifest.key, draft.manifest.body
    _, metadata = admit(key, mapping(body, "spec"), None, now)
    created = text(mapping(placement, "metadata"), "creationTimestamp")
    annotations = {**mapping(metadata, "annotations"), DECIDED_AT: format_moment(now)}
    try:
        verdict = judge(draft.placement, hub, decided, now)
    except UserError:
        verdict = None  # a pass leaves it as it is until that is mended
    if verdict is not None:
        own = decided.own(draft.placement)
        annotations[SCHEDULING_DIGEST] = fingerprint_of(draft, verdict, own, hub)
    return {
        "apiVersion": body["apiVersion"],
        "kind": key.kind,
        "metadata": {
            **metadata,
            **({"creationTimestamp": created} if created else {}),
            "annotations": dict(sorted(annotations.items())),
        },
        "status": live_status(placement),
    }
