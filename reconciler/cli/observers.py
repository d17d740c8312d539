"""Who hears what the daemon does: the listener and the reporters that the options ask for."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from reconciler.cli.operation import WEBHOOK, Operation, OperationSecrets
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.cli.root_workers import Computed
    from reconciler.shell.daemon.events import DaemonHealth, Observer, ServiceManager
    from reconciler.shell.daemon.watch import JointHealth, ServedRoot, SettingsWatch
    from reconciler.shell.http.page_endpoints import PageEndpoints, PageOfRoots
    from reconciler.shell.reports.metrics import Metrics


@contextmanager
def operated(
    operation: Operation,
    secrets: OperationSecrets,
    computed: "Computed",
    settings: "SettingsWatch | None",
) -> "Iterator[Mapping[str, tuple[Observer, ...]]]":
    """Serve what the options ask for while the block lasts.

    Yields:
        By the name of the root, who must hear what its daemon does.
    """
    from reconciler.shell.daemon.watch import JointHealth

    roots = computed.roots
    health = JointHealth(roots, computed.unfit)
    observers: dict[str, list[Observer]] = {root.name: [root.health] for root in roots}
    with ExitStack() as stack:
        metrics = _metrics_of(computed, settings)
        if operation.listen is not None:
            page = _page(operation, secrets, computed, observers, stack)
            _listen(operation.listen, secrets, roots, health, metrics, page, stack)
            for name, of_one in metrics.items():
                observers[name].append(of_one)
        if os.environ.get("NOTIFY_SOCKET"):
            manager = stack.enter_context(_service_manager(health, secrets))
            for heard in observers.values():
                heard.append(manager)
        for root in roots:
            for kind, url in operation.report:
                counted = metrics[root.name].reported
                reporter = _reporter(kind, url, operation, secrets, root, counted)
                observers[root.name].append(stack.enter_context(reporter))
                if operation.propose and kind != WEBHOOK:
                    proposer = stack.enter_context(_proposer(kind, url, secrets, root))
                    observers[root.name].append(proposer)
        yield {name: tuple(heard) for name, heard in observers.items()}


def _metrics_of(computed: "Computed", settings: "SettingsWatch | None") -> "dict[str, Metrics]":
    """Return what counts for each root."""
    from reconciler.shell.git.history import read_commit
    from reconciler.shell.reports.metrics import Metrics

    def metrics_of(root: "ServedRoot") -> Metrics:
        repository = root.passes.branch.repository
        counting = Metrics(lambda revision: read_commit(repository, revision).committed_at)
        counting.ready_if(lambda: not root.health.not_ready())
        counting.unfit_workers_by(lambda: len(computed.unfit()))
        if settings is not None:
            counting.settings_refused_if(lambda: bool(settings.problem))
        return counting

    return {root.name: metrics_of(root) for root in computed.roots}


@contextmanager
def _proposer(
    kind: str, url: str, secrets: OperationSecrets, root: "ServedRoot"
) -> "Iterator[Observer]":
    """Propose to let held removals go while the block lasts."""
    from reconciler.shell.git.command import mask_of
    from reconciler.shell.reports.forges import MergeRequests, open_forge
    from reconciler.shell.reports.outbox import new_client
    from reconciler.shell.reports.proposer import Proposer

    branch = root.passes.branch
    forge = open_forge(kind, url, secrets.report_token, branch=branch.name)
    with (
        new_client(url) as client,
        Proposer(
            MergeRequests(client, forge), branch.repository, branch.name, mask_of(secrets.texts)
        ) as proposer,
    ):
        yield proposer


def _service_manager(health: "JointHealth", secrets: OperationSecrets) -> "ServiceManager":
    """Return what tells systemd how the daemon does, by what systemd put into the environment."""
    from reconciler.shell.daemon.events import ServiceManager
    from reconciler.shell.git.command import mask_of

    micros = os.environ.get("WATCHDOG_USEC", "")
    ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return ServiceManager(
        os.environ["NOTIFY_SOCKET"],
        watchdog_seconds=int(micros) / 1e6 if ours and micros.isdecimal() else None,
        not_alive=health.not_alive,
        mask=mask_of(secrets.texts),
    )


def _page(
    operation: Operation,
    secrets: OperationSecrets,
    computed: "Computed",
    observers: "Mapping[str, list[Observer]]",
    stack: ExitStack,
) -> "PageEndpoints | PageOfRoots | None":
    """Return the page of the root that is served, or of them all; none where all could see it."""
    from reconciler.cli.page.service import is_loopback, open_page
    from reconciler.shell.git.command import mask_of
    from reconciler.shell.http.listener import parse_address
    from reconciler.shell.http.page_endpoints import PageOfRoots, RootPage

    host = parse_address(operation.listen or "").host
    if not secrets.page.is_guarded and not is_loopback(host):
        return None
    mask, pages, roots = mask_of(secrets.texts), {}, computed.roots

    def warnings() -> tuple[str, ...]:
        return tuple(map(mask, computed.unfit()))

    for root in roots:
        branch, layout = root.passes.branch, root.passes.loader.layout
        home = RootPage.home_of(root.name) if len(roots) > 1 else ""
        place, below = branch.repository.top, branch.repository.prefix
        ails = partial(_ails, root.health, mask)
        page = stack.enter_context(
            open_page(
                place,
                branch.name,
                layout,
                secrets.page,
                forge=operation.page.page_forge,
                below=below,
                home=home,
                warnings=warnings,
                ails=ails,
            )
        )
        head = partial(branch.repository.find, branch.name)
        pages[root.name] = RootPage(page, head, ails, root.worker)
        observers[root.name].append(pages[root.name])
    if len(roots) == 1:
        return pages[roots[0].name].page
    return PageOfRoots(pages, secrets.page, warnings)


def _ails(health: "DaemonHealth", mask: Callable[[str], str]) -> str:
    """Return why nobody should rely on a root, without any secret; `""` if all is well."""
    return mask(health.not_ready())


def _listen(
    listen: str,
    secrets: OperationSecrets,
    roots: "Sequence[ServedRoot]",
    health: "JointHealth",
    metrics: "Mapping[str, Metrics]",
    page: "PageEndpoints | PageOfRoots | None",
    stack: ExitStack,
) -> None:
    """Begin to listen; a hook wakes the daemon of each root."""
    import structlog

    from reconciler.shell.http.endpoints import new_app
    from reconciler.shell.http.listener import Listener, parse_address
    from reconciler.shell.http.webhook import Webhook
    from reconciler.shell.reports.metrics import MetricsOfRoots

    def wake() -> None:
        for root in roots:
            root.wakeups.wake()

    address = parse_address(listen)
    first = metrics[roots[0].name]
    secret = secrets.webhook
    hook = Webhook(secret.lines, wake, first.hook_answered) if secret() else None
    counted = MetricsOfRoots(metrics) if roots[0].name else first
    app = new_app(health, counted, hook, secrets=secrets.texts, page=page)
    listener = Listener(address, app, proxies=secrets.page.proxies)
    place = stack.enter_context(listener).address
    structlog.get_logger().info("listening", host=place.host, port=place.port)


@contextmanager
def _reporter(
    kind: str,
    url: str,
    operation: Operation,
    secrets: OperationSecrets,
    root: "ServedRoot",
    counted: Callable[[str, str], None],
) -> "Iterator[Observer]":
    """Send reports of one kind to one place while the block lasts.

    Raises:
        UsageError: Nothing can be sent to that URL.
    """
    from reconciler.shell.git.command import mask_of
    from reconciler.shell.reports.forges import open_forge, split_address
    from reconciler.shell.reports.outbox import Outbox
    from reconciler.shell.reports.reporters import EventReporter, StatusReporter

    context, passes = operation.report_context, root.passes
    if not context.strip() or not context.isprintable():
        raise UsageError("--report-context must be a name, such as reconciler/production")
    if root.name:  # or else one status of a commit would hide that of another root
        context = f"{context}/{root.name}"
    renewed = secrets.report_secret if kind == WEBHOOK else secrets.report_token
    outbox = Outbox(
        kind, url=url, secrets=secrets.texts, counted=counted, is_renewed=renewed.may_change
    )
    mask = mask_of(secrets.texts)
    reporter: Observer
    if kind == WEBHOOK:
        split_address(url)
        reporter = EventReporter(
            url=url,
            secret=secrets.report_secret,
            branch=passes.branch.name,
            root=root.name,
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
