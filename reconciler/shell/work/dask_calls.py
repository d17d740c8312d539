"""How a call travels to a Dask cluster, and what it answers.

Values are sent as pickles inside of pickles, so that Dask itself reads none of ours.
"""

import contextlib
import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, cast

from reconciler.audit.short_id import short_id
from reconciler.errors import ShellError
from reconciler.model.message_text import cut, shown
from reconciler.shell.resources import package_digest
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
