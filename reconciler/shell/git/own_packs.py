"""The packs that passes have put into a repository, one a commit, joined before they grow many.

Git looks for an object in every pack. Its own upkeep joins packs where people or pushes start it;
nothing does in a repository that only passes write to.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.shell.git.errors import GitError
from reconciler.shell.git.held_objects import PARTS
from reconciler.shell.git.journal import FOLDER
from reconciler.shell.git.repository import Repository
from reconciler.shell.processes.durable import sync_folder

LIST = "packs"
MANY = 32  # ours: of one size; a process of git for so many commits
COLLECTING = "gc.pid"  # git gc holds it


def remember(repository: Repository, names: Sequence[str]) -> None:
    """Write down the names of packs that a commit was put into."""
    with _locked(repository.common_dir / FOLDER / LIST) as file:
        os.lseek(file, 0, os.SEEK_END)
        os.write(file, "".join(f"0 {name}\n" for name in names).encode())


def roll_up(repository: Repository) -> None:
    """Join packs of ours if there are many of about one size, and nobody collects just now.

    If git cannot, for a collector removes what is being written, they are joined another time.
    """
    place = repository.common_dir / FOLDER / LIST
    if not place.exists() or (repository.common_dir / COLLECTING).exists():
        return
    with _locked(place) as file, contextlib.suppress(GitError):
        listed = _listed(file)
        if max(map(len, listed.values()), default=0) < MANY:
            return
        packs = repository.common_dir / "objects/pack"
        sizes = sorted(listed)
        for size in sizes:
            names = [name for name in listed[size] if _is_ours(packs, name)]
            listed[size] = names
            if len(names) >= MANY:
                listed.setdefault(size + 1, []).append(_join(repository, packs, names))
                listed[size] = []
        content = "".join(f"{size} {name}\n" for size, names in listed.items() for name in names)
        os.ftruncate(file, 0)
        os.pwrite(file, content.encode(), 0)


def _join(repository: Repository, packs: Path, names: Sequence[str]) -> str:
    """Write one pack in the place of several, and return its name."""
    stdin = "".join(f"{name}.pack\n" for name in names).encode()
    arguments = ("pack-objects", "--quiet", "--stdin-packs", str(packs / "pack"))
    joined = f"pack-{repository.git.output(*arguments, stdin=stdin).decode().strip()}"
    sync_folder(packs)
    for name in names:
        if name != joined:
            for part in reversed(PARTS):
                (packs / f"{name}{part}").unlink(missing_ok=True)
    return joined


def _is_ours(packs: Path, name: str) -> bool:
    """Return whether a pack is still there, and kept by nobody."""
    whole = all((packs / f"{name}{part}").exists() for part in PARTS)
    return whole and not (packs / f"{name}.keep").exists()


def _listed(file: int) -> dict[int, list[str]]:
    """Return the names of packs by how often they were joined."""
    found: dict[int, list[str]] = {}
    for line in os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace").splitlines():
        size, _, name = line.partition(" ")
        if size.isdecimal() and name.startswith("pack-") and "/" not in name:
            found.setdefault(int(size), []).append(name)
    return found


@contextlib.contextmanager
def _locked(place: Path) -> Iterator[int]:
    """Open the list while no other process changes it."""
    descriptor = os.open(place, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
