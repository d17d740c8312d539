"""Which policy claims a workload: election, preemption, and claims that stick.

The policies and PriorityClasses of a world are decoded and indexed, and stay as they were where
their files do. An edit of a policy costs that policy, however many there are; an edit of an
override policy costs the policies that depend on it. Selectors are indexed by the labels that they
ask for. A selector is compared only with what has such a label, so a question costs what it finds,
not what there is.

Where policies and workloads are kept from each other, the fault is at the file of the one in the
wrong.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from reconciler.dialects.karmada.api.names import POLICY_GROUP, SCHEDULING_GROUP
from reconciler.dialects.karmada.api.policy import (
    CLUSTER_WIDE,
    NAMESPACED,
    Implicit,
    Policy,
    Template,
    closeness,
    decode_policy,
    implicit_priority,
    overrides_of,
)
from reconciler.dialects.karmada.api.workload import Uncountable
from reconciler.dialects.object_pass import Failed, attempt, place_of
from reconciler.dialects.reads import Followed, KeyIndex, Question
from reconciler.errors import UserError
from reconciler.manifests.identity import PRIORITIES
from reconciler.manifests.selectors import Label, labels_on, ways_of
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, matches
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache, CacheKey, Versioned, patched, same
from reconciler.model.world import Fault, Manifest, World

G = TypeVar("G", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class GroupedSelector(NamedTuple, Generic[G]):
    """A selector, and the group of those that are asked together with it."""

    group: G
    selector: LabelSelector


@dataclass(slots=True, eq=False)
class SelectorIndex(Generic[G, K]):
    """Keys by group and selector; it is changed in place."""

    _selectors: dict[K, GroupedSelector[G]] = field(default_factory=dict)
    _places: dict[K, tuple[tuple[G, Label | None], ...]] = field(default_factory=dict)
    _filed: KeyIndex[tuple[G, Label | None], K] = field(default_factory=KeyIndex)
    _askers: Counter[tuple[G, Label]] = field(default_factory=Counter)

    def put(self, entries: Mapping[K, GroupedSelector[G]]) -> None:
        """File new keys, each under the labels that fewest others ask for."""
        for entry in entries.values():
            self._askers.update(_asked(entry))
        for key, entry in entries.items():
            self._selectors[key] = entry
            places = self._places[key] = self._rarest(entry)
            self._filed.put(key, places)

    def drop(self, keys: Iterable[K]) -> None:
        """Forget keys."""
        for key in keys:
            selector = self._selectors.pop(key)
            self._filed.drop(key, self._places.pop(key))
            for label in _asked(selector):
                self._askers[label] -= 1
                if not self._askers[label]:
                    del self._askers[label]

    def selecting(self, group: G, labels: Mapping[str, str]) -> Iterator[K]:
        """Yield the keys of a group whose selector selects the labels, in no particular order."""
        for label in (None, *labels_on(labels)):
            for key in self._filed.of((group, label)):
                if matches(self._selectors[key].selector, labels):
                    yield key

    def _rarest(self, one: GroupedSelector[G]) -> tuple[tuple[G, Label | None], ...]:
        """Return where a selector is filed: with those of no label if it need not have any."""
        ways = ways_of(one.selector)
        if not ways:
            return ((one.group, None),)
        asked = [tuple((one.group, label) for label in labels) for labels in ways]
        return min(asked, key=lambda labels: sum(self._askers[label] for label in labels))


def _asked(one: GroupedSelector[G]) -> Iterator[tuple[G, Label]]:
    """Yield the labels that a selector asks for, each as often as it does."""
    return ((one.group, label) for labels in ways_of(one.selector) for label in labels)


class Selectable(NamedTuple):
    """API version, kind and name of workloads, `""` for any name; and the policy's namespace."""

    api_version: str
    kind: str
    name: str
    namespace: str


POLICY_QUESTIONS = "policies"


def policies_of(api_version: str, kind: str, name: str, namespace: str) -> Question:
    """Return the question of the policies of a namespace that select a kind, by a name or by `""`.

    Args:
        api_version: Of the workloads.
        kind: Of the workloads.
        name: Of the workload, `""` for the selectors that give none.
        namespace: Of the policies, `""` for those of the whole repository.
    """
    return POLICY_QUESTIONS, api_version, kind, name, namespace


class PolicySelector(NamedTuple):
    """One selector of a policy, by its position."""

    policy: ObjectKey
    position: int


@dataclass(slots=True, eq=False)
class PolicySelectors:
    """The selectors of all policies; it is changed in place, and costs what changes."""

    _plain: KeyIndex[Selectable, PolicySelector] = field(default_factory=KeyIndex)
    _by_labels: SelectorIndex[Selectable, PolicySelector] = field(default_factory=SelectorIndex)

    def replace(self, gone: Iterable[Policy], came: Iterable[Policy]) -> None:
        """Put the selectors of some policies in the place of those of others."""
        for policy in gone:
            plain, labelled = _by_question(policy)
            for selector, question in plain.items():
                self._plain.drop(selector, (question,))
            self._by_labels.drop(labelled)
        new: dict[PolicySelector, GroupedSelector[Selectable]] = {}
        for policy in came:
            plain, labelled = _by_question(policy)
            for selector, question in plain.items():
                self._plain.put(selector, (question,))
            new |= labelled
        self._by_labels.put(new)

    def asked(self, template: Template, namespace: str) -> Iterator[PolicySelector]:
        """Yield the selectors of a namespace's policies of which some may select a workload."""
        kind, name = (template.api_version, template.key.kind), template.key.name
        every = Selectable(*kind, "", namespace)
        yield from self._plain.of(Selectable(*kind, name, namespace))
        yield from self._plain.of(every)
        yield from self._by_labels.selecting(every, template.labels)


def _by_question(
    policy: Policy,
) -> tuple[dict[PolicySelector, Selectable], dict[PolicySelector, GroupedSelector[Selectable]]]:
    """Return the selectors of a policy that give a name or nothing, and those that ask labels."""
    plain: dict[PolicySelector, Selectable] = {}
    labelled: dict[PolicySelector, GroupedSelector[Selectable]] = {}
    for position, selector in enumerate(policy.selectors):
        own = PolicySelector(policy.key, position)
        question = Selectable(
            selector.api_version, selector.kind, selector.name, policy.key.namespace
        )
        if selector.labels is None or selector.name:
            plain[own] = question
        else:
            labelled[own] = GroupedSelector(question, selector.labels)
    return plain, labelled


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


KINDS = ((POLICY_GROUP, NAMESPACED), (POLICY_GROUP, CLUSTER_WIDE))
OVERRIDES = ((POLICY_GROUP, "OverridePolicy"), (POLICY_GROUP, "ClusterOverridePolicy"))
PRIORITY_CLASS = (SCHEDULING_GROUP, "PriorityClass")


class _Decoded(NamedTuple):
    """A policy, which of the override policies that it depends on are there, and these."""

    policy: Policy
    drawn_from: CacheKey
    overrides: tuple[ObjectKey, ...]


@dataclass(slots=True, eq=False)
class KnownPolicies:
    """The policies of the inputs that were followed last; it is changed in place."""

    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _decoded: dict[ObjectKey, _Decoded] = field(default_factory=dict)
    _depending: KeyIndex[ObjectKey, ObjectKey] = field(default_factory=KeyIndex)
    _latest: Policies = field(default_factory=Policies)

    def follow(self, inputs: Mapping[ObjectKey, Manifest]) -> Policies:
        """Go on to other inputs, and return their policies; the same while none differs."""
        affected: set[ObjectKey] = set()
        for key in self._inputs.keys(inputs):
            if key[:2] in KINDS:
                affected.add(key)
            elif key[:2] in OVERRIDES:
                affected |= self._depending.of(key)
        if affected:
            self._latest = self._decode(sorted(affected), inputs)
        return self._latest

    def __len__(self) -> int:
        return len(self._decoded)

    def _decode(
        self, affected: Collection[ObjectKey], inputs: Mapping[ObjectKey, Manifest]
    ) -> Policies:
        """Return the policies after some of them, or what these depend on, may be others."""
        before, failed = self._latest, dict(self._latest.failed)
        came: dict[ObjectKey, Policy] = {}
        gone: list[Policy] = []
        for key in affected:
            known, manifest = self._decoded.get(key), inputs.get(key)
            decoded = None if manifest is None else _decoded(manifest, inputs, known)
            failed.pop(key, None)
            if isinstance(decoded, Failed):
                failed[key], decoded = decoded, None
            if decoded is not known:
                self._put(key, known, decoded)
                gone += () if known is None else (known.policy,)
                if decoded is not None:
                    came[key] = decoded.policy
        if not gone and not came and failed == before.failed:
            return before
        before.selectors.replace(gone, came.values())
        by_key = patched(before.by_key, came, [policy.key for policy in gone])
        listed = {key: failed[key] for key in sorted(failed, key=_place)}
        return Policies(by_key, before.selectors, listed, self._waiting(before, gone, came))

    def _put(self, key: ObjectKey, known: _Decoded | None, found: _Decoded | None) -> None:
        """Put a policy in the place of what it was."""
        if known is not None:
            del self._decoded[key]
            self._depending.drop(key, known.overrides)
        if found is not None:
            self._decoded[key] = found
            self._depending.put(key, found.overrides)

    def _waiting(
        self, before: Policies, gone: Iterable[Policy], came: Mapping[ObjectKey, Policy]
    ) -> tuple[Policy, ...]:
        """Return the policies that wait for override policies."""
        unclaimed = {policy.key for policy in gone}
        stay = (policy for policy in before.waiting if policy.key not in unclaimed)
        new = (policy for policy in came.values() if policy.waits_for)
        return tuple(sorted((*stay, *new), key=lambda policy: _place(policy.key)))


def _place(key: ObjectKey) -> tuple[int, ObjectKey]:
    """Return where a policy is told: those of namespaces first."""
    return KINDS.index(key[:2]), key


def _decoded(
    manifest: Manifest, inputs: Mapping[ObjectKey, Manifest], known: _Decoded | None
) -> _Decoded | Failed:
    """Return one policy decoded, the very same one where nothing of it changed."""

    def decode() -> _Decoded:
        overrides = overrides_of(manifest)
        drawn_from = (manifest.body, *(override in inputs for override in overrides))
        if known is not None and same(known.drawn_from, drawn_from):
            return known
        return _Decoded(decode_policy(manifest, inputs), drawn_from, overrides)

    return attempt(decode, partial(place_of, manifest))


def priority_classes_in(
    world: World, known: AnswerCache[None, Mapping[str, int]]
) -> Mapping[str, int]:
    """Return the values of the PriorityClasses, by name; every API server has two by itself."""
    manifests = world.of_kind(*PRIORITY_CLASS)
    return known.recall(
        None,
        (manifests,),
        lambda: {
            **PRIORITIES,
            **{
                manifest.key.name: value
                for manifest in manifests
                if isinstance(value := manifest.body.get("value"), int)
            },
        },
    )


COUNTED = "a number, or another row under spec.karmada.interpreters of reconciler.yaml"


def waiting_fault(world: World, policy: Policy) -> Fault:
    """Return the fault of a policy that claims nothing until its override policies are there.

    Source: karmada@f8fdd02 pkg/detector/detector.go `ApplyPolicy`, dependentOverrides.
    """
    names = ", ".join(policy.waits_for)
    return Fault(
        path=world.inputs[policy.key].origin.path,
        line=0,
        column=0,
        field="/spec/dependentOverrides",
        rule="policy-override-missing",
        message=f"the policy waits for override policies that are not there: {names}",
        expected="the override policies, or no such dependency",
        subject=str(policy.key),
    )


def refused_fault(
    path: Callable[[ObjectKey], str], policy: Policy, template: Template, error: UserError
) -> Fault:
    """Return the fault, at the file of the one in the wrong, that a policy cannot be applied."""
    if isinstance(error, Uncountable):
        return Fault(
            path=path(template.key),
            line=0,
            column=0,
            field=error.field,
            rule="workload-replicas",
            message=error.message,
            expected=COUNTED,
            subject=str(template.key),
        )
    return Fault(
        path=path(policy.key),
        line=0,
        column=0,
        field=error.field,
        rule="policy-priority-class",
        message=f"the policy is not applied: {error.message}",
        expected="the name of a PriorityClass of this repository",
        subject=str(policy.key),
    )


def name_fault(
    template: Template, key: ObjectKey, path: str, owner: ObjectKey | None
) -> Fault | None:
    """Return why a workload cannot have a binding of its name, `None` if it can."""
    if owner is None:
        return None
    message = f"its binding would be named {key.name} like that of {owner}, so it is not placed"
    expected = "names that differ in more than upper and lower case, or a colon and a dot"
    return Fault(path, 0, 0, "/metadata/name", "binding-name", message, expected, str(template.key))
