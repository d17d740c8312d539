"""The only file that knows Dask: an existing cluster as an executor.

Values are sent as pickles, and whoever can send one can run anything: so without TLS a cluster is
used on this machine only.
"""

import contextlib
import ipaddress
import logging
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from reconciler.errors import ShellError, UsageError
from reconciler.manifests.names import shown
from reconciler.shell.resources import package_digest
from reconciler.shell.work.executors import Workers
from reconciler.version import __version__

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

R = TypeVar("R")

PLAIN, SECURE = "tcp", "tls"
SCHEMES = ("dask", PLAIN, SECURE)  # Dask's own variable names the scheduler as tcp:// or tls://
CONNECT_SECONDS = 10
LOOK_SECONDS = 1  # so often it is looked whether the scheduler is still there
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
    url = _checked_address(address)
    try:
        from distributed import Client  # noqa: PLC0415  # an extra
    except ImportError:
        raise UsageError(
            f"{shown(address)} is a Dask cluster, and Dask is not installed here; "
            'pip install ".[dask]" in its sources, or leave out --executor'
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is raised
    try:
        client = Client(url, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask's
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise ShellError(_unreachable(address, error)) from None
    with client:
        count = _count_threads(client, address)
        yield Workers(_ClusterExecutor(client), count)


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
    """Return why there is no connection."""
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
        raise ShellError(
            f"the Dask scheduler at {shown(address)} has no worker; start one with "
            f"dask worker {_checked_address(address)}"
        ) from None
    threads: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]  # Dask's
    for worker in threads:
        if not worker.startswith(f"{SECURE}://"):
            _check_local(worker, urlsplit(worker).hostname or "", "worker")
    return sum(threads.values())


class _ClusterExecutor(Executor):
    """A cluster whose workers have the same package; the scheduler replaces those that die."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def submit(self, call: Callable[..., R], /, *given: Any, **named: Any) -> Future[R]:
        """Hand out a call."""
        call_bytes = pickle.dumps(partial(call, *given, **named))
        sent = _Sent((__version__, package_digest()), call_bytes)
        ours: _Awaited[R] = _Awaited(self._client)
        ours.check()
        theirs = self._client.submit(pickle.loads, pickle.dumps(sent), pure=False)
        theirs.add_done_callback(partial(_pass_on, ours))  # type: ignore[no-untyped-call]  # Dask's
        return ours


class _Awaited(Future[R]):
    """A result that ends with its client: Dask's own would be waited for without end."""

    def __init__(self, client: "Client") -> None:
        super().__init__()
        self._client = client

    def check(self) -> None:
        """Refuse a cluster that is gone."""
        if self._client.status == "closed":
            raise BrokenExecutor("the Dask scheduler is gone")

    def result(self, timeout: float | None = None) -> R:
        """Wait for the result."""
        while timeout is None and not self.done():
            self.check()
            with contextlib.suppress(TimeoutError):
                return super().result(LOOK_SECONDS)
        return super().result(timeout)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A call as bytes that make it when they are read, inside of a task.

    Whatever cannot be read there fails that task. What Dask itself cannot read ends its worker.
    """

    package: tuple[str, str]
    call: bytes

    def __reduce__(self) -> "tuple[Callable[..., object], tuple[tuple[str, str], bytes]]":
        return _call_checked, (self.package, self.call)


def _call_checked(package: tuple[str, str], call: bytes) -> object:
    """Call in a worker that runs what the sender runs.

    Raises:
        ShellError: It runs something else, and might answer otherwise.
    """
    if package != (__version__, package_digest()):
        from distributed import get_worker  # noqa: PLC0415  # an extra

        raise ShellError(
            f"the Dask worker {get_worker().address} has another reconciler ({__version__}) than "
            f"this one ({package[0]}), and might decide otherwise; install the same on both"
        )
    return pickle.loads(call)()  # noqa: S301  # from whoever may run anything here


def _pass_on(ours: "Future[R]", theirs: "DaskFuture[R]") -> None:
    """Pass a result on; what the cluster could not do is lost, as in any other executor."""
    from distributed import KilledWorker  # noqa: PLC0415  # an extra
    from distributed.comm.core import CommClosedError  # noqa: PLC0415

    try:
        ours.set_result(theirs.result())
    except ImportError as error:
        said = "the workers of the Dask cluster must have the package reconciler"
        ours.set_exception(ShellError(f"{said}, version {__version__}: {error}"))
    except (KilledWorker, CommClosedError, CancelledError, TimeoutError) as error:
        ours.set_exception(BrokenExecutor(f"the cluster lost it: {error}"))
    except BaseException as error:  # noqa: BLE001  # whoever waits for it shall have it
        ours.set_exception(error)
