"""The pages of several roots on one listener: each below its name, and a list of them all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from reconciler.page.links import Anchor
from reconciler.page.rendering import Frame, PagePart, render
from reconciler.page.roots import RootLine
from reconciler.shell.daemon.events import DaemonEvent, PassFailed, PassFinished
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_endpoints import PageEndpoints
from reconciler.shell.http.page_news import PageNews
from reconciler.shell.http.page_responses import FILES, Endpoint, guarded, streamed
from reconciler.shell.passes.pass_summary import PassSummary

BELOW = "/roots/"


@dataclass(slots=True, eq=False)
class RootPage:
    """The page of one root, with what its daemon told last; observe the daemon with it.

    Attributes:
        page: What answers for it.
        head: Returns where its branch is here, `None` if it is not there.
        ails: Returns why nobody should rely on it, `""` if all is well.
        worker: Returns who has its memory now, `""` for this process or nobody.
        told: Is called after each pass.
    """

    page: PageEndpoints
    head: Callable[[], str | None]
    ails: Callable[[], str]
    worker: Callable[[], str] = lambda: ""
    told: Callable[[], None] = lambda: None
    _report: PassSummary | None = None

    def __call__(self, event: DaemonEvent) -> None:
        """Take note of a pass; one that fails leaves what was decided before it."""
        match event:
            case PassFinished():
                self._report = event.report
                self.page.news.tell(event.report.left.inputs)
            case PassFailed():
                self.page.news.tell(self.page.news.revision or self.head() or "")
            case _:
                return
        self.told()

    @staticmethod
    def home_of(name: str) -> str:
        """Return where the list of the roots is, seen from the page of one."""
        return "../" * (name.count("/") + 2)

    def line(self, name: str) -> RootLine:
        """Return how it stands."""
        anchor = Anchor(name, f".{BELOW}{quote(name)}/")
        if self._report is None:
            return RootLine(anchor=anchor, ails=self.ails(), worker=self.worker())
        left = self._report.left
        return RootLine(
            anchor=anchor,
            ails=self.ails(),
            at=self._report.now,
            revision=left.outputs or left.inputs,
            faults=len(self._report.faults),
            held=bool(self._report.allow),
            worker=self.worker(),
        )


@dataclass(slots=True, eq=False)
class PageOfRoots:
    """Answers requests for the pages of several roots.

    Attributes:
        roots: Their pages, by name.
        access: Who may see them.
        warnings: Returns what is wrong beside what is in the repository, a sentence each.
    """

    roots: Mapping[str, RootPage]
    access: PageAccess
    warnings: Callable[[], Sequence[str]] = tuple
    _news: PageNews = field(default_factory=PageNews)
    _passes: Iterator[int] = field(default_factory=partial(count, 1))

    def __post_init__(self) -> None:
        """Have the list renew itself when any of them has a pass."""
        for root in self.roots.values():
            root.told = self._count

    def routes(self) -> list[Route]:
        """Return the routes."""
        of_roots = {name: root.page.endpoints() for name, root in self.roots.items()}

        async def below(request: Request) -> Response:
            name, _, view = request.path_params["rest"].rpartition("/")
            answer = of_roots.get(name, {}).get(f"/{view}")
            if answer is None:
                return PlainTextResponse("Not Found", 404)
            return await answer(request)

        found: dict[str, Endpoint] = {"/": self._list, **FILES, "/events": streamed(self._news)}
        routes = [Route(path, guarded(self.access, answer)) for path, answer in found.items()]
        return [*routes, Route(f"{BELOW}{{rest:path}}", guarded(self.access, below))]

    async def _list(self, _: Request) -> Response:
        lines = [root.line(name) for name, root in sorted(self.roots.items())]
        live = self._news.revision or "0"
        frame = Frame(title="Roots", live=live, warnings=self.warnings())
        html = render(frame, [PagePart("roots", "roots.html", lines)])
        return Response(html, media_type="text/html")

    def _count(self) -> None:
        self._news.tell(str(next(self._passes)))
