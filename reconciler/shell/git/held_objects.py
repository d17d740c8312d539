"""Objects that were written and that no reference names yet, out of the reach of collectors.

`git gc --prune=now` removes what no reference reaches, at any moment, also between the writing of a
commit and the move of its branch. It leaves a pack alone that has a `.keep` beside it, and never
sees what lies in a folder of ours. So the objects of a commit are packed in such a folder, put
beside the packs of the repository with a `.keep`, and let go when the branch has moved.
"""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from reconciler.model.records import dataclass, field
from reconciler.shell.processes.signals import held_signals

KEEP = "keep"
PARTS = (".pack", ".idx")  # git takes a pack for one as soon as it has an index
INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"  # gitformat-pack(5), version 2
FANOUT_BYTES = 4 * 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectFolder:
    """A folder of ours with packs that are put into a repository.

    Attributes:
        folder: Locked by this process and the git commands that write in it.
        descriptor: Holds the lock; -1 if the process that made it is gone.
        store: The objects of the repository.
    """

    folder: Path
    descriptor: int
    store: Path

    @property
    def objects(self) -> Path:
        """Where git writes."""
        return self.folder / "objects"

    @property
    def names(self) -> list[str]:
        """Names of its packs, without what follows the dot; sorted."""
        return sorted(path.stem for path in self.objects.glob("pack/pack-*.idx"))

    def put(self) -> None:
        """Put each pack into the repository, kept; what is there already stays."""
        place = self.store / "pack"
        place.mkdir(exist_ok=True)
        for name in self.names:
            _link(self.folder / KEEP, place / f"{name}.keep")
            for part in PARTS:
                _link(self.objects / "pack" / f"{name}{part}", place / f"{name}{part}")

    def ids(self) -> set[str]:
        """Return the full hex ids of all objects in its packs."""
        return {
            object_id
            for name in self.names
            for object_id in _ids_in((self.objects / "pack" / f"{name}.idx").read_bytes())
        }

    def let_go(self) -> None:
        """Leave the packs to git, those that were not put whole excepted; remove the folder."""
        place = self.store / "pack"
        for path in self.objects.glob("pack/pack-*.pack"):
            if not (place / f"{path.stem}.idx").exists():
                _unlink_if_same(place / path.name, path)
            _unlink_if_same(place / f"{path.stem}.keep", self.folder / KEEP)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.descriptor >= 0:
            os.close(self.descriptor)


@dataclass(slots=True, eq=False)
class HeldObjects:
    """What one user of a repository has written and not yet named; a block holds it.

    Outside of a block everything is let go at once.
    """

    _depth: int = 0
    _folders: list[ObjectFolder] = field(default_factory=list)

    def add(self, folder: ObjectFolder) -> None:
        """Hold what a folder has put into the repository until the block ends."""
        self._folders.append(folder)
        if not self._depth:
            self._let_go()

    def ids(self) -> set[str]:
        """Return the full hex ids of all objects that are held."""
        return {name for folder in self._folders for name in folder.ids()}

    def put_again(self) -> None:
        """Put back what a collector took all the same; call it when a reference names it."""
        for folder in self._folders:
            folder.put()

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._let_go()

    def _let_go(self) -> None:
        with held_signals():
            while self._folders:
                self._folders.pop().let_go()


def new_folder(place: Path) -> Path:
    """Make a folder whose `keep` can be linked beside packs."""
    folder = place / f"{uuid.uuid4().hex}.import"
    folder.mkdir(parents=True)
    (folder / KEEP).write_text("reconciler\n")
    return folder


def _link(source: Path, target: Path) -> None:
    """Let a file have a second name, or another file system a copy of it."""
    try:
        os.link(source, target)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy = target.with_name(f"tmp_{uuid.uuid4().hex}")
        shutil.copyfile(source, copy)
        copy.replace(target)


def _unlink_if_same(place: Path, known: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if place.samefile(known):
            place.unlink()


def _ids_in(index: bytes) -> Iterator[str]:
    """Yield the ids in the index of a pack.

    Source: gitformat-pack(5), "pack-*.idx files": ids of 20 or 32 bytes, sorted, after the fan-out;
    CRC and offset follow, of 4 bytes each, and two checksums that are as long as an id.
    """
    if not index.startswith(INDEX_MAGIC):
        return
    begin = len(INDEX_MAGIC) + FANOUT_BYTES
    count = int.from_bytes(index[begin - 4 : begin], "big")
    size = next(
        (size for size in (20, 32) if len(index) == begin + count * (size + 8) + 2 * size), 0
    )
    for at in range(begin, begin + count * size, size or 1):
        yield index[at : at + size].hex()
