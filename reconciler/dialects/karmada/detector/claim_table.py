"""What each workload came to, kept from round to round so that a round looks at what changed."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeVar

from reconciler.dialects.karmada.api.policies import NAMESPACED, Policy, Template
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.object_boundary import Failed
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import same
from reconciler.model.versioned import Versioned
from reconciler.model.world import Fault

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadClaim:
    """What one workload came to.

    Attributes:
        workload: Its key.
        template: The workload, `None` if it cannot be decoded.
        binding: The key of its binding.
        present: The binding as the round found it, `None` if there was none.
        policy: Who claims it, `None` if no one does.
        under: What the draft depends on besides.
        draft: Its binding as it is wanted, `None` if it has none.
        named: The clusters that the binding names.
        needs: What it needs beside itself, if that follows it.
        kept: Whether the binding stays as it is since it could not be drafted.
        never: Whether it is never propagated.
        fault: Why it cannot have a binding of its name, `None` if it can.
        failed: What stopped it, `None` if nothing did.
    """

    workload: ObjectKey
    template: Template | None
    binding: ObjectKey
    present: Body | None = None
    policy: Policy | None = None
    under: tuple[object, ...] = ()
    draft: Draft | None = None
    named: frozenset[str] = frozenset()
    needs: tuple[ObjectKey, ...] = ()
    kept: bool = False
    never: bool = False
    fault: Fault | None = None
    failed: Failed | None = None

    def is_of(self, template: Template, present: Body | None) -> bool:
        """Return whether it is that of a workload and a binding; a disputed name is asked anew."""
        return self.template is template and self.present is present and self.fault is None

    def is_drawn_from(
        self,
        template: Template,
        policy: Policy | None,
        present: Body | None,
        under: tuple[object, ...],
    ) -> bool:
        """Return whether its draft was drawn from these very objects."""
        drawn = (self.template, self.policy, self.present, *self.under)
        return self.draft is not None and same(drawn, (template, policy, present, *under))


@dataclass(slots=True)
class ClaimTable:
    """The claims of all workloads, and what follows from them; it is changed in place.

    Attributes:
        claims: By key of the workload.
        owners: Binding to the workload that has it.
        drafts: By key of the binding.
        required: Those of the drafts that others require.
        needs: Binding to what its workload needs beside itself.
        kept: The bindings that stay as they are.
        never: The bindings of what is never propagated.
        faults: By key of the workload.
        failed: By key of the workload.
    """

    claims: dict[ObjectKey, WorkloadClaim] = field(default_factory=dict)
    owners: dict[ObjectKey, ObjectKey] = field(default_factory=dict)
    drafts: Versioned[ObjectKey, Draft] = field(default_factory=Versioned)
    required: dict[ObjectKey, Draft] = field(default_factory=dict)
    needs: dict[ObjectKey, tuple[ObjectKey, ...]] = field(default_factory=dict)
    kept: dict[ObjectKey, Body] = field(default_factory=dict)
    never: set[ObjectKey] = field(default_factory=set)
    faults: dict[ObjectKey, Fault] = field(default_factory=dict)
    failed: dict[ObjectKey, Failed] = field(default_factory=dict)
    _wanting: dict[ObjectKey, set[ObjectKey]] = field(default_factory=dict)
    _sets: Counter[frozenset[str]] = field(default_factory=Counter)
    _shared: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    _named: Counter[str] = field(default_factory=Counter)
    _names: frozenset[str] | None = None
    _by_name: dict[tuple[str, str, str], set[ObjectKey]] = field(default_factory=dict)
    _by_kind: dict[tuple[str, str], set[ObjectKey]] = field(default_factory=dict)
    _by_place: dict[tuple[str, str, str], set[ObjectKey]] = field(default_factory=dict)
    _by_policy: dict[ObjectKey, set[ObjectKey]] = field(default_factory=dict)

    @property
    def named(self) -> frozenset[str]:
        """The clusters that bindings name; the very same set while it does not change."""
        if self._names is None:
            self._names = frozenset(self._named)
        return self._names

    def shared(self, names: frozenset[str]) -> frozenset[str]:
        """Return a set of clusters, the same object for equal ones: most bindings share a few."""
        return self._shared.get(names, names)

    def names_of(self, binding: ObjectKey) -> frozenset[str]:
        """Return the clusters that a binding names."""
        owner = self.owners.get(binding)
        return frozenset() if owner is None else self.claims[owner].named

    def replace(self, gone: Collection[ObjectKey], came: Iterable[WorkloadClaim]) -> None:
        """Put claims in the place of those of some workloads."""
        drafts: dict[ObjectKey, Draft] = {}
        dropped = [key for workload in gone if (key := self._drop(workload)) is not None]
        for claim in came:
            self._put(claim)
            if claim.draft is not None:
                drafts[claim.binding] = claim.draft
        self.drafts = self.drafts.patched(drafts, dropped)

    def wanting(self, binding: ObjectKey) -> AbstractSet[ObjectKey]:
        """Return the workloads that want a binding; of several only one can have it."""
        return self._wanting.get(binding, set())

    def of_policies(self, policies: Collection[ObjectKey]) -> Iterator[ObjectKey]:
        """Yield the workloads that some policies claim."""
        for policy in policies:
            yield from self._by_policy.get(policy, ())

    def selected_by(self, policy: Policy) -> Iterator[ObjectKey]:
        """Yield the workloads that a policy may select; labels are not asked."""
        space, anywhere = policy.key.namespace, policy.key.kind != NAMESPACED
        for selector in policy.selectors:
            kind = (selector.api_version, selector.kind)
            if selector.name:
                found = self._by_name.get((*kind, selector.name), set())
                yield from (key for key in found if anywhere or key.namespace == space)
            elif anywhere:
                yield from self._by_kind.get(kind, ())
            else:
                yield from self._by_place.get((*kind, space), ())

    def _put(self, claim: WorkloadClaim) -> None:
        """Add a claim to every index."""
        workload, binding = claim.workload, claim.binding
        self.claims[workload] = claim
        self._wanting.setdefault(binding, set()).add(workload)
        if claim.template is not None:
            kind = (claim.template.api_version, workload.kind)
            self._by_kind.setdefault(kind, set()).add(workload)
            self._by_name.setdefault((*kind, workload.name), set()).add(workload)
            self._by_place.setdefault((*kind, workload.namespace), set()).add(workload)
        if claim.policy is not None:
            self._by_policy.setdefault(claim.policy.key, set()).add(workload)
        if claim.kept and claim.present is not None:
            self.kept[binding] = claim.present
        if claim.never:
            self.never.add(binding)
        if claim.fault is not None:
            self.faults[workload] = claim.fault
        if claim.failed is not None:
            self.failed[workload] = claim.failed
        if claim.draft is not None:
            self.owners[binding] = workload
            self._count(claim.named, 1)
            if claim.needs:
                self.needs[binding] = claim.needs
            if claim.draft.spec.required_by:
                self.required[binding] = claim.draft

    def _drop(self, workload: ObjectKey) -> ObjectKey | None:
        """Take the claim of a workload out of every index, and return the binding that it had."""
        claim = self.claims.pop(workload, None)
        if claim is None:
            return None
        if claim.template is not None:
            kind = (claim.template.api_version, workload.kind)
            self._by_kind[kind].discard(workload)
            self._by_name[*kind, workload.name].discard(workload)
            self._by_place[*kind, workload.namespace].discard(workload)
        if claim.policy is not None:
            self._by_policy[claim.policy.key].discard(workload)
        self._wanting[claim.binding].discard(workload)
        if not self._wanting[claim.binding]:
            del self._wanting[claim.binding]
        self.faults.pop(workload, None)
        self.failed.pop(workload, None)
        self.kept.pop(claim.binding, None)
        self.never.discard(claim.binding)
        if claim.draft is None:
            return None
        self._count(claim.named, -1)
        for index in (self.owners, self.needs, self.required):
            index.pop(claim.binding, None)
        return claim.binding

    def _count(self, names: frozenset[str], by: int) -> None:
        """Count the bindings that name these clusters."""
        if not _stepped(self._sets, names, by):
            return
        if by > 0:
            self._shared[names] = names
        else:
            del self._shared[names]
        for name in names:
            if _stepped(self._named, name, by):
                self._names = None


def _stepped(counter: Counter[T], key: T, by: int) -> bool:
    """Count on, and return whether something came or went by it."""
    before = counter[key]
    if before + by:
        counter[key] = before + by
    else:
        del counter[key]
    return not before or not before + by
