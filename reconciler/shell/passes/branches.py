"""Where inputs are read from and outputs are put: a branch, here or at a remote."""

import threading
from collections.abc import Collection, Sequence

from reconciler.errors import ShellError
from reconciler.model.records import dataclass, field, replace
from reconciler.shell.git.checkout.checkouts import files_being_edited
from reconciler.shell.git.checkout.moves import KeptEdit, mend_indexes
from reconciler.shell.git.checkout.worktree import advance, advance_together, has_checkouts
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.recovery import recover
from reconciler.shell.git.remotes.mirror import Mirror, Unfetched
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.turns import JointFetches, Turns


@dataclass(slots=True)
class MendedIndexes:
    """What was mended of checkouts and was told nobody yet, a sentence each."""

    sentences: list[str] = field(default_factory=list)

    def take(self) -> tuple[str, ...]:
        """Return what was not told yet, once."""
        sentences = tuple(self.sentences)
        self.sentences.clear()
        return sentences


@dataclass(frozen=True, slots=True)
class LocalBranch:
    """A branch of a repository on this machine; checkouts of it follow.

    Attributes:
        repository: Where commits are written.
        name: Without `refs/heads/`.
        turn: Whose turn it is to move it, where several threads serve the same repository.
        mended: Of which checkouts the index was mended, until somebody tells it.
        writers: Whose turn it is to write a pass, where several roots of this process share it.
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
        """Return the full hex id of the branch's commit."""
        return self.repository.resolve(self.name)

    @property
    def unfetched(self) -> tuple[Unfetched, ...]:
        """None: nothing is fetched."""
        return ()

    def recover(self) -> None:
        """Finish what a killed process left half-done: its locks would block people, too."""
        with self.turn:
            recover(self.repository)
            self.mended.sentences.extend(mend_indexes(self.repository, self.name))

    def take_mended(self) -> tuple[str, ...]:
        """Return what was mended of checkouts since it was asked last, a sentence for each."""
        with self.turn:
            return self.mended.take()

    def repair(self) -> bool:
        """Return false: nothing begins anew here, for nothing else has what a person has here."""
        return False

    def busy(self, paths: Collection[str], *, at: str) -> frozenset[str]:
        """Return those of people's files that a person is editing where the branch would move."""
        return files_being_edited(self.repository, self.name, at, paths)

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Move the branch and its checkouts, or raise `LostRace`; return the edits that stay."""
        with self.turn:
            return advance(self.repository, self.name, old=old, new=new)

    def beside(self, name: str) -> str | None:
        """Return the commit of another branch, `None` if there is none yet."""
        return self.repository.find(name)

    def publish_beside(self, name: str, *, old: str | None, new: str) -> tuple[KeptEdit, ...]:
        """Move another branch likewise; `old` of `None` makes it."""
        with self.turn:
            return advance(self.repository, name, old=old, new=new)

    def may_move_together(self, names: Collection[str]) -> bool:
        """Return false where a checkout has one of them: its files follow each branch by itself."""
        return not has_checkouts(self.repository, names)

    def publish_together(self, moves: Sequence[BranchMove]) -> bool:
        """Move branches in one transaction; false if a checkout has one, and none has moved.

        Raises:
            LostRace: One of them is elsewhere, and none has moved.
        """
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
        revision = self.fetches.head(self.name, self.mirror.fetch)
        if revision is None:
            raise ShellError(f'the remote has no branch "{self.name}"; push a first commit to it')
        return revision

    @property
    def unfetched(self) -> tuple[Unfetched, ...]:
        """Where branches are at the remote that could not be fetched; what is here is older."""
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


Branch = LocalBranch | RemoteBranch
"""Where inputs are read from and outputs are put: one branch, here or at a remote."""
