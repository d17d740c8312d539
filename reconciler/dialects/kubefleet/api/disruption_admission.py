"""What KubeFleet's webhooks and CEL rules refuse in disruption budgets and evictions."""

import re
from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.policy import PICK_ALL, PICK_FIXED
from reconciler.errors import Misconfigured
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.message_text import shown

LIMITS = ("maxUnavailable", "minAvailable")
_SHARE = re.compile(r"(100|[0-9]{1,2})%")


def refuse_budget(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a budget that its schema accepts; one without limits is all right.

    Source: kubefleet@e160c1c apis/placement/v1beta1/disruptionbudget_types.go
    `PlacementDisruptionBudgetSpec`, its CEL rules.
    """
    spec = mapping(body, "spec")
    found = [violation for name in LIMITS for violation in _limit(name, spec.get(name))]
    if all(spec.get(name) is not None for name in LIMITS):
        message = "`maxUnavailable` must not stand beside `minAvailable`"
        found.append(Violation("/spec", "budget-exclusive", message, "one of the two"))
    return tuple(found)


def _limit(name: str, value: object) -> Iterator[Violation]:
    """A limit is a number from 0 on, or a percentage."""
    if isinstance(value, int | float) and value >= 0:
        return
    if isinstance(value, str) and _SHARE.fullmatch(value):
        return
    if value is not None:
        yield Violation(
            f"/spec/{name}",
            "budget-limit",
            f"`{name}` must be a number, 0 or more, or a percentage",
            "1, or 25%",
        )


def refuse_budget_for(body: Body, placement: Body) -> Iterator[Violation]:
    """Yield the limit of a budget that cannot be reckoned for its placement.

    A PickAll placement wants no number of clusters that a share could be of.

    Args:
        body: The budget.
        placement: The placement of the same name.

    Source: kubefleet@e160c1c pkg/utils/validator/clusterresourceplacementdisruptionbudget.go
    `ValidateClusterResourcePlacementDisruptionBudget`.
    """
    spec = mapping(body, "spec")
    if _type_of(placement) != PICK_ALL:
        return
    for name in LIMITS:
        value = spec.get(name)
        counted = name == "minAvailable" and not isinstance(value, str)
        if value is not None and not counted:
            yield Violation(
                f"/spec/{name}",
                "budget-placement",
                f"`{name}` must not be {shown(str(value))} where the placement is PickAll",
                "minAvailable with a number",
            )


def refuse_eviction(body: Body, placement: Body) -> Iterator[Violation]:
    """Yield that a placement cannot be evicted from.

    Args:
        body: The eviction.
        placement: The placement that it names; one that is missing is no fault.

    Source: kubefleet@e160c1c pkg/utils/validator/clusterresourceplacementeviction.go
    `ValidateClusterResourcePlacementForEviction`.
    """
    name = shown(text(mapping(body, "spec"), "placementName"))
    if mapping(placement, "metadata").get("deletionTimestamp") is not None:
        message = f"the placement {name} is being deleted, so nothing must be evicted from it"
        yield Violation("/spec/placementName", "eviction-placement", message, "no eviction")
    elif _type_of(placement) == PICK_FIXED:
        message = f"the placement {name} names its clusters, so none must be evicted"
        expected = "another list of clusterNames in the placement"
        yield Violation("/spec/placementName", "eviction-placement", message, expected)


def _type_of(placement: Body) -> str:
    policy = mapping(mapping(placement, "spec"), "policy")
    return text(policy, "placementType") or PICK_ALL


def refuse_other_eviction(before: Body, after: Body) -> None:
    """Compare the spec of an eviction with the one that it was made with.

    Raises:
        Misconfigured: It is of another placement, or for another cluster.

    Source: kubefleet@e160c1c apis/placement/v1beta1/eviction_types.go `PlacementEvictionSpec`, its
    CEL rules.
    """
    for name in ("placementName", "clusterName"):
        if text(before, name) != text(after, name):
            raise Misconfigured(f"`{name}` must stay what it was", field=f"/spec/{name}")
