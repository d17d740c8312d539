"""A placement of either scope: its policy with defaults, its strategy, its limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.defaults import mutated
from reconciler.dialects.kubefleet.api.names import PARENT, RESOURCE_HASH
from reconciler.dialects.kubefleet.api.policy import PICK_ALL, PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.api.strategy import (
    EXTERNAL,
    RolloutStrategy,
    decode_strategy,
)
from reconciler.dialects.kubefleet.snapshots.revision import annotations_of, is_latest, labels_of
from reconciler.model import fields
from reconciler.model.body import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A placement as its controllers see it.

    Attributes:
        namespace: Where it stands and what it places, `""` for a ClusterResourcePlacement.
        name: Name.
        policy: `spec.policy` as admission leaves it.
        policy_given: Whether a person wrote one.
        strategy: How changes roll out.
        strategy_given: Whether a person wrote one.
        wanted: How many clusters it wants, `None` for as many as fit.
        history: How many snapshots are kept.
        selectors: Which resources it selects, with their defaults.
        reporting_scope: Whether its status is also shown in the namespace that it places.
        deleting: Whether it is being deleted.
    """

    namespace: str
    name: str
    policy: Body
    policy_given: bool
    strategy: RolloutStrategy
    strategy_given: bool
    wanted: int | None
    history: int
    selectors: tuple[Body, ...]
    reporting_scope: str
    deleting: bool

    @property
    def is_external(self) -> bool:
        """Whether staged update runs roll it out, instead of its own strategy."""
        return self.strategy.type == EXTERNAL


def decode_placement(body: Body, namespace: str = "") -> Placement:
    """Return a placement from its manifest, defaults applied.

    Args:
        body: The manifest; the namespace need not stand in it.
        namespace: Its namespace.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementSpec`.
    """
    metadata, written = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    spec = mutated(written)
    policy = fields.mapping(spec, "policy")
    return Placement(
        namespace=namespace,
        name=fields.text(metadata, "name"),
        policy=policy,
        policy_given=isinstance(written.get("policy"), Mapping),
        strategy=decode_strategy(fields.mapping(spec, "strategy")),
        strategy_given=isinstance(written.get("strategy"), Mapping),
        wanted=_wanted(policy),
        history=fields.number(spec, "revisionHistoryLimit"),
        selectors=fields.bodies(spec, "resourceSelectors"),
        reporting_scope=fields.text(spec, "statusReportingScope"),
        deleting=bool(metadata.get("deletionTimestamp")),
    )


def _wanted(policy: Body) -> int | None:
    """Return how many clusters a rollout counts on.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `calculateRealTarget`.
    """
    kind = policy.get("placementType")
    if kind == PICK_ALL:
        return None
    if kind == PICK_FIXED:
        return len(fields.strings(policy, "clusterNames"))
    return fields.number(policy, "numberOfClusters") if kind == PICK_N else 0


def latest_master(snapshots: Iterable[Body], placement: str) -> str | None:
    """Return the name of a placement's latest master among snapshots, `None` if there is none.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `FetchLatestMasterResourceSnapshot`.
    """
    for body in snapshots:
        owned = labels_of(body).get(PARENT) == placement
        if owned and is_latest(body) and annotations_of(body).get(RESOURCE_HASH):
            return fields.text(fields.mapping(body, "metadata"), "name")
    return None
