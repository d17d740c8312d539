"""What a loss of power takes back: the content of files that were written and not synced.

Names stay in the order in which they were given, as on a file system with a journal; what was in a
file is gone unless it was synced after it was written. It is empty then, or holds a part of it, or
zeros: file systems differ.
"""

import os
import re
from enum import Enum, auto
from pathlib import Path

from tests.crash.git_stand_in import traced_calls

OPENED = re.compile(r"= \d+<(?P<place>/[^>]*)>")
DESCRIPTOR = re.compile(r"^\d+<(?P<place>/[^>]*)>")
NAMED = re.compile(r"(?:AT_FDCWD(?:<(?P<at>[^>]*)>)?, )?\"(?P<name>[^\"]*)\"(?P<cut>\.\.\.)?")


class Left(Enum):
    """What a file system leaves of a file that was not synced."""

    NOTHING = auto()
    PART = auto()
    ZEROS = auto()


def lose_power(root: Path, control: Path, left: Left) -> int:
    """Take the content of every file below `root` that was not synced; return how many had any."""
    lost = 0
    for place in sorted(_unsynced(control)):
        path = Path(place)
        if place.startswith(f"{root}/") and path.is_file() and not path.is_symlink():
            lost += path.stat().st_size > 0
            mode = path.stat().st_mode
            path.chmod(0o644)
            _take(path, left)
            path.chmod(mode)
    return lost


def _take(path: Path, left: Left) -> None:
    size = path.stat().st_size
    os.truncate(path, size // 2 if left is Left.PART else 0)
    if left is Left.ZEROS:
        os.truncate(path, size)


def _unsynced(control: Path) -> set[str]:
    """Return the places of all files that were written since they were synced last."""
    dirty: set[str] = set()
    for line in (control / "log").read_text(errors="replace").splitlines():
        kind, number, what = line.split(" ", 2)
        if kind == "git":
            trace = control / f"trace.{number}"
            if trace.exists():
                for call in traced_calls(trace):
                    _apply_call(dirty, call.name, call.rest)
            continue
        name, _, places = what.partition(" ")
        _apply(dirty, name, places.split("\t"))
    return dirty


def _apply_call(dirty: set[str], name: str, rest: str) -> None:
    if name == "openat":
        if found := OPENED.search(rest):
            _apply(dirty, "open", [found["place"]])
        return
    if found := DESCRIPTOR.match(rest):
        _apply(dirty, "write" if name == "pwrite64" else name, [found["place"]])
        return
    places = [os.path.join(match["at"] or "", match["name"]) for match in NAMED.finditer(rest)]  # noqa: PTH118  # plain text
    _apply(dirty, name.removesuffix("2").removesuffix("at"), places)


def _apply(dirty: set[str], name: str, places: list[str]) -> None:
    """Follow one operation."""
    match name:
        case "open" | "fill" | "write" | "pwrite" | "ftruncate":
            dirty.add(places[0])
        case "fsync" | "fdatasync":
            dirty.discard(places[0])
        case "sync":
            dirty.clear()
        case "rename" | "replace" | "link" if len(places) == 2:
            before, after = places
            dirty.discard(after)
            if before in dirty:
                dirty.add(after)
            if name != "link":
                dirty.discard(before)
        case "unlink" | "remove":
            dirty.discard(places[0])
        case _:
            pass
