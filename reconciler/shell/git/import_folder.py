"""A throw-away git folder beside a repository: what writes there locks none of its references.

`git fast-import` takes locks on references even where it changes none. A killed one would leave
them; here they are in a folder that goes, and never in a person's repository. The objects that it
writes are its own, too, until they are put into the repository (`held_objects`).
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reconciler.shell.git.checkout.configuration import may_configure
from reconciler.shell.git.command import Git
from reconciler.shell.git.held_objects import KEEP, ObjectFolder, new_folder
from reconciler.shell.git.journal import FOLDER
from reconciler.shell.git.repository import Repository
from reconciler.shell.processes.held_signals import held_signals

SUFFIX = ".import"
CONFIGURATION = """\
[core]
\trepositoryformatversion = 1
\tbare = true
{shared}[extensions]
\tobjectFormat = {object_format}
"""


@contextlib.contextmanager
def importing_git(repository: Repository) -> Iterator[tuple[Git, ObjectFolder]]:
    """Yield git that reads the objects of a repository and writes others, and where it does.

    What was put into the repository is held as long as the repository says.
    """
    held: ObjectFolder | None = None
    store = repository.common_dir / "objects"
    try:
        with held_signals():
            folder, descriptor = _locked_folder(repository)
            held = ObjectFolder(folder=folder, descriptor=descriptor, store=store)
        for name in ("objects/info", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        (folder / "config").write_text(
            CONFIGURATION.format(shared=_shared(repository), object_format=repository.object_format)
        )
        (held.objects / "info/alternates").write_bytes(_alternates(store))
        git = replace(
            repository.git, folder=folder, options=(f"--git-dir={folder}",), inherited=(descriptor,)
        )
        yield git, held
    finally:
        if held is not None:
            repository.held.add(held)


def remove_dead_imports(repository: Repository) -> None:
    """Remove the folders of processes that are gone, with their git commands.

    Each is locked while it goes: a folder that is being made looks as if its process were gone.
    """
    for folder in (repository.common_dir / FOLDER).glob(f"*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            store = repository.common_dir / "objects"
            ObjectFolder(folder=folder, descriptor=descriptor, store=store).let_go()


def _locked_folder(repository: Repository) -> tuple[Path, int]:
    """Make a folder, and return it with the descriptor that locks it.

    Whoever removes dead ones may take it before it is locked; then it is made again.
    """
    while True:
        with contextlib.suppress(FileNotFoundError):
            folder = new_folder(repository.common_dir / FOLDER)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if (folder / KEEP).exists():
                return folder, descriptor
            os.close(descriptor)


def _alternates(store: Path) -> bytes:
    """Return where git finds the objects of a repository, a line each.

    Git follows relative ones of its own only, so those of the repository are written out.
    """
    places = [bytes(store)]
    with contextlib.suppress(FileNotFoundError):
        lines = (store / "info/alternates").read_bytes().splitlines()
        relative = (line for line in lines if line and line[:1] not in b'#/"')
        places += (os.path.join(bytes(store), line) for line in relative)  # noqa: PTH118  # bytes
    return b"".join(place + b"\n" for place in places)


def _shared(repository: Repository) -> str:
    """Return the setting by which several users write objects of one repository."""
    if not may_configure(repository, "sharedrepository"):
        return ""
    finished = repository.git.run("config", "--get", "core.sharedRepository")
    value = finished.stdout.decode(errors="replace").strip()
    return f"\tsharedRepository = {value}\n" if finished.code == 0 and value.isalnum() else ""
