"""The views of the page at one commit: asked of the audit, laid out for the templates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.problems import (
    NAMED,
    Problem,
    ProblemSources,
    lacking_text,
    problems_of,
)
from reconciler.audit.fleet.trouble import PlacementTrouble, Trouble, faults_of, is_well, trouble_of
from reconciler.audit.fleet.usage import FleetLoads, Usage, usage_of
from reconciler.audit.history.revisions import is_by_hand
from reconciler.audit.named_object import spelled
from reconciler.audit.previews.foresight import overdue
from reconciler.audit.previews.wording import later_text
from reconciler.audit.references import CheckedInputs, check_inputs
from reconciler.cli.page.passes import HistoryIndex, PassLine
from reconciler.cli.printing import coming_in
from reconciler.core.record import last_pass, next_moment
from reconciler.errors import UsageError
from reconciler.model.moments import span
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache, differing
from reconciler.page.fleet import (
    ClusterListView,
    ClusterQuery,
    ClusterView,
    FleetView,
    cluster_list_view,
    cluster_view,
    fleet_view,
)
from reconciler.page.links import Anchor, Links
from reconciler.page.lists import called
from reconciler.page.matrix import COLUMNS, ROWS, MatrixQuery, MatrixView, matrix_view
from reconciler.page.objects import ObjectListView, ObjectQuery, object_list_view, objects_chosen
from reconciler.page.pictures import HOURS, Past
from reconciler.page.rendering import WrongView, objects_told, wrong_view
from reconciler.shell.resources import SystemClock

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.findings import Finding
    from reconciler.audit.fleet.suspensions import Suspender, Suspensions
    from reconciler.audit.previews.foresight import Coming
    from reconciler.audit.replay import Replay
    from reconciler.model.decision import Explanation, Placed
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import Fault, HeldFile, World
    from reconciler.page.timeline import PassStep
    from reconciler.shell.reading.revisions import GitRevisions

KEPT_PASSES = 4  # of 5,000 bindings on 55 clusters each a pass is some 100 MB
FEW_PLACED = 300  # objects; whole passes over so many take no longer than one over each alone
ON_ITS_WAY = "it is computed over all objects; this page updates when the result is ready"
CLUSTERS_ASKED = 5_000  # of a list why objects are nowhere: each is asked of every cluster
NEWEST = 5  # passes that the fleet shows
PAST = span(minutes=60 * HOURS)
FRESH = span(seconds=10)  # how long it stands what time alone may change


T = TypeVar("T")
Grouped: TypeAlias = Sequence[tuple[str, Sequence[T]]]
FAULT_GROUPS = BY_NAMESPACE, BY_RULE = "namespace", "rule"


class FaultsView(NamedTuple):
    """What is wrong, what stands in for it, and what is left alone.

    Each list but `held` stands under titles: by what it is `group`ed, or all of it under `""`.
    `form` is whether it can be grouped otherwise.
    """

    faults: "Grouped[Fault]"
    warnings: "Grouped[Fault]"
    held: "Sequence[HeldFile]"
    suspended: "Grouped[tuple[Suspender, Anchor]]"
    not_selected: "Grouped[Anchor]"
    group: str = ""
    form: bool = True
    groupings: Sequence[str] = FAULT_GROUPS


class ComingView(NamedTuple):
    """What the next passes do; `note` says why that is not told, `""` where it is."""

    found: "Sequence[Coming]"
    note: str = ""


@dataclass(slots=True, eq=False)
class PageMemory:
    """What was found out at one commit and serves the next; it only saves work.

    Attributes:
        replay: What computes passes again.
        history: What the newest commits moved; commits never change.
        steps: Passes as they are shown, those that were.
        loads: What is on each cluster, `None` as long as it was not asked.
        usages: What each cluster has, as it was asked last.
        trouble: Which objects lack clusters or wait, `None` as long as it was not asked.
        head: Full hex id of the commit that `loads` is of, `""` for none.
        most: Over how many objects whole passes are computed here, `None` for any number; over more
            they are left to somebody else.
    """

    replay: "Replay"
    history: HistoryIndex
    steps: "dict[str, PassStep]" = field(default_factory=dict)
    loads: FleetLoads | None = None
    usages: AnswerCache["ObjectKey", Usage] = field(default_factory=AnswerCache)
    trouble: PlacementTrouble | None = None
    head: str = ""
    checked: "CheckedInputs | None" = None
    most: int | None = None
    few: int = FEW_PLACED


def new_memory(revisions: "GitRevisions", most: int | None = None) -> PageMemory:
    """Return a memory in which nothing is yet."""
    from reconciler.audit.replay import Replay
    from reconciler.core.reconcile import Memo

    replay = Replay(revisions, past=Memo(), most_kept=KEPT_PASSES)
    return PageMemory(replay, HistoryIndex(revisions), most=most)


@dataclass(eq=False)
class PageViews:
    """The views of one commit; what was found out for one serves the next.

    Attributes:
        revisions: The history of the repository.
        head: Full hex id of the commit.
        links: Where views lead.
        memory: What other commits left to be used again.
        is_kept: Whether they are shown by whoever opens a file, long after: the past is told up to
            the commit then, and nothing more is read of it.
    """

    revisions: "GitRevisions"
    head: str
    links: Links
    memory: PageMemory
    is_kept: bool = False
    _trouble: "tuple[datetime, Trouble] | None" = None
    _wrong: "tuple[Trouble, str, Sequence[Problem]] | None" = None
    _causes: "dict[ObjectKey, str]" = field(default_factory=dict)

    @cached_property
    def world(self) -> "World":
        """The files of the commit."""
        return self.revisions.loader.load(self.head)

    @cached_property
    def loads(self) -> FleetLoads:
        """What is where; it follows that of the commit before, which is of no use then."""
        before, since = self.memory.loads, self.memory.head
        if before is None:
            loads = FleetLoads(self.world)
            for key in loads.placements:  # now, when minutes are read, and not by a first view
                loads.decided.of(key)
        else:
            loads = before.follow(self.world)
        self.memory.loads, self.memory.head = loads, self.head
        self.memory.history.follow(self.head, since, loads.moved if since else None)
        return loads

    @property
    def history(self) -> HistoryIndex:
        """What the newest commits moved, up to this one."""
        self.loads  # noqa: B018  # what it follows is what the index learns from
        return self.memory.history

    @property
    def past(self) -> Past:
        """What the newest commits moved, for pictures."""
        history, now = self.history, SystemClock().now()
        if self.is_kept and history.commits:
            now = history.moves_of(history.commits[0]).at
            history.read_back_to(now - PAST)
        return Past(
            found=history.found,
            is_whole=history.is_whole,
            is_reading=not self.is_kept and not history.is_complete,
            now=now,
            links=self.links,
        )

    @property
    def regions(self) -> "Mapping[str, str]":
        """The region of each cluster, by its name."""
        return {one.key.name: one.region for one in self.usage}

    @property
    def placements(self) -> "Mapping[ObjectKey, Placed]":
        """Where everything is."""
        return self.loads.placements

    @cached_property
    def usage(self) -> Sequence[Usage]:
        """Every cluster with what is on it."""
        return usage_of(self.world, self.loads, self.memory.usages)

    @property
    def is_whole(self) -> bool:
        """Whether whole passes are computed here."""
        return self.memory.most is None or len(self.placements) <= self.memory.most

    @property
    def is_few(self) -> bool:
        """Whether why an object is where it is takes no time."""
        return len(self.placements) <= self.memory.few

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
        changed = any(map(is_by_hand, self.history.commits[:1]))
        return faults_of(self.world, changed=changed)

    @cached_property
    def _troubled(self) -> PlacementTrouble:
        """Which objects lack clusters or wait; it follows that of the commit before."""
        before = self.memory.trouble
        trouble = PlacementTrouble(self.world) if before is None else before.follow(self.world)
        self.memory.trouble = trouble
        return trouble

    @property
    def trouble(self) -> Trouble:
        """What is wrong, as of a moment ago at most."""
        now = SystemClock().now()
        if self._trouble is None or now - self._trouble[0] > FRESH:
            self._trouble = (
                now,
                trouble_of(self.usage, self._troubled, now, faults=self.faults),
            )
        return self._trouble[1]

    @property
    def suspensions(self) -> "Suspensions":
        """What people suspended."""
        return self._troubled.suspensions

    @property
    def passed_at(self) -> "datetime | None":
        """Moment of the last pass, `None` before the first one."""
        last = last_pass(self.world.outputs)
        return None if last is None else last.at

    def wrong(self) -> WrongView:
        """Return what is wrong, as counts that lead to lists."""
        trouble = self.trouble
        people = {key: named(self.world, key) for key in objects_told(trouble)}
        anchors = {
            key: Anchor(called(person), self.links.object(person)) for key, person in people.items()
        }
        return wrong_view(self.problems(trouble), trouble, self.links, anchors)

    def _late(self) -> str:
        """Return why a pass is overdue, `""` if none is, or where that is not known at once."""
        newest = next(iter(self.history.commits), None)
        if newest is None or not self._foresees or not self.world.outputs:
            return ""
        first = overdue(self.foreseen, SystemClock().now(), since=newest.committed_at)
        return "" if first is None else later_text(first)

    def fault_list(self, group: str = "") -> FaultsView:
        """Return what is wrong with files, and what is held or suspended.

        Args:
            group: By what it is grouped, `""` for nothing.
        """
        trouble = self.trouble
        spaces = self._namespaces if group == BY_NAMESPACE else {}

        def of_fault(fault: "Fault") -> str:
            namespaces = ", ".join(spaces.get(fault.path, ())) or "no namespace"
            return {BY_NAMESPACE: namespaces, BY_RULE: fault.rule}.get(group, "")

        def of_key(key: "ObjectKey") -> str:
            return key.namespace or "no namespace" if group == BY_NAMESPACE else ""

        suspended = [
            (
                one,
                Anchor("everything", "")
                if one.is_configuration
                else Anchor(called(one.key), self.links.manifest(one.key)),
            )
            for one in trouble.suspended
        ]
        not_selected = [
            (of_key(key), Anchor(spelled(key), self.links.object(key))) for key in self.not_selected
        ]
        return FaultsView(
            faults=_grouped((of_fault(one), one) for one in trouble.faults),
            warnings=_grouped((of_fault(one.fault), one.fault) for one in self.warnings),
            held=trouble.held,
            suspended=_grouped((of_key(one[0].key), one) for one in suspended),
            not_selected=_grouped(not_selected),
            group=group,
        )

    @property
    def _namespaces(self) -> "Mapping[str, Sequence[str]]":
        """The namespaces of the objects in each file, sorted."""
        namespaces: dict[str, set[str]] = {}
        for key, manifest in self.world.inputs.items():
            if key.namespace:
                namespaces.setdefault(manifest.origin.path, set()).add(key.namespace)
        return {path: sorted(spaces) for path, spaces in namespaces.items()}

    @property
    def warnings(self) -> "Sequence[Finding]":
        """What is legal, but has another effect than it seems."""
        return self._checked.warnings

    @property
    def not_selected(self) -> "Sequence[ObjectKey]":
        """What people wrote, and nothing puts onto clusters."""
        return self._checked.not_selected

    @property
    def _is_checked(self) -> bool:
        """Whether the files of people were checked as they are."""
        checked = self.memory.checked
        return checked is not None and differing(self.world.inputs, checked.inputs) == frozenset()

    @cached_property
    def _checked(self) -> "CheckedInputs":
        """What the files of people say of one another; a pass leaves them as they are."""
        world, checked = self.world, self.memory.checked
        if checked is None or not self._is_checked:
            checked = self.memory.checked = check_inputs(world)
        return checked

    def problems(self, trouble: Trouble) -> "Sequence[Problem]":
        """Return what is wrong, the worst first, as `status` says it."""
        at_once = self.is_few or self._is_checked  # else the view of faults has them
        late = self._late()
        sources = ProblemSources(
            world=self.world,
            trouble=trouble,
            warnings=self.warnings if at_once else (),
            late=late,
            not_selected=self.not_selected if at_once else (),
            called=lambda key: spelled(named(self.world, key)),
            explained=self._explained,
            last_change=partial(self.revisions.last_change, self.head, self.world.reported_at),
        )
        if self._wrong is None or self._wrong[0] is not trouble or self._wrong[1] != late:
            self._wrong = trouble, late, problems_of(sources)
        return self._wrong[2]

    def _explained(self, key: "ObjectKey") -> "Explanation | None":
        """Return what scheduling says of an object, `None` where others have a say."""
        at = next_moment(self.world, SystemClock().now())
        return self.memory.replay.alone.explain(self.world, key, at)

    def causes(self) -> "Callable[[ObjectKey], str]":
        """Return what tells what clusters lack for an object.

        The first objects of a view are asked about; beyond them one of the same policy, with the
        same words of upstream's, lacks what that lacked.
        """
        objects = max(NAMED, CLUSTERS_ASKED // max(1, len(self.usage)))
        alike: dict[tuple[ObjectKey | None, str], str] = {}

        def cause(key: "ObjectKey") -> str:
            nonlocal objects
            group = self.loads.decided.of(key).policy, self.trouble.unplaced.get(key, "")
            if key not in self._causes:
                if not objects:
                    return alike.get(group, "")
                objects -= 1
                explanation = self._explained(key)
                self._causes[key] = "" if explanation is None else lacking_text(explanation)
            alike.setdefault(group, self._causes[key])
            return self._causes[key]

        return cause

    @cached_property
    def passes(self) -> PassLine:
        """The passes that led to the commit."""
        return PassLine(
            self.revisions, self.head, self.world, self.links, self.history, self.memory.steps
        )

    @property
    def _foresees(self) -> bool:
        """Whether what comes is told here: it takes no time, or was computed."""
        return len(self.placements) <= FEW_PLACED or "foreseen" in vars(self)

    def fleet(self) -> FleetView:
        """Return the fleet; what comes is told where it takes no time, or was computed."""
        return fleet_view(
            self.usage,
            self.links,
            wrong=self.wrong(),
            leaving=self.trouble.leaving,
            objects=self.loads.objects,
            past=self.past,
            steps=self.passes.newest(NEWEST),
            coming=self.foreseen if self._foresees else None,
        )

    def clusters(self, query: ClusterQuery, **more: int) -> ClusterListView:
        """Return the clusters that are asked for."""
        coming = self.foreseen if self._foresees else ()
        return cluster_list_view(self.usage, query, self.links, coming, **more)

    def cluster(self, kind: str, name: str, page: int = 1, problem: str = "") -> ClusterView:
        """Return one cluster; of one that is not well, what leaves it is computed at any size.

        Args:
            kind: Of its manifest, `""` for any.
            name: Its own.
            page: Which page of the objects on it.
            problem: As for `unknown`.

        Raises:
            UsageError: There is none of that name.
        """
        rows = [one for one in self.usage if one.key.name == name and kind in ("", one.key.kind)]
        if not rows:
            raise UsageError(f"there is no cluster {name} at this commit")
        is_computed = self.is_whole and not is_well(rows[0])
        return cluster_view(
            self.world,
            rows[0],
            self.placements,
            self.trouble,
            self.links,
            coming=self.foreseen if self._foresees or is_computed else None,
            unknown=self.unknown(problem),
            past=self.past,
            steps=self.passes.newest(NEWEST),
            page=page,
        )

    def objects(self, query: ObjectQuery) -> ObjectListView:
        """Return the objects that are asked for, in pages."""
        return object_list_view(
            self.world, self.placements, self.trouble, query, self.links, causes=self.causes()
        )

    def objects_asked(self, query: ObjectQuery) -> "Sequence[ObjectKey]":
        """Return all objects that are asked for, as people call them, each once."""
        keys = objects_chosen(self.world, self.placements, self.trouble, query)
        return list(dict.fromkeys(named(self.world, key) for key in keys))

    def matrix(self, query: MatrixQuery, *, rows: int = ROWS, columns: int = COLUMNS) -> MatrixView:
        """Return what is where; its objects are those that a person asks about next."""
        view = matrix_view(
            self.world,
            self.placements,
            query,
            self.links,
            rows=rows,
            columns=columns,
            regions=self.regions,
            decided=self.loads.decided,
        )
        self.memory.replay.together = frozenset(view.rows.items)
        return view


def _grouped(titled: "Iterable[tuple[str, T]]") -> "Grouped[T]":
    """Return what stands under each title, sorted by title."""
    groups: dict[str, list[T]] = {}
    for title, value in titled:
        groups.setdefault(title, []).append(value)
    return [(title, groups[title]) for title in sorted(groups)]
