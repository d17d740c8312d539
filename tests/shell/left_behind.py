"""What a process leaves that is killed in the middle of a step: an entry and locks."""

import contextlib

from reconciler.shell.git.checkout.checkouts import find_checkouts
from reconciler.shell.git.checkout.moves import locked_index
from reconciler.shell.git.journal import StepUnfinished, journalled
from reconciler.shell.git.repository import Repository


def leave_behind(
    repository: Repository, *, old: str, new: str, branch: str = "main", locked: bool = True
) -> None:
    """Leave the entry of a step, and the locks on the indexes of its checkouts."""
    checkouts = find_checkouts(repository, branch)
    folders = [checkout.folder for checkout in checkouts]
    with contextlib.suppress(StepUnfinished), contextlib.ExitStack() as stack:
        step = stack.enter_context(
            journalled(repository, f"refs/heads/{branch}", old=old, new=new, checkouts=folders)
        )
        for checkout in checkouts if locked else ():
            stack.enter_context(locked_index(checkout, step))
        raise StepUnfinished("killed")
