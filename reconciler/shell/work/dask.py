"""An existing Dask cluster: as an executor, and worker by worker.

This is the only file that knows Dask. A call travels as a value, and so does its answer. Values are
sent as pickles inside of pickles, so that Dask itself reads none of ours. Whoever can send a pickle
can run anything: so without TLS a cluster is used on this machine only.
"""

import contextlib
import ipaddress
import itertools
import logging
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from reconciler.errors import ShellError, UsageError
from reconciler.model.records import dataclass
from reconciler.model.text import cut, short_id, shown
from reconciler.shell.resources import package_digest
from reconciler.shell.work.executors import Workers
from reconciler.version import __version__

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture


R = TypeVar("R")

LOOK_SECONDS = 1  # so often it is looked whether the scheduler is still there


def submit_call(
    client: "Client", call: Callable[[], R], worker: str | None = None
) -> "_Awaited[R]":
    """Hand out a call, to one worker if it is named.

    Raises:
        BrokenExecutor: The scheduler is gone.
    """
    ours: _Awaited[R] = _Awaited(client)
    workers = None if worker is None else [worker]
    ours.hand_out(pickle.dumps(SentCall.of(call)), workers=workers)
    return ours


def submit_piece(client: "Client", call: Callable[[], R], worker: str) -> "_Awaited[R]":
    """Hand out a part of the task that calls, which may be large.

    It does not travel by way of the scheduler: whoever takes it fetches it from here.

    Args:
        client: Of the worker that calls.
        call: The part.
        worker: Who takes it; where that one is gone, the part is lost.

    Raises:
        BrokenExecutor: The scheduler is gone.
    """
    ours: _Awaited[R] = _Awaited(client, worker)
    ours.check()
    sent = client.scatter(pickle.dumps(SentCall.of(call)), hash=False)  # type: ignore[no-untyped-call]  # Dask's
    ours.hand_out(sent, workers=[worker])
    return ours


def ask_worker(client: "Client", worker: str, call: Callable[[], R]) -> R:
    """Call a quick function in a worker at once, whatever that computes.

    What it runs is asked first, in a way that any build of this package answers.

    Raises:
        ShellError: It has other code, or the call could not be made.
        BrokenExecutor: It is gone, or the scheduler is.
    """
    who = f"the Dask worker {shown(worker)}"
    there, here = _made_there(client, worker, PACKAGE), (__version__, package_digest())
    if isinstance(there, ImportError):
        lacks = cut(there.name or "a module of it")
        raise ShellError(
            f"{who} must have the package reconciler, version {here[0]}, but {lacks} is not there"
        )
    if isinstance(there, tuple) and there != here:
        raise ShellError(_another(who, there, here))
    answer = (
        there if isinstance(there, Exception) else _made_there(client, worker, SentCall.of(call))
    )
    if isinstance(answer, Exception):
        raise ShellError(f"{who} could not be asked ({type(answer).__name__}); see its log")
    return cast("R", answer)


def _made_there(client: "Client", worker: str, sent: object) -> object:
    """Return what becomes of an object that a worker reads, or what that raised there.

    Raises:
        BrokenExecutor: It is gone, or the scheduler is.
    """
    from distributed.comm.core import CommClosedError  # noqa: PLC0415  # an extra

    lost = BrokenExecutor(f"the Dask worker {shown(worker)} does not answer")
    try:
        answers = client.run(pickle.loads, pickle.dumps(sent), workers=[worker], on_error="return")
    except (OSError, RuntimeError, ValueError, CancelledError):
        raise lost from None
    if worker not in answers or isinstance(answers[worker], CommClosedError | OSError):
        raise lost
    return answers[worker]


class _Awaited(Future[R]):
    """A result that ends with its client: Dask's own would be waited for without end.

    Args:
        client: Who hands it out.
        worker: With which it ends as well, `""` for none.
    """

    def __init__(self, client: "Client", worker: str = "") -> None:
        super().__init__()
        self._client = client
        self._worker = worker
        self.theirs: DaskFuture[R] | None = None

    def hand_out(self, sent: object, **where: object) -> None:
        """Have the cluster read, and so make, a sent call."""
        self.check()
        theirs = self._client.submit(pickle.loads, sent, pure=False, **where)
        self.theirs = theirs
        theirs.add_done_callback(partial(_pass_on, self))  # type: ignore[no-untyped-call]  # Dask's

    def cancel(self) -> bool:
        """Have nobody begin it; what has begun goes on, unheard."""
        if self.theirs is not None:
            self.theirs.cancel()  # type: ignore[no-untyped-call]  # Dask's
        return self.theirs is not None

    def check(self) -> None:
        """Refuse a cluster that is gone."""
        if self._client.status == "closed":
            raise BrokenExecutor("the Dask scheduler is gone")

    def result(self, timeout: float | None = None) -> R:
        """Wait for the result."""
        while timeout is None and not self.done():
            self.check()
            if self._worker and self._worker not in self._client.nthreads():  # type: ignore[no-untyped-call]  # Dask's
                raise BrokenExecutor(f"the Dask worker {shown(self._worker)} is gone")
            with contextlib.suppress(TimeoutError):
                return super().result(LOOK_SECONDS)
        return super().result(timeout)


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call as bytes that make it when they are read, inside of a task.

    Whatever cannot be read there fails that task. What Dask itself cannot read ends its worker.
    """

    package: tuple[str, str]
    call: bytes

    @classmethod
    def of(cls, call: Callable[[], object]) -> "SentCall":
        """Return a call as what is sent."""
        return cls((__version__, package_digest()), pickle.dumps(call))

    def __reduce__(self) -> "tuple[Callable[..., object], tuple[tuple[str, str], bytes]]":
        return _call_checked, (self.package, self.call)


@dataclass(frozen=True, slots=True)
class _MadeThere:
    """What a function returns where this is read, one that every build of the package has."""

    function: Callable[..., object]
    given: tuple[object, ...] = ()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.function, self.given


PACKAGE = (
    _MadeThere(getattr, (_MadeThere(import_module, ("reconciler.version",)), "__version__")),
    _MadeThere(package_digest),
)
"""The version and the digest of the package where this is read."""


def _call_checked(package: tuple[str, str], call: bytes) -> object:
    """Call in a worker that runs what the sender runs.

    Raises:
        ShellError: It runs something else, and might answer otherwise.
    """
    there = (__version__, package_digest())
    if package != there:
        from distributed import get_worker  # noqa: PLC0415  # an extra

        raise ShellError(_another(f"the Dask worker {shown(get_worker().address)}", there, package))
    return pickle.loads(call)()  # noqa: S301  # from whoever may run anything here


def _another(who: str, there: tuple[str, str], here: tuple[str, str]) -> str:
    """Return that a worker has another package than its sender, maybe one of the same version."""
    theirs, ours = (f"{version}, build {short_id(digest)}" for version, digest in (there, here))
    return (
        f"{who} has another reconciler ({theirs}) than this one ({ours}), and might decide "
        "otherwise; install the same on both"
    )


def _pass_on(ours: "Future[R]", theirs: "DaskFuture[R]") -> None:
    """Pass a result on; what the cluster could not do is lost, as in any other executor."""
    from distributed import KilledWorker  # noqa: PLC0415  # an extra
    from distributed.comm.core import CommClosedError  # noqa: PLC0415

    try:
        ours.set_result(theirs.result())
    except ImportError as error:
        said = "the workers of the Dask cluster must have the package reconciler"
        missing = cut(error.name or "a module of it")
        ours.set_exception(ShellError(f"{said}, version {__version__}, but {missing} is not there"))
    except (KilledWorker, CommClosedError, CancelledError, TimeoutError) as error:
        ours.set_exception(BrokenExecutor(f"the cluster lost it ({type(error).__name__})"))
    except BaseException as error:  # noqa: BLE001  # whoever waits for it shall have it
        ours.set_exception(error)


PLAIN, SECURE = "tcp", "tls"
SCHEMES = ("dask", PLAIN, SECURE)  # Dask's own variable names the scheduler as tcp:// or tls://
LOGGERS = ("distributed", "tornado", "bokeh")  # those that Dask sets up
CONNECT_SECONDS = 10
WORKER_SECONDS = 30  # a cluster that grows by need may begin without a worker


@contextlib.contextmanager
def open_cluster(address: str) -> Iterator[Workers]:
    """Use a cluster while the block lasts; what is not begun by then is dropped.

    Args:
        address: Of its scheduler: `dask://` or `tcp://` on this machine, `tls://` anywhere.

    Raises:
        UsageError: The address is none, or would need TLS; Dask is not installed.
        ShellError: There is no such scheduler, or it has no worker.
    """
    check_usable(address)
    with _connect(address) as client:
        count = _count_threads(client, address)
        yield Workers(_ClusterExecutor(client), count)


def check_usable(address: str) -> None:
    """Raise `UsageError` if an address is none, would need TLS, or Dask is not installed."""
    _checked_address(address)
    try:
        import distributed  # noqa: F401, PLC0415  # an extra
    except ImportError:
        raise UsageError(
            f"{shown(address)} is a Dask cluster, and Dask is not installed here; "
            'pip install ".[dask]" in its sources, or leave out --executor'
        ) from None


class ClusterAround:
    """The cluster of the task that calls: its workers take pieces of that.

    A piece is for one worker only, or else it could come to one that does not fit. So only those
    are asked that have nothing to do, for one piece each: threads of a process take turns.

    Args:
        helpers: The workers that may take any, by address.
    """

    def __init__(self, helpers: Sequence[str]) -> None:
        self._helpers = helpers
        self._free: Sequence[str] = ()

    def count(self) -> int:
        """Return how many pieces are computed at once."""
        from distributed import get_client, get_worker  # noqa: PLC0415  # an extra

        client, own = get_client(), get_worker().address
        threads: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]  # Dask's
        begun: dict[str, Sequence[str]] = client.processing()  # type: ignore[no-untyped-call]  # Dask's
        self._free = [
            one
            for one in sorted(self._helpers)
            if one in threads and len(begun.get(one, ())) <= (one == own)  # this task gives way
        ]
        return len(self._free)

    @contextlib.contextmanager
    def begin(self, count: int) -> Iterator[Workers]:
        """Have those that `count` found take pieces, while the block lasts.

        The task gives its place to others for good, this worker's pieces among them: if it waited
        for the place again it could wait for a task that waits for it.

        Args:
            count: How many pieces there are to be at a time.
        """
        from distributed import get_client, secede  # noqa: PLC0415  # an extra

        secede()  # type: ignore[no-untyped-call]  # Dask's
        yield Workers(_AroundExecutor(get_client(), self._free), count)


class NamedWorkers:
    """The workers of a cluster, each by its address; connects again when the scheduler is back.

    Args:
        address: Of the scheduler; see `check_usable`.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Client | None = None
        self._turn = threading.Lock()

    def present(self) -> tuple[str, ...]:
        """Return the addresses of the workers that are there, sorted.

        Raises:
            ShellError: The scheduler is not there, or has no worker.
            UsageError: A worker is on another machine, and does not speak TLS.
        """
        client = self._connected()
        with self._certain():
            threads: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]  # Dask's
        _check_workers(threads)
        if not threads:
            raise ShellError(_no_worker(self._address))
        return tuple(sorted(threads))

    def ask(self, worker: str, call: Callable[..., R], /, *given: Any) -> Future[R]:
        """Call a quick function in one worker at once, whatever it computes; see `WorkerCalls`.

        Who waits for the answer of a worker that hangs is a thread of its own.
        """
        answer: Future[R] = Future()

        def wait() -> None:
            try:
                client = self._connected()
            except ShellError as error:  # nothing that speaks against the worker
                answer.set_exception(BrokenExecutor(str(error)))
                return
            try:
                answer.set_result(ask_worker(client, worker, partial(call, *given)))
            except BaseException as error:  # noqa: BLE001  # whoever waits for it shall have it
                answer.set_exception(error)

        threading.Thread(target=wait, name="question", daemon=True).start()
        return answer

    def submit(self, worker: str, call: Callable[..., R], /, *given: Any) -> Future[R]:
        """Hand a call to one worker, and to no other."""
        return submit_call(self._connected(), partial(call, *given), worker)

    def tell(
        self, workers: Sequence[str], call: Callable[..., R], /, *given: Any, **named: Any
    ) -> dict[str, R]:
        """Call a quick function in workers at once, whatever they compute; return the answers.

        They are by the workers; one that cannot answer has none.

        Raises:
            ShellError: The scheduler is not there.
        """
        sent = pickle.dumps(SentCall.of(partial(call, *given, **named)))
        client = self._connected()
        with self._certain():
            return dict(client.run(pickle.loads, sent, workers=[*workers], on_error="ignore"))

    def close(self) -> None:
        """Leave the cluster."""
        client, self._client = self._client, None
        if client is not None:
            client.close()  # type: ignore[no-untyped-call]  # Dask's

    @contextlib.contextmanager
    def _certain(self) -> Iterator[None]:
        """Have all that Dask raises where a scheduler goes away in the middle be one error."""
        try:
            yield
        except (OSError, RuntimeError, ValueError, CancelledError):
            raise ShellError(self._gone()) from None

    def _gone(self) -> str:
        return f"the Dask scheduler at {shown(self._address)} is gone"

    def _connected(self) -> "Client":
        """Return the connection, a new one if there is none any more."""
        with self._turn:
            if self._client is not None and self._client.status == "connecting":
                raise ShellError(self._gone())
            if self._client is None or self._client.status == "closed":
                self._client = _connect(self._address)
            return self._client


def _connect(address: str) -> "Client":
    """Return a connection to a scheduler.

    Raises:
        ShellError: There is no such scheduler.
    """
    from distributed import Client  # noqa: PLC0415  # an extra

    _quieten()
    url = _checked_address(address)
    try:
        return Client(url, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask's
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise ShellError(_unreachable(address, error)) from None


def _quieten() -> None:
    """Have Dask write no lines of its own beside ours: what matters is raised.

    When it is imported it gives its loggers, and those of what it is built on, handlers that write
    to standard error, and levels by its settings.
    """
    names = [name for name in logging.getLogger().manager.loggerDict if name.startswith(LOGGERS)]
    for logger in map(logging.getLogger, names):
        logger.handlers.clear()
        logger.propagate = True
        if logger.name.startswith(LOGGERS[0]):
            logger.setLevel(logging.CRITICAL)


def _checked_address(address: str) -> str:
    """Return an address as Dask has it, if it may be used."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port or parts.scheme not in SCHEMES or address.count("/") != 2:
        raise UsageError(
            f"--executor {shown(address)} must be dask://HOST:PORT of a scheduler, "
            "such as dask://127.0.0.1:8786, or tls://HOST:PORT"
        )
    if parts.scheme == SECURE:
        return address
    _check_local(address, host, "scheduler")
    return f"{PLAIN}://{parts.netloc}"


def _check_local(address: str, host: str, who: str) -> None:
    """Refuse another machine, to which values would travel without TLS."""
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        raise UsageError(
            f"the {who} {shown(address)} is on another machine, where Dask must speak TLS; name "
            "the scheduler as tls://HOST:PORT, with Dask's settings distributed.comm.tls"
        )


def _unreachable(address: str, error: Exception) -> str:
    if address.startswith(f"{SECURE}://") and isinstance(error, TypeError | RuntimeError):
        return (
            f"Dask has no certificates for {shown(address)}; its settings distributed.comm.tls "
            "must name ca-file, client.cert and client.key"
        )
    return f"there is no Dask scheduler at {shown(address)} that answers within {CONNECT_SECONDS} s"


def _count_threads(client: "Client", address: str) -> int:
    """Return how many pieces the workers of a cluster compute at once.

    Raises:
        ShellError: There is none.
        UsageError: One is on another machine, and does not speak TLS.
    """
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise ShellError(_no_worker(address)) from None
    threads: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]  # Dask's
    _check_workers(threads)
    return sum(threads.values())


def _no_worker(address: str) -> str:
    return (
        f"the Dask scheduler at {shown(address)} has no worker; start one with "
        f"dask worker {_checked_address(address)}"
    )


def _check_workers(workers: Iterable[str]) -> None:
    """Raise `UsageError` if a worker is on another machine, and does not speak TLS."""
    for worker in workers:
        if not worker.startswith(f"{SECURE}://"):
            _check_local(worker, urlsplit(worker).hostname or "", "worker")


class _ClusterExecutor(Executor):
    """A cluster whose workers have the same package; the scheduler replaces those that die."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def submit(self, call: Callable[..., R], /, *given: Any, **named: Any) -> Future[R]:
        """Hand out a call."""
        return submit_call(self._client, partial(call, *given, **named))


class _AroundExecutor(Executor):
    """The cluster that the calling task is of: workers take turns, whatever they have to do."""

    def __init__(self, client: "Client", workers: Sequence[str]) -> None:
        self._client = client
        self._turns = itertools.cycle(workers)

    def submit(self, call: Callable[..., R], /, *given: Any, **named: Any) -> Future[R]:
        """Hand out a call."""
        return submit_piece(self._client, partial(call, *given, **named), next(self._turns))
