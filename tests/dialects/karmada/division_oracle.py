"""Selection and division as they are told, cluster by cluster and replica by replica: an oracle.

Nothing of it is shared with the program but the words of the errors. It is slow on purpose.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.dialects.karmada.region_walk import RegionOf, walked

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
