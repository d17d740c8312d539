"""The crash journal of a repository: what a process is about to do, written before it does it.

An entry is a file of its own below the common git folder. The process that wrote it holds a lock
on it (flock), and so do the git commands that it starts: a lock that is free says that all of them
are gone. The same file, linked, is the `index.lock` of each checkout, so it says whose that is.
"""

import contextlib
import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.model.records import dataclass, field, replace
from reconciler.shell.git.command import CheckoutBusy, Git, GitError, LostRace
from reconciler.shell.git.repository import COMMIT_ID, Repository
from reconciler.shell.processes.identity import ProcessIdentity, decode_process, this_process
from reconciler.shell.processes.limits import sync_folder

FOLDER = "reconciler"
SUFFIX = ".step"
TICK_SECONDS = 0.001
NOTHING_MOVED = (CheckoutBusy, LostRace)
"""What a step raises after which everything is as it was before."""


class StepUnfinished(GitError):
    """A branch moved, or a lock is left; the entry stays, and the next pass finishes the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """A branch about to move from `old` to `new`, and the files of its checkouts with it.

    The paths of the step are those that differ between the two commits, and no others.

    Attributes:
        owner: Who moves it.
        reference: Full name of the branch.
        old: Full hex id; zeros if the branch is made.
        new: Full hex id.
        git_dir: Whose `HEAD` git locks together with the branch.
        checkouts: Folders whose files follow.
        beside: Other branches that move in the same transaction, full name to new id.
    """

    owner: ProcessIdentity
    reference: str
    old: str
    new: str
    git_dir: Path
    checkouts: tuple[Path, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def references(self) -> tuple[str, ...]:
        """Full names of all branches that move."""
        return (self.reference, *self.beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEntry:
    """An entry whose lock this process holds.

    Attributes:
        entry: What it says.
        place: Its file.
        descriptor: Holds the lock; git commands of the step inherit it.
        written_ns: When it was written, by the clock of its file system.
    """

    entry: JournalEntry
    place: Path
    descriptor: int
    written_ns: int

    def joined(self, git: Git) -> Git:
        """Return git whose commands hold the lock for as long as they live."""
        return replace(git, inherited=(self.descriptor,))

    def is_linked_at(self, place: Path) -> bool:
        """True if a lock file is this very entry."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), place.lstat())
        except FileNotFoundError:
            return False


@contextlib.contextmanager
def journalled(
    repository: Repository,
    reference: str,
    *,
    old: str,
    new: str,
    checkouts: Sequence[Path] = (),
    beside: Mapping[str, str] | None = None,
) -> Iterator[HeldEntry]:
    """Keep an entry in the journal for the length of a block; it is durable when the block begins.

    Only a block that ends, or says by `NOTHING_MOVED` that it began nothing, takes the entry along.
    After anything else, a signal for instance, the branch may have moved: recovery finds out.
    """
    entry = JournalEntry(
        owner=this_process(),
        reference=reference,
        old=old,
        new=new,
        git_dir=repository.git_dir,
        checkouts=tuple(checkouts),
        beside=beside or {},
    )
    folder = repository.common_dir / FOLDER
    folder.mkdir(exist_ok=True)
    place, descriptor = _create(folder)
    try:
        os.write(descriptor, _encode(entry))
        os.fsync(descriptor)
        sync_folder(folder)
        written_ns = _next_tick(descriptor)
        yield HeldEntry(entry=entry, place=place, descriptor=descriptor, written_ns=written_ns)
        place.unlink(missing_ok=True)
    except NOTHING_MOVED:
        place.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def entries(repository: Repository) -> list[Path]:
    """Return the files of all entries, sorted; of the living as well as of the dead."""
    return sorted((repository.common_dir / FOLDER).glob(f"*{SUFFIX}"))


def read_entry(place: Path) -> JournalEntry | None:
    """Return what an entry says that may be in use, `None` if it is gone or not whole."""
    try:
        return _decode(place.read_bytes())
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def held_entry(place: Path) -> Iterator[HeldEntry | None]:
    """Lock an entry that another process wrote, for the length of a block.

    Yields:
        `None` if its process or one of its git commands holds it, or if it is gone. An entry that
        was never written to its end belongs to a step that never began: it is removed.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield None
        return
    try:
        yield _take(place, descriptor)
    finally:
        os.close(descriptor)


def _take(place: Path, descriptor: int) -> HeldEntry | None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    facts = os.fstat(descriptor)
    if facts.st_nlink == 0:
        return None
    try:
        entry = _decode(os.pread(descriptor, facts.st_size, 0))
    except ValueError:
        place.unlink(missing_ok=True)
        return None
    return HeldEntry(entry=entry, place=place, descriptor=descriptor, written_ns=facts.st_mtime_ns)


def _create(folder: Path) -> tuple[Path, int]:
    """Return a new file and a descriptor that holds its lock."""
    while True:
        place = folder / f"{uuid.uuid4().hex}{SUFFIX}"
        descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return place, descriptor
        os.close(descriptor)  # another process took it for an entry that was never written


def _next_tick(descriptor: int) -> int:
    """Wait until the file system's clock moves, so that whatever appears now is younger.

    Returns:
        When the entry was written.
    """
    written_ns = os.fstat(descriptor).st_mtime_ns
    while os.fstat(descriptor).st_ctime_ns <= written_ns:
        time.sleep(TICK_SECONDS)
        os.utime(descriptor, ns=(written_ns, written_ns))
    return written_ns


def _encode(entry: JournalEntry) -> bytes:
    fields = {
        "owner": entry.owner.as_fields(),
        "reference": entry.reference,
        "old": entry.old,
        "new": entry.new,
        "git_dir": str(entry.git_dir),
        "checkouts": [str(folder) for folder in entry.checkouts],
        "beside": dict(entry.beside),
    }
    return json.dumps(fields).encode() + b"\n"  # ASCII, odd bytes of paths are escaped surrogates


def _decode(content: bytes) -> JournalEntry:
    """Return what `_encode` wrote.

    Raises:
        ValueError: It is not whole.
    """
    fields = json.loads(content)
    match fields:
        case {
            "owner": dict(owner),
            "reference": str(reference),
            "old": str(old),
            "new": str(new),
            "git_dir": str(git_dir),
            "checkouts": list(checkouts),
        } if COMMIT_ID.fullmatch(old) and COMMIT_ID.fullmatch(new):
            pass
        case _:
            raise ValueError("not an entry")
    return JournalEntry(
        owner=decode_process(owner),
        reference=reference,
        old=old,
        new=new,
        git_dir=Path(git_dir),
        checkouts=tuple(Path(str(folder)) for folder in checkouts),
        beside={str(name): str(new) for name, new in fields.get("beside", {}).items()},
    )
