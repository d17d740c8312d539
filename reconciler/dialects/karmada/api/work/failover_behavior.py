"""The failover of a binding, as its policy has it: of its application, and of clusters."""

from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.fields import mapping, mapping_or_none, number_or_none, text

TOLERATION_SECONDS = 300  # karmada@f8fdd02 CRD default of decisionConditions.tolerationSeconds


@dataclass(frozen=True, slots=True)
class Behavior:
    """`failover.application` of a policy: how long unhealthy copies are borne, and how they go."""

    toleration_seconds: int
    purge_mode: str
    grace_period_seconds: int | None


def decode_behavior(failover: Body | None) -> Behavior | None:
    """Return the application failover of a binding's failover, `None` if it has none."""
    found = mapping_or_none(failover or {}, "application")
    if found is None:
        return None
    seconds = number_or_none(mapping(found, "decisionConditions"), "tolerationSeconds")
    return Behavior(
        toleration_seconds=TOLERATION_SECONDS if seconds is None else seconds,
        purge_mode=text(found, "purgeMode") or "Gracefully",
        grace_period_seconds=number_or_none(found, "gracePeriodSeconds"),
    )


def cluster_purge_mode(failover: Body | None) -> str | None:
    """Return failover.cluster.purgeMode, `""` if not named; `None` without failover.cluster."""
    found = mapping_or_none(failover or {}, "cluster")
    return None if found is None else text(found, "purgeMode")
