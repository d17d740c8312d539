"""Proposes to let go what is held back: a pull request with the line that does, and its plan.

In a thread of its own, so no pass waits. A request whose digest is out of date is closed; nothing
is ever merged from here.
"""

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import structlog

from reconciler.audit.previews.wording import permission_text, permitted_file
from reconciler.errors import ReconcilerError, ShellError
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import blob_id
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.text import printable
from reconciler.model.world import World
from reconciler.shell.daemon.events import DaemonEvent, PassFinished
from reconciler.shell.git.objects import read_file
from reconciler.shell.git.repository import Repository
from reconciler.shell.processes.signals import Background
from reconciler.shell.reports.forges import ForgeLimit, MergeRequest, MergeRequests, Proposal
from reconciler.shell.reports.outbox import LONGEST_ASKED_SECONDS

PREFIX = "reconciler-allow-"
SHORT_DIGEST = 12
ROOT_DIGEST = 8
FIRST_DELAY_SECONDS = 5.0
LONGEST_DELAY_SECONDS = 600.0
GRACE_SECONDS = 5.0
MOST_OTHERS = 20
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class _Held:
    """What a pass holds: the digests that let it go, sorted, and where it was seen.

    `world` returns the world of that pass.
    """

    allow: tuple[str, ...]
    world: Callable[[], World]
    now: datetime


class Proposer(Background):
    """Keeps one pull request open for what is held, while its block lasts.

    Args:
        requests: The pull requests of the repository.
        repository: Where the configuration is read.
        base: The branch that is served.
        mask: Takes credentials out of a text.
        first_delay_seconds: Before the second attempt; later ones wait twice as long each.
    """

    def __init__(
        self,
        requests: MergeRequests,
        repository: Repository,
        base: str,
        mask: Callable[[str], str],
        *,
        first_delay_seconds: float = FIRST_DELAY_SECONDS,
    ) -> None:
        super().__init__("proposals")
        self._requests = requests
        self._repository = repository
        self._base = base
        self._mask = mask
        self._first_delay_seconds = first_delay_seconds
        self._prefix = prefix_of(repository.prefix)
        self._known: tuple[str, ...] | None = None
        self._others: set[int] = set()
        self._wanted: _Held | None = None
        self._changed = threading.Condition()
        self._stopped = False

    def __call__(self, event: DaemonEvent) -> None:
        """Take note of what a pass holds."""
        if not isinstance(event, PassFinished):
            return
        allow = event.report.allow
        if allow == self._known:
            return
        with self._changed:
            self._known = allow
            self._wanted = _Held(allow, event.world, event.report.now)
            self._changed.notify()

    def _end(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(GRACE_SECONDS)

    def _work(self) -> None:
        while (held := self._next()) is not None:
            self._bring(held)

    def _next(self) -> _Held | None:
        """Return what is held, waiting until it changes; `None` when all is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted is not None or self._stopped)
            held, self._wanted = self._wanted, None
            return held

    def _bring(self, held: _Held) -> None:
        """Open and close what must be, again while nothing newer has come."""
        log = structlog.get_logger()
        delay = self._first_delay_seconds
        while True:
            asked = 0.0
            try:
                self._once(held)
            except ShellError as error:
                asked = error.after_seconds if isinstance(error, ForgeLimit) else 0.0
                log.warning("a proposal waits", reason=printable(self._mask(str(error))))
            except (ReconcilerError, ValueError) as error:
                log.warning("nothing is proposed", reason=printable(self._mask(str(error))))
                return
            else:
                return
            with self._changed:
                wait = max(delay, min(asked, LONGEST_ASKED_SECONDS))
                if self._changed.wait_for(lambda: self._wanted or self._stopped, wait):
                    return
            delay = min(2 * delay, LONGEST_DELAY_SECONDS)

    def _once(self, held: _Held) -> None:
        """Open what is missing and close what is out of date."""
        branch = f"{self._prefix}{_short(held.allow)}" if held.allow else ""
        requests = self._requests.open_requests(self._prefix)
        ours = {request.branch: request for request in requests if request.is_ours}
        self._leave_alone(request for request in requests if not request.is_ours)
        if branch and branch not in ours:
            if self._requests.is_closed_by_people(branch):
                structlog.get_logger().info("a proposal was closed, and stays so", branch=branch)
            else:
                self._open(self._proposal(held, branch))
        length = len(self._prefix) + SHORT_DIGEST  # the top's prefix is one of every root's
        for name, request in ours.items():
            if name != branch and len(name) == length:
                self._requests.close(request)

    def _open(self, proposal: Proposal) -> None:
        """Open a request.

        Raises:
            ShellError: The forge says that there is one from that branch, and it is not ours.
        """
        branch = proposal.branch
        if not self._requests.open(proposal):
            requests = self._requests.open_requests(branch)
            if not any(request.is_ours and request.branch == branch for request in requests):
                raise ShellError(
                    f'the forge opens no request from the branch "{branch}", and none of this '
                    "account is open: close what another account opened from it, or delete it"
                )
        structlog.get_logger().info("a proposal is open", branch=branch)

    def _leave_alone(self, found: Iterable[MergeRequest]) -> None:
        """Log once each request that has the name of one of ours, and is none."""
        for request in found:
            if request.number in self._others or len(self._others) >= MOST_OTHERS:
                continue
            self._others.add(request.number)
            structlog.get_logger().warning(
                "a request that is named like a proposal is another's, and left alone",
                number=request.number,
                branch=quoted(request.branch),
                author=quoted(request.author),
            )

    def _proposal(self, held: _Held, branch: str) -> Proposal:
        """Return the request that lets go what is held back."""
        world, path = held.world(), self._repository.from_top(CONFIGURATION_PATH)
        content = read_file(self._repository, world.revision, path)
        return Proposal(
            branch=branch,
            base=self._base,
            revision=world.revision,
            path=path,
            content=permitted_file(world, content or b"", held.allow),
            blob=None if content is None else blob_id(content, like=world.revision),
            title=f"Let go what is held back by {held.allow[0][:24]}",
            text=permission_text(world, held.allow, held.now),
        )


def prefix_of(root: str) -> str:
    """Return how the branches of a root's proposals begin: roots close only what is theirs.

    Args:
        root: Its folder from the top of the repository, `""` for the top.
    """
    return f"{PREFIX}{blob_id(root.encode(), like='')[:ROOT_DIGEST]}-" if root else PREFIX


def _short(allow: Sequence[str]) -> str:
    """Return what stands for digests in the name of a branch."""
    whole = allow[0] if len(allow) == 1 else digest(allow)
    return whole.rpartition(":")[2][:SHORT_DIGEST]


def quoted(name: str) -> str:
    r"""Return a stranger's word as a log may have it: in quotes, in one line, not too long.

    >>> print(quoted('x" level=error\n'))
    "x\" level=error\n"
    """
    cut = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
    return printable(json.dumps(cut, ensure_ascii=False))
