"""ClusterAffinity, required terms: a cluster must fit one of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.policy import SelectorTerm
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.scheduler.properties import satisfying
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.model.selectors import refusal_of
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, Rejection


@dataclass(frozen=True, slots=True)
class Unmatched:
    """The cluster fits none of the required terms."""

    def __str__(self) -> str:
        return "cluster does not match with any of the required cluster affinity terms"


@dataclass(frozen=True, slots=True)
class MatchedTerm:
    """What the cluster would have to fit: one of these terms."""

    terms: tuple[SelectorTerm, ...]

    def __str__(self) -> str:
        return f"match {' or '.join(map(_term, self.terms))}"


def _term(term: SelectorTerm) -> str:
    """Return one required term as a person would say it."""
    labels = term.labels.requirements if term.labels is not None else ()
    parts = []
    for item in labels:
        values = f" ({', '.join(item.values)})" if item.values else ""
        parts.append(f"{item.key} {item.operator}{values}")
    parts += [f"{p.name} {p.operator} {', '.join(p.values)}" for p in term.properties]
    return f"[{'; '.join(parts)}]" if parts else "[anything]"


def reject_affinity(request: Request, members: Members, _now: datetime, /) -> Iterable[Rejection]:
    """Reject clusters that fit no required term; without any term all pass.

    Terms are tried in order and a cluster stops at the first that it fits, so an error in a later
    term is noticed only if some cluster gets there.

    Raises:
        UnexpectedBehavior: A term cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/filtering.go `Filter`.
    """
    terms = request.policy.required
    if not terms:
        return ()
    return remember(members.unmatched, terms, lambda: _unmatched(terms, members))


def _unmatched(terms: tuple[SelectorTerm, ...], members: Members) -> tuple[Rejection, ...]:
    left = members.fleet.all
    for term in terms:
        left = Mask(left & ~matching(term, members, left))
    return (Rejection(left, Unmatched(), MatchedTerm(terms)),)


def matching(term: SelectorTerm, members: Members, candidates: Mask) -> Mask:
    """Return the candidates that fit a term: its labels and each of its property expressions.

    Raises:
        UnexpectedBehavior: The label selector or a property cannot be judged.

    Source: kubefleet@e160c1c pkg/scheduler/framework/plugins/clusteraffinity/types.go `Matches`.
    """
    if not candidates:
        return candidates
    if term.labels is not None:
        refusal = refusal_of(term.labels)
        if refusal:
            raise UnexpectedBehavior(f"failed to parse label selector: {refusal}")
        candidates = Mask(candidates & members.fleet.select(term.labels))
    for requirement in term.properties:
        candidates = satisfying(requirement, members, candidates)
    return candidates
