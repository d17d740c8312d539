"""Every goal, by the name of the figure that must reach it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.figure import Unit

STRATEGIES = ("dynamic", "duplicated", "aggregated", "static", "spread")
LARGE = 100_000
WITH_INDEX = 2


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit; ratios must reach it, everything else must stay below it."""

    limit: float
    unit: Unit

    def __str__(self) -> str:
        """Return how the table shows it."""
        if self.unit is Unit.TIMES:
            return f"at least {self.limit:g} times"
        return f"under {self.limit:,g} {self.unit}".rstrip()

    def is_met(self, value: float) -> bool:
        """Return whether a figure is good enough."""
        return value >= self.limit if self.unit is Unit.TIMES else value < self.limit


def _karmada() -> Iterator[tuple[str, Goal]]:
    """Yield how many times the speed of the Go scheduler is wanted, amortised over a batch."""
    for size, limit in ((100, 8), (1000, 20), (5000, 50)):
        for strategy in STRATEGIES:
            for batch in ("same placement", "100 distinct placements", "distinct"):
                name = f"Karmada {strategy}, {batch}, {size:,} clusters"
                yield name, Goal(limit, Unit.TIMES)
            name = f"Karmada {strategy}, distinct, with index, {size:,} clusters"
            yield name, Goal(WITH_INDEX, Unit.TIMES)


def _others() -> Iterator[tuple[str, Goal]]:
    """Yield the same for one question to the other two schedulers, each unlike the others."""
    wanted = {
        "OCM": (5, 10, 20),
        "OCM, no predicate": (3, 10, 20),
        "KubeFleet PickN": (5, 8, 8),
        "KubeFleet PickAll": (8, 10, 10),
        "KubeFleet topology, one cycle": (6, 10, 10),
        "KubeFleet topology, settled": (5, 50, 200),
    }
    for question, limits in wanted.items():
        for size, limit in zip((100, 1000, 5000), limits, strict=True):
            yield f"{question}, distinct, {size:,} clusters", Goal(limit, Unit.TIMES)
            name = f"{question}, distinct, with index, {size:,} clusters"
            yield name, Goal(WITH_INDEX, Unit.TIMES)


def _passes() -> Iterator[tuple[str, Goal]]:
    """Yield what loading, passes and commits may cost; what holds for 100,000 holds for fewer."""
    yield "cold load, 10,000 manifests", Goal(3, Unit.SECONDS)
    yield "cold load, 100,000 manifests", Goal(30, Unit.SECONDS)
    yield "first pass, in memory, 10,000 manifests", Goal(3, Unit.SECONDS)
    yield "first pass, 10,000 manifests", Goal(5, Unit.SECONDS)
    yield "first pass, 100,000 manifests", Goal(60, Unit.SECONDS)
    for size in (10_000, LARGE):
        yield f"warm pass, 10 changed, {size:,} manifests", Goal(150, Unit.MILLISECONDS)
        yield f"idle pass, {size:,} manifests", Goal(5, Unit.MILLISECONDS)
        yield f"git processes of a warm pass, {size:,} manifests", Goal(5, Unit.COUNT)
        yield f"commit of 1 output, {size:,} files", Goal(25, Unit.MILLISECONDS)
        yield f"commit of 100 outputs, {size:,} files", Goal(75, Unit.MILLISECONDS)
        yield f"commit of 10,000 outputs, {size:,} files", Goal(2500, Unit.MILLISECONDS)
    name = f"warm pass in a checkout, of git's refresh, {LARGE:,} manifests"
    yield name, Goal(200, Unit.PERCENT)
    for way in ("duplicated", "static", "dynamic"):
        yield f"protected room, {way}, of its first pass, 10,000 workloads", Goal(20, Unit.PERCENT)
    yield "calls of a warm pass, more at 10,000 than at 1,000", Goal(2, Unit.PERCENT)


ANSWERS: Mapping[str, Goal] = {
    "delivery, of its first pass, 1,000 workloads, 100 clusters": Goal(100, Unit.PERCENT),
    "push of 100 outputs to a local repository": Goal(150, Unit.MILLISECONDS),
    "lost race on top of a push": Goal(300, Unit.MILLISECONDS),
    "reference moved until the pass starts": Goal(50, Unit.MILLISECONDS),
    "memory, loaded, 100,000 manifests": Goal(1000, Unit.MEGABYTES),
    "memory, 100,000 placed bindings": Goal(1200, Unit.MEGABYTES),
    "memory, growth in 1,000 warm passes": Goal(5, Unit.PERCENT),
    "reconciler --help": Goal(150, Unit.MILLISECONDS),
    "reconciler validate, one file": Goal(300, Unit.MILLISECONDS),
    "plan, cold, 10,000 manifests, 12 clusters": Goal(3, Unit.SECONDS),
    "plan, cold, 10,000 manifests, 50 clusters": Goal(3, Unit.SECONDS),
    "plan, cold, 100,000 manifests": Goal(20, Unit.SECONDS),
    "plan, cold, with the disk cache, 100,000 manifests": Goal(6, Unit.SECONDS),
    "start with nothing to do, 10,000 manifests, 12 clusters": Goal(3, Unit.SECONDS),
    "start with nothing to do, 10,000 manifests, 50 clusters": Goal(3, Unit.SECONDS),
    "start with nothing to do, 100,000 manifests": Goal(30, Unit.SECONDS),
    "start with nothing to do, with the disk cache, 100,000 manifests": Goal(10, Unit.SECONDS),
    "why of one object, 10,000 commits": Goal(2, Unit.SECONDS),
    "history of one object, 10,000 commits": Goal(2, Unit.SECONDS),
    "blame of one object, 10,000 commits": Goal(2, Unit.SECONDS),
    "events of one object, 10,000 commits": Goal(2, Unit.SECONDS),
    "advice, 10,000 objects": Goal(10, Unit.SECONDS),
    "advice by score, 10,000 objects": Goal(10, Unit.SECONDS),
    "verify, 1,000 commits of 1,000 manifests": Goal(60, Unit.SECONDS),
    "page, size of the first view, 500 clusters, 5,000 workloads": Goal(2, Unit.MEGABYTES),
    "page, size of the first view, 5,000 clusters, 100,000 workloads": Goal(2, Unit.MEGABYTES),
    "example: get clusters": Goal(0.5, Unit.SECONDS),
    "example: tree pp/shop": Goal(0.5, Unit.SECONDS),
    "example: top clusters": Goal(0.5, Unit.SECONDS),
    "example: plan --base HEAD~2 --head HEAD~1": Goal(0.9, Unit.SECONDS),
    "example: why deployment/shop": Goal(0.9, Unit.SECONDS),
    "example: verify": Goal(0.9, Unit.SECONDS),
    "get of one object, second call, 10,000 workloads": Goal(0.4, Unit.SECONDS),
    "get of all objects, second call, 10,000 workloads": Goal(1.5, Unit.SECONDS),
    "status, second call, 10,000 workloads": Goal(1.5, Unit.SECONDS),
    "why of one object, second call, 10,000 workloads": Goal(1.5, Unit.SECONDS),
    "plan of one file, second call, 10,000 workloads": Goal(2, Unit.SECONDS),
    "validate of one file, second call, 10,000 workloads": Goal(1, Unit.SECONDS),
    "completion of a name, first Tab at a commit, 10,000 workloads": Goal(0.25, Unit.SECONDS),
    "completion of a name, next Tab, 10,000 workloads": Goal(0.25, Unit.SECONDS),
    "history of one object, 1,000 commits, 10,000 workloads": Goal(2, Unit.SECONDS),
    "get of one object, first call, of git and our parse, 10,000 workloads": Goal(
        130, Unit.PERCENT
    ),
    "validate of all files, 100,000 manifests": Goal(60, Unit.SECONDS),
    "memory of validate of all files, 100,000 manifests": Goal(1500, Unit.MEGABYTES),
    "first pass by command, 100,000 manifests": Goal(60, Unit.SECONDS),
    "memory of first pass by command, 100,000 manifests": Goal(4000, Unit.MEGABYTES),
    "get of one object, second call, 2,000 workloads": Goal(0.13, Unit.SECONDS),
    "get of all objects, second call, 2,000 workloads": Goal(0.5, Unit.SECONDS),
    "status, second call, 2,000 workloads": Goal(0.5, Unit.SECONDS),
    "why of one object, second call, 2,000 workloads": Goal(0.5, Unit.SECONDS),
    "plan of one file, second call, 2,000 workloads": Goal(0.67, Unit.SECONDS),
    "validate of one file, second call, 2,000 workloads": Goal(0.33, Unit.SECONDS),
    "completion of a name, first Tab at a commit, 2,000 workloads": Goal(0.08, Unit.SECONDS),
    "completion of a name, next Tab, 2,000 workloads": Goal(0.08, Unit.SECONDS),
    "delivery to all, of its first pass, 1,000 workloads, 100 clusters": Goal(100, Unit.PERCENT),
    "first change after a start, delivered to all": Goal(0.5, Unit.SECONDS),
    "first taint after a start, delivered to all": Goal(0.5, Unit.SECONDS),
    "observing a quiet fleet, processor time of a minute": Goal(6, Unit.SECONDS),
    "observing a quiet fleet, memory": Goal(600, Unit.MEGABYTES),
    "reports that a decision keeps, bytes": Goal(8_000, Unit.COUNT),
    "first pass by command, 10,000 manifests, all differ, of its floor": Goal(500, Unit.PERCENT),
    "first pass by command, 10,000 manifests, ten ask alike, of its floor": Goal(350, Unit.PERCENT),
    "first pass by command, 10,000 manifests, as init writes it, of its floor": Goal(
        600, Unit.PERCENT
    ),
}

VIEWS = (
    *("first view", "fleet again", "next clusters", "clusters by use", "a cluster", "objects"),
    *("objects by replicas", "an object", "its manifest", "search", "matrix", "matrix by policy"),
    *("matrix by labels", "timeline", "rebalancers", "faults"),
)
VIEWS_MEANWHILE = (
    *("first view after a pass", "a cluster", "objects", "an object", "matrix", "timeline"),
    "search",
)


def _page() -> Iterator[tuple[str, Goal]]:
    """Yield what a view may take on the server, with passes beside it, too, and its process."""
    for size in ("500 clusters, 5,000 workloads", "5,000 clusters, 100,000 workloads"):
        for view in VIEWS:
            yield f"page, {view}, {size}", Goal(1, Unit.SECONDS)
        for view in VIEWS_MEANWHILE:
            yield f"page while passes run, {view}, {size}", Goal(1, Unit.SECONDS)
        yield f"page, memory of its process, {size}", Goal(4295, Unit.MEGABYTES)


GOALS: Mapping[str, Goal] = dict([*_karmada(), *_others(), *_passes(), *_page(), *ANSWERS.items()])
