"""The folder of a mirror: made whole or not at all, used by one process, rebuilt when it is broken.

    reconciler-remote      whose mirror it is
    reconciler-lock        locked by the process that uses it, and by its git commands
    reconciler-askpass     hands credentials to git
    repository.git         the mirror itself; all in it can be had again from the remote

Everything else in it is what a killed process left, and goes with the next start.

Upkeep runs beside the passes: it keeps packs few, and an index of what commits changed. It is a
process of its own, one command after the other, and is looked at now and then. Neither command
takes a reference's lock or drops an object, so passes go on meanwhile; a kill leaves what the next
start removes, and nothing is lost.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from reconciler.errors import UsageError
from reconciler.model.records import dataclass, replace
from reconciler.shell.git.command import Git, MirrorBusy, stop
from reconciler.shell.git.remotes.remote import ASKPASS, Remote
from reconciler.shell.processes.identity import Fate, decode_process, fate_of, this_process
from reconciler.shell.processes.limits import sync_file, sync_folder

MARK, LOCK, ASKPASS_FILE, REPOSITORY = (
    "reconciler-remote",
    "reconciler-lock",
    "reconciler-askpass",
    "repository.git",
)
OURS = "reconciler-"
LOCK_PATIENCE_SECONDS = 2.0  # for the last git command of a process that was killed

CONFIGURATION = """\
# Written by reconciler at every start; edits are lost.
[core]
\trepositoryformatversion = 1
\tbare = true
[extensions]
\tobjectFormat = {object_format}
[gc]
\tauto = 0
[http]
\tlowSpeedLimit = 1000
\tlowSpeedTime = 30
"""

LEFTOVERS = (
    "*.lock", "refs/**/*.lock", "objects/info/*.lock", "objects/pack/*.lock",
    "objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/pack/*.keep",
    "objects/??/tmp_obj_*", "objects/tmp_objdir-*", "fast_import_crash_*",
)  # fmt: skip
"""What a killed git leaves behind. Removed here only: anywhere else it may be a person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorFolder:
    """A folder that this process has locked.

    Attributes:
        folder: The folder.
        object_format: `sha1` or `sha256`.
        lock: Descriptor that holds the lock; git commands inherit it.
        youngest_seconds: Leftovers younger than this stay for now: their process may live
            on another host. 0 if it is gone.
    """

    folder: Path
    object_format: str
    lock: int
    youngest_seconds: float

    @property
    def repository(self) -> Path:
        """The bare repository."""
        return self.folder / REPOSITORY

    @property
    def askpass(self) -> Path:
        """The program that hands credentials to git."""
        return self.folder / ASKPASS_FILE

    def remove_leftovers(self) -> None:
        """Remove what a killed git left; no git of ours runs meanwhile."""
        for pattern in LEFTOVERS:
            for path in self.repository.glob(pattern):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - path.lstat().st_mtime < self.youngest_seconds:
                        continue
                    _remove(path)

    def rebuild(self) -> None:
        """Put an empty repository in the place of the one that cannot be read."""
        broken = self.folder / f"{OURS}broken-{uuid.uuid4().hex}"
        with contextlib.suppress(FileNotFoundError):
            self.repository.rename(broken)
        _make(self.folder, self.object_format)
        _remove(broken)

    def is_readable(self, git: Git, *, thoroughly: bool) -> bool:
        """Return whether git can read the mirror.

        Args:
            git: Runs in the mirror.
            thoroughly: Whether every object is read, not only the commits that branches name.
        """
        if _emptied(self.repository):
            return False
        if git.run("rev-list", "--max-count=1", "--all", "--").code != 0:
            return False
        if not thoroughly:
            return True
        patient = replace(git, timeout_seconds=10 * git.timeout_seconds)
        return patient.run("fsck", "--no-dangling", "--no-progress").code == 0


def open_folder(
    folder: Path, remote: Remote, *, object_format: str, limit_seconds: float
) -> MirrorFolder:
    """Lock the folder of a mirror, and make what is missing in it.

    Args:
        folder: Made if absent.
        remote: Whose mirror it is.
        object_format: `sha1` or `sha256`.
        limit_seconds: Age from which on a leftover of another host is removed.

    Raises:
        UsageError: The folder holds something else.
        MirrorBusy: Another process uses the folder.
    """
    _claim(folder, remote)
    descriptor = _lock(folder)
    try:
        gone = _owner_is_gone(descriptor)
        os.pwrite(descriptor, json.dumps(this_process().as_fields()).encode() + b"\n", 0)
        os.ftruncate(descriptor, len(os.pread(descriptor, 4096, 0).partition(b"\n")[0]) + 1)
        for path in folder.iterdir():
            if path.name not in (MARK, LOCK, ASKPASS_FILE, REPOSITORY):
                _remove(path)
        if not (folder / REPOSITORY).exists():
            _make(folder, object_format)
        configuration = CONFIGURATION.format(object_format=object_format)
        _replace(folder / REPOSITORY / "config", configuration, aside=folder)
        _replace(folder / ASKPASS_FILE, ASKPASS, aside=folder, mode=0o700)
        opened = MirrorFolder(
            folder=folder,
            object_format=object_format,
            lock=descriptor,
            youngest_seconds=0.0 if gone else limit_seconds,
        )
        opened.remove_leftovers()
    except BaseException:
        os.close(descriptor)
        raise
    return opened


def _claim(folder: Path, remote: Remote) -> None:
    """Refuse a folder that is not this remote's mirror: we are about to write to it."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f'"{folder}" is not a folder; name an empty or new one for the mirror')
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark = folder / MARK
    said = mark.read_text().strip() if mark.is_file() else ""
    if not said:  # new, or its first process was killed
        if any(not path.name.startswith(OURS) for path in folder.iterdir()):
            raise UsageError(f'"{folder}" is not empty and not a mirror; name an empty folder')
        _replace(mark, f"{remote.url}\n", aside=folder)
    elif said != remote.url:
        raise UsageError(f'"{folder}" is the mirror of {said}; name another folder')


def _lock(folder: Path) -> int:
    descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    deadline = time.monotonic() + LOCK_PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise MirrorBusy(
                    f'another process uses "{folder}"; stop it or name another'
                ) from None
            time.sleep(0.05)
        else:
            return descriptor


def _owner_is_gone(descriptor: int) -> bool:
    """Return whether the last process in the folder, and its git commands, are surely gone."""
    try:
        fields = json.loads(os.pread(descriptor, 4096, 0).partition(b"\n")[0])
        owner = decode_process(fields if isinstance(fields, dict) else {})
    except ValueError:
        return True  # killed before it had written that, so before it ran any git
    return fate_of(owner, this_process()) is not Fate.UNKNOWN


def _make(folder: Path, object_format: str) -> None:
    """Make an empty repository aside, and put it into its place when it is whole."""
    new = folder / f"{OURS}new-{uuid.uuid4().hex}"
    Git(folder=folder).output(
        "init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(new)
    )
    (new / "config").write_text(CONFIGURATION.format(object_format=object_format))
    for name in ("config", "HEAD"):
        sync_file(new / name)
    sync_folder(new)
    new.rename(folder / REPOSITORY)
    sync_folder(folder)


def _replace(place: Path, text: str, *, aside: Path, mode: int = 0o600) -> None:
    """Write a file whole or not at all; what a kill leaves of it is left in `aside`."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if place.read_text() == text and place.stat().st_mode & 0o777 == mode:
            return
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    new = aside / f"{OURS}new-{uuid.uuid4().hex}"
    new.write_text(text)
    new.chmod(mode)
    sync_file(new)
    new.rename(place)
    sync_folder(place.parent)


def _remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it; links are not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _emptied(repository: Path) -> bool:
    """Return whether an object has no content, which is what a loss of power leaves of a new file.

    Git takes such an object for one that it has, and never writes it again.
    """
    return any(
        path.stat().st_size == 0
        for pattern in ("objects/??/*", "objects/pack/*.pack", "objects/pack/*.idx")
        for path in repository.glob(pattern)
    )


COMMANDS = (
    ("repack", "-d", "-l", "--quiet", "--geometric=2"),
    ("commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress"),
)
EVERY_SECONDS = 3600.0  # ours: each takes a second where little came; at first it reads all history
MANY = 100  # packs that came since: each process of git opens all of them
SETTINGS = {"pack.threads": "1"}  # the other processors are for passes


class Upkeep:
    """Runs the commands from time to time."""

    def __init__(self, git: Git, *, moment: Callable[[], float] = time.monotonic) -> None:
        # Whoever opens the mirror after a kill need not wait for a command that was left behind.
        self._git = replace(git.having(settings=SETTINGS), inherited=())
        self._moment = moment
        self._next_at = moment()
        self._came = 0
        self._left: tuple[tuple[str, ...], ...] = ()
        self._process: subprocess.Popen[bytes] | None = None

    def is_running(self) -> bool:
        """Return whether a command is at work."""
        return self._process is not None and self._process.poll() is None

    def note_pack(self) -> None:
        """Take note of a pack that came."""
        self._came += 1

    def go_on(self) -> bool:
        """Start the next command if the one before is over, or if it is time to begin again.

        Returns:
            Whether a command is at work now.
        """
        if self.is_running():
            return True
        self._put_away()
        if not self._left:
            if self._moment() < self._next_at and self._came < MANY:
                return False
            self._came = 0
            self._left, self._next_at = COMMANDS, self._moment() + EVERY_SECONDS
        command, *rest = self._left
        self._left = tuple(rest)
        self._process = self._git.start(command)
        cast("BinaryIO", self._process.stdin).close()
        return True

    def end(self) -> None:
        """End what is at work; the next time begins with the first command."""
        self._left = ()
        if self._process is not None:
            stop(self._process)
            self._put_away()

    def _put_away(self) -> None:
        """Close the outputs of a command that is over; whether it succeeded matters to nothing."""
        if self._process is not None:
            for pipe in (self._process.stdout, self._process.stderr):
                with contextlib.suppress(OSError):
                    cast("BinaryIO", pipe).close()
            self._process = None
