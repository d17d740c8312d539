"""A throw-away git folder on the objects of a repository: what writes there locks no reference.

`git fast-import` takes locks on references even where it changes none. A killed one would leave
them; here they are in a folder that goes, and never in a person's repository.
"""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reconciler.shell.git.command import Git
from reconciler.shell.git.configuration import may_configure
from reconciler.shell.git.journal import FOLDER
from reconciler.shell.git.repository import Repository
from reconciler.shell.held_signals import held_signals

SUFFIX = ".import"
CONFIGURATION = """\
[core]
\trepositoryformatversion = 1
\tbare = true
{shared}[extensions]
\tobjectFormat = {object_format}
"""


@contextlib.contextmanager
def importing_git(repository: Repository) -> Iterator[Git]:
    """Yield git that adds to the objects of a repository, and cannot touch its references."""
    folder = repository.common_dir / FOLDER / f"{uuid.uuid4().hex}{SUFFIX}"
    folder.mkdir(parents=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for name in ("objects", "refs"):
            (folder / name).mkdir()
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        (folder / "config").write_text(
            CONFIGURATION.format(shared=_shared(repository), object_format=repository.object_format)
        )
        git = replace(
            repository.git, folder=folder, options=(f"--git-dir={folder}",), inherited=(descriptor,)
        )
        yield git.having(variables={"GIT_OBJECT_DIRECTORY": str(repository.common_dir / "objects")})
    finally:
        with held_signals():
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def remove_dead_imports(repository: Repository) -> None:
    """Remove the folders of processes that are gone, with their git commands."""
    for folder in (repository.common_dir / FOLDER).glob(f"*{SUFFIX}"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if _is_free(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_free(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _shared(repository: Repository) -> str:
    """Return the setting by which several users write objects of one repository."""
    if not may_configure(repository, "sharedrepository"):
        return ""
    finished = repository.git.run("config", "--get", "core.sharedRepository")
    value = finished.stdout.decode(errors="replace").strip()
    return f"\tsharedRepository = {value}\n" if finished.code == 0 and value.isalnum() else ""
