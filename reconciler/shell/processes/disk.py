"""A disk that takes nothing: full, read-only, or not ours; in a sentence that says what to do."""

import errno
import os
import pwd
import stat
from pathlib import Path

from reconciler.shell.processes.machine_limits import limit_met

FULL = ("no space left on device", "out of diskspace", "disk quota exceeded")
READ_ONLY = ("read-only file system",)
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
NO_TEMPORARY = "No usable temporary directory"  # Python, where each is full or read-only
DENIED = ("permission denied", "insufficient permission for adding an object")
UNSAID = ("couldn't write", "could not write", "unable to write")
"""What git says, in lower case, the last ones where it keeps the reason to itself.

Its messages are in English, since it runs with `LC_ALL=C`.
"""


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
    if told := limit_met(error):
        return f'"{place}": {told}' if place else told
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
    for one in places:
        found = one.stat()
        if found.st_uid != os.geteuid() or found.st_mode & OTHERS_WRITE:
            raise PermissionError(f'"{one}" must be writable for its owner only')
