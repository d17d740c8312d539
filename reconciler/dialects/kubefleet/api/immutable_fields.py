"""What must not change while a placement exists: its type, tolerations, strategy, reporting.

Type and tolerations in force stand in the latest policy snapshot. Of the other two the status file
keeps what is not the default, in annotations.
"""

from collections.abc import Iterable, Mapping

from reconciler.dialects.kubefleet.api.placement import Placement
from reconciler.dialects.kubefleet.api.policy import PICK_ALL
from reconciler.dialects.kubefleet.snapshots.revision import is_latest
from reconciler.errors import Misconfigured
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.world import Body

ROLLOUT_TYPE = "reconciler.dev/rollout-type"
REPORTING_SCOPE = "reconciler.dev/reporting-scope"
EXTERNAL = "External"
NAMESPACE_ACCESSIBLE = "NamespaceAccessible"


def policy_in_force(policies: Iterable[Body]) -> Body | None:
    """Return the policy of the latest snapshot, `None` if it has none."""
    found = (mapping(body, "spec").get("policy") for body in policies if is_latest(body))
    policy = next(found, None)
    return policy if isinstance(policy, Mapping) else None


def refuse_change(before: Body | None, after: Body | None) -> None:
    """Compare a policy with the one in force.

    Args:
        before: `spec.policy` in force, defaults applied, `None` if there is none.
        after: The one that is wanted, likewise.

    Raises:
        Misconfigured: The type changed, or a toleration is gone.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `HandlePlacementValidation`.
    """
    types = [text(policy or {}, "placementType") or PICK_ALL for policy in (before, after)]
    if types[0] != types[1]:
        raise Misconfigured(
            f"`placementType` must stay {types[0]} while the placement exists",
            field="/spec/policy/placementType",
        )
    tolerated = [_tolerations(policy or {}) for policy in (before, after)]
    if not tolerated[0] <= tolerated[1]:
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
    values = {ROLLOUT_TYPE: placement.strategy.type, REPORTING_SCOPE: placement.reporting_scope}
    return {name: one for name, one in values.items() if one in (EXTERNAL, NAMESPACE_ACCESSIBLE)}


def refuse_departure(record: Body, placement: Placement) -> None:
    """Compare a placement with what its status file keeps.

    Args:
        record: `metadata` of the status file of the last pass, empty if there is none.
        placement: The one that is wanted.

    Raises:
        Misconfigured: It left the strategy External, or the scope NamespaceAccessible.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go, the CEL
    rules of `RolloutStrategy` and `PlacementSpec` that look at `oldSelf`.
    """
    found, wanted = record.get("annotations"), _kept_fields(placement)
    kept = found if isinstance(found, Mapping) else {}  # a person may have edited the file
    for name, field in (
        (ROLLOUT_TYPE, "/spec/strategy/type"),
        (REPORTING_SCOPE, "/spec/statusReportingScope"),
    ):
        if name in kept and kept[name] != wanted.get(name):
            label = field.rpartition("/")[2]
            raise Misconfigured(
                f"`{label}` must stay {kept[name]} while the placement exists", field=field
            )
