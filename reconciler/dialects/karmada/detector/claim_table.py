"""What each workload came to, kept from round to round so that a round looks at what changed."""

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.dialects.karmada.api.policies import Policy, Template, closeness
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.detector.claim_reads import asked_by
from reconciler.dialects.object_boundary import Failed
from reconciler.dialects.read_index import KeyIndex, Question, ReadIndex, Reads
from reconciler.dialects.read_table import ReadTable
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import same
from reconciler.model.versioned import Versioned
from reconciler.model.world import Fault


class WorkloadClaim(NamedTuple):
    """What one workload came to.

    Attributes:
        workload: Its key.
        template: The workload, `None` if it cannot be decoded.
        binding: The key of its binding.
        present: The binding as the round found it, `None` if there was none.
        policy: Who claims it, `None` if no one does.
        under: What the draft depends on besides.
        draft: Its binding as it is wanted, `None` if it has none.
        needs: What it needs beside itself, if that follows it.
        reads: What it asked of policies, beside those that select its name.
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
    needs: tuple[ObjectKey, ...] = ()
    reads: Reads = frozenset()
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


@dataclass(slots=True, eq=False)
class ClaimTable:
    """The claims of all workloads, and what follows from them; it is changed in place.

    A workload whose claim failed is looked at in each round.

    Attributes:
        drafts: By key of the binding.
        required: Those of the drafts that others require.
        needs: Binding to what its workload needs beside itself.
        kept: The bindings that stay as they are.
        never: The bindings of what is never propagated.
        faults: By key of the workload.
        failed: By key of the workload.
    """

    drafts: Versioned[ObjectKey, Draft] = field(default_factory=Versioned)
    required: dict[ObjectKey, Draft] = field(default_factory=dict)
    needs: dict[ObjectKey, tuple[ObjectKey, ...]] = field(default_factory=dict)
    kept: dict[ObjectKey, Body] = field(default_factory=dict)
    never: set[ObjectKey] = field(default_factory=set)
    faults: dict[ObjectKey, Fault] = field(default_factory=dict)
    failed: dict[ObjectKey, Failed] = field(default_factory=dict)
    _claims: ReadTable[WorkloadClaim] = field(default_factory=ReadTable)
    _wanting: KeyIndex[ObjectKey, ObjectKey] = field(default_factory=KeyIndex)
    _by_name: KeyIndex[tuple[str, str, str], ObjectKey] = field(default_factory=KeyIndex)
    _naming: ReadIndex[ObjectKey] = field(default_factory=ReadIndex)

    @property
    def named(self) -> frozenset[Question]:
        """The clusters that bindings name; the very same set while it does not change."""
        return self._naming.questions

    def names_of(self, binding: ObjectKey) -> frozenset[Question]:
        """Return the clusters that a binding names; most bindings share a few sets."""
        return self._naming.reads(binding)

    def find(self, workload: ObjectKey) -> WorkloadClaim | None:
        """Return what a workload came to last, `None` if it is not known."""
        return self._claims.latest(workload)

    def affected(
        self, changed: Iterable[Question], own: Iterable[ObjectKey]
    ) -> AbstractSet[ObjectKey]:
        """Begin a round, and return the workloads to look at; see `ReadTable.affected`."""
        return self._claims.affected(changed, own)

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
        return self._wanting.of(binding)

    def selected_by(self, policy: Policy) -> Iterator[ObjectKey]:
        """Yield the workloads that a policy selects, of those that asked for such policies."""
        for selector in policy.selectors:
            named = (selector.api_version, selector.kind, selector.name)
            every = asked_by(selector, policy.key)
            for key in self._by_name.of(named) if selector.name else self._claims.asking(every):
                claim, space = self.find(key), policy.key.namespace
                if claim is None or claim.template is None or space not in ("", key.namespace):
                    continue
                if closeness(selector, claim.template):
                    yield key

    def shared(self, reads: Reads) -> Reads:
        """Return what was asked, the same object for workloads that asked the same."""
        return self._claims.shared(reads)

    def _put(self, claim: WorkloadClaim) -> None:
        """Add a claim to every index."""
        workload, binding = claim.workload, claim.binding
        self._claims.settle(workload, claim, claim.reads, None)
        self._wanting.put(workload, (binding,))
        self._by_name.put(workload, _names(claim))
        if claim.kept and claim.present is not None:
            self.kept[binding] = claim.present
        if claim.never:
            self.never.add(binding)
        if claim.fault is not None:
            self.faults[workload] = claim.fault
        if claim.failed is not None:
            self.failed[workload] = claim.failed
            self._claims.unsettle((workload,))
        if claim.draft is not None:
            self._naming.put(binding, claim.draft.spec.named)
            if claim.needs:
                self.needs[binding] = claim.needs
            if claim.draft.spec.required_by:
                self.required[binding] = claim.draft

    def _drop(self, workload: ObjectKey) -> ObjectKey | None:
        """Take the claim of a workload out of every index, and return the binding that it had."""
        claim = self.find(workload)
        self._claims.drop_all((workload,))
        if claim is None:
            return None
        self._wanting.drop(workload, (claim.binding,))
        self._by_name.drop(workload, _names(claim))
        self.faults.pop(workload, None)
        self.failed.pop(workload, None)
        self.kept.pop(claim.binding, None)
        self.never.discard(claim.binding)
        if claim.draft is None:
            return None
        self._naming.drop(claim.binding)
        self.needs.pop(claim.binding, None)
        self.required.pop(claim.binding, None)
        return claim.binding


def _names(claim: WorkloadClaim) -> tuple[tuple[str, str, str], ...]:
    """Return what a selector that gives the name of a workload finds it by."""
    if claim.template is None:
        return ()
    return ((claim.template.api_version, claim.workload.kind, claim.workload.name),)
