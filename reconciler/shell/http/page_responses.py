"""What every page of the listener has: who is answered, its headers, style, script and news."""

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from reconciler.page.rendering import asset, style
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_news import PageNews

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
    peer = "" if request.client is None else request.client.host
    found = access.refusal(peer, request.headers)
    if found is None:
        return None
    challenge = {"www-authenticate": 'Basic realm="reconciler", charset="UTF-8"'}
    return PlainTextResponse(f"{found.says}\n", found.status, challenge if found.asks else None)


def streamed(news: PageNews) -> Endpoint:
    """Return what streams the head of a branch as soon as it is another; browsers ask again."""

    async def endpoint(request: Request) -> Response:
        known = request.headers.get("last-event-id") or request.query_params.get("since", "")

        async def stream() -> AsyncIterator[str]:
            yield "retry: 500\n\n"
            found = await news.other_than(known, NEWS_SECONDS)
            if found:
                yield f"id: {found}\nevent: moved\ndata: {found}\n\n"

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
