"""What the listener answers of the page: views, their style and script, and news of the branch.

It only reads: there is no other method than GET and HEAD. What is asked is asked of processes of
their own; an answer that takes longer is told to come, and asked for again by the browser itself.
What takes whole passes is computed beside, and what is known without them is shown meanwhile.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reconciler.errors import ShellError
from reconciler.page.commands import command_for
from reconciler.page.links import ServedLinks
from reconciler.page.menu import menu_of
from reconciler.page.notice import Notice
from reconciler.page.rendering import Frame, PagePart, render
from reconciler.shell.http.kept_process import PageQuestion, PageReply
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_news import PageNews
from reconciler.shell.http.page_origin import is_foreign
from reconciler.shell.http.page_process import ALONE, PageBusy, PageProcesses, is_alone
from reconciler.shell.http.page_responses import FILES, Endpoint, guarded, streamed
from reconciler.shell.http.whole_answers import WholeAnswers

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
LINKS = ServedLinks()
ANSWER_SECONDS = 6.0  # less than what a connection has
KEPT_ANSWERS = 16
LONGEST_QUERY = 2000
AGAIN = {"refresh": "1"}
FOREIGN = (
    "a page of another site led here, and such a page starts no computation; "
    "choose the address in the address bar and press Enter, or begin at the fleet"
)


@dataclass(slots=True, eq=False)
class PageEndpoints:
    """Answers requests for the page.

    Attributes:
        processes: Whom to ask.
        news: Where the branch is.
        access: Who may see it.
        warnings: Returns what the daemon knows to be wrong beside what is in the repository.
        answer_seconds: How long a connection waits for an answer before its client is told to come
            again, as while the branch is read for the first time.
    """

    processes: PageProcesses
    news: PageNews
    access: PageAccess
    warnings: Callable[[], tuple[str, ...]] = tuple
    answer_seconds: float = ANSWER_SECONDS
    _asked: "dict[PageQuestion, asyncio.Task[PageReply]]" = field(default_factory=dict)
    _wholes: WholeAnswers = field(init=False)
    _slow: dict[PageQuestion, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Remember whom to ask for what takes whole passes."""
        self._wholes = WholeAnswers(self._ask_whole)

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each path, whoever asks; see `guarded`."""
        views = {path: self._view(name) for path, name in PATHS.items()}
        return {**views, **FILES, "/events": streamed(self.news)}

    def routes(self) -> list[Route]:
        """Return the routes, for those who may ask."""
        return [
            Route(path, guarded(self.access, answer)) for path, answer in self.endpoints().items()
        ]

    def _view(self, name: str) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            if len(request.scope["query_string"]) > LONGEST_QUERY:
                return _notice(414, "Too long", "the address is too long")
            if name in ALONE and self._is_foreign(request):
                return _notice(403, "Another site asks", FOREIGN)
            if not self.news.revision:
                return _notice(503, "Not yet", "the branch has not been read yet", again=True)
            query = tuple(sorted(dict(request.query_params).items()))
            asked = PageQuestion(name, query, self.news.revision, warnings=self.warnings())
            return await self._answer(asked)

        return endpoint

    def _is_foreign(self, request: Request) -> bool:
        """Return whether a page of another site has the browser ask."""
        peer = "" if request.client is None else request.client.host
        return is_foreign(peer, request.headers, self.access.proxies)

    async def _answer(self, question: PageQuestion) -> Response:
        """Return the page, or what there is of it until whole passes are computed."""
        try:
            found = self._wholes.find(question)
        except ShellError as error:
            return await self._quick(question._replace(problem=str(error)))
        if found is None:
            return await self._quick(question)
        reply, is_whole = found
        return _shown(reply) if is_whole else _shown(reply, 202)

    async def _quick(self, question: PageQuestion) -> Response:
        """Return the page without what takes whole passes, which are begun then."""
        if question in self._slow:
            question = _brief(question) or question
        task = self._asked.get(question)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(self.processes.ask, question))
            self._asked[question] = task
        try:
            reply = await asyncio.wait_for(asyncio.shield(task), self.answer_seconds)
        except TimeoutError:
            return _notice(202, "Being computed", "the answer comes here by itself", again=True)
        except PageBusy as busy:
            self._asked.pop(question, None)
            return _notice(503, "Busy", str(busy), again=True)
        except ShellError as error:
            self._asked.pop(question, None)
            return await self._unanswered(question, error)
        self._forget(question)
        if not reply.lacks or question.problem:
            return _shown(reply)
        self._wholes.begin(question, reply)
        return _shown(reply, 202)

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
        return _notice(503, "Not answered", str(error), link=again, command=command)

    def _ask_whole(self, question: PageQuestion) -> PageReply:
        """Ask for an answer by whole passes, in a thread, if it is still of the newest commit."""
        if question.head != self.news.revision:
            raise ShellError("the branch has moved on")
        return self.processes.ask_whole(question)

    def _forget(self, question: PageQuestion) -> None:
        """Keep the newest answers that took a process of their own, and no others."""
        if not is_alone(question):
            self._asked.pop(question, None)
        done = [one for one, task in self._asked.items() if task.done()]
        for old in done[: max(0, len(done) - KEPT_ANSWERS)]:
            del self._asked[old]


def _shown(reply: PageReply, status: int = 0) -> Response:
    """Return a page; with a status of its own it is on its way, and the browser asks again."""
    headers = AGAIN if status else {}
    return Response(reply.html, status or reply.status, media_type="text/html", headers=headers)


def _brief(question: PageQuestion) -> PageQuestion | None:
    """Return what is asked of an object where the whole question takes too long, `None` if that."""
    if question.view != "object" or ("brief", "1") in question.query:
        return None
    return question._replace(query=tuple(sorted((*question.query, ("brief", "1")))))


def _notice(
    status: int, title: str, says: str, *, again: bool = False, link: str = "", command: str = ""
) -> Response:
    """Return a page with one sentence; with `again` the browser asks again by itself.

    Args:
        status: Of HTTP.
        title: Of the page.
        says: The sentence.
        again: Whether the browser asks again.
        link: Where a person asks again, `""` for nowhere.
        command: What answers on a command line, `""` for nothing.
    """
    frame = Frame(title=title, menu=menu_of(LINKS, ""), found="", command=command)
    html = render(frame, [PagePart("notice", "notice.html", Notice(says, link))])
    return Response(html, status, media_type="text/html", headers=AGAIN if again else {})
