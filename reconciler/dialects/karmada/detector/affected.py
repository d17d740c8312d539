"""Which workloads may come to something else, given what changed between two rounds."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from reconciler.dialects.followed_index import Followed, FollowedEntry
from reconciler.dialects.karmada.api.policies import Policy
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.dialects.karmada.detector.claim_table import ClaimTable
from reconciler.dialects.karmada.detector.options import DetectorOptions
from reconciler.dialects.karmada.detector.policy_match import Policies
from reconciler.model.frozen import Frozen
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import same
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the claims of a round were drawn from, beside workloads and bindings.

    Attributes:
        frozen: Of its world.
        policies: All policies.
        priorities: Name to value of the PriorityClasses.
        options: What the configuration says.
        gone: The bindings that no workload had.
    """

    frozen: Frozen
    policies: Policies
    priorities: Mapping[str, int]
    options: DetectorOptions
    gone: frozenset[ObjectKey] = frozenset()

    def draws_as(self, other: "Seen") -> bool:
        """Return whether a workload and a binding come to the same in both rounds."""
        return self.policies is other.policies and self._is_told_as(other)

    def may_follow(self, before: "Seen") -> bool:
        """Return whether only workloads, bindings and policies that can be decoded changed."""
        decoded = not (self.policies.failed or before.policies.failed)
        stays = self.frozen is before.frozen or self.frozen == before.frozen
        return stays and self._is_told_as(before) and (decoded or self.policies is before.policies)

    def priority_of(self, policy: Policy | None) -> int | None:
        """Return the value of the PriorityClass that a policy names, `None` if there is none."""
        name = None if policy is None else policy.priority_class
        return None if name is None else self.priorities.get(name)

    def _is_told_as(self, other: "Seen") -> bool:
        return same((self.priorities, self.options), (other.priorities, other.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimChanges:
    """What differs between two rounds.

    Attributes:
        inputs: The keys of such documents that people wrote.
        bindings: Those of such outputs.
        policies: The policies.
    """

    inputs: AbstractSet[ObjectKey]
    bindings: AbstractSet[ObjectKey]
    policies: Iterable[FollowedEntry[ObjectKey, Policy]]


@dataclass(slots=True, eq=False)
class ClaimSources:
    """What claims are drawn from, as the last round had it; it is changed in place."""

    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _outputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _policies: Followed[ObjectKey, Policy] = field(default_factory=Followed)

    def follow(self, world: World, policies: Policies) -> ClaimChanges:
        """Go on to a world, and return what differs from the one before."""
        outputs = self._outputs.keys(world.outputs)
        return ClaimChanges(
            inputs={*self._inputs.keys(world.inputs)},
            bindings={key for key in outputs if key.group == GROUP},
            policies=self._policies.follow(policies.by_key),
        )


def affected_workloads(table: ClaimTable, changes: ClaimChanges) -> AbstractSet[ObjectKey]:
    """Return the workloads that may come to something else.

    These are a workload that changed, or whose binding did; what a policy that changed selected or
    selects now, be it to claim it or to keep others from it; and what could not be dealt with
    before. What is no workload, and changed, is among them.

    Args:
        table: What the workloads came to before.
        changes: What differs since.
    """
    own = set(changes.inputs)
    for key in changes.bindings:
        own |= table.wanting(key)
    for _, before, now in changes.policies:
        for policy in (before, now):
            if policy is not None:
                own.update(table.selected_by(policy))
    return table.affected((), own)
