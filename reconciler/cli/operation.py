"""Options of the daemon's operation, and what they stand for: the listener and who is told.

Secrets come from files or from the environment, never from arguments, which every process can read.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.shell.daemon_events import Observer
    from reconciler.shell.passes import Passes
    from reconciler.shell.watch import Wakeups

HOOK_SECRET = "RECONCILER_WEBHOOK_SECRET"  # noqa: S105  # the name of a variable
SHORTEST_SECRET = 16  # characters; forges generate longer ones
LONGEST_SECRET_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Operation:
    """How the daemon is operated. `listen` of `None` listens nowhere."""

    listen: str | None
    webhook_secret_file: Path | None


OPERATION_OPTIONS = (
    click.option(
        "--listen",
        metavar="[HOST:]PORT",
        envvar="RECONCILER_LISTEN",
        help="Serve /livez, /readyz, /metrics and /hook there; a port alone is on 127.0.0.1.",
    ),
    click.option(
        "--webhook-secret-file",
        metavar="FILE",
        envvar="RECONCILER_WEBHOOK_SECRET_FILE",
        type=click.Path(path_type=Path),
        help=f"Secret of POST /hook, which is there only with one  [or: ${HOOK_SECRET}]",
    ),
)


def operation_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options of operation; the verb gets them as its `operation`."""

    @wraps(function)
    def verb(*arguments: object, **named: Any) -> int:
        values = {field.name: named.pop(field.name) for field in fields(Operation)}
        return function(*arguments, operation=Operation(**values), **named)

    for option in reversed(OPERATION_OPTIONS):
        verb = option(verb)
    return verb


@dataclass(frozen=True, slots=True)
class OperationSecrets:
    """What must never be shown; `""` where there is none."""

    webhook: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All that there are."""
        return tuple(text for text in (self.webhook,) if text)


def read_secrets(operation: Operation) -> OperationSecrets:
    """Read the secrets of operation.

    Raises:
        UsageError: One cannot be read, or is too short to be one.
    """
    webhook = read_secret("--webhook-secret-file", operation.webhook_secret_file, HOOK_SECRET)
    if webhook and operation.listen is None:
        raise UsageError("a webhook secret goes with --listen, where /hook would be")
    return OperationSecrets(webhook)


def read_secret(option: str, file: Path | None, variable: str) -> str:
    """Return the secret of a file, or else of the environment, `""` if neither is set.

    Line ends around it do not count.
    """
    if file is None:
        secret, where = os.environ.get(variable, ""), f"${variable}"
        if not secret:
            return ""
    else:
        where = f'{option} "{file}"'
        try:
            with file.open(encoding="utf-8") as stream:
                secret = stream.read(LONGEST_SECRET_BYTES)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"{where} cannot be read: {reason}") from None
    secret = secret.strip("\r\n")
    if len(secret) < SHORTEST_SECRET:
        raise UsageError(f"{where} must hold at least {SHORTEST_SECRET} characters")
    return secret


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
    if operation.listen is None:
        yield ()
        return
    import structlog

    from reconciler.shell.daemon_health import DaemonHealth
    from reconciler.shell.endpoints import new_app
    from reconciler.shell.git.history import read_commit
    from reconciler.shell.listener import Listener, parse_address
    from reconciler.shell.metrics import Metrics
    from reconciler.shell.webhook import Webhook

    address = parse_address(operation.listen)
    health = DaemonHealth(poll_seconds=wakeups.poll_seconds)
    repository = passes.branch.repository
    metrics = Metrics(lambda revision: read_commit(repository, revision).committed_at)
    metrics.ready_if(lambda: not health.not_ready())
    hook = None
    if secrets.webhook:
        hook = Webhook(secrets.webhook, wakeups.wake, metrics.hook_answered)
    with Listener(address, new_app(health, metrics, hook, secrets=secrets.texts)) as listener:
        place = listener.address
        structlog.get_logger().info("listening", host=place.host, port=place.port)
        yield (health, metrics)
