"""The views of the page at one commit: asked of the audit, laid out for the templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from reconciler.audit.fleet.fleet_loads import FleetLoads
from reconciler.audit.fleet.repository_status import faults_of
from reconciler.audit.fleet.suspensions import Suspensions
from reconciler.audit.fleet.usage import Usage, usage_of
from reconciler.audit.history.revisions import is_by_hand
from reconciler.audit.printable import printable
from reconciler.cli.objects.object_tables import Layout, rows_of, suspended_kinds, table_of
from reconciler.cli.page.passes import PassLine
from reconciler.cli.printing.coming import coming_cell, coming_in
from reconciler.core.dialects import KINDS
from reconciler.manifests.text.emitter import encode
from reconciler.model.fields import mapping
from reconciler.model.settings import settings_in
from reconciler.page.fleet import PAGE, FleetView, fleet_view
from reconciler.page.links import Links
from reconciler.page.matrix import COLUMNS, ROWS, MatrixQuery, MatrixView, matrix_view
from reconciler.shell.clock import SystemClock

if TYPE_CHECKING:
    from reconciler.audit.previews.foresight import Coming
    from reconciler.audit.proofs.replay import Replay
    from reconciler.model.decision import Placed
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import Fault, HeldFile, World
    from reconciler.page.timeline import PassStep
    from reconciler.shell.reading.revisions import GitRevisions

KEPT_PASSES = 4  # of 5,000 bindings on 55 clusters each a pass is some 100 MB
FEW_PLACED = 300  # objects; whole passes over so many take no longer than one over each alone
ON_ITS_WAY = "it is being computed over all objects, and appears here by itself"
UNKNOWN = "not computed yet"
NEWEST = 5  # passes that the fleet shows


class RebalancerRow(NamedTuple):
    """One rebalancer: its columns, its name, the lines of its status."""

    cells: Sequence[str]
    name: str
    status: Sequence[str]


class FaultsView(NamedTuple):
    """What is wrong, what stands in for it, and what is left alone."""

    faults: "Sequence[Fault]"
    held: "Sequence[HeldFile]"
    suspended: "Sequence[ObjectKey]"
    all_suspended: bool


class ComingView(NamedTuple):
    """What the next passes do; `note` says why that is not told, `""` where it is."""

    found: "Sequence[Coming]"
    note: str = ""


class RebalancersView(NamedTuple):
    """All of them, a table each kind, and what comes of them."""

    tables: Sequence[tuple[str, Sequence[str], Sequence[RebalancerRow]]]
    coming: ComingView


@dataclass(slots=True, eq=False)
class PageMemory:
    """What was found out at one commit and serves the next; it only saves work.

    Attributes:
        replay: What computes passes again.
        steps: What passes moved, as far as it was read; commits never change.
        loads: What is on each cluster, `None` as long as it was not asked.
        most: Over how many objects whole passes are computed here, `None` for any number; over more
            they are left to somebody else.
    """

    replay: "Replay"
    steps: "dict[str, PassStep]" = field(default_factory=dict)
    loads: FleetLoads | None = None
    most: int | None = None


def new_memory(revisions: "GitRevisions", most: int | None = None) -> PageMemory:
    """Return a memory in which nothing is yet."""
    from reconciler.audit.proofs.replay import Replay
    from reconciler.core.memo import Memo

    replay = Replay(revisions, past=Memo(), most_kept=KEPT_PASSES)
    return PageMemory(replay, most=most)


@dataclass(eq=False)
class PageViews:
    """The views of one commit; what was found out for one serves the next.

    Attributes:
        revisions: The history of the repository.
        head: Full hex id of the commit.
        links: Where views lead.
        memory: What other commits left to be used again.
    """

    revisions: "GitRevisions"
    head: str
    links: Links
    memory: PageMemory

    @cached_property
    def world(self) -> "World":
        """The files of the commit."""
        return self.revisions.loader.load(self.head)

    @cached_property
    def loads(self) -> FleetLoads:
        """What is where; it follows that of the commit before, which is of no use then."""
        known = self.memory.loads
        self.memory.loads = FleetLoads(self.world) if known is None else known.follow(self.world)
        return self.memory.loads

    @property
    def placements(self) -> "Mapping[ObjectKey, Placed]":
        """Where everything is."""
        return self.loads.placements

    @cached_property
    def usage(self) -> Sequence[Usage]:
        """Every cluster with what is on it."""
        return usage_of(self.world, self.loads)

    @property
    def is_whole(self) -> bool:
        """Whether whole passes are computed here."""
        return self.memory.most is None or len(self.placements) <= self.memory.most

    def unknown(self, problem: str) -> str:
        """Return why something is not told that takes whole passes.

        Args:
            problem: Why they could not be computed, `""` if that was not tried.
        """
        return f"it could not be computed over all objects: {problem}" if problem else ON_ITS_WAY

    @cached_property
    def foreseen(self) -> "Sequence[Coming]":
        """What the next passes will do, by whole passes."""
        return coming_in(self.world, memo=self.memory.replay.memo)

    def coming(self, problem: str = "") -> ComingView:
        """Return what the next passes will do; see `unknown`."""
        return ComingView(self.foreseen) if self.is_whole else ComingView((), self.unknown(problem))

    @cached_property
    def faults(self) -> "Sequence[Fault]":
        """What is wrong."""
        line = self.revisions.lineage(self.head, whole=False)
        changed = bool(line.revisions) and is_by_hand(line[0])
        return faults_of(self.world, changed=changed)

    def wrong(self) -> FaultsView:
        """Return what is wrong, and what is held or suspended."""
        world = self.world
        return FaultsView(
            faults=self.faults,
            held=world.held,
            suspended=sorted(Suspensions(world).suspenders),
            all_suspended=settings_in(world).suspend,
        )

    @cached_property
    def passes(self) -> PassLine:
        """The passes that led to the commit."""
        return PassLine(self.revisions, self.head, self.world, self.links, self.memory.steps)

    def fleet(self, *, page: int = 1, size: int = PAGE) -> FleetView:
        """Return the clusters; what comes is told where it takes no time, or was computed."""
        few = len(self.placements) <= FEW_PLACED or "foreseen" in vars(self)
        return fleet_view(
            self.usage,
            self.links,
            objects=self.loads.objects,
            faults=len(self.faults),
            steps=self.passes.newest(NEWEST),
            coming=self.foreseen if few else None,
            page=page,
            size=size,
        )

    def matrix(self, query: MatrixQuery, *, rows: int = ROWS, columns: int = COLUMNS) -> MatrixView:
        """Return what is where; its objects are those that a person asks about next."""
        found = matrix_view(
            self.world, self.placements, query, self.links, rows=rows, columns=columns
        )
        self.memory.replay.together = frozenset(found.rows.items)
        return found

    def rebalancers(self, problem: str = "") -> RebalancersView:
        """Return every rebalancer with its progress, and its next run; see `unknown`."""
        kinds: dict[tuple[str, str], list[ObjectKey]] = {}
        for key in sorted(key for key in self.world.inputs if key[:2] in KINDS.removable):
            kinds.setdefault((key.group, key.kind), []).append(key)
        every = [key for keys in kinds.values() for key in keys]
        coming = self.coming(problem) if every else ComingView(())
        comes: dict[ObjectKey, list[Coming]] = {key: [] for key in every}
        for one in coming.found:
            comes.get(one.key, []).append(one)
        rows = {
            key: replace(row, coming=UNKNOWN if coming.note else coming_cell(comes[key]))
            for key, row in rows_of(self.world, every, SystemClock().now()).items()
        }
        tables = []
        for kind, keys in kinds.items():
            namespaced = any(key.namespace for key in keys)
            layout = Layout(wide=True, namespaces=True, suspended=suspended_kinds(rows))
            table = table_of(kind, layout, namespaced=namespaced)
            found = [
                RebalancerRow(table.cells(key, rows[key]), key.name, self._progress(key))
                for key in keys
            ]
            tables.append((kind[1], table.titles, found))
        told = [one for one in coming.found if one.key in comes]
        return RebalancersView(tables, ComingView(told, coming.note))

    def _progress(self, key: "ObjectKey") -> list[str]:
        """Return the status of a rebalancer, line by line, `[]` if no pass has seen it."""
        ours = self.world.outputs.get(key)
        status = {} if ours is None else mapping(ours.body, "status")
        return (
            [printable(f"|{line}")[1:] for line in encode(dict(status)).splitlines()]
            if status
            else []
        )
