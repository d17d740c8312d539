"""What the machine grants no more of: memory, processes, threads, open files, size of a file.

Such a limit is no mistake of the program, and says nothing of the repository: it is told in a
sentence with what mends it, and the same may succeed later.
"""

import errno
import signal

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
    "fork: retry": PROCESSES,
    "resource temporarily unavailable": PROCESSES,
    "out of memory": MEMORY,
    "cannot allocate memory": MEMORY,
    "failed to map segment": MEMORY,  # the loader, of a library
    "mmap failed": MEMORY,
    "error return without exception set": MEMORY,  # Python, of a library that lost the exception
    "returned null without setting an exception": MEMORY,  # Python, of itself
    "too many open files": OPEN_FILES,
    "file too large": FILE_SIZE,
}
"""What Python, the loader and git say, in lower case."""


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
    return next((told for sign, told in SAID.items() if sign in lowered), None)


def limit_met(error: BaseException | None) -> str | None:
    """Return what to do about a limit that an exception or its cause is of, `None` if of none."""
    while error is not None:
        match error:
            case MemoryError():
                return MEMORY
            case OSError() if error.errno in NUMBERS:
                return NUMBERS[error.errno]
            case RuntimeError() | ImportError() | SystemError():
                if told := limit_said(str(error)):
                    return told
        error = error.__cause__
    return None
