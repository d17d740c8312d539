"""Which of people's files a person is editing in a checkout that would have to follow a branch."""

from collections.abc import Iterable

from reconciler.shell.git.checkout.checkouts import find_checkouts
from reconciler.shell.git.repository import Repository


def files_being_edited(
    repository: Repository, branch: str, revision: str, paths: Iterable[str]
) -> frozenset[str]:
    """Return the files that are not as a commit has them, staged or not, in any checkout.

    Args:
        repository: Where the branch is.
        branch: Name without `refs/heads/`.
        revision: Full hex id of the branch's commit.
        paths: Relative to the root.

    Raises:
        CheckoutBusy: The branch is being rebased in one of the checkouts.
        GitError: Git failed.
    """
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    wanted = {f"{prefix}{path}": path for path in paths}
    if not wanted:
        return frozenset()
    found: set[str] = set()
    compare = ("diff", "--name-only", "--no-ext-diff", "--no-renames", "-z")
    for checkout in find_checkouts(repository, branch):
        for index in ((), ("--cached",)):
            listed = checkout.git.output(*compare, *index, revision, "--", *wanted)
            found.update(listed.decode(errors="surrogateescape").split("\0")[:-1])
        marks = checkout.git.output("ls-files", "-v", "-z", "--", *wanted)
        for record in marks.decode(errors="surrogateescape").split("\0")[:-1]:
            if record[0].islower():  # assumed unchanged, so that git diff does not look
                found.add(record[2:])
    return frozenset(wanted[path] for path in found if path in wanted)
