"""One cluster as a view: its room, what is wrong with it, all that runs there, what left it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.trouble import Trouble
from reconciler.audit.fleet.usage import Usage
from reconciler.audit.previews.foresight import Coming, is_on_cluster
from reconciler.audit.previews.wording import share
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from reconciler.model.world import World
from reconciler.page.chosen_objects import ObjectChoice, called, chosen
from reconciler.page.heat_map import place_of
from reconciler.page.links import Anchor, Links
from reconciler.page.object_list import ObjectRow, object_row
from reconciler.page.pages import Page, page_of
from reconciler.page.pictures.bands import BandPicture
from reconciler.page.pictures.bars import BarPicture
from reconciler.page.pictures.past import Past
from reconciler.page.room import Amount, amounts_of
from reconciler.page.states import ObjectStates, State, cluster_states
from reconciler.page.timeline import PassStep

SIZE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionLine:
    """A condition that a cluster reports; `at` is since when, `None` where it does not say."""

    type: str
    status: str
    reason: str
    message: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HereRow:
    """An object on the cluster: the object, and how many replicas it has here."""

    row: ObjectRow
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingRow:
    """An object whose copy is here still, and for what its end waits."""

    anchor: Anchor
    namespace: str
    waits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassHere:
    """What a pass changed on a cluster: objects that left it or lost replicas, and that came.

    `gone` and `came` are objects with what became of their part; `known` is whether the pass wrote
    few enough files to be read.
    """

    step: PassStep
    gone: Sequence[tuple[Anchor, str]]
    came: Sequence[tuple[Anchor, str]]
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The view.

    Attributes:
        usage: The cluster with what is on it.
        place: Where it stands.
        states: How it is.
        amounts: What is taken of each resource.
        conditions: What it reports of itself.
        labels: By which it is chosen, sorted.
        rows: All that is placed on it.
        leaving: What leaves it.
        coming: What happens to what is on it by itself; `None` where that is not computed.
        moves: What came and left, hour by hour.
        past: What was on it over time, `None` where that did not change.
        passes: What the newest passes changed on it, the newest first.
        all_coming: Where all that comes is told.
        what_if: Where it is computed what moves if it fails.
        manifest: Where its file is shown.
        matrix: Where all on it is shown with the other clusters that has it.
    """

    usage: Usage
    place: str
    states: Sequence[State]
    amounts: Sequence[Amount]
    conditions: Sequence[ConditionLine]
    labels: Mapping[str, str]
    rows: Page[HereRow]
    leaving: Sequence[LeavingRow]
    coming: Sequence[Coming] | None
    moves: BarPicture
    past: BandPicture | None
    passes: Sequence[PassHere]
    all_coming: Anchor
    what_if: Anchor
    manifest: Anchor
    matrix: Anchor


def cluster_view(
    world: World,
    usage: Usage,
    placements: Mapping[ObjectKey, Placed],
    trouble: Trouble,
    links: Links,
    *,
    coming: Sequence[Coming] | None,
    past: Past,
    steps: Sequence[PassStep],
    page: int = 1,
    size: int = SIZE,
) -> ClusterView:
    """Return the view.

    Args:
        world: That is asked about.
        usage: The cluster with what is on it.
        placements: Where everything is.
        trouble: What is wrong.
        links: Where views lead.
        coming: What comes, in the order of time; `None` where that is not computed.
        past: What moved.
        steps: The newest passes, the newest first.
        page: Which page of the objects on it.
        size: How many objects a page has.
    """
    name, states = usage.key.name, ObjectStates(trouble)
    keys = chosen(world, placements, ObjectChoice(cluster=name))
    found = page_of(
        keys,
        page,
        size,
        lambda n: links.view("cluster", kind=usage.key.kind, name=name, page=n),
    )
    body = world.inputs[usage.key].body
    return ClusterView(
        usage=usage,
        place=place_of(usage.region, usage.zone),
        states=cluster_states(usage),
        amounts=amounts_of(usage, every=True),
        conditions=_conditions(body),
        labels=dict(sorted(mapping(mapping(body, "metadata"), "labels").items())),  # type: ignore[arg-type]
        rows=found.of(
            [_here(world, key, placements[key], name, states, links) for key in found.items]
        ),
        leaving=list(_leaving(world, trouble, name, states, links)),
        coming=None if coming is None else [one for one in coming if is_on_cluster(one, name)],
        moves=past.by_hour(name),
        past=past.of_cluster(usage),
        passes=list(filter(None, (_pass(world, step, name, links) for step in steps))),
        all_coming=Anchor("what comes next, and when", links.view("coming")),
        what_if=Anchor("What if it fails?", links.view("what-if", fail=name)),
        manifest=Anchor("manifest", links.manifest(usage.key)),
        matrix=Anchor("where else it runs", links.view("matrix", cluster=name)),
    )


def _here(
    world: World, key: ObjectKey, placed: Placed, name: str, states: ObjectStates, links: Links
) -> HereRow:
    """Return an object on a cluster."""
    return HereRow(
        row=object_row(world, key, placed, states, links),
        replicas=next((count for cluster, count in placed if cluster == name), 0),
    )


def _leaving(
    world: World, trouble: Trouble, name: str, states: ObjectStates, links: Links
) -> "list[LeavingRow]":
    """Return what leaves a cluster."""
    rows = []
    for key, copies in trouble.waiting.items():
        for one in copies:
            if one.leaving and one.cluster == name:
                row = object_row(world, key, (), states, links)
                rows.append(
                    LeavingRow(anchor=row.anchor, namespace=key.namespace, waits=one.waits_for)
                )
    return rows


def _pass(world: World, step: PassStep, name: str, links: Links) -> PassHere | None:
    """Return what a pass changed on a cluster, `None` if nothing."""
    gone: list[tuple[Anchor, str]] = []
    came: list[tuple[Anchor, str]] = []
    for one in step.every:
        for move in one.moves:
            if move.cluster == name:
                person = named(world, one.key)
                told = Anchor(called(person), links.object(person))
                is_less = move.after is None or move.delta < 0
                says = f"{share(move.before)} → {share(move.after)}"
                (gone if is_less else came).append((told, says))
    if not gone and not came and step.rest is not None:
        return None
    return PassHere(step=step, gone=gone, came=came, known=step.rest is not None)


def _conditions(body: Body) -> list[ConditionLine]:
    """Return what a cluster reports of itself, in the order of its file."""
    return [
        ConditionLine(
            type=text(one, "type"),
            status=text(one, "status"),
            reason=text(one, "reason"),
            message=text(one, "message"),
            at=_moment(text(one, "lastTransitionTime")),
        )
        for one in bodies(mapping(body, "status"), "conditions")
    ]


def _moment(told: str) -> datetime | None:
    """Return a moment of a file, `None` where it is none."""
    try:
        return parse_moment(told) if told else None
    except ValueError:
        return None
