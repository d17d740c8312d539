"""A policy snapshot: a frozen policy, and the status with what was decided by it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.cluster_decision import ClusterDecision, decode_decision
from reconciler.model import fields
from reconciler.model.body import Body

NOTHING: Body = {}


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
    found = [decode_decision(item) for item in listed if item.get("selected") is True]
    return {decision.cluster: decision for decision in found}


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
