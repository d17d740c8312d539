"""What must count, told from who signed which commit and on which branch it was made.

It asks git and nothing of ours: a commit counts if a person whose key is allowed signed it, or if
the daemon made it on that very branch; and only up to the first one that does not.
"""

from dataclasses import dataclass, field

from tests.trust.shared_repository import SharedRepository


@dataclass
class Oracle:
    """What is trusted of each branch.

    Attributes:
        repository: Where the branches are.
        trusted: Branch to the commit that counts last.
        made: Commit of the daemon's key to the branch that it was made on, in order.
    """

    repository: SharedRepository
    trusted: dict[str, str]
    made: dict[str, str] = field(default_factory=dict)
    _signers: dict[str, str] = field(default_factory=dict)

    def signer(self, commit: str) -> str:
        """Return whose allowed key signed a commit, `""` for nobody's."""
        if commit not in self._signers:
            settings = f"gpg.ssh.allowedSignersFile={self.repository.allowed}"
            told = self.repository.git(
                "-c", settings, "log", "--no-walk", "--format=%G? %GS", commit
            )
            state, _, who = told.partition(" ")
            self._signers[commit] = who.partition("@")[0] if state == "G" else ""
        return self._signers[commit]

    def counts(self, commit: str, branch: str) -> bool:
        """Return whether a commit may count on a branch."""
        who = self.signer(commit)
        return who == "ada" or (who == "robot" and self.made.get(commit) == branch)

    def note_made(self, before: dict[str, str], after: dict[str, str]) -> list[str]:
        """Note where the daemon made commits, and return them."""
        found = []
        for branch, head in sorted(after.items()):
            old = before.get(branch)
            if head == old:
                continue
            new = self.repository.git(
                "rev-list", "--reverse", "--first-parent", head, *([f"^{old}"] if old else [])
            ).splitlines()
            for commit in new:
                if commit not in self.made and self.signer(commit) == "robot":
                    self.made[commit] = branch
                    found.append(commit)
        return found

    def look(self) -> None:
        """Move on what is trusted of each branch."""
        for branch, head in self.repository.heads().items():
            trusted = self.trusted.get(branch)
            if trusted is None:
                if self.made.get(head) == branch:
                    self.trusted[branch] = head
                continue
            for commit in self._line(trusted, head):
                if not self.counts(commit, branch):
                    break
                if self.repository.contains(trusted, commit):
                    self.trusted[branch] = commit

    def review(self, branch: str) -> bool:
        """Trust the head of a branch as it is; false if something trusted has it already."""
        head = self.repository.heads().get(branch)
        if head is None or any(self.repository.contains(head, t) for t in self.trusted.values()):
            return False
        self.trusted[branch] = head
        return True

    def is_clean(self, branch: str) -> bool:
        """Return whether all of a branch counts."""
        return self.repository.heads().get(branch) == self.trusted.get(branch)

    def _line(self, trusted: str, head: str) -> list[str]:
        """Return the commits of a branch since what is trusted, the oldest first."""
        if not self.repository.contains(trusted, head):
            return []
        listed = self.repository.git("rev-list", "--reverse", "--first-parent", head, f"^{trusted}")
        return listed.splitlines()
