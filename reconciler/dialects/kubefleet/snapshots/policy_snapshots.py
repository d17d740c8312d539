"""Policy snapshots: a new one for each new policy, the present one updated."""

import base64
from collections.abc import Iterable
from dataclasses import replace

from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    CRP_GENERATION,
    IS_LATEST,
    NUMBER_OF_CLUSTERS,
    PARENT,
    POLICY_INDEX,
)
from reconciler.dialects.kubefleet.api.policy import PICK_N
from reconciler.dialects.kubefleet.api.policy_snapshot import decode_policy_spec, encode_policy_spec
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior, as_count
from reconciler.dialects.kubefleet.snapshots.policy_hash import policy_hash
from reconciler.dialects.kubefleet.snapshots.revision import (
    Owner,
    SnapshotRevisions,
    annotations_of,
    index_of,
    is_latest,
    marked,
    owned,
    relabelled,
)
from reconciler.model import fields
from reconciler.model.body import Body

FIRST = -1


def snapshot_policy(
    owner: Owner,
    policy: Body | None,
    snapshots: Iterable[Body],
    limit: int,
    *,
    implied: bool = False,
) -> SnapshotRevisions:
    """Return the policy snapshots of a placement as its policy wants them.

    A policy that differs in more than its number gets a new snapshot, going back to an earlier one
    included, and the oldest make room. Otherwise the present snapshot is updated: its label, the
    placement's generation, and PickN's number, all in metadata; its spec goes stale.

    Args:
        owner: The placement.
        policy: Its `spec.policy` with defaults applied, `None` if there is none.
        snapshots: All policy snapshots, in whatever order.
        limit: How many may exist, one or more.
        implied: Whether nobody wrote the policy, see `equal_policies`.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go
    `getOrCreateSchedulingPolicySnapshot`.
    """
    present = SnapshotRevisions(snapshots=owned(snapshots, owner))
    policies = equal_policies(policy, implied=implied)
    try:
        name, index = _latest(present)
        if name and decode_policy_spec(present.snapshots[name]).policy_hash in policies:
            return _refresh(present, name, owner, policy)
    except UnexpectedBehavior as error:
        return replace(present, error=error)
    retired = _retire(present, name)
    try:
        pruned = _prune(retired, limit)
    except UnexpectedBehavior as error:
        return replace(retired, error=error)
    fresh = _new(owner, policy, index + 1)
    name = f"{owner.name}-{index + 1}"
    return replace(
        pruned,
        snapshots={**pruned.snapshots, name: fresh},
        latest=name,
    )


def encoded_hash(policy: Body | None) -> str:
    """Return a policy's hash as it stands in a snapshot: the hex text, as bytes, in base64."""
    return base64.b64encode(policy_hash(policy).encode()).decode()


def equal_policies(policy: Body | None, *, implied: bool) -> dict[str, Body | None]:
    """Return the policies that the snapshot in force may hold, by their encoded hash.

    On a hub without webhooks nobody fills in what was not written, so a snapshot of it holds no
    policy, which decides as the implied one does.

    Args:
        policy: `spec.policy` with defaults applied, `None` if there is none.
        implied: Whether nobody wrote it.
    """
    held = (policy, None) if implied else (policy,)
    return {encoded_hash(one): one for one in held}


def _latest(present: SnapshotRevisions) -> tuple[str, int]:
    """Return the snapshot labelled latest, else that with the highest index, and its index."""
    labelled = [name for name, body in present.snapshots.items() if is_latest(body)]
    if len(labelled) > 1:
        raise UnexpectedBehavior(f"there are {len(labelled)} active policy snapshots")
    if labelled:
        return labelled[0], index_of(present.snapshots[labelled[0]], POLICY_INDEX)
    ordered = _by_index(present)
    return (ordered[-1][1], ordered[-1][0]) if ordered else ("", FIRST)


def _by_index(present: SnapshotRevisions) -> list[tuple[int, str]]:
    return sorted((index_of(body, POLICY_INDEX), name) for name, body in present.snapshots.items())


def _number(policy: Body | None) -> int | None:
    """Return how many clusters PickN wants, `None` for another type or none given."""
    if policy is None or policy.get("placementType") != PICK_N:
        return None
    return fields.number_or_none(policy, "numberOfClusters")


def _refresh(
    present: SnapshotRevisions, name: str, owner: Owner, policy: Body | None
) -> SnapshotRevisions:
    """Update the present snapshot in place.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go `ensureLatestPolicySnapshot`.
    """
    body = present.snapshots[name]
    annotations = annotations_of(body)
    changed: dict[str, str] = {}
    if as_count(annotations.get(CRP_GENERATION), CRP_GENERATION) != owner.generation:
        changed[CRP_GENERATION] = str(owner.generation)
    number = _number(policy)
    if number is not None:
        known = as_count(annotations.get(NUMBER_OF_CLUSTERS), NUMBER_OF_CLUSTERS)
        if known != number:
            changed[NUMBER_OF_CLUSTERS] = str(number)
    if not changed and is_latest(body):
        return replace(present, latest=name)
    updated = relabelled(body, labels={IS_LATEST: "true"}, annotations=changed)
    return replace(
        present,
        snapshots={**present.snapshots, name: updated},
        latest=name,
    )


def _retire(present: SnapshotRevisions, name: str) -> SnapshotRevisions:
    """Take the label from the snapshot that was latest."""
    if not name or not is_latest(present.snapshots[name]):
        return present
    retired = marked(present.snapshots[name], latest=False)
    return replace(present, snapshots={**present.snapshots, name: retired})


def _prune(present: SnapshotRevisions, limit: int) -> SnapshotRevisions:
    """Remove the oldest snapshots until there is room for one more."""
    ordered = _by_index(present)
    surplus = [name for _, name in ordered[: max(len(ordered) - limit + 1, 0)]]
    return replace(
        present,
        snapshots={name: body for name, body in present.snapshots.items() if name not in surplus},
    )


def _new(owner: Owner, policy: Body | None, index: int) -> Body:
    annotations = {CRP_GENERATION: str(owner.generation)}
    number = _number(policy)
    if number is not None:
        annotations[NUMBER_OF_CLUSTERS] = str(number)
    return {
        "apiVersion": API_VERSION,
        "kind": owner.kinds.policy_snapshot,
        "metadata": {
            **owner.identity(f"{owner.name}-{index}"),
            "generation": 1,
            "labels": {PARENT: owner.name, IS_LATEST: "true", POLICY_INDEX: str(index)},
            "annotations": annotations,
            "ownerReferences": [owner.reference],
        },
        "spec": encode_policy_spec(policy, encoded_hash(policy)),
    }
