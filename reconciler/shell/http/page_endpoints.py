"""What the listener answers of the page: views, their style and script, and news of the branch.

It only reads: there is no other method than GET and HEAD. What is asked is asked of processes of
their own; an answer that takes longer is told to come, and asked for again by the browser itself.
Of an object what can be told without computing a pass is shown meanwhile.
"""

import asyncio
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reconciler.errors import ShellError
from reconciler.page.rendering import Frame, PagePart, render
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_news import PageNews
from reconciler.shell.http.page_origin import is_foreign
from reconciler.shell.http.page_process import (
    ALONE,
    PageBusy,
    PageProcesses,
    PageQuestion,
    PageReply,
)
from reconciler.shell.http.page_responses import FILES, Endpoint, guarded, streamed

PATHS = {
    "/": "fleet",
    **{
        f"/{name}": name
        for name in (
            "matrix",
            "object",
            "timeline",
            "coming",
            "rebalancers",
            "faults",
            "plan",
            "what-if",
        )
    },
}
PATIENCE_SECONDS = 6.0  # less than what a connection has
PRESENT_SECONDS = 1.0
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
        patience_seconds: How long a client waits before it is told to come again.
        present_seconds: How long it waits at first for what has a present that is told soon.
    """

    processes: PageProcesses
    news: PageNews
    access: PageAccess
    patience_seconds: float = PATIENCE_SECONDS
    present_seconds: float = PRESENT_SECONDS
    _asked: "dict[PageQuestion, asyncio.Task[PageReply]]" = field(default_factory=dict)
    _presents: dict[PageQuestion, PageReply] = field(default_factory=dict)

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
            return await self._answer(PageQuestion(name, query, self.news.revision))

        return endpoint

    def _is_foreign(self, request: Request) -> bool:
        """Return whether a page of another site has the browser ask."""
        peer = "" if request.client is None else request.client.host
        return is_foreign(peer, request.headers, self.access.proxies)

    async def _answer(self, question: PageQuestion) -> Response:
        """Return the page, or that it is being computed."""
        task, patience_seconds = self._asked.get(question), self.patience_seconds
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(self._ask, question))
            self._asked[question] = task
            if question.present is not None:
                patience_seconds = self.present_seconds
        try:
            reply = await asyncio.wait_for(asyncio.shield(task), patience_seconds)
        except TimeoutError:
            return self._meanwhile(question)
        except PageBusy as busy:
            self._asked.pop(question, None)
            return _notice(503, "Busy", str(busy), again=True)
        except ShellError as error:
            self._asked.pop(question, None)
            return _notice(503, "Not answered", str(error))
        self._forget(question)
        return Response(reply.html, reply.status, media_type="text/html")

    def _ask(self, question: PageQuestion) -> PageReply:
        """Ask for the present first, where that is sooner, then for the whole; in a thread."""
        if question.present is not None:
            found = self.processes.ask(question.present)
            if found.status != 200:
                return found
            self._presents[question] = found
        try:
            return self.processes.ask(question)
        finally:
            self._presents.pop(question, None)

    def _meanwhile(self, question: PageQuestion) -> Response:
        """Return what is shown until the answer is there; the browser asks again by itself."""
        found = self._presents.get(question)
        if found is None:
            return _notice(202, "Being computed", "the answer comes here by itself", again=True)
        return Response(found.html, 202, media_type="text/html", headers=AGAIN)

    def _forget(self, question: PageQuestion) -> None:
        """Keep the newest answers that took a process of their own, and no others."""
        if not question.is_alone:
            self._asked.pop(question, None)
        done = [one for one, task in self._asked.items() if task.done()]
        for old in done[: max(0, len(done) - KEPT_ANSWERS)]:
            del self._asked[old]


def _notice(status: int, title: str, says: str, *, again: bool = False) -> Response:
    """Return a page with one sentence; with `again` the browser asks again by itself."""
    html = render(Frame(title=title), [PagePart("notice", "notice.html", says)])
    return Response(html, status, media_type="text/html", headers=AGAIN if again else {})
