"""What a WorkloadRebalancer asks for, decoded."""

from dataclasses import dataclass, field

from reconciler.manifests.admission import Admitted
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number_or_none, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.selectors import decode_label_selector
from reconciler.rebalance.rebalancer_status import Progress, decode_reference, decode_status
from reconciler.rebalance.target import Reference, TargetSelection, TargetState

DEFAULT_INTERVAL_SECONDS = 60  # ours
POLICY_GROUP = "policy.karmada.io"
POLICY, CLUSTER_POLICY = "PropagationPolicy", "ClusterPropagationPolicy"
POLICY_KINDS = ((POLICY_GROUP, POLICY), (POLICY_GROUP, CLUSTER_POLICY))
"""What a rebalancer or a trigger may name for all that it claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalancer:
    """A rebalancer, decoded.

    Attributes:
        workloads: What it asks for, as written.
        selection: What else it asks for, by description; `None` for nothing.
        schedule: Cron expression in UTC of a recurring rebalance, `None` for one that runs once.
        suspend: Whether the schedule rests.
        max_moves: How many replicas may move in a batch, `None` for all at once.
        interval_seconds: How long a batch waits for the one before.
        wait_for_eviction: Whether a target waits while it is still being evicted from a cluster.
        ttl_seconds: How long it stays after it finished, `None` means for ever.
        admitted: When it was first seen, and its generation.
        status: Its status at the last pass.
    """

    workloads: tuple[Reference, ...]
    selection: TargetSelection | None = None
    schedule: str | None = None
    suspend: bool = False
    max_moves: int | None = None
    interval_seconds: int = DEFAULT_INTERVAL_SECONDS
    wait_for_eviction: bool = False
    ttl_seconds: int | None = None
    admitted: Admitted
    status: Progress = field(default_factory=Progress)


def decode_rebalancer(spec: Body, status: Body, admitted: Admitted) -> Rebalancer:
    """Decode a validated rebalancer: what it asks for, and its status at the last pass."""
    limits = mapping(spec, "limits")
    interval = number_or_none(limits, "intervalSeconds")
    selector = mapping_or_none(spec, "selector")
    return Rebalancer(
        workloads=tuple(decode_reference(item) for item in bodies(spec, "workloads")),
        selection=None if selector is None else decode_selection(selector),
        schedule=text(spec, "schedule") or None,
        suspend=spec.get("suspend") is True,
        max_moves=number_or_none(limits, "maxMoves"),
        interval_seconds=DEFAULT_INTERVAL_SECONDS if interval is None else interval,
        wait_for_eviction=limits.get("waitForEviction") is True,
        ttl_seconds=number_or_none(spec, "ttlSecondsAfterFinished"),
        admitted=admitted,
        status=decode_status(status),
    )


def decode_selection(selector: Body) -> TargetSelection:
    """Decode `spec.selector`."""
    labels = mapping_or_none(selector, "labelSelector")
    policy = mapping_or_none(selector, "policy")
    return TargetSelection(
        api_version=text(selector, "apiVersion"),
        kind=text(selector, "kind"),
        namespace=text(selector, "namespace"),
        labels=None if labels is None else decode_label_selector(labels),
        policy=None if policy is None else selected_policy(policy),
        on_cluster=text(selector, "onCluster"),
        state=TargetState(state) if (state := text(selector, "state")) else None,
    )


def selected_policy(reference: Body) -> ObjectKey:
    """Return what a selector names as policy: without a kind, one of Karmada's."""
    kind = text(reference, "kind")
    if not kind:
        return policy_key(reference)
    group = group_of(text(reference, "apiVersion"))
    return ObjectKey(group, kind, text(reference, "namespace"), text(reference, "name"))


def policy_key(reference: Body) -> ObjectKey:
    """Return the policy that a reference names; without a namespace a cluster-wide one."""
    namespace = text(reference, "namespace")
    kind = POLICY if namespace else CLUSTER_POLICY
    return ObjectKey(POLICY_GROUP, kind, namespace, text(reference, "name"))
