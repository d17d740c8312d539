"""Where inputs are read from and outputs are put: a branch, here or at a remote."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from reconciler.errors import ShellError
from reconciler.shell.git.checkout.checkouts import files_being_edited
from reconciler.shell.git.checkout.moves import KeptEdit, MendedIndexes, mend_indexes
from reconciler.shell.git.checkout.worktree import advance, advance_together, has_checkouts
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.recovery import recover
from reconciler.shell.git.remotes.mirror import Mirror, Unfetched
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.turns import JointFetches, Turns


class Branch(Protocol):
    """Where inputs are read from and outputs are put: one branch, here or at a remote."""

    @property
    def repository(self) -> Repository:
        """Where commits are written."""

    @property
    def name(self) -> str:
        """Name without `refs/heads/`."""

    @property
    def writers(self) -> Turns:
        """Whose turn it is to write a pass, where several roots of this process share it."""

    def head(self) -> str:
        """Return the full hex id of the branch's commit, fetched if it is elsewhere."""

    @property
    def unfetched(self) -> tuple[Unfetched, ...]:
        """Where branches are elsewhere that could not be fetched; `head` and `beside` are older."""

    def recover(self) -> None:
        """Finish what a killed process left half-done here."""

    def take_mended(self) -> tuple[str, ...]:
        """Return what was mended of checkouts since it was asked last, a sentence for each."""

    def busy(self, paths: Collection[str], *, at: str) -> frozenset[str]:
        """Return those of people's files that a person is editing where the branch would move."""

    def repair(self) -> bool:
        """Begin anew if what is kept here cannot be read, and return whether that was so."""

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Move the branch, or raise `LostRace`; return the edits that stay in its checkouts."""

    def beside(self, name: str) -> str | None:
        """Return the commit of another branch, `None` if there is none yet."""

    def publish_beside(self, name: str, *, old: str | None, new: str) -> tuple[KeptEdit, ...]:
        """Move another branch, or raise `LostRace`; return the edits that stay."""

    def may_move_together(self, names: Collection[str]) -> bool:
        """Return whether branches may move in one transaction."""

    def publish_together(self, moves: Sequence[BranchMove]) -> bool:
        """Move branches in one transaction; false if that cannot be, and none has moved.

        Raises:
            LostRace: One of them is elsewhere, and none has moved.
        """

    def maintain(self) -> None:
        """Start what keeps reading fast, or look after it; wait for nothing."""


@dataclass(frozen=True, slots=True)
class LocalBranch:
    """A branch of a repository on this machine; checkouts of it follow.

    `turn` is whose turn it is to move it, where several threads serve the same repository. `mended`
    says of which checkouts the index was mended, until somebody tells it.
    """

    repository: Repository
    name: str
    turn: threading.RLock = field(default_factory=threading.RLock, compare=False, repr=False)
    mended: MendedIndexes = field(default_factory=MendedIndexes, compare=False, repr=False)
    writers: Turns = field(default_factory=Turns, compare=False, repr=False)

    def share(self) -> None:
        """Let several threads serve folders of it: only moves must take turns, and they do."""

    def below(self, folder: str) -> "LocalBranch":
        """Return the same branch, of which only a folder matters."""
        return replace(self, repository=self.repository.below(folder))

    def head(self) -> str:
        """Return the branch's commit."""
        return self.repository.resolve(self.name)

    @property
    def unfetched(self) -> tuple[Unfetched, ...]:
        """None: nothing is fetched."""
        return ()

    def recover(self) -> None:
        """Finish what the journal holds, or else its locks would block people, too."""
        with self.turn:
            recover(self.repository)
            self.mended.add(mend_indexes(self.repository, self.name))

    def take_mended(self) -> tuple[str, ...]:
        """Return what was mended since it was asked last."""
        with self.turn:
            return self.mended.take()

    def repair(self) -> bool:
        """Return false: it is a person's repository, and nothing else has what is in it."""
        return False

    def busy(self, paths: Collection[str], *, at: str) -> frozenset[str]:
        """Look into the checkouts of the branch."""
        return files_being_edited(self.repository, self.name, at, paths)

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Move the branch and the checkouts that have it checked out."""
        with self.turn:
            return advance(self.repository, self.name, old=old, new=new)

    def beside(self, name: str) -> str | None:
        """Return the commit of another branch."""
        return self.repository.find(name)

    def publish_beside(self, name: str, *, old: str | None, new: str) -> tuple[KeptEdit, ...]:
        """Move another branch and its checkouts."""
        with self.turn:
            return advance(self.repository, name, old=old, new=new)

    def may_move_together(self, names: Collection[str]) -> bool:
        """Return false where a checkout has one of them: its files follow each branch by itself."""
        return not has_checkouts(self.repository, names)

    def publish_together(self, moves: Sequence[BranchMove]) -> bool:
        """Move branches that no checkout has in one transaction."""
        with self.turn:
            return advance_together(self.repository, moves)

    def maintain(self) -> None:
        """Leave a person's repository to the person, and to git."""


@dataclass(frozen=True, slots=True)
class RemoteBranch:
    """A branch of a remote, read and written through our own mirror."""

    mirror: Mirror
    repository: Repository
    name: str
    writers: Turns = field(default_factory=Turns, compare=False, repr=False)
    fetches: JointFetches = field(default_factory=JointFetches, compare=False, repr=False)

    def share(self) -> None:
        """Let several threads serve folders of it, through one mirror."""
        self.mirror.share()

    def below(self, folder: str) -> "RemoteBranch":
        """Return the same branch, of which only a folder matters."""
        return replace(self, repository=self.repository.below(folder))

    def head(self) -> str:
        """Fetch the branch and return its commit."""
        found = self.fetches.head(self.name, self.mirror.fetch)
        if found is None:
            raise ShellError(f'the remote has no branch "{self.name}"; push a first commit to it')
        return found

    @property
    def unfetched(self) -> tuple[Unfetched, ...]:
        """Those of the mirror."""
        return tuple(self.mirror.unfetched.values())

    def recover(self) -> None:
        """Remove what killed commands left in the mirror; a push is whole or has not happened."""
        self.mirror.recover()

    def take_mended(self) -> tuple[str, ...]:
        """Return nothing: a mirror has no checkouts."""
        return ()

    def repair(self) -> bool:
        """Rebuild the mirror if git cannot read it."""
        return self.mirror.repair()

    def busy(self, paths: Collection[str], *, at: str) -> frozenset[str]:  # noqa: ARG002  # none is
        """Return none: no checkout follows a remote's branch."""
        return frozenset()

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Push; the push is refused if the remote's branch is not at `old`."""
        self.mirror.push(self.name, old=old, new=new)
        return ()

    def beside(self, name: str) -> str | None:
        """Fetch another branch and return its commit."""
        return self.fetches.head(name, self.mirror.fetch)

    def publish_beside(self, name: str, *, old: str | None, new: str) -> tuple[KeptEdit, ...]:
        """Push another branch."""
        self.mirror.push(name, old=old, new=new)
        return ()

    def may_move_together(self, names: Collection[str]) -> bool:  # noqa: ARG002  # it is asked
        """Return true: whether the remote can is found out by asking it."""
        return True

    def publish_together(self, moves: Sequence[BranchMove]) -> bool:
        """Push branches in one transaction; false if the remote cannot, and none has moved."""
        return self.mirror.push_together(moves)

    def maintain(self) -> None:
        """Look after the mirror."""
        self.mirror.maintain()
