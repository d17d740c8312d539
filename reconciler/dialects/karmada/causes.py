"""Why a binding moved: which of the differences since the last pass it takes to bring that about.

A binding holds what its workload and policy wanted at the last pass. So whatever differs by now can
be taken back, and the binding be decided again: what does not matter then is no cause. What others
did (clusters, reports, time) cannot be taken back; it is a cause where it moves something alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.decide import Surroundings, decide
from reconciler.dialects.karmada.detector.binding_draft import Draft, ordered
from reconciler.dialects.karmada.detector.claim_marks import claimant
from reconciler.dialects.karmada.view.decision_record import policy_of, workload_of
from reconciler.dialects.object_pass import Part
from reconciler.model.decision import Cause, CauseKind, Decision, Placed, joined_causes
from reconciler.model.fields import mapping
from reconciler.model.world import Body

SIZE = ("replicas", "resource")
REQUESTS = ("replicaRequirements",)
POLICY = ("placement", "failover", "schedulerName", "schedulePriority", "propagateDeps")
SUSPENSION = ("suspension",)
FIRST = (CauseKind.REBALANCED, CauseKind.EVICTED, CauseKind.EDITED)
"""Told before the others, in this order."""
LAST = CauseKind.CLUSTERS_CHANGED


@dataclass(frozen=True, slots=True)
class BindingQuestion:
    """A binding with everything that differs, or with a part of that."""

    draft: Draft
    demand: Demand | None


@dataclass(frozen=True, slots=True)
class BindingDifference:
    """Something that differs since the last pass, and how to take it back."""

    cause: Cause
    undo: Callable[[BindingQuestion], BindingQuestion]


def with_causes(part: Part, draft: Draft, demand: Demand | None, around: Surroundings) -> Part:
    """Return a part whose decision names all that it took.

    A first placement is caused by what brought the binding, and what stays has moved for no reason.
    """
    decision = part.decision
    if decision is None or draft.present is None or decision.before == decision.after:
        return part
    differences = tuple(_differences(draft, demand if part.rescheduled else None, decision))
    if not differences:
        return part
    asked = BindingQuestion(draft, demand)
    cause = joined_causes(sorted(_named(differences, asked, around, decision), key=_rank))
    return replace(part, decision=replace(decision, cause=cause))


def _rank(cause: Cause) -> int:
    if cause.kind is LAST:
        return len(FIRST) + 1
    return FIRST.index(cause.kind) if cause.kind in FIRST else len(FIRST)


def _named(
    differences: tuple[BindingDifference, ...],
    asked: BindingQuestion,
    around: Surroundings,
    decision: Decision,
) -> Iterator[Cause]:
    """Yield the causes of a decision.

    Several that suffice each, and those that are needed together, are named. So is whatever moves
    the binding without any of them; where that alone is enough, it cannot be known that they are
    not, and all are.
    """
    rest = _decided(asked, differences, around)
    moved = rest is not None and rest.before != rest.after
    if rest is not None and moved:
        yield rest.cause
    elif around.fleet_edited:  # what they were before is not known, so that they may be needed
        yield Cause(CauseKind.CLUSTERS_CHANGED)
    if _placed(rest, decision) == decision.after:
        found: Iterable[BindingDifference] = differences
    else:
        found = _needed(differences, asked, around, decision)
    yield from (one.cause for one in found)
    if asked.demand is not None:  # whoever asked is told that it was done
        yield from (one.cause for one in differences if one.cause.kind is CauseKind.REBALANCED)


def _needed(
    differences: tuple[BindingDifference, ...],
    asked: BindingQuestion,
    around: Surroundings,
    decision: Decision,
) -> tuple[BindingDifference, ...]:
    """Return all that belong to a smallest set that is enough."""
    if len(differences) == 1:
        return differences
    enough: list[frozenset[int]] = []
    everything = frozenset(range(len(differences)))
    for size in range(1, len(differences)):
        for chosen in map(frozenset, combinations(sorted(everything), size)):
            if not any(known <= chosen for known in enough):
                undone = [differences[i] for i in sorted(everything - chosen)]
                if _placed(_decided(asked, undone, around), decision) == decision.after:
                    enough.append(chosen)
    named = frozenset().union(*enough) if enough else everything
    undone = [differences[i] for i in sorted(everything - named)]
    if _placed(_decided(asked, undone, around), decision) != decision.after:
        return differences
    return tuple(differences[i] for i in sorted(named))


def _decided(
    asked: BindingQuestion, undone: Iterable[BindingDifference], around: Surroundings
) -> Decision | None:
    """Return what is decided once some differences are taken back, `None` if nothing."""
    question = reduce(lambda so_far, one: one.undo(so_far), undone, asked)
    return decide(question.draft, question.demand, around).decision


def _placed(found: Decision | None, decision: Decision) -> Placed:
    """Return where a binding would be; where nothing is decided, it is where it was."""
    return decision.before if found is None else found.after


def _differences(
    draft: Draft, demand: Demand | None, decision: Decision
) -> Iterator[BindingDifference]:
    """Yield what of a binding differs from its file."""
    present = mapping(draft.present or {}, "spec")

    def differ(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(n for n in names if draft.spec.get(n) != present.get(n))

    if demand is not None:
        yield BindingDifference(
            replace(decision.cause, kind=CauseKind.REBALANCED),
            lambda question: replace(question, demand=None),
        )
    policy, claims = differ(POLICY), draft.policy is not None and claimant(draft.present) is None
    if policy or claims:
        yield BindingDifference(
            Cause(CauseKind.PLACEMENT_CHANGED, sources=policy_of(draft)),
            _taking_back(policy, present, unclaim=claims),
        )
    workload = workload_of(draft)
    for kind, names, sources in (
        (CauseKind.REPLICAS_CHANGED, differ(SIZE), (workload,)),
        (CauseKind.REQUESTS_CHANGED, differ(REQUESTS), (workload,)),
        (CauseKind.RESUMED, differ(SUSPENSION), (workload, *policy_of(draft))),
    ):
        if names:
            yield BindingDifference(Cause(kind, sources=sources), _taking_back(names, present))


def _taking_back(
    names: Iterable[str], present: Mapping[str, object], *, unclaim: bool = False
) -> Callable[[BindingQuestion], BindingQuestion]:
    """Return what gives a binding the fields back that it had."""
    known: Body = {name: present[name] for name in names if name in present}
    names = frozenset(names)

    def undo(question: BindingQuestion) -> BindingQuestion:
        kept = {name: value for name, value in question.draft.spec.items() if name not in names}
        draft = replace(question.draft, spec=ordered({**kept, **known}))
        return replace(question, draft=replace(draft, policy=None) if unclaim else draft)

    return undo
