"""Selection and division are those of an oracle that hands out replica by replica."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import TargetCluster, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.divide import Division, DivisionStrategy, dispense
from reconciler.dialects.karmada.scheduler.schedule import schedule, targets_of
from reconciler.dialects.karmada.scheduler.select import Region, choose_regions
from reconciler.model.moments import parse_moment
from reconciler.model.records import replace
from reconciler.schedule.framework import mask_of
from tests.fleet_inputs import cluster

WEIGHTS = st.lists(st.integers(0, 6) | st.integers(2**53 - 2, 2**53 + 2), max_size=12)


@given(WEIGHTS, st.integers(-1, 30), st.sampled_from(["", "a", "b"]), st.randoms())
def test_who_comes_too_late_gets_nothing(
    weights: list[int], replicas: int, uid: str, order: Random
) -> None:
    """Ties go by position, from the least or from the greatest, as the uid has it."""
    parties = list(range(len(weights)))
    order.shuffle(parties)
    ordered = sorted(weights, reverse=True)
    expected = dispense(replicas, parties, ordered, uid)
    found = dispense(replicas, parties, ordered, uid, ordered=True)

    assert [share for share in expected if share[1]] == [share for share in found if share[1]]


MEMBERS = members_of(decode_cluster(cluster(number)) for number in range(4))


def targets(*positions: int, replicas: int) -> tuple[TargetCluster, ...]:
    """The result of a division that gives all of these clusters the same."""
    shares = [(position, replicas) for position in positions]
    division = Division(DivisionStrategy.DUPLICATED, shares, each=replicas)
    return targets_of(division, MEMBERS, mask_of(positions))


def named(positions: Iterable[int], replicas: int) -> tuple[TargetCluster, ...]:
    """The entries made one by one."""
    return tuple(TargetCluster(MEMBERS.fleet.names[position], replicas) for position in positions)


def test_clusters_asked_for_later_are_added() -> None:
    """A second placement has other clusters and the same number of replicas."""
    found = [*targets(2, 0, replicas=3), *targets(3, 2, 1, replicas=3), *targets(3, replicas=5)]

    assert [*named((2, 0, 3, 2, 1), 3), *named((3,), 5)] == found


def test_two_results_hold_the_same_entry() -> None:
    """Thousands of bindings hold one entry a cluster and number of replicas."""
    (first,), (_, second) = targets(1, replicas=7), targets(2, 1, replicas=7)

    assert first is second


@dataclass(frozen=True, slots=True)
class RegionOf:
    """A region: how many clusters it offers, and what it is worth."""

    name: str
    value: int
    weight: int


Path = tuple[RegionOf, ...]


def walk(
    regions: list[RegionOf], fewest: int, most: int, need: int, path: Path = (), begin: int = 0
) -> Iterator[Path]:
    """Yield the sets that will do, depth first; none of them is extended."""
    if fewest <= len(path) <= most and sum(region.value for region in path) >= need:
        yield path
        return
    if len(path) >= most:
        return
    for place in range(begin, len(regions)):
        longer = (*path, regions[place])
        yield from walk(regions, fewest, most, need, longer, place + 1)


def walked(regions: list[RegionOf], fewest: int, most: int, need: int) -> Path:
    """Return the choice among all the sets that the walk finds, `()` if it finds none."""
    ordered = sorted(regions, key=lambda region: (region.value, -region.weight, region.name))
    paths = walk(ordered, fewest, most, need)
    ranked = sorted(
        (tuple(sorted(path, key=lambda region: (-region.weight, region.name))) for path in paths),
        key=lambda path: (-sum(item.weight for item in path), -sum(item.value for item in path)),
    )
    best = ranked[0] if ranked else ()
    for path in ranked:
        if len(path) < len(best) and best[: len(path)] == path:
            best = path
    return best


REGIONS = st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 3)), max_size=8).map(
    lambda pairs: [
        Region(f"r{i}", tuple(range(value)), 1000 * weight)
        for i, (value, weight) in enumerate(pairs)
    ]
)


@given(REGIONS, st.integers(0, 4), st.integers(0, 5), st.integers(0, 9))
@example([Region("r0", (0,), 0)], 1, 0, 0)
def test_choice_is_that_of_the_walk(
    regions: list[Region], fewest: int, most: int, need: int
) -> None:
    """Same regions, same order; `most` bounds the set of all regions, too."""
    offers = [RegionOf(region.name, region.value, region.weight) for region in regions]
    chosen = choose_regions(regions, fewest=fewest, most=most, min_clusters=need)

    assert [region.name for region in walked(offers, fewest, most, need)] == [
        region.name for region in chosen
    ]


def test_many_regions_take_no_time() -> None:
    """The walk would find more than a billion sets here."""
    regions = [Region(f"r{i:02d}", tuple(range(i % 5 + 1)), i * 7 % 13) for i in range(60)]

    assert 10 == len(choose_regions(regions, fewest=3, most=10, min_clusters=40))


MAX_INT32 = 2**31 - 1
NO_ROOM = "failed to assign replicas: {}Clusters available replicas {} are not enough to schedule."
SELECTING = "failed to select clusters: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A cluster: what it could take beyond what it holds (`None` is not in spec.clusters)."""

    name: str
    region: str
    room: int
    tier: int
    held: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A binding; `strategy` is one of duplicated, static, equal, dynamic, aggregated."""

    members: tuple[Member, ...]
    replicas: int
    strategy: str
    weights: tuple[tuple[str, int], ...]
    fresh: bool
    regions: tuple[int, int] | None
    clusters: tuple[int, int] | None
    tiered: bool
    descending: bool


class NotPlaced(Exception):
    """The binding is not placed; the text is the condition's message."""


def available(question: Question, member: Member) -> int:
    """What a cluster could take, and what it has."""
    room = member.room if question.replicas else MAX_INT32
    return room + (member.held or 0)


def ranked(question: Question) -> list[Member]:
    """The global order of the clusters."""
    return sorted(
        question.members,
        key=lambda m: (m.tier, m.held is None, -available(question, m), m.name),
    )


def selected(question: Question) -> list[Member]:
    """The clusters that are selected, in order."""
    order = ranked(question)
    unbound = question.regions is None and question.clusters is None
    if unbound or question.strategy in ("static", "equal"):
        return order
    if question.regions is not None:
        return by_region(question, order, question.regions, question.clusters or (0, 0))
    return by_cluster(question, order, question.clusters or (0, 0))


def by_cluster(question: Question, order: list[Member], limits: tuple[int, int]) -> list[Member]:
    """Take the first, then exchange the last for roomier ones."""
    if len(order) < limits[0]:
        raise NotPlaced(
            f"{SELECTING}the number of feasible clusters is less than spreadConstraint.MinGroups"
        )
    need = min(len(order), limits[1])
    taken, rest = order[:need], order[need:]
    if question.strategy == "duplicated":
        return taken
    for place in reversed(range(need)):
        if sum(available(question, m) for m in taken) >= question.replicas:
            break
        most = max((available(question, m) for m in rest), default=0)
        for other, member in enumerate(rest):
            if available(question, member) == most > available(question, taken[place]):
                taken[place], rest[other] = rest[other], taken[place]
                break
    if not taken or sum(available(question, m) for m in taken) < question.replicas:
        raise NotPlaced(f"{SELECTING}no enough resource when selecting {need} clusters")
    return taken


def by_region(
    question: Question,
    order: list[Member],
    regions: tuple[int, int],
    clusters: tuple[int, int],
) -> list[Member]:
    """Take the best of each chosen region, then the best of what is left there."""
    names = sorted({m.region for m in order})
    if len(names) < regions[0]:
        raise NotPlaced(
            f"{SELECTING}the number of feasible region is less than spreadConstraint.MinGroups"
        )
    grouped = {name: [m for m in order if m.region == name] for name in names}
    offers = [
        RegionOf(name, len(some), region_score(question, some, regions[0], clusters[0]))
        for name, some in grouped.items()
    ]
    chosen = walked(offers, regions[0], regions[1], clusters[0])
    if not chosen:
        raise NotPlaced(
            f"{SELECTING}the number of clusters is less than the cluster spreadConstraint.MinGroups"
        )
    taken = [grouped[region.name][0] for region in chosen]
    among = [m for m in order if m.region in {region.name for region in chosen}]
    rest = [m for m in among if m not in taken]
    return taken + rest[: max(0, min(len(among), clusters[1]) - len(taken))]


def region_score(
    question: Question, members: Sequence[Member], min_regions: int, min_clusters: int
) -> int:
    """What a region is worth."""
    points = {m: 100 if m.held is not None else 0 for m in members}
    if question.strategy == "duplicated":
        able = [m for m in members if available(question, m) >= question.replicas]
        return len(able) * 1000 + sum(points[m] for m in able) // len(able) if able else 0
    target = -(-question.replicas // min_regions)
    walked_over: list[Member] = []
    for member in members:
        walked_over.append(member)
        room = sum(available(question, m) for m in walked_over)
        if len(walked_over) >= max(min_clusters, min_regions) and room >= target:
            break
    room = sum(available(question, m) for m in walked_over)
    score = sum(points[m] for m in walked_over)
    if room < target:
        return room * 1000 + score // len(members)
    return target * 1000 + score // len(walked_over)


def divided(question: Question) -> dict[str, int]:
    """Who gets how many; those with none are left out, unless there is nothing to divide."""
    clusters = selected(question)
    if not clusters:
        raise NotPlaced("failed to assign replicas: no clusters available to schedule")
    if question.replicas == 0:
        return {member.name: 0 for member in clusters}
    if not question.tiered:
        shares = shared(question, clusters, question.replicas)
        return {name: count for name, count in shares.items() if count > 0}
    shares = {}
    left = question.replicas
    for tier in sorted({member.tier for member in clusters}):
        some = [member for member in clusters if member.tier == tier]
        target = min(left, sum(available(question, m) for m in some))
        shares |= shared(question, some, target)
        left -= target
        if left <= 0:
            return {name: count for name, count in shares.items() if count > 0}
    raise NotPlaced(
        "failed to assign replicas: Clusters available replicas are not enough to schedule."
    )


def shared(question: Question, clusters: list[Member], wanted: int) -> dict[str, int]:
    """Divide so many among some clusters by the strategy."""
    if question.strategy == "duplicated":
        return dict.fromkeys((m.name for m in clusters), wanted)
    if question.strategy in ("static", "equal"):
        weighed = question.weights if question.strategy == "static" else ()
        rules = {m.name: [w for name, w in weighed if name == m.name] for m in clusters}
        weights = {name: max(found) for name, found in rules.items() if found}
        return dispensed(question, weights or dict.fromkeys(rules, 1), wanted)
    held = {m.name: m.held for m in question.members if m in clusters and m.held is not None}
    assigned = sum(held.values())
    if question.fresh:
        rooms = {m.name: m.room + held.get(m.name, 0) for m in clusters}
        return handed(question, rooms, wanted, {}, "failed to do fresh scale: ")
    if assigned > wanted:
        return handed(question, held, wanted, {}, "failed to scale down: ")
    if assigned == wanted:
        return held
    rooms = {m.name: m.room for m in clusters}
    return handed(question, rooms, wanted - assigned, held, "failed to scale up: ")


def handed(
    question: Question, rooms: dict[str, int], target: int, held: dict[str, int], step: str
) -> dict[str, int]:
    """Add to what is held so many, by room; aggregated, to the fewest clusters that will do."""
    if sum(rooms.values()) < target:
        raise NotPlaced(NO_ROOM.format(step, sum(rooms.values())))
    ordered = sorted(rooms, key=lambda name: -rooms[name])
    ordered.sort(key=lambda name: held.get(name, 0) <= 0)
    if question.strategy == "aggregated":
        for count in range(1, len(ordered) + 1):
            if sum(rooms[name] for name in ordered[:count]) >= target:
                ordered = ordered[:count]
                break
    shares = dispensed(question, {name: rooms[name] for name in ordered}, target)
    return {name: held.get(name, 0) + shares.get(name, 0) for name in held.keys() | shares.keys()}


def dispensed(question: Question, weights: dict[str, int], seats: int) -> dict[str, int]:
    """Webster: one seat after the other to the greatest quotient."""
    names = sorted(weights, reverse=question.descending)
    shares = dict.fromkeys(names, 0)
    for _ in range(seats):
        best = min(names, key=lambda name: (-weights[name] / (2 * shares[name] + 1), shares[name]))
        shares[best] += 1
    return shares


NOW = parse_moment("2026-11-20T12:00:00Z")
WRAP = 2**32  # Go cuts what is more than 32 bits off: so many pods less one count as -1
WEIGHTED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
NAMES = ("a", "b", "c", "d", "e", "f")
ODD_UID = "b"  # its hash makes ties go to the greater name


def member(name: str, room: int = 5, *, tier: int = 0, held: int | None = None) -> Member:
    """A cluster of one region."""
    return Member(name=name, region="r", room=room, tier=tier, held=held)


BASE = Question(
    members=(),
    replicas=4,
    strategy="dynamic",
    weights=(),
    fresh=False,
    regions=None,
    clusters=None,
    tiered=True,
    descending=False,
)
"""A binding that overflows, and is bound by nothing."""


def placed(asked: Question) -> dict[str, int] | str:
    """What the scheduler answers: who gets how many, or the message."""
    members = members_of(
        decode_cluster(cluster_body(item), declared=False) for item in asked.members
    )
    body = {
        "metadata": {"name": "web-deployment", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
                "uid": ODD_UID if asked.descending else "",
            },
            "replicas": asked.replicas,
            "clusters": [
                {"name": item.name, "replicas": item.held}
                for item in asked.members
                if item.held is not None
            ],
            "placement": placement_of(asked),
            "rescheduleTriggeredAt": "2026-11-20T11:00:00Z" if asked.fresh else None,
        },
        "status": {"lastScheduledTime": "2026-11-20T10:00:00Z"},
    }
    verdict = schedule(decode_binding(body), members, NOW)
    if verdict.error is not None:
        return verdict.error.message
    return dict(verdict.clusters or ())


def cluster_body(asked: Member) -> Mapping[str, object]:
    """A cluster that has the API, and so many pods left."""
    pods = asked.room if asked.room >= 0 else WRAP + asked.room
    return {
        "metadata": {"name": asked.name},
        "spec": {"region": asked.region},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
            "resourceSummary": {"allocatable": {"pods": str(pods)}},
        },
    }


def placement_of(asked: Question) -> Mapping[str, object]:
    """The placement that asks so."""
    strategies: Mapping[str, Mapping[str, object]] = {
        "duplicated": {"replicaSchedulingType": "Duplicated"},
        "aggregated": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        },
        "dynamic": {**WEIGHTED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}},
        "equal": WEIGHTED,
        "static": {
            **WEIGHTED,
            "weightPreference": {
                "staticWeightList": [
                    {"targetCluster": {"clusterNames": [name]}, "weight": weight}
                    for name, weight in asked.weights
                ]
            },
        },
    }
    limits = {"region": asked.regions, "cluster": asked.clusters}
    spread = [
        {"spreadByField": field, "minGroups": bounds[0], "maxGroups": bounds[1]}
        for field, bounds in limits.items()
        if bounds is not None
    ]
    return {
        **({"clusterAffinities": [affinity_of(asked)]} if asked.tiered else {}),
        **({"spreadConstraints": spread} if spread else {}),
        "replicaScheduling": strategies[asked.strategy],
    }


def affinity_of(asked: Question) -> Mapping[str, object]:
    """The primary group and two that it overflows into; nobody is no cluster's name."""
    groups = [
        {
            "affinityName": f"group{tier}",
            "clusterNames": [m.name for m in asked.members if m.tier == tier] or ["nobody"],
        }
        for tier in range(3)
    ]
    return {**groups[0], "overflowAffinities": groups[1:]}


def told(asked: Question) -> dict[str, int] | str:
    """What the oracle answers."""
    try:
        return divided(asked)
    except NotPlaced as error:
        return str(error)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            replace(
                BASE,
                members=(
                    member("a", 1),
                    member("b", tier=1),
                ),
                replicas=3,
                strategy="duplicated",
            ),
            {"a": 1, "b": 2},
            id="duplicated-overflow-gives-each-group-its-own-number",
        ),
        pytest.param(
            replace(
                BASE,
                members=(
                    member("a", -2),
                    member("b", 9, tier=1),
                ),
                replicas=3,
            ),
            {"b": 5},
            id="group-with-less-than-no-room-gets-nothing-and-the-next-one-more",
        ),
        pytest.param(
            replace(BASE, members=(member("a", -2),), replicas=3),
            "failed to assign replicas: Clusters available replicas are not enough to schedule.",
            id="only-group-has-less-than-no-room",
        ),
        pytest.param(
            replace(
                BASE,
                members=(
                    member("a", 9, held=-3),
                    member("b", held=8),
                ),
                replicas=5,
                tiered=False,
            ),
            {"b": 8},
            id="cluster-that-held-less-than-nothing-is-left-out",
        ),
        pytest.param(
            replace(BASE, members=(member("a"),), replicas=0, clusters=(1, 0), tiered=False),
            "failed to select clusters: no enough resource when selecting 0 clusters",
            id="no-cluster-is-never-enough-even-of-nothing",
        ),
        pytest.param(
            replace(BASE, members=(member("a"),), regions=(1, 0), clusters=(1, 1), tiered=False),
            "failed to select clusters: the number of clusters is less than the cluster"
            " spreadConstraint.MinGroups",
            id="region-without-most-takes-none",
        ),
    ],
)
def test_rare_divisions(asked: Question, expected: dict[str, int] | str) -> None:
    """The scheduler answers it, and the oracle."""
    assert (expected, expected) == (told(asked), placed(asked))


members = st.lists(
    st.builds(
        lambda region, room, tier, held: (region, room, tier, held),
        st.sampled_from(("r1", "r2", "r3")),
        st.integers(-3, 12),
        st.sampled_from((0, 0, 1, 2)),
        st.none() | st.integers(-1, 6),
    ),
    min_size=1,
    max_size=len(NAMES),
)
limits = st.none() | st.tuples(st.integers(1, 3), st.integers(0, 4))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Bindings of any strategy, on few clusters, some with less than no room."""
    replicas = draw(st.integers(0, 15))
    tiered = replicas > 0 and draw(st.booleans())
    found = tuple(
        Member(name=name, region=region, room=room, tier=tier if tiered else 0, held=held)
        for name, (region, room, tier, held) in zip(NAMES, draw(members), strict=False)
    )
    weights = st.tuples(st.sampled_from(NAMES), st.integers(1, 4))
    return Question(
        members=found,
        replicas=replicas,
        strategy=draw(st.sampled_from(("duplicated", "static", "equal", "dynamic", "aggregated"))),
        weights=tuple(draw(st.lists(weights, min_size=1, max_size=4))),
        fresh=draw(st.booleans()),
        regions=draw(limits),
        clusters=draw(limits),
        tiered=tiered,
        descending=draw(st.booleans()),
    )


@settings(max_examples=600)
@given(questions())
def test_division_is_that_of_the_oracle(asked: Question) -> None:
    """Same clusters, same replicas, same message."""
    assert told(asked) == placed(asked)
