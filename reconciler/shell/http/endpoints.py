"""What the listener answers: /livez, /readyz, /metrics, /hook where there is a secret, the page.

That of an observer takes heartbeats, each with the token of its sender.

But for the page (`page_endpoints.py`), answers need no credentials, so they hold no name and no
content of a repository, but for the reasons why a pass fails or a worker does not fit, from which
credentials are taken out.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING

import structlog
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router

from reconciler.dialects.object_pass import trace_of
from reconciler.shell.git.command import mask_of
from reconciler.shell.http.page_endpoints import PageEndpoints, PageOfRoots
from reconciler.shell.http.webhook import Webhook
from reconciler.shell.processes.limits import limit_met

if TYPE_CHECKING:
    from reconciler.shell.daemon.events import DaemonHealth
    from reconciler.shell.daemon.watch import JointHealth
    from reconciler.shell.reports.metrics import Metrics, MetricsOfRoots


PLAIN_SECONDS = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,3})?")
LONGEST_HEARTBEAT_SECONDS = 3600.0


def new_app(
    health: "DaemonHealth | JointHealth",
    metrics: "Metrics | MetricsOfRoots",
    webhook: Webhook | None,
    *,
    secrets: Collection[str] = (),
    page: PageEndpoints | PageOfRoots | None = None,
) -> Starlette:
    """Return the app.

    Args:
        health: Whether the daemon lives and is ready.
        metrics: What is counted.
        webhook: What wakes the daemon; `None` for no webhook.
        secrets: Texts that no answer may hold.
        page: The page for people; `None` for none.
    """
    mask = mask_of(secrets)

    def answer(
        request: Request, word: str, reason: str, warnings: Sequence[str] | None = None
    ) -> Response:
        status = 503 if reason else 200
        if "application/json" in request.headers.get("accept", ""):
            more = {} if warnings is None else {"warnings": warnings}
            return JSONResponse({word: not reason, "reason": reason, **more}, status)
        lines = [reason or "ok", *(f"warning: {warning}" for warning in warnings or ())]
        return PlainTextResponse("".join(f"{line}\n" for line in lines), status)

    async def serve_metrics(_: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def serve_alive(request: Request) -> Response:
        return answer(request, "alive", mask(health.not_alive()))

    async def serve_ready(request: Request) -> Response:
        warnings = [*map(mask, health.warnings())]
        return answer(request, "ready", mask(health.not_ready()), warnings)

    routes = [
        Route("/livez", serve_alive),
        Route("/readyz", serve_ready),
        Route("/metrics", serve_metrics),
    ]
    if webhook is not None:
        routes.append(Route("/hook", webhook.answer, methods=["POST"]))
    if page is not None:
        routes += page.routes()
    return _app(routes)


Hear = Callable[[str, str, float], bool]
"""Takes the heartbeat of a name with a token, and how often that sends; returns whether it may."""


def observation_app(metrics: Callable[[], bytes], hear: Hear | None = None) -> Starlette:
    """Return the app of an observer: /livez, /metrics and, of a judge, POST /heartbeat/NAME.

    Args:
        metrics: Returns what is counted.
        hear: Takes a heartbeat; `None` where nobody sends any.
    """

    async def serve_metrics(_: Request) -> Response:
        return Response(metrics(), media_type=CONTENT_TYPE_LATEST)

    async def serve_heartbeat(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        said = request.query_params.get("seconds", "")
        seconds = float(said) if PLAIN_SECONDS.fullmatch(said) else 0.0
        if not 1 <= seconds <= LONGEST_HEARTBEAT_SECONDS:
            return PlainTextResponse("seconds must be from 1 to 3600\n", 400)
        name = request.path_params["name"]
        if hear is None or scheme.lower() != "bearer" or not hear(name, token, seconds):
            return PlainTextResponse("this token is not of that name\n", 401)
        return Response(status_code=204)

    async def serve_alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    routes = [Route("/livez", serve_alive), Route("/metrics", serve_metrics)]
    if hear is not None:
        routes.append(Route("/heartbeat/{name}", serve_heartbeat, methods=["POST"]))
    return _app(routes)


def page_app(page: PageEndpoints) -> Starlette:
    """Return an app that has the page and nothing else."""
    return _app(page.routes())


def _app(routes: list[Route]) -> Starlette:
    app = Starlette(exception_handlers={Exception: _mistake_logger()})
    app.router = Router(routes, redirect_slashes=False)  # a redirect would repeat the Host header
    return app


def _mistake_logger() -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what answers after a mistake of our own; each is logged once, however often asked."""
    logged: set[str] = set()

    async def answer(request: Request, error: Exception) -> Response:
        if limit := limit_met(error):
            return PlainTextResponse(f"{limit}\n", 503, {"retry-after": "10"})
        trace = trace_of(error)
        place = trace.rpartition("\n")[0]  # what follows may hold the request's own words
        if place not in logged:
            logged.add(place)
            structlog.get_logger().error(
                "a request failed for a mistake of the reconciler itself",
                path=request.scope["path"][:100],
                trace=trace,
            )
        return PlainTextResponse("a mistake of the reconciler itself; see its log\n", 500)

    return answer
