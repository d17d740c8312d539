"""Which policy claims a workload: election, preemption, and claims that stick."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.karmada.api.policies import (
    NAMESPACED,
    Implicit,
    Policy,
    Template,
    closeness,
    implicit_priority,
)
from reconciler.dialects.karmada.detector.policy_selectors import PolicySelectors
from reconciler.dialects.object_boundary import Failed
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import Versioned

FEW = 4  # ours: so many selectors are soon judged one by one

Match = tuple[Policy, Implicit]
"""A policy that selects a workload, and how closely."""


@dataclass(slots=True, eq=False)
class Policies:
    """All policies as one round has them; only those of the latest one say who claims what.

    Attributes:
        by_key: Those that can be decoded.
        selectors: What they select; it goes on with the next round.
        failed: Why others could not be decoded.
        waiting: Those that wait for override policies.
    """

    by_key: Mapping[ObjectKey, Policy] = field(default_factory=Versioned)
    selectors: PolicySelectors = field(default_factory=PolicySelectors, repr=False)
    failed: Mapping[ObjectKey, Failed] = field(default_factory=dict)
    waiting: tuple[Policy, ...] = ()

    def claim(
        self, template: Template, present: ObjectKey | None, *, preempting: bool = False
    ) -> Policy | None:
        """Return the policy that a workload belongs to, `None` if no one takes it.

        First every policy has its say, then the workload: so a pass ends where upstream's events
        end, in whatever order they come.

        Args:
            template: The workload.
            present: Its policy so far, `None` if it has none.
            preempting: Whether policies may preempt others at all.
        """
        return self.elect(template, self.release(template, present, preempting=preempting))

    def release(
        self, template: Template, present: ObjectKey | None, *, preempting: bool
    ) -> ObjectKey | None:
        """Return the policy that claims a workload once each was asked, `None` if none.

        A policy lets go of what it no longer selects and, when it is being deleted, of everything;
        one that may preempt takes what another one holds.

        Source: karmada@f8fdd02 pkg/detector/detector.go `HandlePropagationPolicyCreationOrUpdate`,
        `HandlePropagationPolicyDeletion`.
        """
        holder = self.by_key.get(present) if present is not None else None
        if holder is None or holder.deleting or not self._selects(holder, template):
            return None
        if preempting:
            own, wide = self._candidates(template)
            challengers = [
                policy for policy, near in (*own, *wide) if _may_preempt(policy, holder, near)
            ]
            holder = _strongest(challengers) or holder
        return holder.key

    def elect(self, template: Template, present: ObjectKey | None) -> Policy | None:
        """Return the policy that claims a workload when it comes up itself, `None` if none.

        A claim sticks while its policy exists; a better policy that appears later does not take
        over. A new claim goes to the PropagationPolicies of the workload's namespace, and only if
        none of these matches to a ClusterPropagationPolicy, whatever their priorities. A winner
        that waits for override policies claims nothing yet, nor does anybody in its place.

        Source: karmada@f8fdd02 pkg/detector/detector.go `propagateResource`, and
        pkg/detector/policy.go `getHighestPriorityPropagationPolicy`.
        """
        if template.claimed_elsewhere:
            return None
        if present is not None and present in self.by_key:
            return self.by_key[present]
        own, wide = self._candidates(template)
        winner = _best(own) or _best(wide)
        return None if winner is not None and winner.waits_for else winner

    def _candidates(self, template: Template) -> tuple[list[Match], list[Match]]:
        """Return the policies of the workload's namespace, and those of the whole repository.

        Those that do not select it are not there.
        """
        local = template.key.namespace
        return self._asked(template, local) if local else [], self._asked(template, "")

    def _selects(self, holder: Policy, template: Template) -> bool:
        """Return whether a policy selects a workload, be it of its namespace or not.

        One may list thousands of workloads by name; then the index is asked.
        """
        if len(holder.selectors) <= FEW:
            return implicit_priority(holder, template) is not Implicit.NO_MATCH
        return any(policy is holder for policy, _ in self._asked(template, holder.key.namespace))

    def _asked(self, template: Template, namespace: str) -> list[Match]:
        """Return the policies of a namespace that select a workload, and how closely."""
        closest: dict[ObjectKey, Implicit] = {}
        for key, position in self.selectors.asked(template, namespace):
            near = closeness(self.by_key[key].selectors[position], template)
            closest[key] = max(near, closest.get(key, Implicit.NO_MATCH))
        return [(self.by_key[key], near) for key, near in closest.items() if near]


def _may_preempt(policy: Policy, holder: Policy, near: Implicit) -> bool:
    """Return whether a policy may take a workload that it selects so closely from its present one.

    It must name the workload, and have a strictly greater priority; a PropagationPolicy takes from
    a ClusterPropagationPolicy in any case, and never the other way round.

    Source: karmada@f8fdd02 pkg/detector/preemption.go `preemptionEnabled`,
    `preemptPropagationPolicy`, `preemptClusterPropagationPolicy`.
    """
    if not policy.preempts or policy.deleting or policy.waits_for or policy.key == holder.key:
        return False
    if near is not Implicit.NAME:
        return False
    if policy.key.kind != holder.key.kind:
        return policy.key.kind == NAMESPACED
    return policy.priority > holder.priority


def _strongest(challengers: Iterable[Policy]) -> Policy | None:
    """Return who preempts: a PropagationPolicy first, then by priority; ties by the lesser name.

    Unlike upstream: there the one wins whose event comes first.
    """
    return min(
        challengers, key=lambda p: (not p.key.namespace, -p.priority, p.key.name), default=None
    )


def _best(candidates: Iterable[Match]) -> Policy | None:
    """Return the winner: greater priority, then the closer match, then the lesser name."""
    ranked = [
        ((-policy.priority, -near, policy.key.name), policy)
        for policy, near in candidates
        if not policy.deleting
    ]
    return min(ranked, key=lambda entry: entry[0])[1] if ranked else None
