"""Policy and resource snapshots as manifests: what they freeze, and what they record.

A policy snapshot has a frozen policy, and a status with what was decided by it for each cluster;
bindings hold the same decisions. A resource snapshot names each object by its identity, its hash
and its git blob. Both kinds have an owner, revisions, and a latest of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    IS_LATEST,
    PARENT,
    PlacementKinds,
    UnexpectedBehavior,
    as_integer,
    hash_of,
    kinds_in,
    named_in,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.records import dataclass

NOTHING: Body = {}


class ClusterDecision(NamedTuple):
    """A decision; `body` is that as it is written, which bindings and snapshots share.

    A tuple, since PickAll makes thousands at once.

    Source: kubefleet@e160c1c apis/placement/v1beta1/policysnapshot_types.go `ClusterDecision`.
    """

    cluster: str = ""
    selected: bool = False
    reason: str = ""
    body: Body = NOTHING

    @property
    def score(self) -> tuple[int, int] | None:
        """By topology, then by affinity; `None` without any."""
        score = fields.mapping_or_none(self.body, "clusterScore")
        if score is None:
            return None
        return fields.number(score, "priorityScore"), fields.number(score, "affinityScore")


NO_DECISION = ClusterDecision()
_decision = partial(tuple.__new__, ClusterDecision)  # half of the constructor's time


def decode_decision(body: Body) -> ClusterDecision:
    """Return a decision from a snapshot or a binding.

    Raises:
        UserError: A field has the wrong type.
    """
    selected = body.get("selected") is True
    return _decision(
        (fields.text(body, "clusterName"), selected, fields.text(body, "reason"), body)
    )


def new_decision(cluster: str, reason: str, *, selected: bool) -> ClusterDecision:
    """Return a decision for a cluster that was not scored."""
    body = {"clusterName": cluster, "selected": selected, "reason": reason}
    return ClusterDecision(cluster, selected, reason, body)


def encode_score(affinity: int, topology: int) -> Body:
    """Return the score of a decision as it is written."""
    return {"affinityScore": affinity, "priorityScore": topology}


def scored_decision(cluster: str, reason: str, score: Body, *, selected: bool) -> ClusterDecision:
    """Return a decision for a cluster, with the score that counted."""
    body = {"clusterName": cluster, "selected": selected, "clusterScore": score, "reason": reason}
    return _decision((cluster, selected, reason, body))


def reworded(decision: ClusterDecision, reason: str) -> ClusterDecision:
    """Return a decision with another reason."""
    return decision._replace(reason=reason, body={**decision.body, "reason": reason})


def chosen(decision: ClusterDecision, cluster: str) -> ClusterDecision:
    """Return a decision as one that selects a cluster."""
    body = {**decision.body, "clusterName": cluster, "selected": True}
    return decision._replace(cluster=cluster, selected=True, body=body)


class PolicySnapshotSpec(NamedTuple):
    """What a policy snapshot freezes: the policy as its placement has it, `None` without one.

    Source: kubefleet@e160c1c apis/placement/v1beta1/policysnapshot_types.go
    `SchedulingPolicySnapshotSpec`.
    """

    policy: Body | None
    policy_hash: str


class PolicySnapshotStatus(NamedTuple):
    """What was decided by a policy; `None` stands for an absent field.

    Source: kubefleet@e160c1c apis/placement/v1beta1/policysnapshot_types.go
    `SchedulingPolicySnapshotStatus`.

    Attributes:
        observed_generation: Of the placement, when it was scheduled last.
        decisions: In the order of listing.
        conditions: As written.
        body: The status as read; other fields of it stay.
    """

    observed_generation: int | None = None
    decisions: tuple[ClusterDecision, ...] | None = None
    conditions: Sequence[Body] | None = None
    body: Body = NOTHING

    @property
    def decided(self) -> tuple[ClusterDecision, ...]:
        """The decisions, none where none are listed."""
        return self.decisions or ()


def decode_policy_spec(manifest: Body) -> PolicySnapshotSpec:
    """Return the spec of a policy snapshot's manifest; a policy that is no mapping is none."""
    spec = fields.mapping(manifest, "spec")
    policy = spec.get("policy")
    return PolicySnapshotSpec(
        policy if isinstance(policy, Mapping) else None, fields.text(spec, "policyHash")
    )


def encode_policy_spec(policy: Body | None, policy_hash: str) -> Body:
    """Return the spec of a policy snapshot as it is written."""
    return {**({} if policy is None else {"policy": policy}), "policyHash": policy_hash}


def decode_policy_status(manifest: Body) -> PolicySnapshotStatus:
    """Return the status of a policy snapshot's manifest.

    Raises:
        UserError: A field has the wrong type.
    """
    status = fields.mapping(manifest, "status")
    listed = fields.bodies_or_none(status, "targetClusters")
    return PolicySnapshotStatus(
        observed_generation=fields.number_or_none(status, "observedCRPGeneration"),
        decisions=None if listed is None else tuple(map(decode_decision, listed)),
        conditions=fields.bodies_or_none(status, "conditions"),
        body=status,
    )


def selected_in(manifest: Body) -> dict[str, ClusterDecision]:
    """Return the decisions for clusters that were selected, by cluster; no other is decoded."""
    listed = fields.bodies(fields.mapping(manifest, "status"), "targetClusters")
    decisions = [decode_decision(item) for item in listed if item.get("selected") is True]
    return {decision.cluster: decision for decision in decisions}


def clusters_in(manifest: Body) -> list[str]:
    """Return the clusters of which a policy snapshot says what was decided; no more is decoded."""
    listed = fields.bodies(fields.mapping(manifest, "status"), "targetClusters")
    return [fields.text(item, "clusterName") for item in listed]


def lasting_status(manifest: Body, timeless: Callable[[str], str]) -> Body:
    """Return what of a policy snapshot's status only scheduling changes, moments left out.

    Args:
        manifest: The snapshot.
        timeless: Returns a reason without the time that has elapsed.
    """
    status = fields.mapping(manifest, "status")
    return {
        "targetClusters": [
            {**item, "reason": timeless(fields.text(item, "reason"))}
            for item in fields.bodies(status, "targetClusters")
        ],
        "conditions": [
            {name: value for name, value in item.items() if name != "lastTransitionTime"}
            for item in fields.bodies(status, "conditions")
        ],
    }


def encode_policy_status(status: PolicySnapshotStatus) -> Body:
    """Return the status of a policy snapshot as it is written; unknown fields stay as read."""
    body = dict(status.body)
    if status.observed_generation is not None:
        body["observedCRPGeneration"] = status.observed_generation
    if status.decisions is not None:
        body["targetClusters"] = [decision.body for decision in status.decisions]
    if status.conditions is not None:
        body["conditions"] = list(status.conditions)
    return body


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
        error: Why it stopped, `None` if it did not; what was done before stands.
    """

    snapshots: Mapping[str, Body]
    latest: str = ""
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
