"""What policies select, and those between which only a name decides: people rarely mean that."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    GROUP,
    NAMESPACED,
    Implicit,
    Policy,
    ResourceSelector,
    decode_policy,
)
from reconciler.dialects.karmada.view.selected_templates import Templates, index_templates
from reconciler.manifests.references import Brought, Dangling, Known
from reconciler.model.identity import ObjectKey

Claim = tuple[Policy, Implicit]


def overlapping(policies: Iterable[Policy], templates: Templates) -> Iterator[Dangling]:
    """Yield each policy that loses a workload to another one of its scope by name alone, once.

    Args:
        policies: All of one scope.
        templates: The workloads.

    Source: karmada@f8fdd02 pkg/detector/policy.go `getHighestPriorityPropagationPolicy`.
    """
    claims: dict[ObjectKey, list[Claim]] = defaultdict(list)
    for policy in policies:
        nearest: dict[ObjectKey, Implicit] = {}
        for selector in () if policy.deleting else policy.selectors:
            near = _near(selector)
            for one in templates.matching(policy.key, selector):
                nearest[one.key] = max(near, nearest.get(one.key, Implicit.NO_MATCH))
        for key, near in nearest.items():
            claims[key].append((policy, near))
    told: set[ObjectKey] = set()
    for key, claiming in sorted(claims.items()) if _some_overlap(claims) else ():
        for winner, loser in _by_name(claiming):
            if loser.key not in told:
                told.add(loser.key)
                yield _overlap(key, winner, loser)


def _some_overlap(claims: Mapping[ObjectKey, Sequence[Claim]]) -> bool:
    return any(len(one) > 1 for one in claims.values())


def _near(selector: ResourceSelector) -> Implicit:
    """Return how closely a selector names what it selects."""
    if selector.name:
        return Implicit.NAME
    return Implicit.ALL if selector.labels is None else Implicit.LABELS


def _by_name(claims: Sequence[Claim]) -> Iterator[tuple[Policy, Policy]]:
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


def brought_by_policies(known: Known) -> Iterator[Brought]:
    """Yield what policies select, whichever of them takes it in the end."""
    templates = index_templates(known)
    for kind in (NAMESPACED, CLUSTER_WIDE):
        for policy in (decode_policy(one, known.keys) for one in known.of_kind(GROUP, kind)):
            for position, selector in enumerate(policy.selectors):
                at = f"/spec/resourceSelectors/{position}"
                for one in templates.matching(policy.key, selector):
                    yield Brought(policy.key, at, one.key)
