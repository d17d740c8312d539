"""All objects as a list, and one object as a view, with its texts.

The list is filtered and sorted by its address. The view of an object shows where it is, why,
cluster by cluster, what comes and what happened. Its texts are its manifest, its outputs, and what
a pass changed in them.
"""

import dataclasses
import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from reconciler.audit.fleet.copies import DeliveredCopy
from reconciler.audit.fleet.copy_counts import files_text, report_text
from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.trouble import Trouble
from reconciler.audit.history.decisions import Event
from reconciler.audit.history.events import Happening
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.resumption import Suspension
from reconciler.audit.reasons import Shift, against
from reconciler.dialects.view import Report
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.decision import ClusterAnswer, Explanation, Placed, placed_text
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.world import Fault, World
from reconciler.page.links import Anchor, Links, anchor_of
from reconciler.page.lists import (
    AT_RISK,
    NOT_READY,
    PLACED,
    SIZE,
    UNPLACED,
    WAITING,
    Amount,
    ListQuery,
    ListView,
    ObjectChoice,
    ObjectStates,
    SortColumn,
    State,
    Tone,
    called,
    chosen,
    list_view,
    namespaces_of,
)
from reconciler.page.pictures import BandPicture, MovedThen
from reconciler.rebalance.surge import Surge

MOST_COMPOSED = 50  # objects of one rebalancer or patch
STATES = {
    "unplaced": "not placed",
    "at-risk": "at risk",
    "waiting": "waiting",
    "suspended": "suspended",
}
"""By the word of the address, what a filter is called."""
Line = tuple[ObjectKey, Placed]
COLUMNS: Mapping[str, SortColumn[Line]] = {
    "name": SortColumn(title="object", order=lambda one: (one[0].name, one[0].namespace)),
    "namespace": SortColumn(title="namespace", order=lambda one: (one[0].namespace, one[0].name)),
    "clusters": SortColumn(title="clusters", order=lambda one: len(one[1]), is_number=True),
    "replicas": SortColumn(
        title="replicas", order=lambda one: sum(count for _, count in one[1]), is_number=True
    ),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectQuery(ListQuery):
    """Which objects a person asks to see."""

    choice: ObjectChoice = dataclasses.field(default_factory=ObjectChoice)

    @property
    def words(self) -> Mapping[str, str]:
        """The parts of an address that say it."""
        return self.choice.words


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRow:
    """One object: how people call it, its states, where it is, why it lacks clusters or waits.

    `cause` is what clusters lack, in words, `""` where it is not asked.
    """

    anchor: Anchor
    namespace: str
    states: Sequence[State]
    placed: Placed
    clusters: int
    replicas: int
    why: str
    cause: str


ObjectListView = ListView[ObjectQuery, ObjectRow]


def object_list_view(
    world: World,
    placements: Mapping[ObjectKey, Placed],
    trouble: Trouble,
    query: ObjectQuery,
    links: Links,
    *,
    causes: Callable[[ObjectKey], str] = lambda _: "",
    size: int = SIZE,
) -> ObjectListView:
    """Return the view.

    Args:
        world: That is asked about.
        placements: Where everything is in it.
        trouble: What is wrong in it.
        query: What is asked for.
        links: Where views lead.
        causes: Returns what clusters lack for an object that is not placed.
        size: How many objects a page has.

    Raises:
        UsageError: The selector is none.
    """
    states = ObjectStates(trouble)
    keys = objects_chosen(world, placements, trouble, query)
    if not states.are_calm:
        keys.sort(key=lambda key: states.order(key, placements[key]))
    worst: SortColumn[Line] = SortColumn(title="state", order=lambda one: states.order(*one))
    return list_view(
        "objects",
        _Lines(keys, placements),
        query,
        {**COLUMNS, "state": worst},
        lambda one: object_row(world, *one, states, links, causes),
        links,
        states=STATES,
        choices=namespaces_of(placements),
        worst_first="state",
        groupings={
            "namespace": lambda one: (one[0].namespace or "no namespace",),
            "cluster": lambda one: _cluster_titles(one[1], states),
        },
        steps_on=_steps_on(len(keys), query, links),
        size=size,
    )


def _cluster_titles(placed: Placed, states: ObjectStates) -> Iterable[str]:
    """Return the titles under which an object stands, one for each cluster that has it."""
    names = (str(name) for name, _ in placed)
    titles = [f"{name}, {NOT_READY.word}" if states.is_down(name) else name for name in names]
    return titles or ("no cluster",)


def objects_chosen(
    world: World, placements: Mapping[ObjectKey, Placed], trouble: Trouble, query: ObjectQuery
) -> list[ObjectKey]:
    """Return all objects that are asked for, on any page, in the order of their keys."""
    return chosen(world, placements, query.choice, _among(world, placements, trouble, query.state))


def _steps_on(count: int, query: ObjectQuery, links: Links) -> list[Anchor]:
    """Return what can be composed for all objects that are asked for, unless they are too many."""
    if not 0 < count <= MOST_COMPOSED:
        return []
    these = "it" if count == 1 else f"these {count}"
    steps = [
        Anchor(
            f"{verb.capitalize()} {these}",
            links.view(verb, of="objects", **query.words, state=query.state),
        )
        for verb in ("rebalance", "suspend")
    ]
    return [one for one in steps if one.href]


class _Lines(Sequence[Line]):
    """Objects with where they are, which is read where it is asked for."""

    def __init__(self, keys: Sequence[ObjectKey], placements: Mapping[ObjectKey, Placed]) -> None:
        self._keys, self._placements = keys, placements

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, at: Any) -> Any:  # an item, or items of a slice
        if isinstance(at, slice):
            return [(key, self._placements[key]) for key in self._keys[at]]
        return self._keys[at], self._placements[self._keys[at]]


def object_row(
    world: World,
    key: ObjectKey,
    placed: Placed,
    states: ObjectStates,
    links: Links,
    causes: Callable[[ObjectKey], str] = lambda _: "",
) -> ObjectRow:
    """Return one object."""
    person = named(world, key)
    nearby = states.of(key, person, placed)
    return ObjectRow(
        anchor=Anchor(called(person), links.object(person)),
        namespace=key.namespace,
        states=nearby,
        placed=placed,
        clusters=len(placed),
        replicas=sum(count for _, count in placed),
        why=states.why(key, placed),
        cause=causes(key) if UNPLACED in nearby else "",
    )


def _among(
    world: World, placements: Mapping[ObjectKey, Placed], trouble: Trouble, state: str
) -> Sequence[ObjectKey] | None:
    """Return the objects in a state, `None` for all."""
    if state == "unplaced":
        return list(trouble.unplaced)
    if state == "at-risk":
        down = trouble.down
        return [key for key, placed in placements.items() if any(n in down for n, _ in placed)]
    if state == "waiting":
        return list(trouble.waiting)
    if state == "suspended" and not any(one.is_configuration for one in trouble.suspended):
        keys = {one.key for one in trouble.suspended}
        return [key for key in placements if not keys.isdisjoint((key, named(world, key)))]
    return None


LEAVING = "leaves"
WORST_TONES = (Tone.BAD, Tone.WARN, Tone.HOLD, Tone.PLAIN, Tone.GOOD)
MOST_CLUSTERS = 30  # that are told one by one; more are told by what is said of them
HEALTH = {
    Report.HEALTHY: State("healthy", Tone.GOOD),
    Report.AT_RISK: AT_RISK,
    Report.ASSUMED: State("assumed healthy", Tone.GOOD),
    Report.REPORTED: State("reported", Tone.GOOD),
    Report.UNHEALTHY: State("unhealthy", Tone.BAD),
    Report.NONE: State("no report yet", Tone.PLAIN),
}
"""What a cluster says of its copy, as a state."""
PICKED, PASSED, AWAY = "chosen", "passed", "filtered out"


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


class MoveLine(NamedTuple):
    """A step of a move that is made before it breaks, and when."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectView:
    """The view; `then` is whether the explanation is of the pass that decided, not of today.

    `named` is the object as people call it, `states` are its own, `why` says why it lacks clusters
    or waits, `cause` what clusters lack. `policy` is what it belongs to, `None` where it belongs to
    none. `steps_on` is what a person may do next, `again` where the same is asked again. `past` is
    where it was over time, `None` where that did not change, `past_note` that older commits are
    being read, `moved` what commits moved of it, `move` what is under way in steps, `rollout` how
    far it is rolled out where anything but time does that. `asks` is where why and its history are
    told, `""` for here.
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
    move: Sequence[MoveLine] = ()
    rollout: Sequence[str] = ()
    asks: str = ""
    most: int = MOST_CLUSTERS
    cause: str = ""

    @property
    def scored(self) -> Sequence[ClusterLine]:
        """The clusters that were scored, as far as they are listed; none where all got nothing."""
        listed = [one for one in self.clusters[: self.most] if one.score]
        return listed if any(not one.score.startswith("0") for one in listed) else ()

    @property
    def alike(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The clusters that are not listed, by what is said of them, what most have first."""
        clusters: dict[str, list[str]] = defaultdict(list)
        for cluster in self.clusters[self.most :]:
            said = "; ".join(cluster.why)
            verdict = cluster.verdict.partition(",")[0]
            clusters[f"{verdict}, {said}" if said else verdict].append(cluster.cluster)
        return sorted(clusters.items(), key=lambda item: (-len(item[1]), item[0]))


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


def move_lines(placed: Placed, surge: Surge | None) -> list[MoveLine]:
    """Return a move under way as its steps in time, the earliest first; none where none is."""
    if surge is None:
        return []
    by = f", asked for by {surge.by}" if surge.by else ""
    begun = f"{surge.started} started beside {placed_text(placed)}{by}; its room is taken twice"
    stays = f" once it stays so for {surge.settle_seconds} s" if surge.settle_seconds else ""
    settling = sorted((since, str(name)) for name, since in surge.ready_since.items())
    ends = "what is ready takes over from the rest, what is not is given back"
    return [
        MoveLine(surge.began_at, begun),
        *(MoveLine(since, f"{name} is ready, and takes over{stays}") for since, name in settling),
        MoveLine(surge.deadline, f"{ends}; until then it waits for reports of {_named(surge)}"),
    ]


def _named(surge: Surge) -> str:
    return ", ".join(sorted(surge.clusters - surge.ready_since.keys())) or "no other cluster"


def copy_lines(placed: Placed, copies: Sequence[DeliveredCopy], links: Links) -> list[CopyLine]:
    """Return what each cluster has, the worst first; of unknown copies only where they are."""
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
    lines = [
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
    return sorted(lines, key=lambda line: WORST_TONES.index(line.health.tone))


def _share(count: int, total: int) -> Amount | None:
    """Return which part of all replicas a cluster has."""
    if not count or not total:
        return None
    percent = round(100 * count / total)
    return Amount(
        resource="its replicas", used=str(count), part="", free="", over="", percent=percent
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
    """Return clusters as people look for them: chosen, then passed, then filtered out."""
    return sorted(
        answers, key=lambda one: (not one.picked, bool(one.verdicts), one.rank or 0, one.cluster)
    )


def _cluster(answer: ClusterAnswer) -> ClusterLine:
    """Return what is said of one cluster."""
    place = "" if answer.rank is None else f", #{answer.rank}"
    word = PICKED if answer.picked else AWAY if answer.verdicts else PASSED
    down = [f"it {answer.down}"] if answer.down else []
    why = [
        f"{against(one)}; to qualify, it would have to {one.remedy}" if one.remedy else against(one)
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


MOST_LINES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """One file or document: its path, its lines, how many more there are, whether it is a diff.

    `is_here` is whether the file is on the branch that is shown, and as it is there.
    """

    title: str
    lines: Sequence[str]
    rest: int = 0
    is_difference: bool = False
    is_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestView:
    """The view.

    Attributes:
        key: Of the object, as people call it.
        texts: What there is to read; the values of Secrets are hidden.
        object: Where the object is told, `None` where nothing is decided about it.
        passes: The passes that decided about it, the newest first, each with what it changed.
        chosen: Full hex id of the pass of which the change is shown, `""` for none.
    """

    key: ObjectKey
    texts: Sequence[ShownText]
    object: Anchor | None
    passes: Sequence[tuple[Anchor, str]]
    chosen: str


def shown_text(path: str, body: Body, *, is_here: bool) -> ShownText:
    """Return a document as YAML; the values of Secrets are hidden.

    Args:
        path: Of its file.
        body: It.
        is_here: See `ShownText`.
    """
    lines = _lines(body)
    rest = max(0, len(lines) - MOST_LINES)
    return ShownText(title=path, lines=lines[:MOST_LINES], rest=rest, is_here=is_here)


def shown_difference(path: str, before: Body | None, after: Body | None) -> ShownText | None:
    """Return what differs between two documents, `None` if nothing does or all that is hidden."""
    old, new = ([] if body is None else _lines(body) for body in (before, after))
    lines = list(difflib.unified_diff(old, new, "before", "after", n=3, lineterm=""))
    if not lines:
        return None
    return ShownText(
        title=path,
        lines=lines[:MOST_LINES],
        rest=max(0, len(lines) - MOST_LINES),
        is_difference=True,
    )


def _lines(body: Body) -> list[str]:
    return encode(dict(without_secrets(body))).splitlines()
