"""The plugins of OCM's scheduler by their upstream names, and the weights of its prioritizers.

Filters:

- Predicate: a cluster must satisfy one of the placement's predicates.
- TaintToleration: taints keep clusters out unless tolerated, for ever or for a while.

Prioritizers, by which clusters come first:

- Balance: those that other placements have chosen less often.
- Steady: those that are chosen already.
- ResourceAllocatableCPU and ResourceAllocatableMemory: the largest.
- AddOn: those with the better score in AddOnPlacementScores, one object a cluster.

A placement names the scores that it wants, and with which weight. The scores of add-ons are not in
the profile: a placement makes them up as it names them.
"""

import math
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import repeat

from reconciler.dialects.ocm.api.cluster import CPU, MEMORY, Members, Request, Scores
from reconciler.dialects.ocm.api.placement import (
    ADDITIVE,
    BUILT_IN,
    EXACT,
    PLACEMENT_LABEL,
    AddOnScore,
    ClusterSelector,
    Configuration,
    Coordinate,
    Placement,
)
from reconciler.dialects.ocm.cel.expression import Program, compile_cel
from reconciler.dialects.scores import Reported, Reports, ScoreName, read_score
from reconciler.errors import Misconfigured, UserError
from reconciler.model.cluster import Taint, TaintEffect, Toleration, UntoleratedTaint, tolerates
from reconciler.model.labels import Requirement, refusal_of, refusal_of_value, unmet
from reconciler.model.moments import add, earliest, span
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import Same
from reconciler.schedule.columns import coded, column_of, distinct, flagged, of_clusters
from reconciler.schedule.fleet import remember
from reconciler.schedule.framework import Mask, Profile, Rejection, Score, positions_of


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
    members: Members = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"match {' or '.join(map(_predicate, self.predicates))}"

    def of(self, position: int) -> str:
        """Return the predicates, with what the cluster at a position lacks of each."""
        view = self.members.views[position]
        lacks = [
            " and ".join(
                (
                    *unmet(one.labels.requirements, view.cluster.labels),
                    *unmet(one.claims.requirements, view.claims, "claim"),
                )
            )
            for one in self.predicates
        ]
        said = " or ".join(dict.fromkeys(filter(None, lacks)))
        return f"{self}: {said}" if said else str(self)


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
    yield Rejection(Mask(members.fleet.all & ~passed), reason, Matched(predicates, members))


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


EMPTY_KEY = "If the key is empty, operator must be Exists."
VALUE_FOR_NOTHING = "If the operator is Exists, the value should be empty."
NANOS_PER_SECOND = 10**9
NANOS_PER_MICROSECOND = 1000
INT64 = 2**64


@dataclass(frozen=True, slots=True)
class ToleratedTaint:
    """What would help against a taint."""

    taint: Taint

    def __str__(self) -> str:
        return f"tolerate {self.taint}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How a list of taints is put up with: the taint that is not, else until when, if limited."""

    untolerated: Taint | None = None
    until: datetime | None = None


def reject_taints(request: Request, members: Members, now: datetime, /) -> Iterator[Rejection]:
    """Reject clusters that carry a taint the placement does not tolerate.

    `PreferNoSelect` never rejects. `NoSelectIfNew` spares the clusters that the placement has
    already decided for. The rule is asked once for each distinct list of taints.

    Args:
        request: Tolerations in file order, and the clusters decided so far.
        members: Groups clusters by equal taints, in file order.
        now: Aware UTC.

    Raises:
        Misconfigured: A toleration contradicts itself.

    Source: ocm@00f84c3 pkg/placement/plugins/tainttoleration/taint_toleration.go `Filter`.
    """
    tolerations = request.placement.tolerations
    refuse_tolerations(tolerations)
    for taints, carriers in members.fleet.by_taints.items():
        for decided in (False, True):
            clusters = Mask(carriers & (request.decided if decided else ~request.decided))
            untolerated = (
                tolerance(taints, tolerations, decided=decided, now=now) if clusters else None
            )
            if untolerated is not None and untolerated.untolerated is not None:
                taint = untolerated.untolerated
                yield Rejection(clusters, UntoleratedTaint(taint), ToleratedTaint(taint))


def refuse_tolerations(tolerations: tuple[Toleration, ...]) -> None:
    """Raise what is wrong with the first toleration that contradicts itself.

    Raises:
        Misconfigured: Upstream's sentence.
    """
    for toleration in tolerations:
        if not toleration.key and toleration.operator != "Exists":
            raise Misconfigured(EMPTY_KEY)
        if toleration.operator == "Exists" and toleration.value:
            raise Misconfigured(VALUE_FOR_NOTHING)


def next_end(request: Request, members: Members, now: datetime) -> datetime | None:
    """Return when the toleration of any candidate ends, the first of all, `None` if never.

    Source: ours; upstream notices the end for candidates not decided at its next run only.
    """
    tolerations = request.placement.tolerations
    concerned = request.candidates | request.decided
    return earliest(
        *(
            tolerance(taints, tolerations, decided=decided, now=now).until
            for taints, carriers in members.fleet.by_taints.items()
            if carriers & concerned
            for decided in (False, True)
        )
    )


def tolerated_until(request: Request, members: Members, now: datetime) -> datetime | None:
    """Return when the toleration of a decided cluster ends, the first of all, `None` if never.

    Clusters count that were decided before, also those that the placement could not choose now,
    but not those that some taint keeps out anyway.

    Source: ocm@00f84c3 pkg/placement/plugins/tainttoleration/taint_toleration.go `RequeueAfter`.
    """
    tolerations = request.placement.tolerations
    return earliest(
        *(
            tolerance(taints, tolerations, decided=True, now=now).until
            for taints, carriers in members.fleet.by_taints.items()
            if carriers & request.decided
        )
    )


def tolerance(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], *, decided: bool, now: datetime
) -> Tolerance:
    """Judge the taints of a cluster in order.

    Of each taint the first toleration counts that fits and has not run out. Seconds apply to
    NoSelectIfNew as well.

    Source: ocm@00f84c3 pkg/placement/plugins/tainttoleration/taint_toleration.go
    `isClusterTolerated`, `isTaintTolerated`, and `isTolerationTimeExpired` (true, despite its
    name, while NOT expired).
    """
    until: datetime | None = None
    for taint in taints:
        if taint.effect is TaintEffect.PREFER_NO_SELECT:
            continue
        if taint.effect is TaintEffect.NO_SELECT_IF_NEW and decided:
            continue
        for toleration in tolerations:
            if not tolerates(toleration, taint):
                continue
            if toleration.toleration_seconds is None:
                break
            end = _end(taint, toleration.toleration_seconds)
            if end is not None and now < end:
                until = earliest(until, end)
                break
        else:
            return Tolerance(untolerated=taint)
    return Tolerance(until=until)


def _end(taint: Taint, seconds: int) -> datetime | None:
    """Return when a toleration of so many seconds ends; a taint without a moment ended long ago.

    The seconds become int64 nanoseconds and wrap around, as in Go: 9223372036 is the most.
    """
    if taint.time_added is None:
        return None
    nanos = (seconds * NANOS_PER_SECOND + INT64 // 2) % INT64 - INT64 // 2
    return add(taint.time_added, span(microseconds=nanos // NANOS_PER_MICROSECOND))


MOST_COLUMNS = 64  # ours: distinct scores that a pass remembers


@dataclass(frozen=True, slots=True)
class ScoreAddOn:
    """The prioritizer of one reported score."""

    score: AddOnScore

    def __call__(
        self, request: Request, members: Members, feasible: Mask, now: datetime, /
    ) -> Scores:
        """Score what was reported, 0 where nothing was or where it has run out.

        A report is valid up to its validUntil, that moment included.

        Source: ocm@00f84c3 pkg/placement/plugins/addon/addon.go `Score`.
        """
        names, resource = members.fleet.names, self.score.resource_name
        reported = self._reported(members, request.reports, now)
        expired = (
            f"{names[i]}/{resource}" for i in positions_of(Mask(reported.expired & feasible))
        )
        return Scores(
            of_clusters(reported.values, feasible),
            expired=tuple(sorted(expired)),
            missing=tuple(names[i] for i in positions_of(Mask(reported.missing & feasible))),
        )

    def _reported(self, members: Members, reports: Reports, now: datetime) -> Reported:
        """Read the reports once for all placements that ask for this score."""

        def read() -> Reported:
            name = ScoreName(self.score.resource_name, self.score.score_name)
            return read_score(name, members.fleet.names, reports, now)

        question = (self.score, Same(reports), now)
        return remember(members.reported, question, read, limit=MOST_COLUMNS)


MAX_SCORE = 100


def score_balance(request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Scores:
    """Score by how often anyone else has chosen the cluster, against the most chosen of all.

    A cluster that no placement chose gets 100. The most chosen one need not be feasible, nor exist.

    Source: ocm@00f84c3 pkg/placement/plugins/balance/balance.go `Score`.
    """
    del members
    others = request.others
    most = 0 if others is None else others.most
    if others is None or most == 0:
        return Scores(column_of(repeat(MAX_SCORE, feasible.bit_count())))
    table = [2 * int(MAX_SCORE * (0.5 - count / most)) for count in range(most + 1)]
    return Scores(coded(of_clusters(others.column, feasible), table))


LEAST_INT64 = -(2**63)  # Go's conversion of what is no number, as of an amount of 1e400


@dataclass(frozen=True, slots=True)
class ScoreAllocatable:
    """The prioritizer of one resource, `cpu` or `memory`."""

    resource: str

    def __call__(
        self, _request: Request, members: Members, feasible: Mask, _now: datetime, /
    ) -> Scores:
        """Score by where the amount lies between the least and the most of the feasible clusters.

        A cluster without an amount gets no score, which counts as 0 and beats the poorest.

        Source: ocm@00f84c3 pkg/placement/plugins/resource/resource.go
        `mostResourceAllocatableScores`.
        """
        question = self.resource, feasible
        measure = partial(self._measure, members, feasible)
        return remember(members.measurements, question, measure, limit=MOST_COLUMNS)

    def _measure(self, members: Members, feasible: Mask) -> Scores:
        """Score the feasible clusters; placements that may choose from the same share this."""
        amounts = members.amounts(self.resource)
        codes = of_clusters(amounts.codes, feasible)
        amounts_by_code = {code: amounts.distinct[code] for code in distinct(codes)}
        reported_amounts = [amount for amount in amounts_by_code.values() if amount is not None]
        least, most = min(reported_amounts, default=0.0), max(reported_amounts, default=0.0)
        table = [0] * len(amounts.distinct)
        for code, amount in amounts_by_code.items():
            table[code] = _score(amount, least, most)
        return Scores(coded(codes, table), silent=Mask(feasible & amounts.missing))


def _score(amount: float | None, least: float, most: float) -> int:
    """Return one score, in upstream's order of operations, cut toward zero."""
    if amount is None:
        return 0
    if most - least == 0:
        return MAX_SCORE
    score = ((amount - least) / (most - least) - 0.5) * 2.0 * 100.0
    return LEAST_INT64 if math.isnan(score) else int(score)


def score_steady(request: Request, members: Members, feasible: Mask, _now: datetime, /) -> Scores:
    """Score 100 for what the placement has decided, 0 for the others.

    Raises:
        UserError: The placement's name cannot be a label, so its decisions cannot be found.

    Source: ocm@00f84c3 pkg/placement/plugins/steady/steady.go `Score`.
    """
    refusal = refusal_of_value(PLACEMENT_LABEL, request.placement.name)
    if refusal:
        raise UserError(refusal)
    steadied = flagged(request.decided, len(members.fleet.names), MAX_SCORE)
    return Scores(of_clusters(steadied, feasible))


BALANCE = "Balance"
STEADY = "Steady"

PROFILE: Profile[Request, Members, Scores] = Profile(
    filters={"Predicate": reject_predicates, "TaintToleration": reject_taints},
    scores={
        BALANCE: score_balance,
        STEADY: score_steady,
        "ResourceAllocatableCPU": ScoreAllocatable(CPU),
        "ResourceAllocatableMemory": ScoreAllocatable(MEMORY),
    },
)
"""Scores are multiplied by their weights and added up."""


DEFAULTS = (BALANCE, STEADY)  # ocm@00f84c3 schedule.go `defaultPrioritizerConfig`: weight 1 each


@dataclass(frozen=True, slots=True)
class Prioritizer:
    """A plugin with its weight; a weight of 0 is never kept."""

    name: str
    weight: int
    score: Score[Request, Members, Scores]


def prioritizers_of(placement: Placement) -> tuple[Prioritizer, ...]:
    """Return the prioritizers of a placement, in the order in which their scores first come up.

    Of one score named twice the later weight counts. A coordinate with `addOn` is never the same
    as another, since upstream compares where it is stored: two equal ones count twice, and one
    that also names a built-in score adds to it instead of replacing it.

    Raises:
        Misconfigured: The mode or a score that counts is unknown; a weight of 0 hides the latter.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/schedule.go `getWeights`,
    `mergeWeights`, `getPrioritizers`.
    """
    if placement.mode not in ("", ADDITIVE, EXACT):
        raise Misconfigured(f"incorrect prioritizer policy mode: {placement.mode}")
    names = () if placement.mode == EXACT else DEFAULTS
    defaults = [Configuration(Coordinate(BUILT_IN, name), 1) for name in names]
    weights: dict[tuple[str, str, int | None], tuple[Coordinate, int]] = {}
    for position, configuration in enumerate((*defaults, *placement.configurations)):
        coordinate = configuration.coordinate
        if coordinate is None:
            raise Misconfigured("scoreCoordinate field is required")
        stored = None if coordinate.add_on is None else position
        weights[coordinate.type, coordinate.built_in, stored] = coordinate, configuration.weight
    return tuple(
        _prioritizer(coordinate, weight) for coordinate, weight in weights.values() if weight
    )


def _prioritizer(coordinate: Coordinate, weight: int) -> Prioritizer:
    """Return the plugin of a coordinate; any type but BuiltIn is taken as AddOn."""
    if coordinate.type == BUILT_IN:
        score = PROFILE.scores.get(coordinate.built_in)
        if score is None:
            raise Misconfigured(f"incorrect builtin prioritizer: {coordinate.built_in}")
        return Prioritizer(coordinate.built_in, weight, score)
    add_on = coordinate.add_on
    if add_on is None:
        raise Misconfigured("addOn should not be empty")
    name = f"AddOn/{add_on.resource_name}/{add_on.score_name}"
    return Prioritizer(name, weight, ScoreAddOn(add_on))


def may_balance(placement: Placement) -> bool:
    """Return whether the decisions of other placements may count, without weighing any score."""
    return placement.mode != EXACT or any(
        item.coordinate is not None and item.coordinate.built_in == BALANCE
        for item in placement.configurations
    )
