"""Predicate: a cluster must satisfy one of the placement's predicates."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import ClusterSelector
from reconciler.dialects.ocm.cel.expression import Program, compile_cel
from reconciler.dialects.ocm.scheduler.request import Request
from reconciler.dialects.scores.reports import Reports
from reconciler.errors import Misconfigured
from reconciler.model.labels import Requirement
from reconciler.model.same import Same
from reconciler.model.selectors import refusal_of
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, Rejection


@dataclass(frozen=True, slots=True)
class NoPredicateMatches:
    """None of the predicates matches; `number` of them were tried."""

    number: int

    def __str__(self) -> str:
        plural = "s" if self.number > 1 else ""
        return f"cluster(s) did not match the placement's {self.number} predicate{plural}"


@dataclass(frozen=True, slots=True)
class Matched:
    """What the cluster would have to match: one of these predicates."""

    predicates: tuple[ClusterSelector, ...]

    def __str__(self) -> str:
        return f"match {' or '.join(map(_predicate, self.predicates))}"


def _predicate(selector: ClusterSelector) -> str:
    """Return a predicate in one line, labels as kubectl writes them."""
    claims = (f"claim {_requirement(item)}" for item in selector.claims.requirements)
    parts = [*map(_requirement, selector.labels.requirements), *claims, *selector.cel]
    return ", ".join(parts) or "anything"


def _requirement(requirement: Requirement) -> str:
    """Return one expression as kubectl writes it."""
    key, values = requirement.key, ",".join(requirement.values or ())
    match requirement.operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "In" if len(requirement.values or ()) == 1:
            return f"{key}={values}"
        case operator:
            return f"{key} {operator.lower()} ({values})"


def reject_predicates(request: Request, members: Members, _now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters that satisfy none of the predicates; without predicates all pass.

    All are compiled before one is asked, so a wrong one counts even where another matches.

    Raises:
        Misconfigured: A selector or an expression cannot be used.

    Source: ocm@00f84c3 pkg/placement/plugins/predicate/predicate.go `Filter`.
    """
    predicates = request.placement.predicates
    if not predicates:
        return
    programs = [_compile(predicate) for predicate in predicates]
    passed = 0
    for predicate, program in zip(predicates, programs, strict=True):
        rest = Mask(request.candidates & ~passed & selected(predicate, members))
        if program is not None and rest:
            rest = _express(predicate.cel, program, rest, request.reports, members)
        passed |= rest
    reason = NoPredicateMatches(len(predicates))
    yield Rejection(Mask(members.fleet.all & ~passed), reason, Matched(predicates))


def _express(
    texts: tuple[str, ...], program: Program, rest: Mask, reports: Reports, members: Members
) -> Mask:
    """Return the clusters that satisfy the expressions, asked once for all alike placements."""

    def select() -> Mask:
        return program.select(rest, members, reports)

    return remember(members.expressed, (texts, rest, Same(reports)), select)


def _compile(predicate: ClusterSelector) -> Program | None:
    """Check one predicate and compile its expressions."""
    refuse_selector(predicate)
    return compile_cel(predicate.cel) if predicate.cel else None


def refuse_selector(selector: ClusterSelector) -> None:
    """Raise what is wrong with the selectors of labels and claims, labels first.

    Raises:
        Misconfigured: A requirement cannot be used.

    Source: ocm@00f84c3 pkg/placement/helpers/clusters.go `NewClusterSelector`.
    """
    for part in (selector.labels, selector.claims):
        refusal = refusal_of(part)
        if refusal:
            raise Misconfigured(refusal)


def selected(selector: ClusterSelector, members: Members) -> Mask:
    """Return the clusters whose labels and claims satisfy a selector that can be used."""
    return Mask(members.fleet.select(selector.labels) & members.claiming(selector.claims))
