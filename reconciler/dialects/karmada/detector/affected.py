"""Which workloads may come to something else, given what changed between two rounds."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.api.policies import Policy
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.dialects.karmada.detector.claim_table import ClaimTable
from reconciler.dialects.karmada.detector.options import DetectorOptions
from reconciler.dialects.karmada.detector.policy_match import Policies
from reconciler.model.frozen import Frozen
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import same
from reconciler.model.versioned import differing
from reconciler.model.world import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the claims of a round were drawn from.

    Attributes:
        inputs: Of its world.
        outputs: Of its world.
        frozen: Of its world.
        policies: All policies.
        priorities: Name to value of the PriorityClasses.
        options: What the configuration says.
        gone: The bindings that no workload had.
    """

    inputs: Mapping[ObjectKey, Manifest]
    outputs: Mapping[ObjectKey, Manifest]
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


def affected_workloads(table: ClaimTable, before: Seen, now: Seen) -> set[ObjectKey] | None:
    """Return the workloads that may come to something else, `None` if all of them may.

    These are a workload that changed, or whose binding did; what a policy that changed claims, or
    could claim now; and what could not be dealt with before.

    Args:
        table: What the workloads came to before.
        before: What that was drawn from.
        now: What is to be drawn from.
    """
    if not now.may_follow(before):
        return None
    inputs, outputs = differing(now.inputs, before.inputs), differing(now.outputs, before.outputs)
    if inputs is None or outputs is None:
        return None
    found = set(inputs) | table.failed.keys()
    for key in outputs:
        if key.group == GROUP:
            found |= table.wanting(key)
    if now.policies is not before.policies:
        found |= _by_policies(table, before.policies.by_key, now.policies.by_key)
    return found


def _by_policies(
    table: ClaimTable, before: Mapping[ObjectKey, Policy], now: Mapping[ObjectKey, Policy]
) -> set[ObjectKey]:
    """Return what policies that changed claim, or could claim now."""
    changed = {key for key in before.keys() | now.keys() if before.get(key) is not now.get(key)}
    found = set(table.of_policies(changed))
    for key in changed & now.keys():
        found.update(table.selected_by(now[key]))
    return found
