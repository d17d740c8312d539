"""One object as a view: where it is, why, cluster by cluster, what comes, what happened."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.copy_wording import files_text, report_text
from reconciler.audit.fleet.delivered_copies import DeliveredCopy
from reconciler.audit.history.decision_history import Event
from reconciler.audit.history.upstream_events import Happening
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.resumption import Suspension
from reconciler.audit.reasons import Shift, against
from reconciler.audit.short_id import short_id
from reconciler.model.decision import Placed
from reconciler.model.explanation import ClusterAnswer, Explanation
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault
from reconciler.page.links import anchor_of

LEAVING = "leaves"
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
    """What one cluster has: its part, what is delivered, what it reports, what it waits for."""

    cluster: str
    replicas: str
    delivered: str
    reported: str
    waits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One thing that happened to the object: from where to where, why, by whose commit."""

    revision: str
    at: datetime
    before: Placed | None
    after: Placed | None
    why: str
    by: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectView:
    """The view; `then` is whether the explanation is of the pass that decided, not of today."""

    anchor: str
    title: str
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


def copy_lines(placed: Placed, copies: Sequence[DeliveredCopy]) -> list[CopyLine]:
    """Return what each cluster has; where copies are unknown, only where the object is."""
    if not copies:
        return [
            CopyLine(cluster=str(name), replicas=_count(count), delivered="", reported="", waits="")
            for name, count in placed
        ]
    return [
        CopyLine(
            cluster=str(one.status.cluster),
            replicas=LEAVING if one.status.leaving else _count(one.status.replicas),
            delivered="; ".join(f"{each.transport}: {files_text(each)}" for each in one.files),
            reported=report_text(one.status),
            waits=one.status.waits_for,
        )
        for one in copies
    ]


def history_line(event: Event) -> HistoryLine:
    """Return one thing that happened."""
    causes = "; ".join(
        f"{one.author.partition(' <')[0]}: {one.subject} ({short_id(one.revision)})"
        for one in event.causes
    )
    decision = event.decision
    return HistoryLine(
        revision=event.commit.revision,
        at=event.at,
        before=event.before,
        after=event.after,
        why=event.why,
        by=causes or ("time" if decision is not None else "?"),
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
