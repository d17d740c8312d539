"""What must not change while a placement exists: its type, and what it tolerates."""

from collections.abc import Iterable, Mapping

from reconciler.dialects.kubefleet.api.policy import PICK_ALL
from reconciler.dialects.kubefleet.snapshots.revision import is_latest
from reconciler.errors import Misconfigured
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.world import Body


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
