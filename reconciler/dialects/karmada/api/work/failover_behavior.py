"""The failover of a binding, as its policy has it: of its application, and of clusters."""

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number_or_none, text

TOLERATION_SECONDS = 300  # karmada@f8fdd02 CRD default of decisionConditions.tolerationSeconds


@dataclass(frozen=True, slots=True)
class StateRule:
    """What of a workload's status is preserved, and as which label.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go `StatePreservationRule`.
    """

    alias_label_name: str
    json_path: str


StateRules = tuple[StateRule, ...]


@dataclass(frozen=True, slots=True)
class Behavior:
    """`failover.application` of a policy.

    Attributes:
        toleration_seconds: How long unhealthy copies are borne.
        purge_mode: How the copy on the old cluster goes.
        grace_period_seconds: How long that stays at most, `None` for the default.
        state_rules: What the workload takes along.
    """

    toleration_seconds: int
    purge_mode: str
    grace_period_seconds: int | None
    state_rules: StateRules = ()


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
        state_rules=_state_rules(found),
    )


def cluster_purge_mode(failover: Body | None) -> str | None:
    """Return failover.cluster.purgeMode, `""` if not named; `None` without failover.cluster."""
    found = mapping_or_none(failover or {}, "cluster")
    return None if found is None else text(found, "purgeMode")


def cluster_state_rules(failover: Body | None) -> StateRules:
    """Return what a workload takes along that leaves a failing cluster, by failover.cluster."""
    return _state_rules(mapping(failover or {}, "cluster"))


def preserving(failover: Body | None) -> Iterator[tuple[str, str, StateRules]]:
    """Yield each failover that preserves state: its name, how the old copy goes, its rules."""
    application, cluster = decode_behavior(failover), cluster_state_rules(failover)
    if application is not None and application.state_rules:
        yield "application", application.purge_mode, application.state_rules
    if cluster:
        yield "cluster", cluster_purge_mode(failover) or "", cluster


def _state_rules(behavior: Body) -> StateRules:
    rules = bodies(mapping(behavior, "statePreservation"), "rules")
    return tuple(StateRule(text(one, "aliasLabelName"), text(one, "jsonPath")) for one in rules)
