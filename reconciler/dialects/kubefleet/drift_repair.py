"""What earlier passes left of a placement, with what people did to its files undone.

A snapshot's labels, owner and index follow from its name, its annotations and content from the
placement and its resources; only an edit of a binding's decision counts, see `view/files.py`.

While a placement exists, its type, tolerations, strategy and reporting must not change. Type and
tolerations in force stand in the latest policy snapshot. Of the others the status file keeps what
is not the default, in annotations. Of a ResourcePlacement, which no webhook watches, tolerations
may change; its policy, which no webhook fills in, may come, and must not go; its strategy may come
and go.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from reconciler.dialects.kubefleet.api.binding import PLACEMENT_PART, policy_snapshot_of
from reconciler.dialects.kubefleet.api.member import timeless
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    CANDIDATE_SEEN_AT,
    CRP_GENERATION,
    IS_LATEST,
    NAMESPACE_ACCESSIBLE,
    NUMBER_OF_CLUSTERS,
    NUMBER_OF_ENVELOPES,
    NUMBER_OF_SNAPSHOTS,
    PARENT,
    POLICY_INDEX,
    POLICY_SNAPSHOTS,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    SUBINDEX,
    as_integer,
    placement_key,
)
from reconciler.dialects.kubefleet.api.placement import EXTERNAL, PICK_ALL, Placement
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    annotations_of,
    decode_entry,
    decode_policy_spec,
    decode_resources,
    encode_policy_spec,
    encode_resources,
    is_latest,
    labels_of,
    lasting_status,
    selected_in,
)
from reconciler.dialects.kubefleet.placement_cycle import Present
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import encoded_hash, equal_policies
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import (
    resources_hash,
    split,
    without,
)
from reconciler.dialects.kubefleet.snapshots.selection import SelectedResources
from reconciler.dialects.kubefleet.view.files import (
    STATUS_DIGEST,
    is_edited,
    keep_one_a_cluster,
    read_binding,
)
from reconciler.errors import Misconfigured
from reconciler.manifests.admission import SPEC_DIGEST, digest
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import is_moment
from reconciler.model.records import dataclass

MASTER = "snapshot"

_POLICY_NAME = re.compile(r"(.+)-(0|[1-9][0-9]*)", re.ASCII)
_RESOURCE_NAME = re.compile(r"(.+)-(0|[1-9][0-9]*)-(snapshot|0|[1-9][0-9]*)", re.ASCII)
_COUNTS = (CRP_GENERATION, NUMBER_OF_CLUSTERS)
_MARKS = (
    RESOURCE_HASH,
    NUMBER_OF_SNAPSHOTS,
    NUMBER_OF_ENVELOPES,
    CANDIDATE_SEEN_AT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFiles:
    """What the snapshots in force hold unless something changed since they were made.

    Attributes:
        policy: `spec.policy` with defaults, `None` if there is none.
        implied: Whether nobody wrote it.
        selection: The selected resources.
    """

    policy: Body | None
    implied: bool
    selection: SelectedResources


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedFiles:
    """What a placement has, and which of its bindings a person decided anew."""

    present: Present
    edited: tuple[str, ...]


def owner_of(key: ObjectKey, body: Body) -> ObjectKey:
    """Return the placement that an output belongs to, with the name `""` if it cannot be told."""
    return placement_key(key.namespace, _owner_name(key, body))


def _owner_name(key: ObjectKey, body: Body) -> str:
    if key.kind in BINDINGS:
        label = labels_of(body).get(PARENT, "")
        if label and key.name.startswith(f"{label[:PLACEMENT_PART]}-"):
            return label
        policy = policy_snapshot_of(body)
        match = _POLICY_NAME.fullmatch(policy)
    else:
        pattern = _POLICY_NAME if key.kind in POLICY_SNAPSHOTS else _RESOURCE_NAME
        match = pattern.fullmatch(key.name)
    return match[1] if match else ""


def repair_drift(
    owner: Owner, outputs: Mapping[ObjectKey, Body], wanted: WantedFiles
) -> RepairedFiles:
    """Return what earlier passes left of a placement.

    Args:
        owner: The placement.
        outputs: Its files as they stand.
        wanted: What its newest snapshots hold, if nothing changed.

    Raises:
        UserError: A field of a file has the wrong type.
    """
    policies = _policies(owner, _of(outputs, owner.kinds.policy_snapshot), wanted)
    latest = next((body for body in policies if is_latest(body)), {})
    decisions = selected_in(latest)
    found = _of(outputs, owner.kinds.binding)
    by_hand = {name for name, body in found.items() if is_edited(body)}
    edited = tuple(sorted(by_hand))
    name = text(mapping(latest, "metadata"), "name") or f"{owner.name}-0"
    bindings = [
        read_binding(
            body,
            owner.name,
            _decided_by(body, owner, name, policies),
            decisions,
            edited=key in by_hand,
        )
        for key, body in found.items()
    ]
    return RepairedFiles(
        present=Present(
            policies=policies,
            resources=_resources(owner, _of(outputs, owner.kinds.resource_snapshot), wanted),
            bindings=keep_one_a_cluster(bindings, edited),
            renew=bool(edited),
            implied=wanted.implied,
        ),
        edited=edited,
    )


def _of(outputs: Mapping[ObjectKey, Body], kind: str) -> dict[str, Body]:
    return {key.name: body for key, body in sorted(outputs.items()) if key.kind == kind}


def _decided_by(body: Body, owner: Owner, latest: str, policies: Sequence[Body]) -> str:
    """Return the policy snapshot of a binding: the one in force, or one whose file is lost."""
    written = policy_snapshot_of(body)
    match = _POLICY_NAME.fullmatch(written)
    following = _POLICY_NAME.fullmatch(latest)
    if match is None or following is None or match[1] != owner.name or not policies:
        return latest
    return written if int(match[2]) == int(following[2]) + 1 else latest


def _policies(owner: Owner, snapshots: Mapping[str, Body], wanted: WantedFiles) -> list[Body]:
    """Return the policy snapshots; an edited status is forgotten, which has it made anew."""
    parts = {name: _POLICY_NAME.fullmatch(name) for name in snapshots}
    indices = {name: int(part[2]) for name, part in parts.items() if part}
    last = max(indices.values(), default=-1)
    restored = []
    for name, index in indices.items():
        body = snapshots[name]
        marks = annotations_of(body)
        labels = {
            PARENT: owner.name,
            IS_LATEST: "true" if index == last else "false",
            POLICY_INDEX: str(index),
        }
        spec = mapping(body, "spec")
        if index == last and _is_changed(marks, SPEC_DIGEST, spec):
            spec = _policy_spec(body, equal_policies(wanted.policy, implied=wanted.implied))
        if _is_changed(marks, STATUS_DIGEST, lasting_status(body, timeless)):
            body = without(body, "status")
        counts = _counts(marks, wanted.policy if index == last else None)
        restored.append(_snapshot(body, owner.kinds.policy_snapshot, owner, labels, counts, spec))
    return restored


def _counts(marks: Mapping[str, str], policy: Body | None) -> dict[str, str]:
    """Return the annotations that hold counts; a missing or unreadable one is made anew."""
    read = {name: as_integer(marks[name]) for name in _COUNTS if name in marks}
    counts = {name: str(number) for name, number in read.items() if number and number > 0}
    number = policy.get("numberOfClusters") if policy is not None else None
    if NUMBER_OF_CLUSTERS in marks or number is not None:
        counts.setdefault(NUMBER_OF_CLUSTERS, str(number or 0))
    return {CRP_GENERATION: "0", **counts}


def _policy_spec(snapshot: Body, wanted: Mapping[str, Body | None]) -> Body:
    """Return the edited spec of a snapshot as it was, if the placement still wants the same."""
    written = decode_policy_spec(snapshot)
    for hashed in (written.policy_hash, encoded_hash(written.policy)):
        if hashed in wanted:
            return encode_policy_spec(wanted[hashed], hashed)
    return mapping(snapshot, "spec")


def _resources(owner: Owner, snapshots: Mapping[str, Body], wanted: WantedFiles) -> list[Body]:
    """Return the resource snapshots; those of the newest group say what is selected now."""
    parts = {name: _RESOURCE_NAME.fullmatch(name) for name in snapshots}
    named = {name: (int(part[2]), part[3]) for name, part in parts.items() if part}
    last = max((index for index, part in named.values() if part == MASTER), default=-1)
    chunks = split(wanted.selection.resources)
    hashed = resources_hash(wanted.selection.resources)
    group = {part: snapshots[name] for name, (index, part) in named.items() if index == last}
    same = _listed(group) == [
        decode_entry(item.entry).identity for item in wanted.selection.resources
    ]
    restored = []
    for name, (index, part) in named.items():
        body = snapshots[name]
        spec, marks = mapping(body, "spec"), annotations_of(body)
        latest = {IS_LATEST: "true" if index == last else "false"} if part == MASTER else {}
        labels = {PARENT: owner.name, **latest, RESOURCE_INDEX: str(index)}
        marks_kept = {key: marks[key] for key in _MARKS if part == MASTER and key in marks}
        if part != MASTER:
            marks_kept |= {SUBINDEX: part}
        position = 0 if part == MASTER else int(part) + 1
        entries = [item.entry for item in chunks[position]] if position < len(chunks) else []
        if index == last and part == MASTER and (same or marks.get(RESOURCE_HASH) == hashed):
            marks_kept[RESOURCE_HASH] = hashed
            marks_kept[NUMBER_OF_SNAPSHOTS] = str(len(chunks))
            marks_kept[NUMBER_OF_ENVELOPES] = str(wanted.selection.envelopes)
        if index == last and _is_changed(marks, SPEC_DIGEST, spec):
            spec = encode_resources(entries)
        restored.append(
            _snapshot(body, owner.kinds.resource_snapshot, owner, labels, marks_kept, spec)
        )
    return restored


def _listed(group: Mapping[str, Body]) -> list[tuple[object, ...]]:
    """Return what a group of snapshots holds, given by their parts: the master comes first."""
    ordered = sorted(group, key=lambda part: -1 if part == MASTER else int(part))
    return [entry.identity for part in ordered for entry in decode_resources(group[part])]


def _snapshot(
    body: Body,
    kind: str,
    owner: Owner,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    spec: Body,
) -> Body:
    """Return a snapshot with its constant parts as they must be."""
    metadata = mapping(body, "metadata")
    created = text(metadata, "creationTimestamp")
    fresh: dict[str, object] = {
        "apiVersion": body["apiVersion"],
        "kind": kind,
        "metadata": {
            **owner.identity(text(metadata, "name")),
            "generation": 1,
            **({"creationTimestamp": created} if is_moment(created) else {}),
            "labels": dict(labels),
            "annotations": dict(annotations),
            "ownerReferences": [owner.reference],
        },
        "spec": spec,
    }
    status = mapping(body, "status")
    return {**fresh, "status": status} if status else fresh


def _is_changed(marks: Mapping[str, str], mark: str, value: Body) -> bool:
    """Return whether a value differs from what the last pass wrote."""
    return mark in marks and marks[mark] != digest(value)


ROLLOUT_TYPE = "reconciler.dev/rollout-type"
REPORTING_SCOPE = "reconciler.dev/reporting-scope"
POLICY = "reconciler.dev/policy"


def refused_edit(
    record: Body, policies: Collection[Body], placement: Placement
) -> Misconfigured | None:
    """Compare a placement with the one in force; return what changed that must not, if anything.

    Args:
        record: `metadata` of the status file of the last pass, empty if there is none.
        policies: Its policy snapshots.
        placement: The one that is wanted.
    """
    try:
        refuse_departure(record, placement)
        if policies:
            refuse_change(record, policy_in_force(policies), placement)
    except Misconfigured as error:
        return error
    return None


def policy_in_force(policies: Iterable[Body]) -> Body | None:
    """Return the policy of the latest snapshot, `None` if it has none."""
    found = (decode_policy_spec(body).policy for body in policies if is_latest(body))
    return next(found, None)


def refuse_change(record: Body, before: Body | None, placement: Placement) -> None:
    """Compare a policy with the one in force.

    The PickAll of a ResourcePlacement without a policy is none that an edit could change: the CEL
    rule on the type stands on `spec.policy`, and is asked only where that was there and still is.

    Args:
        record: `metadata` of the status file of the last pass, empty if there is none.
        before: `spec.policy` in force, defaults applied, `None` if there is none.
        placement: The one that is wanted.

    Raises:
        Misconfigured: The type changed, or a toleration is gone.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `HandlePlacementValidation`, and
    apis/placement/v1beta1/clusterresourceplacement_types.go, the CEL rule of `PlacementPolicy`.
    """
    both_given = POLICY in _annotations_of(record) and placement.policy_given
    if placement.namespace and not both_given:
        return
    policies = (before or {}, placement.policy)
    types = [text(policy, "placementType") or PICK_ALL for policy in policies]
    if types[0] != types[1]:
        raise Misconfigured(
            f"`placementType` must stay {types[0]} while the placement exists",
            field="/spec/policy/placementType",
        )
    tolerated = [_tolerations(policy) for policy in policies]
    if not placement.namespace and not tolerated[0] <= tolerated[1]:
        raise Misconfigured(
            "tolerations may only be added while the placement exists",
            field="/spec/policy/tolerations",
        )


def _tolerations(policy: Body) -> frozenset[tuple[str, ...]]:
    names = ("key", "operator", "value", "effect")
    return frozenset(
        tuple(text(item, name) for name in names) for item in bodies(policy, "tolerations")
    )


def with_kept_fields(metadata: Body, placement: Placement) -> Body:
    """Return the metadata of a status file with annotations of what must not change later.

    # Unlike upstream: a reporting scope may leave its default, which no annotation keeps.
    """
    annotations = {**mapping(metadata, "annotations"), **_kept_fields(placement)}
    return {**metadata, "annotations": annotations}


def _kept_fields(placement: Placement) -> dict[str, str]:
    """Return what is kept, by annotation; a default is not."""
    fields_kept = {}
    if placement.strategy.type == EXTERNAL:
        fields_kept[ROLLOUT_TYPE] = EXTERNAL
    if not placement.namespace and placement.reporting_scope == NAMESPACE_ACCESSIBLE:
        fields_kept[REPORTING_SCOPE] = NAMESPACE_ACCESSIBLE
    if placement.namespace and placement.policy_given:
        fields_kept[POLICY] = "given"
    return fields_kept


def refuse_departure(record: Body, placement: Placement) -> None:
    """Compare a placement with what its status file keeps.

    Args:
        record: `metadata` of the status file of the last pass, empty if there is none.
        placement: The one that is wanted.

    Raises:
        Misconfigured: It left the strategy External or the scope NamespaceAccessible, or lost its
            policy.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go, the CEL
    rules of `RolloutStrategy` and `PlacementSpec` that look at `oldSelf`.
    """
    annotations, wanted = dict(_annotations_of(record)), _kept_fields(placement)
    if placement.namespace and not placement.strategy_given:
        annotations.pop(
            ROLLOUT_TYPE, None
        )  # the rule stands on `spec.strategy.type`, which is absent now
    for name, field in (
        (ROLLOUT_TYPE, "/spec/strategy/type"),
        (REPORTING_SCOPE, "/spec/statusReportingScope"),
        (POLICY, "/spec/policy"),
    ):
        if name in annotations and annotations[name] != wanted.get(name):
            label = field.rpartition("/")[2]
            raise Misconfigured(
                f"`{label}` must stay {annotations[name]} while the placement exists", field=field
            )


def _annotations_of(record: Body) -> Body:
    annotations = record.get("annotations")
    return (
        annotations if isinstance(annotations, Mapping) else {}
    )  # a person may have edited the file
