"""The boundary around one object of a pass: what stops it is a fault of that object.

The only file below `shell/` that catches unforeseen exceptions. MemoryError and OSError
belong to no object, so they pass through, and so does a library for which there is no memory.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from reconciler.errors import ReconcilerError, UserError
from reconciler.model.message_text import bounded
from reconciler.model.world import Fault, Manifest, Trace

T = TypeVar("T")

RULE = "internal-error"
NOT_LOADED = ("annot allocate memory", "failed to map segment", "Too many open files")
"""What the loader of a library says where the machine has no room for it."""
DEEPEST = 40  # frames of a trace: an endless recursion has a thousand


class FaultPlace(NamedTuple):
    """Where a fault of an object stands: the path of its file, and its key as text."""

    path: str
    subject: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an object could not be dealt with; it keeps its last outputs.

    `message` is for whoever asks about the object. `trace` is that of an unforeseen exception,
    `""` where a rule of ours says what a person must edit.
    """

    fault: Fault
    message: str
    trace: str = ""


def attempt(
    work: Callable[[], T],
    place: Callable[[], FaultPlace],
    refused: Callable[[UserError], Fault] | None = None,
) -> T | Failed:
    """Do what is to be done for one object, or return why it cannot be done.

    Args:
        work: Computes its part.
        place: Returns where a fault of it stands.
        refused: Makes a fault of what a decoder refuses; `None` where nothing can be refused.
    """
    try:
        return work()
    except (MemoryError, OSError):
        raise
    except Exception as error:  # the boundary: it stops at the object
        if isinstance(error, ImportError) and any(one in str(error) for one in NOT_LOADED):
            raise
        if isinstance(error, UserError) and refused is not None:
            return Failed(refused(error), error.message)
        return unforeseen(error, place())


def unforeseen(error: Exception, place: FaultPlace) -> Failed:
    """Return the fault of an unforeseen exception.

    It says the same in each pass, and quotes nothing: texts of exceptions may hold anything.
    """
    message = f"an error of the reconciler itself ({type(error).__name__}) stops this object"
    fault = Fault(
        path=place.path,
        line=0,
        column=0,
        field="",
        rule=RULE,
        message=message,
        expected="a report to the authors, with the trace in the log; what was decided stays",
        subject=place.subject,
    )
    return Failed(fault, message, trace_of(error))


def place_of(manifest: Manifest) -> FaultPlace:
    """Return where a fault of a manifest stands."""
    return FaultPlace(manifest.origin.path, str(manifest.key))


def traces_of(failures: Iterable[Failed]) -> tuple[Trace, ...]:
    """Return the traces of unforeseen exceptions."""
    return tuple(Trace(failed.fault, failed.trace) for failed in failures if failed.trace)


def trace_of(error: Exception) -> str:
    """Return where an exception came from, and its class.

    Lines of source are in files; what the exception says may hold what it was working on, unless
    it is one of ours.
    """
    lines = []
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        lines.append(f"{code.co_filename}:{at.tb_lineno} in {code.co_qualname}")
        at = at.tb_next
    says = f": {bounded(str(error))}" if isinstance(error, ReconcilerError) else ""
    return "\n".join([*lines[-DEEPEST:], f"{type(error).__name__}{says}"])
