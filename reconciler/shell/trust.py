"""Which commits of a branch are decided from: those that allowed keys signed, one after the other.

A branch is followed along first parents from the commit that was accepted last. That one is kept in
a reference of our own, outside of every tree; where there is none, the operator names a commit that
is trusted as it is, or else the whole line must be signed. A commit that no allowed key has signed,
and all that come after it, wait: passes go on at the last one that was accepted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.errors import ShellError
from reconciler.shell.git.history import read_commit
from reconciler.shell.git.repository import Repository, check_branch
from reconciler.shell.git.revisions import is_ancestor, list_range
from reconciler.shell.git.signatures import AllowedKeys, Signature, read_signatures

ACCEPTED = "refs/reconciler/accepted/"
"""Where the commit is kept that was accepted last, by branch."""


class RefusedCommit(NamedTuple):
    """A commit that is not decided from: where, which, by whom, why, and how many wait with it."""

    branch: str
    revision: str
    author: str
    problem: str
    waiting: int

    def __str__(self) -> str:
        after = f" and {self.waiting - 1} after it" if self.waiting > 1 else ""
        return (
            f"{self.branch} has {self.revision[:12]} by {self.author}, which waits{after}: "
            f"{self.problem}; sign it by an allowed key, or name it with --trust-from once it is "
            "reviewed"
        )


class AcceptedLine(NamedTuple):
    """How far a branch is trusted.

    `commit` was accepted last. `written` is the newest commit that the daemon itself signed since,
    or else `commit`: there the outputs are. `refused` is the first commit that waits.
    """

    commit: str
    written: str
    refused: RefusedCommit | None = None


class NothingTrusted(ShellError):
    """No commit of a branch can be decided from."""


@dataclass(slots=True, eq=False)
class Trust:
    """Tells how far branches are trusted, and keeps what was accepted last.

    Attributes:
        repository: Where the branches are.
        allowed: Whose signatures count.
        own: Fingerprint of the key of the daemon.
        anchors: Full hex ids of commits that are trusted as they are, with all before them.
        refused: Branch to the commit that waits there.
    """

    repository: Repository
    allowed: AllowedKeys
    own: str
    anchors: tuple[str, ...] = ()
    refused: dict[str, RefusedCommit] = field(default_factory=dict)
    _known: dict[str, tuple[tuple[str, str | None], AcceptedLine]] = field(default_factory=dict)

    def accept(self, branch: str, head: str) -> AcceptedLine:
        """Accept what allowed keys signed on a branch, and return how far it is trusted.

        Raises:
            NothingTrusted: There is no such commit, nor one that was accepted earlier.
        """
        reference = f"{ACCEPTED}{check_branch(branch)}"
        before = self.repository.find_reference(reference)
        question = (head, before)
        if branch in self._known and self._known[branch][0] == question:
            return self._known[branch][1]
        line = self._followed(branch, head, before)
        if line.commit != before:
            old = before or "0" * len(head)
            self.repository.git.output("update-ref", reference, line.commit, old)
        self.refused.pop(branch, None)
        if line.refused is not None:
            self.refused[branch] = line.refused
        self._known[branch] = ((head, line.commit), line)
        return line

    def _followed(self, branch: str, head: str, before: str | None) -> AcceptedLine:
        """Follow a branch from what is trusted to its head."""
        if head == before:
            return AcceptedLine(head, head)
        bases = self._bases(head, before)
        if before is not None and not bases:
            problem = f"{before[:12]}, which was accepted last, is no part of the branch any more"
            return AcceptedLine(before, before, self._refusal(branch, head, problem, 1))
        line = list_range(self.repository, head, but=bases)
        signed = read_signatures(self.repository, line[::-1], self.allowed)
        good = next((i for i, one in enumerate(signed) if one.problem), len(signed))
        if good == len(signed):
            return AcceptedLine(head, head)
        bad = signed[good]
        refused = self._refusal(branch, bad.revision, bad.problem, len(signed) - good)
        commit = signed[good - 1].revision if good else self._base(line[-1], bases)
        if commit is None:
            raise NothingTrusted(str(refused))
        return AcceptedLine(commit, self._written(commit, signed[good:]), refused)

    def _bases(self, head: str, before: str | None) -> tuple[str, ...]:
        """Return the trusted commits that lead to a head.

        What the operator names counts where it says more than what was accepted.
        """
        named = [one for one in self.anchors if before is None or not self._leads(one, before)]
        trusted = named if before is None else [*named, before]
        return tuple(one for one in trusted if self._leads(one, head))

    def _leads(self, ancestor: str, revision: str) -> bool:
        return is_ancestor(self.repository, ancestor, revision)

    def _base(self, first: str, bases: Sequence[str]) -> str | None:
        """Return the trusted commit that the first one of a line stands on, `None` if none does."""
        parents = read_commit(self.repository, first).parents
        on_line = [one for one in bases if parents and self._leads(parents[0], one)]
        return next(iter(on_line or bases), None)

    def _written(self, commit: str, waiting: Sequence[Signature]) -> str:
        """Return the newest commit of the daemon's own after an accepted one, or that one."""
        for one in reversed(waiting):
            if one.key == self.own and not one.problem and self._leads(commit, one.revision):
                return one.revision
        return commit

    def _refusal(self, branch: str, revision: str, problem: str, waiting: int) -> RefusedCommit:
        author = str(read_commit(self.repository, revision).author)
        return RefusedCommit(branch, revision, author, problem, waiting)
