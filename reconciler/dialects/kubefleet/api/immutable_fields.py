"""What must not change while a placement exists: its type, tolerations, strategy, reporting.

Type and tolerations in force stand in the latest policy snapshot. Of the others the status file
keeps what is not the default, in annotations. Of a ResourcePlacement, which no webhook watches,
tolerations may change; its policy, which no webhook fills in, may come, and must not go; its
strategy may come and go.
"""

from collections.abc import Collection, Iterable, Mapping

from reconciler.dialects.kubefleet.api.names import NAMESPACE_ACCESSIBLE
from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.api.policy import PICK_ALL
from reconciler.dialects.kubefleet.api.policy_snapshot import decode_policy_spec
from reconciler.dialects.kubefleet.api.strategy import EXTERNAL
from reconciler.dialects.kubefleet.snapshots.revision import is_latest
from reconciler.errors import Misconfigured
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text

ROLLOUT_TYPE = "reconciler.dev/rollout-type"
REPORTING_SCOPE = "reconciler.dev/reporting-scope"
POLICY = "reconciler.dev/policy"


def refuse_edit(record: Body, policies: Collection[Body], placement: Placement) -> None:
    """Compare a placement with the one in force.

    Args:
        record: `metadata` of the status file of the last pass, empty if there is none.
        policies: Its policy snapshots.
        placement: The one that is wanted.

    Raises:
        Misconfigured: Something changed that must not.
    """
    refuse_departure(record, placement)
    if policies:
        refuse_change(record, policy_in_force(policies), placement)


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
    kept = {}
    if placement.strategy.type == EXTERNAL:
        kept[ROLLOUT_TYPE] = EXTERNAL
    if not placement.namespace and placement.reporting_scope == NAMESPACE_ACCESSIBLE:
        kept[REPORTING_SCOPE] = NAMESPACE_ACCESSIBLE
    if placement.namespace and placement.policy_given:
        kept[POLICY] = "given"
    return kept


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
    kept, wanted = dict(_annotations_of(record)), _kept_fields(placement)
    if placement.namespace and not placement.strategy_given:
        kept.pop(ROLLOUT_TYPE, None)  # the rule stands on `spec.strategy.type`, which is absent now
    for name, field in (
        (ROLLOUT_TYPE, "/spec/strategy/type"),
        (REPORTING_SCOPE, "/spec/statusReportingScope"),
        (POLICY, "/spec/policy"),
    ):
        if name in kept and kept[name] != wanted.get(name):
            label = field.rpartition("/")[2]
            raise Misconfigured(
                f"`{label}` must stay {kept[name]} while the placement exists", field=field
            )


def _annotations_of(record: Body) -> Body:
    found = record.get("annotations")
    return found if isinstance(found, Mapping) else {}  # a person may have edited the file
