"""Who hears what the daemon does: the listener and the reporters that the options ask for."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from reconciler.cli.operation import WEBHOOK, Operation, OperationSecrets
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.shell.daemon_events import Observer
    from reconciler.shell.daemon_health import DaemonHealth
    from reconciler.shell.metrics import Metrics
    from reconciler.shell.page_endpoints import PageEndpoints
    from reconciler.shell.passes import Passes
    from reconciler.shell.service_manager import ServiceManager
    from reconciler.shell.watch import Wakeups


@contextmanager
def operated(
    operation: Operation,
    secrets: OperationSecrets,
    passes: "Passes",
    wakeups: "Wakeups",
) -> "Iterator[tuple[Observer, ...]]":
    """Serve what the options ask for while the block lasts.

    Yields:
        Who must hear what the daemon does.
    """
    from reconciler.shell.daemon_health import DaemonHealth

    health = DaemonHealth(poll_seconds=wakeups.poll_seconds)
    observers: list[Observer] = [health]
    counted: Callable[[str, str], None] = lambda *_: None  # noqa: E731  # counts nothing
    with ExitStack() as stack:
        if operation.listen is not None:
            address, wake = operation.listen, wakeups.wake
            page = _page(address, secrets, passes, observers, stack)
            metrics = _listen(address, wake, secrets, passes, health, page, stack)
            observers.append(metrics)
            counted = metrics.reported
        if os.environ.get("NOTIFY_SOCKET"):
            observers.append(stack.enter_context(_service_manager(health, secrets)))
        for kind, url in operation.report:
            reporter = _reporter(kind, url, operation, secrets, passes, counted)
            observers.append(stack.enter_context(reporter))
            if operation.propose and kind != WEBHOOK:
                observers.append(stack.enter_context(_proposer(kind, url, secrets, passes)))
        yield tuple(observers)


@contextmanager
def _proposer(
    kind: str, url: str, secrets: OperationSecrets, passes: "Passes"
) -> "Iterator[Observer]":
    """Propose to let held removals go while the block lasts."""
    import httpx

    from reconciler.shell.forges import open_forge
    from reconciler.shell.git.masking import mask_of
    from reconciler.shell.merge_requests import MergeRequests
    from reconciler.shell.outbox import ANSWER_SECONDS
    from reconciler.shell.proposer import Proposer

    branch = passes.branch.name
    forge = open_forge(kind, url, secrets.report_token, branch=branch)
    with (
        httpx.Client(timeout=ANSWER_SECONDS, follow_redirects=False) as client,
        Proposer(
            MergeRequests(client, forge), passes.branch.repository, branch, mask_of(secrets.texts)
        ) as proposer,
    ):
        yield proposer


def _service_manager(health: "DaemonHealth", secrets: OperationSecrets) -> "ServiceManager":
    """Return what tells systemd how the daemon does, by what systemd put into the environment."""
    from reconciler.shell.git.masking import mask_of
    from reconciler.shell.service_manager import ServiceManager

    micros = os.environ.get("WATCHDOG_USEC", "")
    ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return ServiceManager(
        os.environ["NOTIFY_SOCKET"],
        watchdog_seconds=int(micros) / 1e6 if ours and micros.isdecimal() else None,
        not_alive=health.not_alive,
        mask=mask_of(secrets.texts),
    )


def _page(
    listen: str,
    secrets: OperationSecrets,
    passes: "Passes",
    observers: "list[Observer]",
    stack: ExitStack,
) -> "PageEndpoints | None":
    """Return the page of the branch that is served; `None` where anybody could see it."""
    from reconciler.cli.page_service import is_loopback, open_page
    from reconciler.shell.daemon_events import DaemonEvent, PassFinished
    from reconciler.shell.listener import parse_address

    if not secrets.page_token and not is_loopback(parse_address(listen).host):
        return None
    page = stack.enter_context(
        open_page(
            passes.branch.repository.folder,
            passes.branch.name,
            passes.loader.output_root,
            token=secrets.page_token,
        )
    )

    def renew(event: DaemonEvent) -> None:
        if isinstance(event, PassFinished):
            page.news.tell(event.report.left.inputs)

    observers.append(renew)
    return page


def _listen(
    listen: str,
    wake: Callable[[], None],
    secrets: OperationSecrets,
    passes: "Passes",
    health: "DaemonHealth",
    page: "PageEndpoints | None",
    stack: ExitStack,
) -> "Metrics":
    """Begin to listen; return what must hear of passes."""
    import structlog

    from reconciler.shell.endpoints import new_app
    from reconciler.shell.git.history import read_commit
    from reconciler.shell.listener import Listener, parse_address
    from reconciler.shell.metrics import Metrics
    from reconciler.shell.webhook import Webhook

    address = parse_address(listen)
    repository = passes.branch.repository
    metrics = Metrics(lambda revision: read_commit(repository, revision).committed_at)
    metrics.ready_if(lambda: not health.not_ready())
    hook = None
    if secrets.webhook:
        hook = Webhook(secrets.webhook, wake, metrics.hook_answered)
    app = new_app(health, metrics, hook, secrets=secrets.texts, page=page)
    place = stack.enter_context(Listener(address, app)).address
    structlog.get_logger().info("listening", host=place.host, port=place.port)
    return metrics


@contextmanager
def _reporter(
    kind: str,
    url: str,
    operation: Operation,
    secrets: OperationSecrets,
    passes: "Passes",
    counted: Callable[[str, str], None],
) -> "Iterator[Observer]":
    """Send reports of one kind to one place while the block lasts.

    Raises:
        UsageError: Nothing can be sent to that URL.
    """
    from reconciler.shell.event_reporter import EventReporter
    from reconciler.shell.forges import open_forge, split_address
    from reconciler.shell.git.masking import mask_of
    from reconciler.shell.outbox import Outbox
    from reconciler.shell.status_reporter import StatusReporter

    context = operation.report_context
    if not context.strip() or not context.isprintable():
        raise UsageError("--report-context must be a name, such as reconciler/production")
    outbox = Outbox(kind, secrets=secrets.texts, counted=counted)
    mask = mask_of(secrets.texts)
    reporter: Observer
    if kind == WEBHOOK:
        split_address(url)
        reporter = EventReporter(
            url=url,
            secret=secrets.report_secret,
            branch=passes.branch.name,
            clock=passes.clock,
            post=outbox.post,
            mask=mask,
        )
    else:
        forge = open_forge(kind, url, secrets.report_token, branch=passes.branch.name)
        reporter = StatusReporter(
            lambda status: outbox.post(forge.request(status, context=context)), mask
        )
    with outbox:
        yield reporter
