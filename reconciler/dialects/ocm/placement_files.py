"""A placement before it is decided, and its files: status with record, and PlacementDecisions."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.dialects.cluster_steps import SteppedMove, with_last_move, with_notes
from reconciler.dialects.ocm.api.placement import (
    CLUSTER_GROUP,
    DecidedStatus,
    DecisionObject,
    Placement,
    StatusGroup,
    decode_decision,
    decode_placement,
    encode_clusters,
    encode_status,
)
from reconciler.dialects.ocm.scheduler.schedule import SyncVerdict
from reconciler.manifests.admission import admit, digest
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.body import Body
from reconciler.model.cluster import set_condition
from reconciler.model.decision import ScorePart, total_of
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.labels import is_label_key
from reconciler.model.moments import format_moment, parse_moment, stamp
from reconciler.model.records import dataclass
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A placement and its files so far.

    Attributes:
        manifest: As written.
        placement: Decoded.
        status_file: `None` before the first pass.
        decisions: Those that can be read.
        frozen: Whether one of its files cannot be read, so that all are left as they are.
    """

    manifest: Manifest
    placement: Placement
    status_file: Body | None
    decisions: Mapping[ObjectKey, Body]
    frozen: bool = False

    @property
    def files(self) -> Mapping[ObjectKey, Body]:
        """Its decisions and its status file, as far as they are there."""
        status = {} if self.status_file is None else {self.manifest.key: self.status_file}
        return {**self.decisions, **status}

    @property
    def idle(self) -> str:
        """Why it stays as it is whatever happens, `""` if it does not."""
        if self.frozen:
            return "one of its files cannot be read"
        if self.placement.deleting:
            return "it is being deleted"
        return f"{self.placement.disabled} is true" if self.placement.disabled else ""


def draft_of(
    manifest: Manifest,
    status_file: Body | None,
    decisions: Mapping[ObjectKey, Body],
    *,
    frozen: bool,
) -> Draft:
    """Return a placement and its files; its namespace is that of its key, written or not."""
    metadata = {**mapping(manifest.body, "metadata"), "namespace": manifest.key.namespace}
    return Draft(
        manifest=manifest,
        placement=decode_placement({**manifest.body, "metadata": metadata}),
        status_file=status_file,
        decisions=decisions,
        frozen=frozen,
    )


def is_left_alone(world: World, key: ObjectKey) -> bool:
    """Return whether the status file or a decision of a placement cannot be read."""
    if not world.frozen:
        return False
    if is_frozen(world, key):
        return True
    first = ObjectKey(CLUSTER_GROUP, "PlacementDecision", key.namespace, f"{key.name}-decision-")
    stem = output_path(world.output_root, first).removesuffix(".yaml")
    rest = (path.removeprefix(stem) for path in world.frozen.paths if path.startswith(stem))
    return world.frozen.may_hold(stem) or any(
        text.removesuffix(".yaml").isdecimal() for text in rest
    )


API_VERSION = f"{CLUSTER_GROUP}/v1beta1"
DECISION = "PlacementDecision"
DECISION_DIGEST = "reconciler.dev/decision-digest"
SCHEDULING_DIGEST = "reconciler.dev/scheduling-digest"
DECIDED_AT = "reconciler.dev/decided-at"
SCORE = "score.reconciler.dev"


@dataclass(frozen=True, slots=True)
class PlacementRecord:
    """What the last run of a placement left behind.

    Attributes:
        digest: What the run decided from, but for scores; `""` before the first run.
        decided_at: When its decisions last changed, `None` if they never did.
    """

    digest: str = ""
    decided_at: datetime | None = None


def decode_record(status_file: Body | None) -> PlacementRecord:
    """Read a record back; what a person spoiled counts as missing."""
    annotations = mapping(mapping(status_file or {}, "metadata"), "annotations")
    return PlacementRecord(
        digest=text(annotations, SCHEDULING_DIGEST),
        decided_at=_moment(text(annotations, DECIDED_AT)),
    )


def _moment(written: str) -> datetime | None:
    """Return the moment that a text names, `None` if it names none."""
    try:
        return parse_moment(written) if written else None
    except ValueError:
        return None


def render_placement(
    manifest: Manifest,
    present: Body | None,
    verdict: SyncVerdict,
    record: PlacementRecord,
    now: datetime,
    move: SteppedMove | None = None,
    made: str = "",
) -> Body:
    """Return the status file of a placement.

    `move` is what is under way, `None` for nothing, `made` the annotation of a move with a rest.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `updateStatus`; the record in its annotations is ours.
    """
    before = mapping(present, "metadata") if present is not None else None
    _, metadata = admit(manifest.key, mapping(manifest.body, "spec"), before, now)
    annotations = {**mapping(metadata, "annotations"), SCHEDULING_DIGEST: record.digest}
    if record.decided_at is not None:
        annotations[DECIDED_AT] = format_moment(record.decided_at)
    conditions = list(bodies(mapping(present or {}, "status"), "conditions"))
    for condition in verdict.conditions:
        conditions = set_condition(conditions, condition, at=stamp(now))
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": with_last_move(
            with_notes({**metadata, "annotations": dict(sorted(annotations.items()))}, move),
            present,
            made,
        ),
        "status": encode_status(
            DecidedStatus(
                selected=len(verdict.result.ranked),
                groups=tuple(
                    StatusGroup(index, group.name, tuple(group.objects), len(group.clusters))
                    for index, group in enumerate(verdict.grouped.groups)
                ),
                conditions=tuple(conditions),
            )
        ),
    }


def decision_key(decision: DecisionObject) -> ObjectKey:
    """Return the key of a PlacementDecision."""
    return ObjectKey(CLUSTER_GROUP, DECISION, decision.namespace, decision.name)


def render_decision(
    decision: DecisionObject,
    owner: ObjectKey,
    present: Body | None,
    scores: Mapping[str, str],
    now: datetime,
) -> Body:
    """Return the file of a PlacementDecision, with its annotations of `scores`.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `generateDecision`: `reason` is empty and `score` is never filled.
    """
    key = decision_key(decision)
    created = text(mapping(present or {}, "metadata"), "creationTimestamp")
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "uid": uid_of(key),
            "creationTimestamp": created or stamp(now),
            "annotations": {DECISION_DIGEST: _clusters_digest(decision), **scores},
            "labels": dict(decision.labels),
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": owner.kind,
                    "name": owner.name,
                    "uid": uid_of(owner),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "status": encode_clusters(decision),
    }


def score_texts(
    decision: DecisionObject,
    present: Body | None,
    parts: Mapping[ClusterName, tuple[ScorePart, ...]],
    *,
    renew: bool,
) -> dict[str, str]:
    """Return the annotations that tell by what scores the clusters of a decision were chosen.

    They stay as they are until the decision changes, or else new scores would write files. There
    is one a cluster, such as `score.reconciler.dev/a: 200 = Balance 1 x 100 + Steady 1 x 100`, and
    none for a name too long for a key.

    Source: ours; upstream says it in an event.
    """
    annotations = {} if renew else mapping(mapping(present or {}, "metadata"), "annotations")
    texts = {}
    for name in decision.clusters:
        key = f"{SCORE}/{name}"
        score_text = text(annotations, key)
        if score_text:
            texts[key] = score_text
        elif name in parts and is_label_key(key):
            texts[key] = " = ".join(
                filter(None, (str(total_of(parts[name])), " + ".join(map(str, parts[name]))))
            )
    return texts


def is_edited(body: Body) -> bool:
    """Return whether the clusters of a PlacementDecision differ from what the last pass wrote."""
    annotations = mapping(mapping(body, "metadata"), "annotations")
    written = text(annotations, DECISION_DIGEST)
    return bool(written) and written != _clusters_digest(decode_decision(body))


def _clusters_digest(decision: DecisionObject) -> str:
    """Return the digest by which a later pass sees that a person edited the clusters."""
    leaving = [list(decision.leaving)] if decision.leaving else []
    return digest([*decision.clusters, *leaving])
