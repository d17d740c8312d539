"""Why a placement is where it is, from the records of the scheduler."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.kinds import subject_of
from reconciler.dialects.kubefleet.api.names import BOUND, SCHEDULED, SCHEDULED_CONDITION
from reconciler.dialects.kubefleet.api.placement import latest_master
from reconciler.dialects.kubefleet.api.policy import PICK_ALL, PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.api.score_property import scores_of
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.rollout.rollout import lacks_in
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.scheduler.filter_eligibility import REPORT
from reconciler.dialects.kubefleet.scheduler.picks import PickRecord
from reconciler.dialects.kubefleet.scheduler.profile import PROFILE
from reconciler.dialects.kubefleet.scheduler.rank import rank
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import (
    AFFINITY,
    SAME_PLACEMENT,
    TOPOLOGY,
    RankedCluster,
)
from reconciler.dialects.kubefleet.scheduler.schedule import Scheduled, schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot
from reconciler.dialects.kubefleet.updaterun.run_cycle import RunStep
from reconciler.dialects.kubefleet.view.run_progress import (
    is_behind,
    is_over,
    rollout_sentences,
    wait_for_run,
)
from reconciler.dialects.kubefleet.view.status_conditions import waits_for_room
from reconciler.dialects.scores.reports import read_score
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.explanation import ClusterAnswer, ClusterVerdict, Explanation, ScorePart
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.schedule.framework import Mask, positions_of, run_every_filter

PLACED = "is placed there already and stays, whatever the filters say now"
ORDER: Mapping[str, str] = {
    TOPOLOGY: "the one with the greater topology spread score comes first",
    AFFINITY: "the one with the greater affinity score",
    SAME_PLACEMENT: "one placed before",
}
NOT_FOUND = "the policy names this cluster, and there is none of this name"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPlacement:
    """What an explanation is made of.

    Attributes:
        key: The status of the placement.
        snapshot: Its present policy, with the status after the pass.
        result: What the scheduler did, `None` if nothing made it look.
        bindings: Where the pass leaves the bindings.
        members: Everyone.
        now: Moment of the pass.
        runs: How far the runs are that roll it out.
        waits: What it waits for beside them, `""` for nothing.
    """

    key: ObjectKey
    snapshot: Snapshot
    result: Scheduled | None
    bindings: Mapping[str, Binding]
    members: Members
    now: datetime
    runs: tuple[RunStep, ...] = ()
    waits: str = ""


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where a cluster stands in the order, and its scores when it was looked at."""

    rank: int
    scores: tuple[ScorePart, ...]


def asked_of(
    key: ObjectKey,
    converged: ConvergedPlacement,
    members: Members,
    now: datetime,
    *,
    external: bool = False,
) -> AskedPlacement:
    """Return what the explanation of a converged placement is made of.

    With `external` it is rolled out by runs only.
    """
    latest = latest_master(converged.resources.values(), key.name)
    behind = any(is_behind(one, latest) for one in converged.bindings.values())
    lacking = lacks_in(converged.bindings.values())
    idle = external and behind and all(is_over(one.status) for one in converged.runs)
    return AskedPlacement(
        key=key,
        snapshot=converged.snapshot,
        result=converged.result,
        bindings=converged.bindings,
        members=members,
        now=now,
        runs=converged.runs,
        waits=_waits(key, lacking, idle=idle),
    )


def _waits(key: ObjectKey, lacking: Mapping[str, str], *, idle: bool) -> str:
    if lacking:
        return f"The update is held: {waits_for_room(lacking).removeprefix('; ')}."
    return f"It {wait_for_run(key.namespace)}." if idle else ""


def explain_failure(key: ObjectKey, message: str) -> Explanation:
    """Return what can be said of a placement that cannot be scheduled: why not."""
    return Explanation(
        key=key,
        subject=subject_of(key),
        question="",
        result=f"it keeps its last result: {message}",
        clusters=(),
        judged=False,
    )


def explain(asked: AskedPlacement) -> Explanation:
    """Return what scheduling says of a placement, cluster by cluster.

    Where nothing made the scheduler look, it looks now, at what the pass left; that changes
    nothing.
    """
    result = asked.result
    if result is None:
        result = schedule(asked.snapshot, asked.bindings.values(), asked.members, asked.now)
    records = result.records
    policy = asked.snapshot.policy
    steps = [*_steps(asked, records)]
    return Explanation(
        key=asked.key,
        subject=subject_of(asked.key),
        question=_question(asked.snapshot),
        result=_result(asked),
        clusters=_fixed(asked) if policy.placement_type == PICK_FIXED else _ranked(asked, records),
        steps=tuple(steps),
        rollout=(*rollout_sentences(asked.runs), *filter(None, [asked.waits])),
    )


def _question(snapshot: Snapshot) -> str:
    policy = snapshot.policy
    if policy.placement_type == PICK_FIXED:
        return f"the clusters {', '.join(policy.cluster_names)}"
    if policy.placement_type == PICK_ALL:
        return "every cluster that fits"
    try:
        number = str(snapshot.number_of_clusters)
    except UnexpectedBehavior:
        number = "?"
    keys = ", ".join(constraint.topology_key for constraint in policy.constraints)
    return f"the best {number} cluster(s)" + (f", spread over {keys}" if keys else "")


def _result(asked: AskedPlacement) -> str:
    conditions = asked.snapshot.status.conditions or ()
    found: Body = next((c for c in conditions if c.get("type") == SCHEDULED_CONDITION), {})
    return fields.text(found, "message") or "Scheduling has not completed"


def _steps(asked: AskedPlacement, records: Sequence[PickRecord]) -> Iterable[str]:
    """Return the selection in order; of many equal cycles the first and the last."""
    if asked.result is None:
        yield "Nothing made the scheduler look at it in this pass; this is what it would say."
    total = len(records)
    for number, record in enumerate(records, start=1):
        if 3 < number < total - 1:
            continue
        if number == 3 < total - 2:
            yield f"Cycles 3 to {total - 2}: one cluster each."
            continue
        head = f"Cycle {number} of {total}: " if total > 1 else ""
        yield head + _step(record)
    if records and asked.snapshot.policy.placement_type == PICK_N:
        order = ", then ".join(ORDER.get(name, f"the greater {name}") for name in PROFILE.scores)
        yield f"Of two clusters {order}, then the greater name."


def _step(record: PickRecord) -> str:
    """Return one cycle as a sentence."""
    chosen = ", ".join(item.name for item in record.picked) or "no cluster"
    if record.request is None:
        return f"{record.missing} cluster(s) named, {len(record.picked)} of them can be bound."
    if record.feasible is None:
        surplus = -(record.missing or 0)
        if surplus:
            return f"{surplus} cluster(s) too many, so the lowest scores go."
        return "As many clusters as wanted are placed, so none is picked and none moves."
    feasible = record.feasible.bit_count()
    if record.missing is None:
        return f"{feasible} more cluster(s) pass the filters and are picked: {chosen}."
    limit = "" if record.limit == record.missing else f", {record.limit} at a time"
    return (
        f"{record.missing} more cluster(s) wanted{limit}, {feasible} pass the filters; "
        f"picked: {chosen}."
    )


def _targets(asked: AskedPlacement) -> frozenset[str]:
    staying = (item for item in asked.bindings.values() if item.state in (SCHEDULED, BOUND))
    return frozenset(item.target for item in staying)


def _fixed(asked: AskedPlacement) -> tuple[ClusterAnswer, ...]:
    """Return the answers for PickFixed: only eligibility counts, only for the clusters named."""
    members, named = asked.members, asked.snapshot.policy.cluster_names
    picked = _targets(asked)
    answers = {}
    for position, name in enumerate(members.fleet.names):
        verdicts: tuple[ClusterVerdict, ...] = ()
        if name not in named:
            verdicts = (ClusterVerdict("PickFixed", "the policy does not name it", "be named"),)
        elif position in members.reasons:
            reason = members.reasons[position]
            verdicts = (ClusterVerdict("ClusterEligibility", reason, REPORT),)
        answers[name] = ClusterAnswer(
            cluster=name,
            verdicts=verdicts,
            picked=name in picked,
            note=PLACED if verdicts and name in picked else "",
        )
    for name in map(ClusterName, named):
        missing = ClusterVerdict("PickFixed", NOT_FOUND, "exist")
        answers.setdefault(name, ClusterAnswer(cluster=name, verdicts=(missing,)))
    return tuple(answers[name] for name in sorted(answers))


def _ranked(asked: AskedPlacement, records: Sequence[PickRecord]) -> tuple[ClusterAnswer, ...]:
    """Return the answers for PickAll and PickN."""
    members, picked = asked.members, _targets(asked)
    weighed = _weighing(asked)
    last = records[-1] if records else None
    verdicts = {} if last is None else _verdicts(asked, last)
    standings = _standings(asked, records)
    earlier = {
        name
        for record in records[:1]
        if record.request is not None
        for name in _names(members, record.request.placed)
    }
    return tuple(
        ClusterAnswer(
            cluster=name,
            verdicts=tuple(
                verdict
                for verdict in verdicts.get(name, ())
                if name not in picked or verdict.plugin != TOPOLOGY
            ),
            scores=standings[name].scores if name in standings else (),
            rank=standings[name].rank if name in standings else None,
            picked=name in picked,
            note="; ".join(
                (*([PLACED] if name in earlier and name in picked else ()), *weighed(position))
            ),
        )
        for position, name in enumerate(members.fleet.names)
    )


def _weighing(asked: AskedPlacement) -> Callable[[int], Iterator[str]]:
    """Return what yields the scores that a cluster is ranked by."""
    reports, names = asked.members.scores, asked.members.fleet.names
    scores = () if reports is None else sorted(scores_of(asked.snapshot.policy), key=str)
    found = [(one, read_score(one, names, reports or {}, asked.now)) for one in scores]
    return lambda position: (reported.told(name, position) for name, reported in found)


def _names(members: Members, clusters: Mask) -> list[ClusterName]:
    return [members.fleet.names[position] for position in positions_of(clusters)]


def _verdicts(asked: AskedPlacement, record: PickRecord) -> dict[ClusterName, list[ClusterVerdict]]:
    """Return what every filter says against each cluster; that it is placed is no verdict."""
    request, members = record.request, asked.members
    found: dict[ClusterName, list[ClusterVerdict]] = {}
    if request is None:
        return found
    filters = {name: item for name, item in PROFILE.filters.items() if name != SAME_PLACEMENT}
    try:
        rejections = run_every_filter(filters, request, members, members.fleet.all, asked.now)
    except UnexpectedBehavior:  # what one of them cannot judge is told as the result
        return found
    for rejection in rejections:
        verdict = ClusterVerdict(rejection.plugin, str(rejection.reason), str(rejection.remedy))
        for name in _names(members, rejection.clusters):
            found.setdefault(name, []).append(verdict)
    return found


def _standings(
    asked: AskedPlacement, records: Sequence[PickRecord]
) -> dict[ClusterName, _Standing]:
    """Return the order: who was picked, cycle after cycle, then the others as the last saw them."""
    standings: dict[ClusterName, _Standing] = {}
    scored = [r for r in records if r.missing is not None and r.feasible is not None]
    for record in scored:
        for item in record.picked:
            standings[item.name] = _standing(len(standings) + 1, item)
    for record in scored[-1:]:
        if record.request is None or record.feasible is None:
            continue
        for item in rank(record.request, asked.members, record.feasible, asked.now):
            if item.name not in standings:
                standings[item.name] = _standing(len(standings) + 1, item)
    return standings


def _standing(place: int, item: RankedCluster) -> _Standing:
    """Return the parts of a score in the order in which they are compared."""
    return _Standing(place, tuple(ScorePart(*part) for part in item.scores.items()))
