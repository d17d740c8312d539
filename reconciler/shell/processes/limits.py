"""Limits of disk and memory: what to say where the machine grants no more, and how to need less.

A disk may take nothing: full, read-only, or not ours. The machine may grant no more memory,
processes, threads, open files or size of a file. Such a limit is no mistake of the program, and
says nothing of the repository: it is reported in a sentence that says what to do, and the same may
succeed later. Files that must survive a loss of power are synced to the disk.

Memory that a pass has freed goes back to the system, which the C library alone does not do. glibc
keeps what lies below the last block in use; after a large pass that is up to a fifth of what a
daemon takes, another share of it in each run.

Python looks for objects that refer to each other in a circle. Documents have no circles, yet
visiting them takes long, so a verb that ends soon hardly looks. What serves for months must: each
request and each pass leaves circles. There Python looks at what is new at every `YOUNG` objects,
which visits each of them twice at most, and at everything where a quarter has come since, as its
own rule has it.
"""

import _thread
import contextlib
import errno
import gc
import os
import pwd
import signal
import stat
import threading
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

FULL = ("no space left on device", "out of diskspace", "disk quota exceeded")
READ_ONLY = ("read-only file system",)
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
NO_TEMPORARY = "No usable temporary directory"  # Python, where each is full or read-only
DENIED = ("permission denied", "insufficient permission for adding an object")
UNSAID = ("couldn't write", "could not write", "unable to write")
"""What git says, in lower case, the last ones where it keeps the reason to itself.

Its messages are in English, since it runs with `LC_ALL=C`.
"""


BEGIN_SECONDS = 10.0


class HelperThread:
    """A thread for some work, which its owner waits for.

    `threading.Thread.start` waits for its thread to begin, and for ever for one that ended before
    that, since there was no memory for its first step.

    Attributes:
        error: What the work ended by, `None` for its end; for the owner to raise.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._work = work
        self._begun = threading.Event()
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin to work.

        Raises:
            MemoryError: The thread ended before it began.
            RuntimeError: The machine grants no thread.
        """
        _thread.start_new_thread(self._run, ())
        if not self._begun.wait(BEGIN_SECONDS):
            raise MemoryError

    def join(self) -> None:
        """Wait for the end of the work, if it began."""
        if self._begun.is_set():
            self._ended.wait()

    def _run(self) -> None:
        try:
            self._begun.set()
            self._work()
        except BaseException as error:  # noqa: BLE001  # its owner raises it
            self.error = error
        finally:
            self._ended.set()


def refusal(said: str, place: str) -> str | None:
    """Return what to do about a disk that git complains of, `None` if it complains of no disk.

    Args:
        said: What git printed.
        place: The folder that it worked in.
    """
    text = said.lower()
    if any(sign in text for sign in FULL):
        return _full(place)
    if any(sign in text for sign in READ_ONLY):
        return _read_only(place)
    if any(sign in text for sign in DENIED):
        return _denied(place)
    if any(sign in text for sign in UNSAID):
        return f'git could not write to "{place}"; see whether its disk is full, and try again'
    return None


def refusal_of(error: OSError) -> str:
    """Return what to do about a failure of the system, or else what it says itself."""
    place = "" if error.filename is None else os.fsdecode(error.filename)
    if limit := limit_met(error):
        return f'"{place}": {limit}' if place else limit
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return _full(place)
        case errno.EROFS:
            return _read_only(place)
        case errno.EACCES | errno.EPERM if place:
            return _denied(place)
        case errno.ENOENT if NO_TEMPORARY in str(error):
            return (
                "no folder for temporary files takes any; free some space in /tmp, or set TMPDIR "
                "to a folder that can be written"
            )
        case _:
            return f'"{place}": {error.strerror}' if place else str(error)


def _full(place: str) -> str:
    disk = f'the disk that holds "{place}"' if place else "a disk"
    return f"{disk} is full; free some space and try again"


def _read_only(place: str) -> str:
    disk = f'"{place}" is on' if place else "this is"
    return f"{disk} a read-only file system; make it writable, or work on a copy elsewhere"


def _denied(place: str) -> str:
    user = user_named(os.geteuid())
    return f'{user} may not use "{place}"; run this as its owner, or change its permissions'


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def user_named(number: int) -> str:
    """Return a user by name, or by number where there is no name."""
    try:
        return f'user "{pwd.getpwuid(number).pw_name}"'
    except KeyError:
        return f"user {number}"


def check_ours_alone(*places: Path) -> None:
    """Check that nobody else may write some files or folders.

    Raises:
        PermissionError: Somebody else may.
        OSError: One is not there, or cannot be looked at.
    """
    for place in places:
        facts = place.stat()
        if facts.st_uid != os.geteuid() or facts.st_mode & OTHERS_WRITE:
            raise PermissionError(f'"{place}" must be writable for its owner only')


MEMORY = (
    "the memory that this process may have is used up; give it more (ulimit -v, or the limit of "
    "its container or service), and try again"
)
PROCESSES = (
    "no further process or thread can be started; raise what the user or the container may have "
    "(ulimit -u, pids of a container, TasksMax of systemd; or its memory), and try again"
)
OPEN_FILES = "too many files are open; raise how many may be (ulimit -n), and try again"
FILE_SIZE = "a file would be larger than it may be; raise the limit (ulimit -f), and try again"

NUMBERS = {
    errno.ENOMEM: MEMORY,
    errno.EAGAIN: PROCESSES,
    errno.EMFILE: OPEN_FILES,
    errno.ENFILE: OPEN_FILES,
    errno.EFBIG: FILE_SIZE,
}
SIGNALS = {signal.SIGXFSZ: FILE_SIZE}

SAID = {
    "can't start new thread": PROCESSES,
    "cannot fork": PROCESSES,
    "unable to create thread": PROCESSES,
    "thread failed to start": PROCESSES,
    "failed to create new os thread": PROCESSES,  # kubectl, which is written in Go
    "fork: retry": PROCESSES,
    "resource temporarily unavailable": PROCESSES,
    "out of memory": MEMORY,
    "cannot allocate memory": MEMORY,
    "failed to reserve page summary memory": MEMORY,  # kubectl
    "failed to map segment": MEMORY,  # the loader, of a library
    "mmap failed": MEMORY,
    "error return without exception set": MEMORY,  # Python, of a library that lost the exception
    "returned null without setting an exception": MEMORY,  # Python, of itself
    "too many open files": OPEN_FILES,
    "file too large": FILE_SIZE,
}
"""What Python, the loader, git and kubectl say, in lower case."""


def limit_said(text: str, code: int = 0) -> str | None:
    """Return what to do about a limit that a command met, `None` if it met none.

    Args:
        text: What it printed.
        code: How it ended, the negative number of a signal.

    >>> limit_said("fatal: Out of memory, malloc failed") == MEMORY
    True
    >>> limit_said("<function f> returned NULL without setting an exception") == MEMORY
    True
    """
    if code < 0 and -code in SIGNALS:
        return SIGNALS[signal.Signals(-code)]
    lowered = text.lower()
    return next((advice for sign, advice in SAID.items() if sign in lowered), None)


def limit_met(error: BaseException | None) -> str | None:
    """Return what to do about a limit that an exception or its cause is of, `None` if of none."""
    while error is not None:
        match error:
            case MemoryError():
                return MEMORY
            case OSError() if error.errno in NUMBERS:
                return NUMBERS[error.errno]
            case RuntimeError() | ImportError() | SystemError():
                if advice := limit_said(str(error)):
                    return advice
        error = error.__cause__
    return None


MOST_SINGLY = 64  # ours: above this one sync of everything is cheaper than one for each file


def sync_folder(folder: Path) -> None:
    """Make durable which names a folder holds: what was made, renamed and removed in it."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(place: Path) -> None:
    """Make the content of a file durable."""
    _sync(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def sync_places(places: Collection[Path]) -> None:
    """Make durable what stands at each place, or that nothing does any more.

    A link or a folder that a person put there is passed over.
    """
    if len(places) > MOST_SINGLY:
        os.sync()
        return
    for place in places:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISREG(os.lstat(place).st_mode):
                sync_file(place)
    for folder in {_standing(place.parent) for place in places}:
        sync_folder(folder)


def _standing(folder: Path) -> Path:
    """Return the folder, or the nearest above it that is still there."""
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _sync(place: Path, flags: int) -> None:
    descriptor = os.open(place, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _trim() -> Callable[[int], int] | None:
    import ctypes  # noqa: PLC0415  # a verb that ends soon gives nothing back

    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim


def give_back() -> None:
    """Return what is free; nothing happens with a C library that cannot."""
    if (trim := _trim()) is not None:
        trim(0)


YOUNG = 10_000
SELDOM = (5_000_000, 50, 1000)
STEADILY = (YOUNG, 50, 10)


def collect_seldom() -> None:
    """Let a process that ends soon look seldom."""
    gc.set_threshold(*SELDOM)


def collect_steadily() -> None:
    """Let a process that lives for long look as it goes on."""
    gc.set_threshold(*STEADILY)
