"""Which workloads have a binding, and what their policies want of it; nothing is decided here.

A round begins with what changed since the last one: only the workloads that this affects are
claimed again, and a table keeps the claims of all others. What is remembered between rounds and
passes only saves work. Objects that claimed workloads need get bindings, too, which are where those
workloads are.

The claim of one workload reads its own document and the binding of its name; whatever else it asks
is recorded. It asks for the policies that select any workload of its kind. One that selects the
workload by name announces itself by that name, and one that claims the binding counts only while it
selects the workload.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from reconciler.dialects.karmada.api.binding import BINDING, CLUSTER_BINDING, workload_key
from reconciler.dialects.karmada.api.binding_spec import BindingSnapshot, BindingSpec, decode_spec
from reconciler.dialects.karmada.api.names import WORK_GROUP
from reconciler.dialects.karmada.api.policy import (
    Policy,
    Template,
    closeness,
    template_of,
)
from reconciler.dialects.karmada.detector.binding_draft import (
    Draft,
    Requiring,
    binding_key,
    claimant,
    dependencies_of,
    draft_binding,
)
from reconciler.dialects.karmada.detector.policies import (
    KnownPolicies,
    Policies,
    name_fault,
    policies_of,
    priority_classes_in,
    refused_fault,
    waiting_fault,
)
from reconciler.dialects.karmada.detector.propagation import DetectorOptions
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt, place_of
from reconciler.dialects.reads import (
    Followed,
    FollowedEntry,
    KeyIndex,
    Question,
    ReadIndex,
    Reads,
    ReadTable,
)
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, Versioned, forget, same
from reconciler.model.world import Fault, Frozen, Manifest, World


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

    def drawn_from(
        self, template: Template, policy: Policy | None, under: tuple[object, ...]
    ) -> Draft | None:
        """Return its draft if it was drawn from these very objects, whatever file there was."""
        drawn = (self.template, self.policy, *self.under)
        return self.draft if same(drawn, (template, policy, *under)) else None


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
            every = policies_of(selector.api_version, selector.kind, "", policy.key.namespace)
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
            bindings={key for key in outputs if key.group == WORK_GROUP},
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


class ClaimReads:
    """The documents and policies of a round, as the claim of one workload asks for them.

    Attributes:
        key: Of the workload.
        reads: What was asked of others.
    """

    def __init__(self, key: ObjectKey, world: World, policies: Policies) -> None:
        """Begin with no question asked."""
        self.key, self.reads = key, set[Question]()
        self._world, self._policies = world, policies

    @property
    def workload(self) -> Manifest | None:
        """The workload, `None` if there is none that could be propagated."""
        return None if self.key.group in self._world.known.groups else self._own

    @property
    def place(self) -> FaultPlace:
        """Where a fault of the workload stands."""
        return place_of(self._world.inputs[self.key])

    def binding(self, key: ObjectKey) -> Body | None:
        """Return its binding, `None` if there is none."""
        output = self._world.outputs.get(key)
        return None if output is None else output.body

    def is_frozen(self, key: ObjectKey) -> bool:
        """Return whether its binding cannot be read."""
        return is_frozen(self._world, key)

    def failed_policy(self, held: ObjectKey | None) -> Failed | None:
        """Return why the policy that holds its binding cannot be decoded, `None` if it can."""
        return None if held is None else self._policies.failed.get(held)

    def claim(
        self, template: Template, held: ObjectKey | None, *, preempting: bool
    ) -> Policy | None:
        """Return the policy that it belongs to; see `Policies.claim`."""
        kind = template.api_version, template.key.kind
        for namespace in {template.key.namespace, ""}:  # one with its name is told by that
            self.reads.add(policies_of(*kind, "", namespace))
        return self._policies.claim(template, held, preempting=preempting)

    def path(self, key: ObjectKey) -> str:
        """Return the path of the workload, or of the policy that claims it."""
        return self._world.inputs[key].origin.path

    @property
    def _own(self) -> Manifest | None:
        return self._world.inputs.get(self.key)


def claim_workload(
    reads: ClaimReads,
    seen: Seen,
    before: WorkloadClaim | None,
    *,
    is_owned: bool,
    stays: WorkloadClaim | None = None,
) -> WorkloadClaim | None:
    """Return what a workload comes to, `None` if it has nothing to do with bindings.

    Args:
        reads: Says what is there, and records what is asked.
        seen: What all claims depend on.
        before: What it came to before.
        is_owned: Whether another workload has the binding of its name.
        stays: The same where all policies and options are as they were then.
    """
    manifest, binding = reads.workload, binding_key(reads.key)
    if manifest is None or reads.is_frozen(binding):
        return None
    present = None if is_owned else reads.binding(binding)
    drawn = None if before is None else before.template
    if drawn is None or drawn.body is not manifest.body:
        template = attempt(partial(template_of, manifest), lambda: reads.place)
        if isinstance(template, Failed):
            return WorkloadClaim(
                workload=reads.key, template=None, binding=binding, present=present, kept=True,
                failed=template,
            )  # fmt: skip
        drawn = template
    if stays is not None and stays.is_of(drawn, present):
        return stays
    return _claim(reads, seen, drawn, present, before)


def _claim(
    reads: ClaimReads,
    seen: Seen,
    template: Template,
    present: Body | None,
    before: WorkloadClaim | None,
) -> WorkloadClaim:
    """Return what a workload that can be decoded comes to."""
    key = template.key
    claim = partial(
        WorkloadClaim,
        workload=key,
        template=template,
        binding=binding_key(key),
        present=present,
    )
    held = claimant(present)
    if reads.failed_policy(held) is not None:
        return claim(kept=True)
    if not seen.options.propagation.allows(template) and not _is_required(present):
        return claim(never=True)
    elect = partial(reads.claim, template, held, preempting=seen.options.preempting)
    policy = attempt(elect, lambda: reads.place)
    if isinstance(policy, Failed):
        return claim(kept=True, failed=policy)
    if policy is None and present is None:
        return claim()
    refused = None if policy is None else partial(refused_fault, reads.path, policy, template)
    under = (seen.priority_of(policy), seen.options.custom_kinds)
    known = None if before is None else before.drawn_from(template, policy, under)
    if before is not None and known is not None and before.present is present:
        return before
    drawn = attempt(
        partial(_drafted, seen, template, policy, present, known), lambda: reads.place, refused
    )
    if isinstance(drawn, Failed):
        return claim(kept=True, failed=drawn)
    needs = _needs(template) if drawn.spec.propagate_deps else ()
    return claim(policy=policy, under=under, draft=drawn, needs=needs)


def _drafted(
    seen: Seen,
    template: Template,
    policy: Policy | None,
    present: Body | None,
    before: Draft | None,
) -> Draft:
    """Return the binding of a workload before its round.

    Raises:
        UserError: See `draft_binding`.
    """
    kinds = seen.options.custom_kinds
    return draft_binding(template, policy, present, seen.priorities, kinds, before)


def _needs(template: Template) -> tuple[ObjectKey, ...]:
    """Return what a workload needs beside itself."""
    return dependencies_of(template.key, template.api_version, template.body)


def _is_required(binding: Body | None) -> bool:
    """Return whether others need what a binding places, so that no policy is asked."""
    return binding is not None and bool(decode_spec(binding).required_by)


@dataclass(slots=True, eq=False)
class ClaimMemory:
    """Tables by what they answer.

    Attributes:
        policies: All policies, indexed.
        priorities: Values of the PriorityClasses, under one name.
        table: What each workload came to.
        drawn_from: The documents and policies that these were drawn from.
        seen: What else they were drawn from, `None` before the first round.
        drafts: Binding of an object that only others need.
        attached: Binding with those who require it.
        snapshots: What a required binding knows of the one that requires it.
    """

    policies: KnownPolicies = field(default_factory=KnownPolicies)
    priorities: AnswerCache[None, Mapping[str, int]] = field(default_factory=AnswerCache)
    table: ClaimTable = field(default_factory=ClaimTable)
    drawn_from: ClaimSources = field(default_factory=ClaimSources)
    seen: Seen | None = None
    drafts: AnswerCache[ObjectKey, Draft] = field(default_factory=AnswerCache)
    attached: AnswerCache[ObjectKey, Draft] = field(default_factory=AnswerCache)
    snapshots: AnswerCache[ObjectKey, Requiring] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Every binding as its workload and policy want it.

    Attributes:
        drafts: By key of the binding.
        names_of: Returns the clusters that a binding names.
        required: Those of them that others require.
        needs: Binding to the objects that its workload needs beside itself, where they follow it.
        kept: The bindings that stay as they are since their policy cannot be applied.
        gone: The bindings whose workload is no more.
        named: The clusters that bindings name.
        waiting: The workloads that are faulty or held, by key as text.
        faults: What keeps policies and workloads from each other.
        failed: The policies and workloads that could not be dealt with, and why.
    """

    drafts: Mapping[ObjectKey, Draft]
    names_of: Callable[[ObjectKey], frozenset[Question]]
    required: Mapping[ObjectKey, Draft]
    needs: Mapping[ObjectKey, tuple[ObjectKey, ...]]
    kept: Mapping[ObjectKey, Body]
    gone: Mapping[ObjectKey, Manifest]
    never: Collection[ObjectKey]
    named: frozenset[Question]
    waiting: frozenset[str]
    faults: tuple[Fault, ...]
    failed: tuple[Failed, ...]


def claim_workloads(world: World, memory: ClaimMemory, options: DetectorOptions) -> Claims:
    """Let policies claim workloads, and draft the bindings.

    Args:
        world: Its inputs hold workloads and policies, its outputs the bindings so far.
        memory: What earlier rounds found.
        options: What the configuration says.
    """
    seen = Seen(
        frozen=world.frozen,
        policies=memory.policies.follow(world.inputs),
        priorities=priority_classes_in(world, memory.priorities),
        options=options,
    )
    detection = _Detection(world, seen, memory.table)
    gone = detection.follow(memory.seen, memory.drawn_from.follow(world, seen.policies))
    memory.table, memory.seen = detection.table, replace(seen, gone=frozenset(gone))
    table, policies = detection.table, seen.policies
    faults = (waiting_fault(world, one) for one in policies.waiting)
    return Claims(
        drafts=table.drafts,
        names_of=table.names_of,
        required=table.required,
        needs=table.needs,
        kept=table.kept,
        gone={key: world.outputs[key] for key in sorted(gone)},
        never=table.never,
        named=table.named,
        waiting=world.in_doubt,
        faults=tuple(sorted({*faults, *table.faults.values()})),
        failed=(*policies.failed.values(), *table.failed.values()),
    )


@dataclass(slots=True)
class _Detection:
    """One look at the workloads: at those that may come to something else, or at all of them."""

    world: World
    seen: Seen
    table: ClaimTable

    def follow(self, before: Seen | None, changes: ClaimChanges) -> set[ObjectKey]:
        """Bring the table up to date, and return the bindings whose workload is no more."""
        if before is None or not self.seen.may_follow(before):
            return self._all(before)
        table = self.table
        affected = affected_workloads(table, changes)
        moved_claims = {key: self._claim(key) for key in sorted(affected)}
        bindings = {one.binding for key in affected if (one := table.find(key)) is not None}
        bindings |= {claim.binding for claim in moved_claims.values() if claim is not None}
        shared = any(len(table.wanting(key)) > 1 for key in bindings)
        table.replace(affected, filter(None, moved_claims.values()))
        if shared or any(len(table.wanting(key)) > 1 for key in bindings):
            return self._all(before)  # who has the binding depends on all who want it
        return {key for key in before.gone | bindings | changes.bindings if self._is_gone(key)}

    def _all(self, before: Seen | None) -> set[ObjectKey]:
        """Look at every workload; what was drawn from the same is taken over."""
        known, self.table = self.table, ClaimTable()
        unchanged = before is not None and before.draws_as(self.seen)
        keys = [
            manifest.key
            for (group, _), manifests in self.world.kinds.of(self.world.inputs).items()
            for manifest in (manifests if group not in self.world.known.groups else ())
        ]
        if len(set(map(binding_key, keys))) < len(keys):  # those that have their binding come first
            keys.sort(key=lambda key: not _is_bound(self.world.outputs.get(binding_key(key)), key))
        owners: dict[ObjectKey, ObjectKey] = {}
        claims = []
        for key in keys:
            claim = self._claim(key, known.find(key), owners, unchanged=unchanged)
            if claim is not None:
                claims.append(claim)
                if claim.draft is not None:
                    owners[claim.binding] = key
        self.table.replace((), claims)
        written = self.world.outputs_of(((WORK_GROUP, BINDING), (WORK_GROUP, CLUSTER_BINDING)))
        return {manifest.key for manifest in written if self._is_gone(manifest.key)}

    def _is_gone(self, key: ObjectKey) -> bool:
        """Return whether a binding is there that no workload has."""
        table = self.table
        return key in self.world.outputs and key not in table.drafts and key not in table.kept

    def _claim(
        self,
        key: ObjectKey,
        before: WorkloadClaim | None = None,
        owners: Mapping[ObjectKey, ObjectKey] = MappingProxyType({}),
        *,
        unchanged: bool = False,
    ) -> WorkloadClaim | None:
        """Return what a workload comes to, `None` if it has nothing to do with bindings.

        Args:
            key: Of the workload.
            before: What it came to before.
            owners: Who has which binding already.
            unchanged: Whether all policies and options are as they were before.
        """
        reads = ClaimReads(key, self.world, self.seen.policies)
        binding = binding_key(key)
        before = before or self.table.find(key)
        stays = before if unchanged else None
        claim = claim_workload(reads, self.seen, before, is_owned=binding in owners, stays=stays)
        if claim is not None and claim is not before:
            claim = claim._replace(reads=self.table.shared(frozenset(reads.reads)))
        if claim is None or claim.draft is None or claim.template is None:
            return claim
        fault = name_fault(claim.template, binding, reads.path(key), owners.get(binding))
        if fault is None:
            return claim if claim.fault is None else claim._replace(fault=None)
        return claim._replace(draft=None, needs=(), fault=fault)


def _is_bound(binding: Manifest | None, workload: ObjectKey) -> bool:
    """Return whether a binding is that of a workload."""
    if binding is None:
        return False
    bound = workload_key(binding.body)
    return (*bound[:2], bound.name) == (workload.group, workload.kind, workload.name)


Value = TypeVar("Value", str, bool)
Needed = Mapping[ObjectKey, Draft]
"""The bindings of all that workloads need, by key; some of them have a policy of their own."""


def needed_bindings(
    claims: Claims, world: World, memory: ClaimMemory, failed: list[Failed]
) -> Needed:
    """Return the bindings of the objects that are needed, or were until now.

    An object that is not in the repository, or whose binding cannot be read, is left alone; what
    fails is added to `failed`.
    """
    needed = dict(claims.required)
    for needs in claims.needs.values():
        for need in needs:
            key = binding_key(need)
            if need not in world.inputs or is_frozen(world, key) or key in claims.kept:
                continue
            known, manifest = claims.drafts.get(key), world.inputs[need]
            if known is not None:
                needed[key] = known
                continue
            draw = partial(_unclaimed, manifest)
            recall = partial(memory.drafts.recall, need, (manifest.body,), draw)
            drawn = attempt(recall, partial(place_of, manifest))
            if isinstance(drawn, Failed):
                failed.append(drawn)
            else:
                needed[key] = drawn
    return {key: needed[key] for key in sorted(needed)}


def _unclaimed(manifest: Manifest) -> Draft:
    """Return the binding of an object that is there for others only."""
    return draft_binding(template_of(manifest), None, None, {})


def attach(
    claims: Claims,
    needed: Needed,
    standing: Callable[[ObjectKey], Body | None],
    present: Callable[[ObjectKey], Body | None],
    memory: ClaimMemory,
) -> Needed:
    """Return the needed bindings with those who require them, by name.

    One that is required no longer, and that no policy claims, is left out: it goes. A workload that
    is scheduled nowhere requires nothing, unless it did before it lost its clusters.

    Args:
        claims: Says who needs what.
        needed: The bindings of what is needed.
        standing: Returns a binding as decided in this round, `None` if there is none.
        present: Returns a binding as the round before left it, `None` if there was none.
        memory: What earlier rounds found.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `syncScheduleResultToAttachedBindings`, `createOrUpdateAttachedBinding`, and the predicate of
    `SetupWithManager`, which drops a binding that was nowhere and is nowhere.
    """
    required: dict[ObjectKey, list[Requiring]] = defaultdict(list)
    for key in sorted(claims.needs):
        body = standing(key)
        if body is not None:
            taken = memory.snapshots.recall(key, (body,), partial(_requiring, key, body))
            for need in claims.needs[key]:
                attached = binding_key(need)
                snapshot = taken.taken
                if snapshot.clusters or _is_known(snapshot, present(attached)):
                    required[attached].append(taken)
    return {
        key: memory.attached.recall(
            key, (draft, *required[key]), partial(_attached, draft, required[key])
        )
        for key, draft in needed.items()
        if required[key] or _has_policy(draft)
    }


def _is_known(snapshot: BindingSnapshot, attached: Body | None) -> bool:
    """Return whether an attached binding knows already that another one requires it."""
    required_by = () if attached is None else decode_spec(attached).required_by
    return any(one[:2] == snapshot[:2] for one in required_by)


def _attached(draft: Draft, required: list[Requiring]) -> Draft:
    """Return a binding that knows who requires it, and the object that it is about.

    One without a policy takes of those who require it how conflicts are resolved, and whether its
    copies outlive it: where they differ, it overwrites, and they do.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `buildAttachedBinding`, `createOrUpdateAttachedBinding`.
    """
    own = draft.spec
    if not _has_policy(draft):
        own = BindingSpec(
            resource=draft.resource,
            conflict_resolution=_first("Overwrite", (one.conflict_resolution for one in required)),
            preserve_resources_on_deletion=_first(True, (one.preserves for one in required)),
        )
    return draft._replace(spec=own._replace(required_by=tuple(one.taken for one in required)))


def _first(wins: Value, values: Iterable[Value | None]) -> Value | None:
    """Return the value that wins if any is it, else the first that is one at all."""
    there = [one for one in values if one is not None]
    return wins if wins in there else next(iter(there), None)


def _has_policy(draft: Draft) -> bool:
    """Return whether a binding is there for a policy's sake, even if that policy is gone by now."""
    return draft.policy is not None or draft.spec.placement is not None


def _requiring(key: ObjectKey, binding: Body) -> Requiring:
    """Return what an attached binding takes of one that requires it."""
    spec = decode_spec(binding)
    clusters = tuple(sorted(spec.copies, key=attrgetter("name")))
    return Requiring(
        BindingSnapshot(key.namespace, key.name, clusters),
        spec.conflict_resolution,
        spec.preserve_resources_on_deletion,
    )
