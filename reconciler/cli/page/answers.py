"""Answers of the served page: an address and its query become a whole page.

The query is text; a view gets it as a typed question.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reconciler.cli.page.views import PageMemory, PageViews
from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import short_id
from reconciler.model.world import Kinds
from reconciler.page.fleet import ClusterQuery
from reconciler.page.links import (
    KEY,
    NO_FORGE,
    TITLES,
    Anchor,
    ForgeLinks,
    Notice,
    ServedLinks,
    command_for,
    menu_of,
    object_command,
    titled,
)
from reconciler.page.lists import ObjectChoice, ObjectStates, called
from reconciler.page.matrix import BY_NAMESPACE, MatrixQuery
from reconciler.page.objects import ObjectQuery
from reconciler.page.rendering import Frame, PagePart, render
from reconciler.shell.resources import SystemClock

if TYPE_CHECKING:
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.world import World
    from reconciler.page.objects import ObjectView


Query = Mapping[str, str]


def _choice(query: Query) -> ObjectChoice:
    return ObjectChoice(**only(query, ("namespace", "selector", "name", "cluster")))


def matrix_query(query: Query) -> MatrixQuery:
    """Return what is asked of the view."""
    return MatrixQuery(
        choice=_choice(query),
        group=query.get("group", "") or BY_NAMESPACE,
        page=number_in(query, "page"),
        across=number_in(query, "across"),
    )


def object_query(query: Query) -> ObjectQuery:
    """Return what is asked of the view."""
    words = only(query, ("state", "sort", "group"))
    return ObjectQuery(choice=_choice(query), **words, page=number_in(query, "page"))


def cluster_query(query: Query) -> ClusterQuery:
    """Return what is asked of the view."""
    words = only(query, ("state", "region", "zone", "name", "sort", "group"))
    return ClusterQuery(**words, page=number_in(query, "page"))


def only(query: Query, names: Sequence[str]) -> dict[str, str]:
    """Return some words of a query, `""` for those that are not there."""
    return {name: query.get(name, "") for name in names}


def number_in(query: Query, name: str) -> int:
    """Return a number of a query, 1 if it is none."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 1


LOAD = "load"
AT_LOAD = 200  # pieces of the past that are read before the first view: 40 s at most
BRIEF = "to ask why took too long, so this is what is known without that"
LINKS = ServedLinks()


class PageAnswer(NamedTuple):
    """An HTTP status and a page; for the rest see `PageReply`."""

    status: int
    html: str
    lacks: bool = False
    brief: bool = False
    leads_to: str = ""


class AnsweredView(NamedTuple):
    """A title and the parts of a page; see `PageAnswer`.

    `trail` is what it is a part of, the widest first, `command` what says the same. `leads_to` is
    the view that is shown in its place, `""` for itself.
    """

    title: str
    parts: Sequence[PagePart]
    lacks: bool = False
    brief: bool = False
    trail: Sequence[Anchor] = ()
    command: str = ""
    leads_to: str = ""


@dataclass(slots=True, eq=False)
class PageAnswers:
    """Answers questions about one branch; worlds that were read serve later questions.

    Attributes:
        fleet: The repository.
        branch: Name of the branch, as people call it.
        memory: What questions left to be used again.
        home: Where the list of the roots is, `""` where there is none.
        forge: Where commits and files are for people.
    """

    fleet: "FleetRepository"
    branch: str
    memory: PageMemory
    home: str = ""
    forge: ForgeLinks = NO_FORGE
    _views: PageViews | None = field(default=None)

    def answer(
        self, view: str, query: Query, head: str, problem: str = "", warnings: Sequence[str] = ()
    ) -> PageAnswer:
        """Return the page at an address.

        Args:
            view: Name of the view; `load` reads what the others are told from.
            query: The rest of the address.
            head: Full hex id of the commit that is looked at.
            problem: Why whole passes could not be computed for it, `""` if that was not tried.
            warnings: What is wrong with the daemon itself, a sentence each.
        """
        try:
            if view == LOAD:
                self._load(head)
                return PageAnswer(200, "")
            answer = self._parts(head, problem)[view](query)
            if answer.leads_to:
                return PageAnswer(303, "", leads_to=answer.leads_to)
            html = self._page(view, query, answer, head, warnings)
        except ReconcilerError as error:
            return PageAnswer(400, self._refused(view, query, error))
        return PageAnswer(200, html, answer.lacks, answer.brief)

    def _load(self, head: str) -> None:
        """Read what views are told from; later commits follow from it."""
        views = self._at(head)
        views.trouble  # noqa: B018  # what is found out is kept
        self.memory.replay.alone.follow(views.world)
        for _ in range(AT_LOAD):
            if not self.read_on():
                break
        bare = replace(views.world, outputs={}, output_kinds=Kinds())  # as little as of the past
        self.memory.replay.alone_then.follow(bare)

    def read_on(self) -> bool:
        """Read a little more of what the past moved; return whether there is more of it."""
        return self.memory.history.read_on()

    def mistake(self, view: str, error: Exception) -> PageAnswer:
        """Return the page that says that a view failed for a mistake of ours."""
        says = UsageError(f"a mistake of the reconciler itself: {type(error).__name__}")
        return PageAnswer(500, self._refused(view, {}, says))

    def _page(
        self, view: str, query: Query, found: AnsweredView, head: str, warnings: Sequence[str]
    ) -> str:
        """Return a whole page at a commit."""
        views = self._at(head)
        frame = Frame(
            title=found.title,
            line=f"{self.branch} at {short_id(head)}",
            menu=menu_of(LINKS, view, self.home),
            live=head,
            wrong=views.wrong(),
            warnings=warnings,
            found=query.get("q", ""),
            trail=found.trail,
            command=found.command or command_for(view, query, self.branch),
            passed=views.passed_at,
            now=SystemClock().now(),
            forge=self.forge,
        )
        return render(frame, found.parts)

    def _refused(self, view: str, query: Query, error: Exception) -> str:
        """Return the page that says why something cannot be shown."""
        menu = menu_of(LINKS, view, self.home)
        frame = Frame(title="Cannot be shown", menu=menu, found=query.get("q", ""))
        return render(frame, [PagePart("notice", "notice.html", Notice(str(error)))])

    def _at(self, head: str) -> PageViews:
        """Return the views at a commit: those of the question before, if it is the same."""
        if self._views is None or self._views.head != head:
            self._views = PageViews(self.fleet.revisions, head, LINKS, self.memory)
        return self._views

    def _parts(self, head: str, problem: str) -> "dict[str, Callable[[Query], AnsweredView]]":
        views = self._at(head)

        def simply(name: str, ask: Callable[[Query], object]) -> None:
            def answer(query: Query) -> AnsweredView:
                return AnsweredView(TITLES[name], [PagePart(name, f"{name}.html", ask(query))])

            parts[name] = answer

        parts: dict[str, Callable[[Query], AnsweredView]] = {
            "cluster": lambda query: self._cluster(views, query, problem),
            "object": lambda query: self._object(views, query, problem),
            "objects": lambda query: self._objects(views, query),
            "manifest": lambda query: self._manifest(views, query),
            "search": lambda query: self._search(views, query),
            "coming": lambda _: self._coming(views, problem),
            "rebalancers": lambda _: self._rebalancers(views, problem),
            "timeline": lambda query: self._timeline(views, query, problem),
            "plan": lambda query: self._plan(views, query),
            "what-if": lambda query: self._what_if(views, query),
            "rebalance": lambda query: self._composed(views, query, "rebalance"),
            "suspend": lambda query: self._composed(views, query, "suspend"),
        }
        simply("fleet", lambda _: views.fleet())
        simply("clusters", lambda query: views.clusters(cluster_query(query)))
        simply("matrix", lambda query: views.matrix(matrix_query(query)))
        simply("faults", lambda query: views.fault_list(query.get("group", "")))
        return parts

    def _objects(self, views: PageViews, query: Query) -> AnsweredView:
        parts = [PagePart("objects", "objects_list.html", views.objects(object_query(query)))]
        return AnsweredView(TITLES["objects"], parts)

    def _search(self, views: PageViews, query: Query) -> AnsweredView:
        """Return what words name: the only result itself, unless a list is asked for."""
        from reconciler.page.search import search_view

        words = query.get("q", "")
        results = search_view(views.world, words, views.passes.commits(), LINKS)
        parts = [PagePart("search", "search.html", results)]
        return AnsweredView("Find", parts, leads_to="" if query.get("list") else results.only)

    def _manifest(self, views: PageViews, query: Query) -> AnsweredView:
        """Return the texts of one object."""
        from reconciler.cli.page.one_object import manifest_view

        key = ObjectKey(*(query.get(name, "") for name in KEY))
        view = manifest_view(views, key, query.get("at", ""))
        parts = [PagePart("manifest", "manifest.html", view)]
        trail = [view.object] if view.object is not None else []
        command = f"{object_command('get', key)} -o yaml"
        return AnsweredView(f"Manifest of {called(key)}", parts, trail=trail, command=command)

    def _cluster(self, views: PageViews, query: Query, problem: str) -> AnsweredView:
        name = query.get("name", "")
        view = views.cluster(query.get("kind", ""), name, number_in(query, "page"), problem)
        trail = [titled("clusters", LINKS)]
        if region := view.usage.region:
            trail.append(Anchor(region, LINKS.view("clusters", region=region)))
        lacks = view.failing is not None and view.failing.departures is None
        return AnsweredView(name, [PagePart("cluster", "cluster.html", view)], lacks, trail=trail)

    def _object(self, views: PageViews, query: Query, problem: str) -> AnsweredView:
        """Return the view of one object: what is decided, or a workload of which that is told."""
        from reconciler.cli.page.one_object import FULL, object_detail, object_outline

        key = _key(views.world, query)
        unknown = "" if views.is_whole else views.unknown(problem)
        states = ObjectStates(views.trouble)
        is_slow, is_asked = bool(query.get("brief")), bool(query.get(FULL)) or views.is_few
        if is_slow or not is_asked:
            note = BRIEF if is_slow else ""
            outline = object_outline(views.world, key, LINKS, states, views.past, note=note)
            return self._told(outline)
        detail = object_detail(
            views.revisions,
            self.memory.replay,
            views.head,
            views.world,
            key,
            LINKS,
            unknown=unknown,
            states=states,
            past=views.past,
        )
        return self._told(detail.view, lacks=detail.lacks, brief=detail.brief)

    def _told(
        self, found: "ObjectView", *, lacks: bool = False, brief: bool = False
    ) -> AnsweredView:
        """Return the page of an object."""
        trail = [titled("objects", LINKS)]
        if scope := found.named.namespace:
            trail.append(Anchor(scope, LINKS.view("objects", namespace=scope)))
        parts = [PagePart("object", "object.html", found)]
        command = object_command("why", found.named)
        return AnsweredView(found.title, parts, lacks, brief, trail, command)

    def _coming(self, views: PageViews, problem: str) -> AnsweredView:
        """Return what the next passes do."""
        view = views.coming(problem)
        return AnsweredView("Upcoming", [PagePart("coming", "coming.html", view)], bool(view.note))

    def _rebalancers(self, views: PageViews, problem: str) -> AnsweredView:
        """Return every rebalancer, and what comes of them."""
        from reconciler.cli.page.one_object import rebalancers_view

        view = rebalancers_view(views, problem)
        parts = [PagePart("rebalancers", "rebalancers.html", view)]
        return AnsweredView("Rebalancers", parts, bool(view.coming.note))

    def _timeline(self, views: PageViews, query: Query, problem: str) -> AnsweredView:
        """Return the passes, and the fleet as it was after one of them."""
        unknown = "" if views.is_whole else views.unknown(problem)
        asked = only(query, TIMELINE)
        view = views.passes.view(**asked, regions=views.regions, unknown=unknown)
        parts = [PagePart("timeline", "timeline.html", view)]
        return AnsweredView("Timeline", parts, bool(view.note))

    def _plan(self, views: PageViews, query: Query) -> AnsweredView:
        """Return what merging a branch would move, or the form that asks for it."""
        from reconciler.cli.page.plans import plan_parts

        branch = query.get("branch", "")
        parts = plan_parts(self.fleet, (self.branch, views.head), branch)
        return AnsweredView(f"Plan of {branch}" if len(parts) > 1 else TITLES["plan"], parts)

    def _composed(self, views: PageViews, query: Query, verb: str) -> AnsweredView:
        """Return what a verb would write about objects, and what that would move."""
        from reconciler.cli.page.plans import composed_change

        trail = [titled("objects", LINKS)]
        if query.get("of") == "objects":  # all that a list shows, on any page
            keys = views.objects_asked(object_query(query))
        else:
            keys = [ObjectKey(*(query.get(name, "") for name in KEY))]
            trail.append(Anchor(called(keys[0]), LINKS.object(keys[0])))
        base = (self.branch, views.head)
        title, parts = composed_change(self.fleet, views.world, base, verb, keys)
        return AnsweredView(title, parts, trail=trail)

    def _what_if(self, views: PageViews, query: Query) -> AnsweredView:
        """Return what would move if something happened, or the form that asks for it."""
        from reconciler.cli.page.plans import what_if_parts

        return AnsweredView(TITLES["what-if"], what_if_parts(views.world, query))


TIMELINE = ("at", "newest", "step", "since")


def _key(world: "World", query: Query) -> ObjectKey:
    """Return what is decided about the object that an address names.

    Raises:
        UsageError: There is no such object.
    """
    from reconciler.audit.named_object import decided_key

    named = ObjectKey(*(query.get(name, "") for name in KEY))
    key = decided_key(world, named)
    if key not in world.outputs and named not in world.inputs:
        raise UsageError(f"there is no {named} at this commit")
    return key
