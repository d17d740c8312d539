"""Objects that a branch needs and git has no more: a collector took them, or the disk."""

from reconciler.audit.short_id import short_id
from reconciler.model.enumeration import enumerated
from reconciler.shell.git.errors import LostObjects
from reconciler.shell.git.repository import Repository, check_commit

MOST_NAMED = 3
MISSING = "?"  # git-rev-list(1): what `--missing=print` puts before an id


def lost_objects(repository: Repository, commit: str) -> tuple[str, ...]:
    """Return the ids of what a commit needs and git has not, but for its history; sorted.

    Raises:
        GitError: Git failed.
    """
    arguments = ("rev-list", "--objects", "--missing=print", "--no-walk", check_commit(commit))
    finished = repository.git.run(*arguments)
    if finished.code != 0:
        if repository.git.run("cat-file", "-e", commit).code == 0:
            raise repository.git.error(arguments, finished)
        return (commit,)
    lines = finished.stdout.decode(errors="replace").splitlines()
    return tuple(sorted(line[1:] for line in lines if line.startswith(MISSING)))


def lost(repository: Repository, branch: str, commit: str, ids: tuple[str, ...]) -> LostObjects:
    """Return the error that tells which objects a branch needs and git has not."""
    named = enumerated([short_id(name) for name in ids], MOST_NAMED)
    return LostObjects(
        f'branch "{branch}" is at {short_id(commit)} and needs {named}, which git has no more',
        repository.common_dir,
    )
