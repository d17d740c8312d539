"""What the listener answers of the page: views, their style and script, and news of the branch.

It only reads: there is no other method than GET and HEAD. Questions go to processes of their own;
an answer that takes longer is announced, and the browser itself asks for it again. What takes whole
passes is computed beside, and what is known without them is shown meanwhile.

Every answer shares who may have it and its headers. The news are where the branch is that the page
shows, and who waits for it to move; they are safe in any thread. With several roots on one
listener each page is below its root's name, and a list has them all.
"""

import asyncio
import dataclasses
import gzip
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from reconciler.errors import ShellError
from reconciler.manifests.columns import duration
from reconciler.model.records import dataclass, field
from reconciler.model.text import printable
from reconciler.page.links import (
    Anchor,
    Notice,
    RootLine,
    ServedLinks,
    command_for,
    menu_of,
    subject_of,
)
from reconciler.page.rendering import (
    Frame,
    PagePart,
    asset,
    completed,
    render,
    strip_of,
    style,
)
from reconciler.shell.daemon.events import (
    BranchRead,
    DaemonEvent,
    PassBegun,
    PassFailed,
    PassFinished,
)
from reconciler.shell.http.page_access import PageAccess, is_foreign
from reconciler.shell.http.page_process import (
    ALONE,
    MOST,
    AnswersInTurn,
    PageProcesses,
    PageQuestion,
    PageReply,
    is_alone,
)
from reconciler.shell.passes.pass_report import PassSummary
from reconciler.shell.resources import SystemClock


class BranchLook(NamedTuple):
    """When the branch was read last, and whether a pass runs since; no moment if it never was."""

    at: datetime | None = None
    is_deciding: bool = False


class PageNews:
    """The head of a branch, and the last look at it; clients wait until it is another one."""

    def __init__(self, revision: str = "") -> None:
        """Begin with the commit that is known, full hex, `""` for none."""
        self.look = BranchLook()
        self._revision = revision
        self._lock = threading.Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @property
    def revision(self) -> str:
        """Full hex id of the head, `""` as long as it is unknown."""
        return self._revision

    def tell(self, revision: str) -> None:
        """Say where the branch is now."""
        self.look = BranchLook(SystemClock().now())
        with self._lock:
            if revision == self._revision:
                return
            self._revision = revision
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)

    async def other_than(self, known: str, seconds: float) -> str:
        """Return the head as soon as it is not the known one, `""` when time is up."""
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        with self._lock:
            if self._revision not in ("", known):
                return self._revision
            self._waiting.add(entry)
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return ""
        finally:
            with self._lock:
                self._waiting.discard(entry)
        return self._revision


Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

NEWS_SECONDS = 8.0
SMALLEST = 1000  # bytes; fewer are not worth it
LEVEL = 4  # measured: 60 KB become 6 KB in a millisecond
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def guarded(access: PageAccess, answer: Endpoint) -> Endpoint:
    """Return an endpoint that answers only those who may ask, with the headers of the page."""

    async def endpoint(request: Request) -> Response:
        response = _refused(access, request) or await answer(request)
        response.headers.update(HEADERS)
        return _compressed(request, response)

    return endpoint


def _compressed(request: Request, response: Response) -> Response:
    """Return a page as small as the client takes it; no page has a secret that could be guessed."""
    takes = "gzip" in request.headers.get("accept-encoding", "")
    if isinstance(response, StreamingResponse) or not takes or len(response.body) < SMALLEST:
        return response
    response.body = gzip.compress(response.body, compresslevel=LEVEL, mtime=0)
    response.headers["content-encoding"] = "gzip"
    response.headers["content-length"] = str(len(response.body))
    response.headers["vary"] = "accept-encoding"
    return response


def _refused(access: PageAccess, request: Request) -> Response | None:
    """Return the answer to those who may not ask, `None` to others."""
    refusal = access.refusal(_peer(request), request.headers)
    if refusal is None:
        return None
    challenge = {"www-authenticate": 'Basic realm="reconciler", charset="UTF-8"'}
    return PlainTextResponse(
        f"{refusal.says}\n", refusal.status, challenge if refusal.asks else None
    )


def _peer(request: Request) -> str:
    """Return the address at the other end of the connection, `""` where it is unknown."""
    return "" if request.client is None else request.client.host


def streamed(news: PageNews, seen: "Callable[[], BranchWatch] | None" = None) -> Endpoint:
    """Return what streams the head of a branch as soon as it is another; browsers ask again.

    Args:
        news: Where the branch is.
        seen: Returns what is known of whoever watches it, each time that a browser asks.
    """

    async def endpoint(request: Request) -> Response:
        known = request.headers.get("last-event-id") or request.query_params.get("since", "")

        async def stream() -> AsyncIterator[str]:
            yield "retry: 500\n\n"
            if seen is not None:
                yield f"event: seen\ndata: {' '.join(map(printable, seen()))}\n\n"
            head = await news.other_than(known, NEWS_SECONDS)
            if head:
                yield f"id: {head}\nevent: moved\ndata: {head}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    return endpoint


def _file(text: str, kind: str) -> Endpoint:
    async def endpoint(_: Request) -> Response:
        return Response(text, media_type=kind)

    return endpoint


FILES = {
    "/style.css": _file(style(), "text/css"),
    "/script.js": _file(asset("script.js"), "text/javascript"),
    "/logo.svg": _file(asset("logo.svg"), "image/svg+xml"),
}


PATHS = {
    "/": "fleet",
    **{
        f"/{name}": name
        for name in (
            "clusters",
            "cluster",
            "objects",
            "object",
            "manifest",
            "search",
            "matrix",
            "timeline",
            "coming",
            "rebalancers",
            "faults",
            "plan",
            "what-if",
            "rebalance",
            "suspend",
        )
    },
}
NO_DAEMON = "no daemon is seen from here"


class BranchWatch(NamedTuple):
    """What is known of whoever watches the branch: how it looks, and in words."""

    look: str
    says: str


def seen_of(look: BranchLook, ails: str | None, now: datetime) -> BranchWatch:
    """Return what is known of whoever watches the branch.

    Args:
        look: The last one at the branch.
        ails: Why nobody should rely on the daemon, `""` if it is ready, `None` where no daemon is
            known: the page is served by itself.
        now: Moment of the question, aware UTC.
    """
    at = "never" if look.at is None else f"{duration(now - look.at)} ago"
    if ails is None:
        return BranchWatch("soft", f"branch read {at}; {NO_DAEMON}")
    if ails:
        return BranchWatch("bad", f"daemon not ready: {ails}; branch read {at}")
    does = "a pass is running" if look.is_deciding else "nothing to do"
    return BranchWatch("good", f"daemon running, looked {at}, {does}")


LINKS = ServedLinks()
ANSWER_SECONDS = 6.0  # less than what a connection has
KEPT_ANSWERS = 16  # questions that are known to take too long
LONGEST_QUERY = 2000
AGAIN = {"refresh": "1"}
RENEWED = "this page updates when the result is ready"
OVER_ALL = "over all objects"
UNREAD = "the branch has not been read yet"
FULL = f"{MOST} questions wait already; this page asks again by itself"
NOTHING_YET = PageReply(202, "")
FOREIGN = (
    "a page of another site led here, and such a page starts no computation; "
    "choose the address in the address bar and press Enter, or begin at the fleet"
)


@dataclasses.dataclass(slots=True, eq=False)
class PageEndpoints:
    """Answers requests for the page.

    Attributes:
        processes: Whom to ask.
        news: Where the branch is.
        access: Who may see it.
        warnings: Returns what the daemon knows to be wrong beside what is in the repository.
        ails: Returns why nobody should rely on the daemon, `""` if it is ready; `None` where the
            page is served by itself.
        answer_seconds: How long a connection waits for an answer before its client is told to come
            again, as while the branch is read for the first time.
    """

    processes: PageProcesses
    news: PageNews
    access: PageAccess
    warnings: Callable[[], tuple[str, ...]] = tuple
    ails: Callable[[], str] | None = None
    answer_seconds: float = ANSWER_SECONDS
    _asked: "dict[PageQuestion, tuple[asyncio.Task[PageReply], float]]" = dataclasses.field(
        default_factory=dict
    )
    _wholes: AnswersInTurn = dataclasses.field(init=False)
    _alone: AnswersInTurn = dataclasses.field(init=False)
    _slow: dict[PageQuestion, None] = dataclasses.field(default_factory=dict)
    _strip: str = ""

    def __post_init__(self) -> None:
        self._wholes = AnswersInTurn(self._ask_whole)
        self._alone = AnswersInTurn(self.processes.ask)

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each path, whoever asks; see `guarded`."""
        views = {path: self._view(name) for path, name in PATHS.items()}
        return {**views, **FILES, "/events": streamed(self.news, self.seen)}

    def seen(self) -> BranchWatch:
        """Return what is known of whoever watches the branch."""
        ails = None if self.ails is None else self.ails()
        return seen_of(self.news.look, ails, SystemClock().now())

    def routes(self) -> list[Route]:
        """Return the routes, for those who may ask."""
        return [
            Route(path, guarded(self.access, answer)) for path, answer in self.endpoints().items()
        ]

    def _view(self, name: str) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            if len(request.scope["query_string"]) > LONGEST_QUERY:
                return self._notice(414, "Too long", Notice("the address is too long"))
            proxies = self.access.proxies
            if name in ALONE and is_foreign(_peer(request), request.headers, proxies):
                return self._notice(403, "Another site asks", Notice(FOREIGN))
            if not self.news.revision:
                return self._notice(503, "Not yet", Notice(UNREAD), again=True)
            query = tuple(sorted(dict(request.query_params).items()))
            asked = PageQuestion(name, query, self.news.revision, warnings=self.warnings())
            return await (self._in_turn(asked) if is_alone(asked) else self._answer(asked))

        return endpoint

    async def _answer(self, question: PageQuestion) -> Response:
        """Return the page, or what there is of it until whole passes are computed."""
        try:
            found = self._wholes.find(question)
        except ShellError as error:
            return await self._quick(question._replace(problem=str(error)))
        if found is None:
            return await self._quick(question)
        reply, is_whole = found
        if is_whole:
            return self._shown(reply)
        return self._shown(reply, 202, self._wholes.place(question).words(OVER_ALL))

    async def _in_turn(self, question: PageQuestion) -> Response:
        """Return the answer to what computes what would be, or how far it is in line."""
        subject = subject_of(question.view, dict(question.query))
        if not self._strip:  # what is wrong is said beside it, so it is asked for meanwhile
            self._task(PageQuestion("fleet", (), question.head, warnings=question.warnings))
        try:
            found = self._alone.find(question)
            if found is None and not self._alone.begin(question, NOTHING_YET):
                return self._notice(503, subject, Notice(FULL), again=True)
            await self._alone.wait(question, self.answer_seconds)
            found = self._alone.find(question)
        except ShellError as error:
            return await self._unanswered(question, error)
        if found is not None and found[1]:
            return self._shown(found[0])
        place = self._alone.place(question)
        limit = 0 if place.before else round(self.processes.alone_seconds)
        says = place.words(f"{limit} s at most; ")
        notice = Notice(f"{says}{RENEWED}", seconds=place.seconds, most=limit)
        return self._notice(202, subject, notice, again=True)

    def _task(self, question: PageQuestion) -> "tuple[asyncio.Task[PageReply], float]":
        """Return the task that answers a question, and since when it does."""
        known = self._asked.get(question)
        if known is None:
            task = asyncio.create_task(asyncio.to_thread(self._ask, question))
            known = self._asked[question] = task, time.monotonic()
        return known

    def _ask(self, question: PageQuestion) -> PageReply:
        """Ask for a view, in a thread; what it says is wrong is said beside others, too."""
        reply = self.processes.ask(question)
        self._strip = strip_of(reply.html) or self._strip
        return reply

    async def _quick(self, question: PageQuestion) -> Response:
        """Return the page without what takes whole passes, which are begun then."""
        if question in self._slow:
            question = _brief(question) or question
        task, since = self._task(question)
        try:
            reply = await asyncio.wait_for(asyncio.shield(task), self.answer_seconds)
        except TimeoutError:
            subject = subject_of(question.view, dict(question.query))
            notice = Notice(f"computing for {int(time.monotonic() - since)} s; {RENEWED}")
            return self._notice(202, subject, notice, again=True)
        except ShellError as error:
            self._asked.pop(question, None)
            return await self._unanswered(question, error)
        self._asked.pop(question, None)
        if not reply.lacks or question.problem:
            return self._shown(reply)
        self._wholes.begin(question, reply)
        return self._shown(reply, 202, self._wholes.place(question).words(OVER_ALL))

    async def _unanswered(self, question: PageQuestion, error: ShellError) -> Response:
        """Return why there is no answer; of an object what is known without asking why."""
        brief = _brief(question)
        if brief is not None:
            self._slow[question] = None
            for old in [*self._slow][:-KEPT_ANSWERS]:
                del self._slow[old]
            return await self._quick(brief)
        query = dict(question.query)
        command = command_for(question.view, query, "HEAD")
        again = LINKS.view(question.view, **query)
        return self._notice(503, "Not answered", Notice(str(error), again), command=command)

    def _shown(self, reply: PageReply, status: int = 0, progress: str = "") -> Response:
        """Return a page; with a status of its own it is on its way, and the browser asks again."""
        if reply.leads_to:
            return Response(status_code=reply.status, headers={"location": reply.leads_to})
        headers = AGAIN if status else {}
        html = completed(reply.html, strip=self._strip, seen=self.seen(), progress=progress)
        return Response(html, status or reply.status, media_type="text/html", headers=headers)

    def _notice(
        self, status: int, title: str, notice: Notice, *, again: bool = False, command: str = ""
    ) -> Response:
        """Return a page with one sentence, below what is wrong.

        Args:
            status: Of HTTP.
            title: Of the page.
            notice: What it says.
            again: Whether the browser asks again by itself.
            command: What answers on a command line, `""` for nothing.
        """
        menu = menu_of(LINKS, "")
        frame = Frame(title=title, menu=menu, found="", command=command)
        html = render(frame, [PagePart("notice", "notice.html", notice)])
        return self._shown(PageReply(status, html), status if again else 0)

    def _ask_whole(self, question: PageQuestion) -> PageReply:
        """Ask for an answer by whole passes, in a thread, if it is still of the newest commit."""
        if question.head != self.news.revision:
            raise ShellError("the branch has moved on")
        return self.processes.ask_whole(question)


def _brief(question: PageQuestion) -> PageQuestion | None:
    """Return what is asked of an object where the whole question takes too long, `None` if that."""
    if question.view != "object" or ("brief", "1") in question.query:
        return None
    return question._replace(query=tuple(sorted((*question.query, ("brief", "1")))))


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
        news = self.page.news
        match event:
            case PassFinished():
                self._report = event.report
                news.tell(event.report.left.inputs)
            case PassFailed():
                look = news.look
                news.tell(news.revision or self.head() or "")
                news.look = look._replace(is_deciding=False)  # what fails has not looked
            case BranchRead() | PassBegun():
                begins = isinstance(event, PassBegun)
                news.look = BranchLook(SystemClock().now(), is_deciding=begins)
                return
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
            root.told = lambda: self._news.tell(str(next(self._passes)))

    def routes(self) -> list[Route]:
        """Return the routes."""
        of_roots = {name: root.page.endpoints() for name, root in self.roots.items()}

        async def below(request: Request) -> Response:
            name, _, view = request.path_params["rest"].rpartition("/")
            answer = of_roots.get(name, {}).get(f"/{view}")
            if answer is None:
                return PlainTextResponse("Not Found", 404)
            return await answer(request)

        endpoints: dict[str, Endpoint] = {"/": self._list, **FILES, "/events": streamed(self._news)}
        routes = [Route(path, guarded(self.access, answer)) for path, answer in endpoints.items()]
        return [*routes, Route(f"{BELOW}{{rest:path}}", guarded(self.access, below))]

    async def _list(self, _: Request) -> Response:
        lines = [root.line(name) for name, root in sorted(self.roots.items())]
        live = self._news.revision or "0"
        frame = Frame(title="Roots", live=live, warnings=self.warnings())
        html = render(frame, [PagePart("roots", "roots.html", lines)])
        return Response(html, media_type="text/html")
