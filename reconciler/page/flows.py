"""Moves drawn as flows between clusters: on the left where parts leave, on the right where to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.previews.placement_moves import PlacementMove, parts_in

NEW, GONE = "(new)", "(stopped)"
MOST = 12  # clusters on a side; the rest is one of their own
REST = "(others)"
Flows = Mapping[tuple[str, str], int]
"""How many parts go from one cluster to another."""

WIDTH, ROW, GAP, BAR = 720, 18, 10, 14
LEFT, RIGHT = 200, 520


@dataclass(frozen=True, slots=True)
class Bar:
    """A cluster on one side, and how many parts leave it or come to it.

    What starts leaves no cluster, and what stops comes to none: their bars are of a kind of their
    own, and say only how many.
    """

    name: str
    count: int
    y: int
    height: int

    @property
    def kind(self) -> str:
        """What it stands for: `new`, `stop`, or `""` for a cluster."""
        return {NEW: "new", GONE: "stop"}.get(self.name, "")

    def text(self, sign: str) -> str:
        """Return its name and number: of a cluster what it loses or gains, else how many."""
        return f"{self.name} {self.count}" if self.kind else f"{self.name} {sign}{self.count}"


@dataclass(frozen=True, slots=True)
class Flow:
    """So many parts from one cluster to another, as a path of so many points across."""

    source: str
    target: str
    count: int
    path: str
    width: int

    @property
    def kind(self) -> str:
        """Whether it is a move, `""`, or something that starts or stops: `new` or `stop`."""
        return "new" if self.source == NEW else "stop" if self.target == GONE else ""

    @property
    def says(self) -> str:
        """What it is, in words."""
        if self.source == NEW:
            return f"{self.count} start on {self.target}"
        if self.target == GONE:
            return f"{self.count} stop on {self.source}"
        return f"{self.source} to {self.target}: {self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What is drawn."""

    width: int
    height: int
    left: int
    right: int
    bar: int
    sources: Sequence[Bar]
    targets: Sequence[Bar]
    flows: Sequence[Flow]


def flows_of(moves: Iterable[Sequence[PlacementMove]]) -> Flows:
    """Return how many parts go from where to where, of objects given cluster by cluster.

    What leaves a cluster is paired with what comes to others in the order of names.
    """
    found: Counter[tuple[str, str]] = Counter()
    for listed in moves:
        left = [(str(one.cluster), parts_in(one.before) - parts_in(one.after)) for one in listed]
        sources = [(name, count) for name, count in left if count > 0]
        targets = [(name, -count) for name, count in left if count < 0]
        surplus = sum(count for _, count in left)
        for source, target, count in _paired(
            [*sources, (NEW, max(-surplus, 0))], [*targets, (GONE, max(surplus, 0))]
        ):
            found[source, target] += count
    return dict(sorted(found.items()))


def _paired(
    sources: Sequence[tuple[str, int]], targets: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, str, int]]:
    """Yield how many go from where to where, in order; both sides have the same sum."""
    waiting = iter(targets)
    target, room = next(waiting)
    for source, lost in sources:
        left = lost
        while left:
            if not room:
                target, room = next(waiting)
                continue
            count = min(left, room)
            yield source, target, count
            left, room = left - count, room - count


def drawing_of(flows: Flows) -> Drawing | None:
    """Return the picture, `None` if nothing moves."""
    if not flows:
        return None
    flows = _bounded(flows)
    out: Counter[str] = Counter()
    into: Counter[str] = Counter()
    for (source, target), count in flows.items():
        out[source] += count
        into[target] += count
    most = max(*out.values(), *into.values())
    sources, targets = _bars(out, most), _bars(into, most)
    height = max(bars[-1].y + bars[-1].height for bars in (sources, targets)) + GAP
    return Drawing(
        width=WIDTH,
        height=height,
        left=LEFT,
        right=RIGHT,
        bar=BAR,
        sources=sources,
        targets=targets,
        flows=_paths(flows, sources, targets),
    )


def _bounded(flows: Flows) -> Flows:
    """Return flows of few clusters on each side: those with most, the rest as one."""
    kept = []
    for side in (0, 1):
        sums: Counter[str] = Counter()
        for pair, count in flows.items():
            sums[pair[side]] += count
        kept.append({name for name, _ in sums.most_common(MOST)})
    found: Counter[tuple[str, str]] = Counter()
    for (source, target), count in flows.items():
        pair = (source if source in kept[0] else REST, target if target in kept[1] else REST)
        found[pair] += count
    return dict(sorted(found.items()))


def _bars(counts: Mapping[str, int], most: int) -> list[Bar]:
    """Return the clusters of one side, one below the other."""
    bars, y = [], GAP
    for name in sorted(counts):
        height = max(ROW, round(4 * ROW * counts[name] / most))
        bars.append(Bar(name, counts[name], y, height))
        y += height + GAP
    return bars


def _paths(flows: Flows, sources: Sequence[Bar], targets: Sequence[Bar]) -> list[Flow]:
    """Return the flows, each from its place on one bar to its place on the other."""
    starts = {bar.name: bar for bar in sources}
    ends = {bar.name: bar for bar in targets}
    used: Counter[tuple[int, str]] = Counter()
    found = []
    for (source, target), count in flows.items():
        start, end = starts[source], ends[target]
        share = count * min(start.height / start.count, end.height / end.count)
        first = _middle(start, used[0, source], count)
        last = _middle(end, used[1, target], count)
        used[0, source] += count
        used[1, target] += count
        middle = (LEFT + BAR + RIGHT) // 2
        path = f"M{LEFT + BAR},{first} C{middle},{first} {middle},{last} {RIGHT},{last}"
        found.append(Flow(source, target, count, path, max(2, round(share))))
    return found


def _middle(bar: Bar, used: int, count: int) -> int:
    """Return the height at which a flow touches a bar."""
    return bar.y + round(bar.height * (used + count / 2) / bar.count)
