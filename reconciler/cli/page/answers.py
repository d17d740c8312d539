"""Answers of the served page: an address and its query become a whole page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from reconciler.audit.short_id import short_id
from reconciler.cli.page.views import PageMemory, PageViews
from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.world import Kinds
from reconciler.page.links import Anchor, ServedLinks
from reconciler.page.rendering import Frame, PagePart, render

if TYPE_CHECKING:
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.page.matrix import MatrixQuery

Query = Mapping[str, str]
LOAD = "load"
LINKS = ServedLinks()
TITLES = {
    "fleet": "Fleet",
    "matrix": "Matrix",
    "timeline": "Timeline",
    "coming": "Coming",
    "rebalancers": "Rebalancers",
    "faults": "Faults",
    "plan": "Plan",
    "what-if": "What if",
}
"""The views in the menu, by name."""


class PageAnswer(NamedTuple):
    """An HTTP status and a page; for the rest see `PageReply`."""

    status: int
    html: str
    lacks: bool = False
    brief: bool = False


class AnsweredView(NamedTuple):
    """A title and the parts of a page; see `PageAnswer`."""

    title: str
    parts: Sequence[PagePart]
    lacks: bool = False
    brief: bool = False


class AskPlan(NamedTuple):
    """The form that asks for a plan."""

    branch: str
    branches: Sequence[str]
    problem: str


class AskWhatIf(NamedTuple):
    """The form that asks what if."""

    fail: str
    cordon: str
    scale: str
    namespace: str
    clusters: Sequence[str]
    problem: str


@dataclass(slots=True, eq=False)
class PageAnswers:
    """Answers questions about one branch; worlds that were read serve later questions.

    Attributes:
        fleet: The repository.
        branch: Name of the branch, as people call it.
        memory: What questions left to be used again.
        home: Where the list of the roots is, `""` where there is none.
    """

    fleet: "FleetRepository"
    branch: str
    memory: PageMemory
    home: str = ""
    _views: PageViews | None = field(default=None)

    def answer(self, view: str, query: Query, head: str, problem: str = "") -> PageAnswer:
        """Return the page at an address.

        Args:
            view: Name of the view; `load` reads what the others are told from.
            query: The rest of the address.
            head: Full hex id of the commit that is looked at.
            problem: Why whole passes could not be computed for it, `""` if that was not tried.
        """
        try:
            if view == LOAD:
                self._load(head)
                return PageAnswer(200, "")
            title, parts, lacks, brief = self._parts(head, problem)[view](query)
        except ReconcilerError as error:
            return PageAnswer(400, self._page(view, "Cannot be shown", self._notice(error), ""))
        return PageAnswer(200, self._page(view, title, parts, head), lacks, brief)

    def _load(self, head: str) -> None:
        """Read what views are told from; later commits follow from it."""
        views = self._at(head)
        views.usage  # noqa: B018  # what is found out is kept
        self.memory.replay.alone.follow(views.world)
        bare = replace(views.world, outputs={}, output_kinds=Kinds())  # as little as of the past
        self.memory.replay.alone_then.follow(bare)

    def mistake(self, view: str, error: Exception) -> PageAnswer:
        """Return the page that says that a view failed for a mistake of ours."""
        says = UsageError(f"a mistake of the reconciler itself: {type(error).__name__}")
        return PageAnswer(500, self._page(view, "Cannot be shown", self._notice(says), ""))

    def _page(self, view: str, title: str, parts: Sequence[PagePart], head: str) -> str:
        menu = [(Anchor("Roots", self.home), False)] if self.home else []
        menu += [(Anchor(text, LINKS.view(name)), name == view) for name, text in TITLES.items()]
        line = f"{self.branch} at {short_id(head)}" if head else ""
        return render(Frame(title=title, line=line, menu=menu, live=head), parts)

    def _notice(self, error: Exception) -> list[PagePart]:
        return [PagePart("notice", "notice.html", str(error))]

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

            found[name] = answer

        found: dict[str, Callable[[Query], AnsweredView]] = {
            "object": lambda query: self._object(views, query, problem),
            "coming": lambda _: self._coming(views, problem),
            "rebalancers": lambda _: self._rebalancers(views, problem),
            "timeline": lambda query: self._timeline(views, query, problem),
            "plan": lambda query: self._plan(views, query),
            "what-if": lambda query: self._what_if(views, query),
        }
        simply("fleet", lambda query: views.fleet(page=_number(query, "page")))
        simply("matrix", lambda query: views.matrix(_matrix_query(query)))
        simply("faults", lambda _: views.wrong())
        return found

    def _object(self, views: PageViews, query: Query, problem: str) -> AnsweredView:
        """Return the view of one object: what is decided, or a workload of which that is told."""
        from reconciler.cli.page.one_object import object_detail

        key = _key(views.world, query)
        unknown = "" if views.is_whole else views.unknown(problem)
        found, lacks, brief = object_detail(
            views.revisions, self.memory.replay, views.head, views.world, key, unknown=unknown
        )
        parts = [PagePart("object", "object.html", found)]
        return AnsweredView(found.title, parts, lacks, brief)

    def _coming(self, views: PageViews, problem: str) -> AnsweredView:
        """Return what the next passes do."""
        found = views.coming(problem)
        return AnsweredView("Coming", [PagePart("coming", "coming.html", found)], bool(found.note))

    def _rebalancers(self, views: PageViews, problem: str) -> AnsweredView:
        """Return every rebalancer, and what comes of them."""
        found = views.rebalancers(problem)
        parts = [PagePart("rebalancers", "rebalancers.html", found)]
        return AnsweredView("Rebalancers", parts, bool(found.coming.note))

    def _timeline(self, views: PageViews, query: Query, problem: str) -> AnsweredView:
        """Return the passes, and the fleet as it was after one of them."""
        unknown = "" if views.is_whole else views.unknown(problem)
        found = views.passes.view(**_only(query, TIMELINE), unknown=unknown)
        parts = [PagePart("timeline", "timeline.html", found)]
        return AnsweredView("Timeline", parts, bool(found.note))

    def _plan(self, views: PageViews, query: Query) -> AnsweredView:
        """Return what merging a branch would move, or the form that asks for it."""
        branch = query.get("branch", "")
        problem, parts = "", []
        if branch:
            try:
                parts = [PagePart("moves", "plan.html", self._planned(views.head, branch))]
            except ReconcilerError as error:
                problem = str(error)
        form = AskPlan(branch, self.fleet.repository.branches(), problem)
        title = f"Plan of {branch}" if parts else TITLES["plan"]
        return AnsweredView(title, [PagePart("plan", "ask_plan.html", form), *parts])

    def _planned(self, head: str, branch: str) -> object:
        from reconciler.cli.page.merges import planned
        from reconciler.page.plan import plan_view

        return plan_view(*planned(self.fleet, (self.branch, head), branch))

    def _what_if(self, views: PageViews, query: Query) -> AnsweredView:
        """Return what would move if something happened, or the form that asks for it."""
        from reconciler.audit.previews.resilience import clusters_of

        asked = {name: query.get(name, "").strip() for name in ASKED}
        namespace = query.get("namespace", "") or "default"
        problem, parts = "", []
        if any(asked.values()):
            try:
                parts = [PagePart("moves", "plan.html", _simulated(views.world, asked, namespace))]
            except UsageError as error:
                problem = str(error)
        names = sorted({key.name for key in clusters_of(views.world)})
        form = AskWhatIf(**asked, namespace=namespace, clusters=names, problem=problem)
        parts = [PagePart("what-if", "ask_what_if.html", form), *parts]
        return AnsweredView(TITLES["what-if"], parts)


ASKED = ("fail", "cordon", "scale")
TIMELINE = ("at", "newest", "step", "since")


def _simulated(world: "World", asked: Mapping[str, str], namespace: str) -> object:
    """Return what would move, as `simulate` says it."""
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.edits.what_if import AFTER_FAILURE_SECONDS, WhatIf, edited, moment_in
    from reconciler.model.moments import add, span
    from reconciler.page.plan import plan_view

    happens = moment_in(world, None)
    fail, cordon, scale = ([asked[name]] if asked[name] else [] for name in ASKED)
    what_if = WhatIf(fail=fail, cordon=cordon, scale=scale)
    changed, said = edited(world, what_if, namespace, happens)
    later = AFTER_FAILURE_SECONDS if asked["fail"] else 0
    found = look_ahead(world, changed, add(happens, span(seconds=later)))
    elapsed = [f"{later} seconds later"] if later else []
    return plan_view(found, Heading("simulation", ", ".join([*said, *elapsed])))


def _key(world: "World", query: Query) -> "ObjectKey":
    """Return what is decided about the object that an address names.

    Raises:
        UsageError: There is no such object.
    """
    from reconciler.audit.named_object import decided_key
    from reconciler.model.identity import ObjectKey

    parts = [query.get(name, "") for name in ("group", "kind", "namespace", "name")]
    named = ObjectKey(*parts)
    key = decided_key(world, named)
    if key not in world.outputs and named not in world.inputs:
        raise UsageError(f"there is no {named} at this commit")
    return key


def _matrix_query(query: Query) -> "MatrixQuery":
    from reconciler.page.matrix import BY_NAMESPACE, MatrixQuery

    words = _only(query, ("namespace", "selector", "name", "cluster"))
    group = query.get("group", "") or BY_NAMESPACE
    return MatrixQuery(
        **words, group=group, page=_number(query, "page"), across=_number(query, "across")
    )


def _only(query: Query, names: Sequence[str]) -> dict[str, str]:
    return {name: query.get(name, "") for name in names}


def _number(query: Query, name: str) -> int:
    """Return a number of a query, 1 if it is none."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 1
