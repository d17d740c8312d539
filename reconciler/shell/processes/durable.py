"""Puts files on the disk for good, so that no loss of power takes them back."""

import contextlib
import os
import stat
from collections.abc import Collection
from pathlib import Path

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
