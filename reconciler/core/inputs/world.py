"""The two trees, composed into a World: valid inputs, last good ones for the faulty, outputs.

Where a repository wants it, the policies of an API see the clusters of the others, too. An API with
clusters of its own kind sees exactly those. One without sees those of all the others; of two with
the same name, that of the API that comes first; ClusterProfiles, which no API schedules in, come
last, those of one member cluster joined. With its first own cluster an API would lose all
the others at once: where something is placed on a cluster that it would lose, that waits until it
is allowed.
"""

from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from functools import cache, partial
from operator import attrgetter

from reconciler.core.cluster_reports import with_reports
from reconciler.core.dialects import CLUSTERS, DIALECTS, PLACED
from reconciler.core.inputs.index import InputIndex
from reconciler.core.inputs.last_known_good import LastKnownGood
from reconciler.core.safety import safety_record
from reconciler.core.state import StateTree
from reconciler.dialects.contract import Dialect
from reconciler.dialects.object_pass import Failed, attempt, place_of
from reconciler.errors import UserError
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.fields import at, text
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.records import replace
from reconciler.model.remembered import branched
from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH, settings_in
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, Kinds, Manifest, ProjectedFleet, Projections, World
from reconciler.multicluster.cluster_profile import (
    CLUSTER_PROFILE,
    PROFILES,
    SET_LABEL,
    MemberProfiles,
    inventory_of,
    joined,
)
from reconciler.projection.project import Language, label_of, project, projected_from


def compose(
    index: InputIndex,
    good: LastKnownGood,
    state: StateTree,
    *,
    revision: str,
    layout: RepositoryLayout,
    reported_at: str = "",
    delivered: Mapping[str, str] | None = None,
    obstacles: frozenset[str] = frozenset(),
    edited: Mapping[str, frozenset[Kind] | None] | None = None,
    last: World | None = None,
) -> World:
    """Put the last good documents in the place of faulty ones, and add the state tree.

    A faulty document never takes effect and never disturbs another one.

    Args:
        index: What the input tree holds.
        good: What stands in for what cannot be understood, and the faults of the input tree.
        state: What the files below the output root hold.
        revision: Full hex id of the input commit.
        layout: Where the outputs are.
        reported_at: Full hex id of the commit of another branch with the reports, `""` for none.
        delivered: Path to blob id of the files below the folders of delivery, `None` for none.
        obstacles: What may stand in the way of delivery.
        edited: The input files that differ from those of the last pass, `None` for none.
        last: The world before, from which the index of kinds is told.
    """
    earlier = good.manifests.items()
    inputs = branched(index.manifests, {key: one for key, one in earlier if not key.reporter})
    feedback = branched(index.reports, {key: one for key, one in earlier if key.reporter})
    world = World(
        revision=revision,
        known=index.known,
        inputs=inputs,
        feedback=feedback,
        outputs=state.manifests,
        present=state.present,
        delivered={} if delivered is None else delivered,
        obstacles=obstacles,
        frozen=state.frozen,
        inexact=state.inexact,
        blobs=branched(index.blobs, {entry.path: entry.blob for entry in good.held}),
        texts=index.texts,
        faults=tuple(sorted((*good.faults, *state.faults))),
        traces=(*index.traces, *state.traces),
        held=good.held,
        output_root=layout.output_root,
        reported_at=reported_at,
        apart=layout.apart,
        edited={} if edited is None else edited,
        kinds=Kinds() if last is None else last.kinds.next(),
        output_kinds=Kinds() if last is None else last.output_kinds.next(),
        feedback_kinds=Kinds() if last is None else last.feedback_kinds.next(),
        projections=Projections() if last is None else last.projections,
    )
    return with_projected(with_reports(world))


def configuration_of(index: InputIndex, good: LastKnownGood) -> Body | None:
    """Return the configuration in force, `None` if there is none; see `compose`."""
    for manifests in (good.manifests, index.manifests):
        for key, manifest in manifests.items():
            if (key.group, key.kind) == CONFIGURATION:
                return manifest.body
    return None


SWITCH_BRAKED = "inventory-switch-braked"
NAMED = 3


@cache
def languages() -> Mapping[Kind, Language]:
    """Return how each kind of clusters is spoken of, in the order in which APIs are asked."""
    spoken = ((dialect.cluster, dialect.clusters()) for dialect in DIALECTS)
    return {
        **{kind: language for kind, language in spoken if language is not None},
        CLUSTER_PROFILE: PROFILES,
    }


NAMESPACE: Kind = ("", "Namespace")


def members_in(world: World) -> tuple[Manifest, ...]:
    """Return a profile for each member cluster: what all of its profiles say, and its set."""
    profiles = world.written_of_kind(*CLUSTER_PROFILE)
    if not profiles:
        return ()
    inventories, manager = inventories_in(world), own_manager(world)

    def draw() -> ProjectedFleet:
        sets = _cluster_sets(inventories)
        members = tuple(
            _member(world, one, sets) for one in inventory_of(profiles, manager).members
        )
        world.projections.members.forget()
        return ProjectedFleet(members)

    key = (profiles, *inventories, manager)
    return world.projections.fleets.recall(CLUSTER_PROFILE, key, draw).manifests


def own_manager(world: World) -> str:
    """Return by which manager's name passes publish profiles, `""` if they publish none."""
    configurations = world.written_of_kind(*CONFIGURATION)
    body = configurations[0].body if configurations else {}
    return text(at(body, "spec", "inventory", "publish"), "manager")


def inventories_in(world: World) -> tuple[Manifest, ...]:
    """Return the Namespaces that hold ClusterProfiles, as far as they are written, sorted."""
    profiles = world.written_of_kind(*CLUSTER_PROFILE)
    inventories, at = [], 0
    while at < len(profiles):
        namespace = profiles[at].key.namespace
        inventories.append(world.inputs.get(ObjectKey(*NAMESPACE, "", namespace)))
        at = bisect_right(profiles, namespace, at, key=attrgetter("key.namespace"))
    return tuple(one for one in inventories if one is not None)


def _cluster_sets(inventories: Iterable[Manifest]) -> Mapping[str, str]:
    """Return the ClusterSet of each Namespace that has one."""
    labels = ((one.key.name, label_of(one.body, SET_LABEL)) for one in inventories)
    return {name: cluster_set for name, cluster_set in labels if cluster_set}


def _member(world: World, member: MemberProfiles, sets: Mapping[str, str]) -> Manifest:
    """Return what is said of one member, the very same manifest as long as that stays."""
    spaces = (one.key.namespace for one in member.profiles)
    cluster_set = next((sets[space] for space in spaces if space in sets), "")
    return world.projections.members.recall(
        member.profiles[0].key,
        (*member.profiles, cluster_set),
        partial(joined, member, cluster_set),
    )


def _clusters_of(world: World, kind: Kind) -> tuple[Manifest, ...]:
    """Return the clusters of one kind that other APIs may see."""
    return members_in(world) if kind == CLUSTER_PROFILE else world.written_of_kind(*kind)


def with_projected(world: World, switched: Collection[Kind] = ()) -> World:
    """Return a world in which each API without clusters sees those of the others.

    The very same world where nothing of that differs. A world that was projected before may come.

    Args:
        world: As it is read.
        switched: The kinds of clusters that are seen as soon as there are any: what their APIs have
            on clusters of others holds no switch back.
    """
    settings = settings_in(world)
    if not settings.projects:
        return replace(world, projected={}, faults=_own(world)) if world.projected else world
    projected: dict[Kind, tuple[Manifest, ...]] = {}
    faults: list[Fault] = []
    recorded = safety_record(world.outputs).projected
    for dialect in DIALECTS:
        own = world.written_of_kind(*dialect.cluster)
        if own and (dialect.name not in recorded or dialect.cluster in switched):
            continue
        if dialect.cluster not in languages():
            continue
        fleet = _fleet(world, dialect, declared=settings.declared_clusters)
        allow = settings.safety.allow
        braked = _switch(world, dialect, own, fleet.manifests, allow) if own else None
        if own and braked is None:
            continue
        if fleet.manifests:
            projected[dialect.cluster] = fleet.manifests
        faults += [*fleet.faults, *([] if braked is None else [braked])]
    every_fault = tuple(sorted({*_own(world), *faults}))
    if _is_same(projected, world.projected) and every_fault == world.faults:
        return world
    world.projections.clusters.forget()  # once all kinds have been asked
    return replace(world, projected=projected, faults=every_fault)


def with_ended_switches(world: World, after: World) -> World:
    """Return the world in which APIs see their own clusters if nothing holds the switch back now.

    A pass may take from the other clusters all that held it; the next pass would then switch, at
    the same moment. The very same world where no switch was held, or each is held on.

    Args:
        world: As the pass found it.
        after: As it leaves it.
    """
    if all(fault.rule != SWITCH_BRAKED for fault in world.faults):
        return world
    own = seen_themselves(world)
    ended = seen_themselves(with_projected(after, own)) - own
    return with_projected(world, own | ended) if ended else world


def seen_themselves(world: World) -> frozenset[Kind]:
    """Return the kinds of clusters that their own APIs see in a world, and no others in place."""
    return frozenset(CLUSTERS) - world.projected.keys()


def with_earlier_projected(world: World) -> World:
    """Return a world that tells of projected clusters, too, how they were at the last pass."""
    if not world.projected:
        return world
    earlier, declared = dict(world.earlier), settings_in(world).declared_clusters
    for key, manifest in world.earlier.items():
        if key[:2] not in languages():
            continue
        if manifest is not None and key[:2] == CLUSTER_PROFILE:
            sets = _cluster_sets(inventories_in(world))
            manifest = joined(MemberProfiles((manifest,)), sets.get(key.namespace, ""))  # noqa: PLW2901
        for kind in world.projected:
            drawn = None if manifest is None else _drawn(world, manifest, kind, declared=declared)
            if not isinstance(drawn, Failed):
                earlier[_renamed(key, kind)] = drawn
    return replace(world, earlier=earlier)


def faces_of(world: World, cluster: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return a cluster that somebody wrote, and what APIs that have none see of it."""
    group, kind = cluster[:2]
    drawn = (world.find(_renamed(cluster, seen)) for seen in world.projected)
    return (
        cluster,
        *(
            one.key
            for one in drawn
            if one is not None and projected_from(one.body) == f"{kind}.{group}"
        ),
    )


def clusters_in(world: World) -> Iterator[tuple[Manifest, Manifest]]:
    """Yield each cluster that somebody wrote, and as an API has it that schedules in clusters.

    That is the cluster itself, but of a neutral profile what the first API sees of it. What cannot
    be projected is left out.
    """
    for dialect in DIALECTS:
        yield from ((one, one) for one in world.written_of_kind(*dialect.cluster))
    declared = settings_in(world).declared_clusters
    for member in members_in(world):
        drawn = _drawn(world, member, DIALECTS[0].cluster, declared=declared)
        if not isinstance(drawn, Failed):
            yield member, drawn


def apis_on_projected(world: World) -> tuple[str, ...]:
    """Return the APIs that have something on clusters of other APIs, sorted by name."""
    return tuple(
        sorted(
            dialect.name
            for dialect in DIALECTS
            if dialect.cluster in world.projected
            and any(map(dialect.view().outputs.is_placed, world.outputs_of(dialect.placed)))
        )
    )


def _own(world: World) -> tuple[Fault, ...]:
    """Return the faults of a world but for that of a switch."""
    return tuple(fault for fault in world.faults if fault.rule != SWITCH_BRAKED)


def _is_same(
    one: Mapping[Kind, tuple[Manifest, ...]], other: Mapping[Kind, tuple[Manifest, ...]]
) -> bool:
    """Return whether two mappings have the very same clusters."""
    return one.keys() == other.keys() and all(one[kind] is other[kind] for kind in one)


def _fleet(world: World, dialect: Dialect, *, declared: bool) -> ProjectedFleet:
    """Return the clusters of all other APIs as one API has them."""
    others = [one for one in languages() if one != dialect.cluster]
    sources = tuple(_clusters_of(world, kind) for kind in others)
    return world.projections.fleets.recall(
        dialect.cluster,
        (*sources, declared),
        partial(_projected, world, dialect.cluster, sources, declared=declared),
    )


def _projected(
    world: World, kind: Kind, sources: Iterable[tuple[Manifest, ...]], *, declared: bool
) -> ProjectedFleet:
    """Project the clusters of some kinds, the first of each name."""
    first: dict[str, Manifest] = {}
    for listed in sources:
        for manifest in listed:
            first.setdefault(manifest.key.name, manifest)
    projected: list[Manifest] = []
    faults: list[Fault] = []
    for _, manifest in sorted(first.items()):
        drawn = _drawn(world, manifest, kind, declared=declared)
        if isinstance(drawn, Failed):
            faults.append(drawn.fault)
        else:
            projected.append(drawn)
    return ProjectedFleet(tuple(projected), tuple(faults))


def _drawn(world: World, manifest: Manifest, kind: Kind, *, declared: bool) -> Manifest | Failed:
    """Return one cluster as another API has it, the very same one as long as its file stays."""
    cache_key = (manifest, declared)
    known = world.projections.clusters.find((kind, manifest.key), cache_key)
    if known is not None:
        return known

    def draw() -> Manifest:
        source, target = languages()[manifest.key[:2]], languages()[kind]
        try:
            body = project(manifest.body, source, target, declared=declared)
        except ValueError as error:
            raise UserError(str(error)) from error
        return Manifest(_renamed(manifest.key, kind), manifest.origin, body)

    drawn = attempt(draw, partial(place_of, manifest))
    if isinstance(drawn, Failed):
        return drawn
    return world.projections.clusters.keep((kind, manifest.key), cache_key, drawn)


def _renamed(key: ObjectKey, kind: Kind) -> ObjectKey:
    return ObjectKey(*kind, "", key.name)


def _switch(
    world: World,
    dialect: Dialect,
    own: tuple[Manifest, ...],
    seen: tuple[Manifest, ...],
    allow: Container[str],
) -> Fault | None:
    """Return what is told where an API would lose clusters that it has something on, else `None`.

    Args:
        world: As it is.
        dialect: An API that saw clusters of others.
        own: The clusters that it has itself by now.
        seen: Those that it saw, as they are.
        allow: The digests that the configuration allows.
    """
    lost = {one.key.name for one in seen} - {one.key.name for one in own}
    used = sorted(lost & _placed_on(world, dialect)) if lost else []
    allowed = digest([dialect.name, *used])
    if not used or allowed in allow:
        return None
    first, api = own[0], dialect.title or dialect.name
    there = "cluster" if len(own) == 1 else "clusters"
    return Fault(
        path=first.origin.path,
        line=first.origin.line,
        column=0,
        field="",
        rule=SWITCH_BRAKED,
        message=(
            f"with {first.key.kind} {first.key.name}, {api} would see {len(own)} {there} of its "
            f"own instead of {len(seen)} of other APIs, and lose {enumerated(used, NAMED)}, on "
            f"which it has placed something; so it keeps to those for now"
        ),
        expected=(
            f"`allow: {allowed}` below `spec.safety` in {CONFIGURATION_PATH} to switch, or a "
            f"{first.key.kind} for each of them"
        ),
        allow=allowed,
    )


def _placed_on(world: World, dialect: Dialect) -> frozenset[str]:
    """Return the clusters that an API has something on."""
    kinds = {dialect.parts.get(kind, kind) for kind in dialect.placed & PLACED}
    clusters_in = dialect.view().outputs.clusters_in
    outputs = world.outputs_of(sorted(kinds))
    return frozenset(name for one in outputs for name, _ in clusters_in(one.body))
