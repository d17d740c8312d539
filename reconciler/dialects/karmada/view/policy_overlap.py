"""Policies between which only a name decides: people rarely mean that."""

from collections import defaultdict
from collections.abc import Iterator

from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    GROUP,
    NAMESPACED,
    Implicit,
    Policy,
    ResourceSelector,
    decode_policy,
)
from reconciler.dialects.karmada.view.selected_templates import Templates
from reconciler.manifests.references import Dangling, Known
from reconciler.model.identity import ObjectKey

Claim = tuple[Policy, Implicit]


def overlapping(known: Known, templates: Templates) -> Iterator[Dangling]:
    """Yield each policy that loses a workload to another one of its scope by name alone, once.

    Source: karmada@f8fdd02 pkg/detector/policy.go `getHighestPriorityPropagationPolicy`.
    """
    for kind in (NAMESPACED, CLUSTER_WIDE):
        claims: dict[ObjectKey, list[Claim]] = defaultdict(list)
        for manifest in known.of_kind(GROUP, kind):
            policy = decode_policy(manifest, known.keys)
            if policy.deleting:
                continue
            nearest: dict[ObjectKey, Implicit] = {}
            for selector in policy.selectors:
                for one in templates.matching(policy.key, selector):
                    nearest[one.key] = max(_near(selector), nearest.get(one.key, Implicit.NO_MATCH))
            for key, near in nearest.items():
                claims[key].append((policy, near))
        told: set[ObjectKey] = set()
        for key in sorted(claims):
            for winner, loser in _by_name(claims[key]):
                if loser.key not in told:
                    told.add(loser.key)
                    yield _overlap(key, winner, loser)


def _near(selector: ResourceSelector) -> Implicit:
    """Return how closely a selector names what it selects."""
    if selector.name:
        return Implicit.NAME
    return Implicit.ALL if selector.labels is None else Implicit.LABELS


def _by_name(claims: list[Claim]) -> Iterator[tuple[Policy, Policy]]:
    """Yield the winner with each policy that has its priority and selects as closely."""
    winner, near = min(claims, key=lambda one: (-one[0].priority, -one[1], one[0].key.name))
    for policy, close in claims:
        if policy is not winner and (policy.priority, close) == (winner.priority, near):
            yield winner, policy


def _overlap(workload: ObjectKey, winner: Policy, loser: Policy) -> Dangling:
    scope = f"{workload.namespace}/" if workload.namespace else ""
    return Dangling(
        loser.key,
        "/spec/resourceSelectors",
        "policy-overlap",
        f"{workload.kind} {scope}{workload.name} is selected by {winner.key.name}, "
        "too, which takes it: neither has the greater priority nor the closer selector, so the "
        "lesser name decides",
        "another priority, or selectors that do not meet",
    )
