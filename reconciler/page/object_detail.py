"""One object as a view: where it is, why, cluster by cluster, what comes, what happened."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reconciler.audit.fleet.copy_wording import files_text, report_text
from reconciler.audit.fleet.delivered_copies import DeliveredCopy
from reconciler.audit.history.decision_history import Event
from reconciler.audit.history.upstream_events import Happening
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.resumption import Suspension
from reconciler.audit.reasons import Shift, against
from reconciler.dialects.copy_status import Report
from reconciler.model.decision import Placed
from reconciler.model.explanation import ClusterAnswer, Explanation
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault
from reconciler.page.links import Anchor, Links, anchor_of
from reconciler.page.pictures.bands import BandPicture
from reconciler.page.pictures.past import MovedThen
from reconciler.page.room import Amount
from reconciler.page.states import PLACED, WAITING, State, Tone

LEAVING = "leaves"
MOST_CLUSTERS = 30  # that are told one by one; more are told by what is said of them
HEALTH = {
    Report.HEALTHY: State("healthy", Tone.GOOD),
    Report.ASSUMED: State("assumed healthy", Tone.GOOD),
    Report.REPORTED: State("reported", Tone.GOOD),
    Report.UNHEALTHY: State("unhealthy", Tone.BAD),
    Report.NONE: State("no report yet", Tone.PLAIN),
}
"""What a cluster says of its copy, as a state."""
PICKED, PASSED, AWAY = "chosen", "passed", "turned away"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLine:
    """What scheduling says of one cluster, in words."""

    cluster: str
    verdict: str
    replicas: str
    score: str
    why: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyLine:
    """What one cluster has: its part, what is delivered, what it reports, what it waits for.

    `share` is how much of all replicas that is, `None` where there are none to count.
    """

    cluster: Anchor
    replicas: str
    share: Amount | None
    health: State
    delivered: str
    reported: str
    waits: str


class CauseLine(NamedTuple):
    """A commit of a person that brought something about."""

    author: str
    subject: str
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One thing that happened to the object: from where to where, why, by whose commits.

    `by` says what did it where that was no commit, `""` where it was.
    """

    revision: str
    at: datetime
    before: Placed | None
    after: Placed | None
    why: str
    causes: Sequence[CauseLine]
    by: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectView:
    """The view; `then` is whether the explanation is of the pass that decided, not of today.

    `named` is the object as people call it, `states` are its own, `why` says why it lacks clusters
    or waits. `policy` is what it belongs to, `None` where it belongs to none. `steps_on` is what a
    person may do next, `again` where the same is asked again. `past` is where it was over time,
    `None` where that did not change, `past_note` that older commits are being read, `moved` what
    commits moved of it. `asks` is where why and its history are told, `""` for here.
    """

    anchor: str
    title: str
    named: ObjectKey
    states: Sequence[State]
    why: str
    policy: Anchor | None
    manifest: Anchor
    steps_on: Sequence[Anchor]
    again: str
    placed: Placed
    question: str
    result: str
    steps: Sequence[str]
    clusters: Sequence[ClusterLine]
    then: bool = False
    decided: HistoryLine | None = None
    copies: Sequence[CopyLine] = ()
    shifts: Sequence[Shift] = ()
    coming: Sequence[Coming] = ()
    history: Sequence[HistoryLine] = ()
    events: Sequence[Happening] = ()
    faults: Sequence[Fault] = ()
    note: str = ""
    suspension: Suspension | None = None
    past: BandPicture | None = None
    past_note: str = ""
    moved: Sequence[MovedThen] = ()
    asks: str = ""
    most: int = MOST_CLUSTERS

    @property
    def alike(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The clusters that are not listed, by what is said of them, what most have first."""
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.clusters[self.most :]:
            said = "; ".join(one.why)
            verdict = one.verdict.partition(",")[0]
            found[f"{verdict}, {said}" if said else verdict].append(one.cluster)
        return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def object_view(
    key: ObjectKey,
    title: str,
    placed: Placed,
    told: Explanation | None,
    *,
    question: str = "",
    **more: object,
) -> ObjectView:
    """Return the view.

    Args:
        key: What decisions about the object bear.
        title: How people call it.
        placed: Where it is.
        told: What scheduling says of it, `None` where it says nothing.
        question: What is asked for.
        more: The other parts of the view.
    """
    return ObjectView(
        anchor=anchor_of(key),
        title=title,
        placed=placed,
        question=question,
        result="" if told is None else told.result,
        steps=() if told is None else told.steps,
        clusters=() if told is None else tuple(map(_cluster, _ordered(told.clusters))),
        **more,  # type: ignore[arg-type]
    )


def copy_lines(placed: Placed, copies: Sequence[DeliveredCopy], links: Links) -> list[CopyLine]:
    """Return what each cluster has; where copies are unknown, only where the object is."""
    if not copies:
        total = sum(count for _, count in placed)
        return [
            CopyLine(
                cluster=Anchor(str(name), links.view("cluster", name=str(name))),
                replicas=_count(count),
                share=_share(count, total),
                health=PLACED,
                delivered="",
                reported="",
                waits="",
            )
            for name, count in placed
        ]
    total = sum(one.status.replicas for one in copies if not one.status.leaving)
    return [
        CopyLine(
            cluster=Anchor(
                str(one.status.cluster), links.view("cluster", name=str(one.status.cluster))
            ),
            replicas=LEAVING if one.status.leaving else _count(one.status.replicas),
            share=None if one.status.leaving else _share(one.status.replicas, total),
            health=_health(one),
            delivered="; ".join(f"{each.transport}: {files_text(each)}" for each in one.files),
            reported=report_text(one.status),
            waits=one.status.waits_for,
        )
        for one in copies
    ]


def _share(count: int, total: int) -> Amount | None:
    """Return which part of all replicas a cluster has."""
    if not count or not total:
        return None
    percent = round(100 * count / total)
    return Amount(
        resource="its replicas", used=str(count), all=str(total), free="", over="", percent=percent
    )


def _health(copy: DeliveredCopy) -> State:
    """Return how a copy is."""
    if copy.status.leaving:
        return State("leaving", Tone.WARN)
    if copy.status.waits_for:
        return WAITING
    return HEALTH[copy.status.report]


def history_line(event: Event) -> HistoryLine:
    """Return one thing that happened."""
    causes = [
        CauseLine(one.author.partition(" <")[0], one.subject, one.revision) for one in event.causes
    ]
    decision = event.decision
    return HistoryLine(
        revision=event.commit.revision,
        at=event.at,
        before=event.before,
        after=event.after,
        why=event.why,
        causes=causes,
        by="" if causes else "time" if decision is not None else "?",
        problem="" if decision is None else decision.problem,
    )


def _ordered(answers: Iterable[ClusterAnswer]) -> list[ClusterAnswer]:
    """Return clusters as people look for them: chosen, then passed, then turned away."""
    return sorted(
        answers, key=lambda one: (not one.picked, bool(one.verdicts), one.rank or 0, one.cluster)
    )


def _cluster(answer: ClusterAnswer) -> ClusterLine:
    """Return what is said of one cluster."""
    place = "" if answer.rank is None else f", #{answer.rank}"
    word = PICKED if answer.picked else AWAY if answer.verdicts else PASSED
    down = [f"it {answer.down}"] if answer.down else []
    why = [
        f"{against(one)}; to be eligible it would have to {one.remedy}"
        if one.remedy
        else against(one)
        for one in answer.verdicts
    ]
    score = "" if answer.total is None else str(answer.total)
    parts = " + ".join(map(str, answer.scores))
    return ClusterLine(
        cluster=str(answer.cluster),
        verdict=f"{word}{place}",
        replicas="" if answer.replicas is None else str(answer.replicas),
        score=f"{score} = {parts}" if score and parts else score or parts,
        why=tuple(filter(None, (*down, *why, answer.note))),
    )


def _count(replicas: int | None) -> str:
    return str(replicas) if replicas else "yes"
