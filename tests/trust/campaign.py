"""Strangers, people and a daemon take turns on the branches of one repository."""

import os
import random
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from reconciler.errors import ReconcilerError
from reconciler.model.records import replace
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.branches import Branch, LocalBranch, RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.trust import Trust
from tests.builders import cluster, configuration, deployment, path_of, policy, text
from tests.shell.fleet import Clock, passes_of
from tests.shell.keys import SshKey, allowing, new_ssh_key
from tests.shell.repositories import ENVIRONMENT, NOW

PLAIN, LINK = "100644", "120000"


@dataclass
class SharedRepository:
    """A bare repository, and the keys of those who sign."""

    folder: Path
    ada: SshKey
    robot: SshKey
    stranger: SshKey
    allowed: Path
    at: datetime = NOW
    count: int = 0
    known: set[str] = field(default_factory=set)

    def git(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """Run git in it; without `check` a failure is an empty answer."""
        moment = self.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        index = {"GIT_INDEX_FILE": str(self.folder / "index-of-tests")}
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        finished = subprocess.run(
            ["git", "--git-dir", str(self.folder), *arguments],
            env={**ENVIRONMENT, **index, **dates, "PATH": os.environ["PATH"]},
            input=stdin.encode(),
            capture_output=True,
            check=False,
        )
        assert 0 == finished.returncode or not check, finished.stderr.decode()
        return finished.stdout.decode().strip() if finished.returncode == 0 else ""

    def heads(self) -> dict[str, str]:
        """Return the branches and their commits."""
        listed = self.git(
            "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads"
        )
        return dict(line.split(" ") for line in listed.splitlines())

    def move(self, branch: str, commit: str) -> None:
        """Set a branch."""
        self.git("update-ref", f"refs/heads/{branch}", commit)
        self.known.add(commit)

    def contains(self, ancestor: str, commit: str) -> bool:
        """Return whether a commit is another one, or comes before it."""
        finished = self.git("rev-list", "--max-count=1", ancestor, f"^{commit}")
        return finished == ""

    def commit(
        self,
        parents: Sequence[str],
        files: Mapping[str, str | None],
        *,
        by: SshKey | None,
        message: str = "Change",
        links: Sequence[str] = (),
    ) -> str:
        """Write a commit over the tree of the first parent; `None` removes a file or a folder."""
        self.git("read-tree", *(parents[:1] or ["--empty"]))
        for path, content in files.items():
            self.git("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", path)
            if content is not None:
                blob = self.git("hash-object", "-w", "--stdin", stdin=content)
                mode = LINK if path in links else PLAIN
                self.git(
                    "update-index", "--add", "--replace", "--cacheinfo", f"{mode},{blob},{path}"
                )
        return self.commit_tree(self.git("write-tree"), parents, by=by, message=message)

    def commit_tree(
        self, tree: str, parents: Sequence[str], *, by: SshKey | None, message: str = "Change"
    ) -> str:
        """Write a commit over a tree."""
        self.count += 1
        options = [f"-p{parent}" for parent in parents]
        signing = () if by is None else ("-c", "gpg.format=ssh", "-c", f"user.signingkey={by.file}")
        options += [] if by is None else ["-S"]
        text = f"{message}\n" if ":" in message else f"{message} {self.count}\n"
        found = self.git(*signing, "commit-tree", *options, tree, stdin=text)
        self.known.add(found)
        return found


def new_shared(folder: Path, files: Mapping[str, str]) -> SharedRepository:
    """Make one with a first commit that nobody signed, on `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    ada, robot, stranger = (new_ssh_key(folder / "keys", k) for k in ("ada", "robot", "stranger"))
    place = folder / "shared.git"
    subprocess.run(
        ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(place)],
        env=ENVIRONMENT,
        check=True,
    )
    found = SharedRepository(place, ada, robot, stranger, allowing(folder, ada, robot))
    found.move("main", found.commit([], files, by=None, message="Start"))
    return found


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


WEB = path_of(deployment())
FEEDBACK = "feedback/a/web.yaml"
APART = "fleet-status"
STRANGERS = 900_000  # numbers from here on are theirs, and must reach nothing that is decided
STEP = timedelta(minutes=20)  # between passes: a fight over files is one of four within an hour
OUTPUT = re.compile(r".*((?<![\w-])9\d{5}(?![\w-])|stranger|identity-duplicate).*")
DECIDED = re.compile(r"- name: a\n.*replicas: (\d+)")


class LawBrokenError(AssertionError):
    """A law does not hold; the message says which, and after which moves."""


def workload_file(number: int) -> str:
    """A workload that is known by its replicas."""
    return text(deployment(replicas=number))


def report_file(number: int) -> str:
    """A report of cluster a that is known by its replicas."""
    metadata = {"name": "web", "namespace": "default"}
    status = {"replicas": number, "readyReplicas": number, "observedGeneration": 1}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "status": status}
    return text(body)


@dataclass
class Campaign:
    """One repository, and the moves so far.

    Attributes:
        folder: Where it is made.
        chosen: What is decided by chance.
        apart: Whether outputs have a branch of their own.
        mirrored: Whether the daemon is elsewhere, and pushes.
    """

    folder: Path
    chosen: random.Random
    apart: bool
    mirrored: bool = False
    moves: list[str] = field(default_factory=list)
    anchors: tuple[str, ...] = ()
    number: int = 0
    passes: Passes | None = None
    mirror: Mirror | None = None
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        """Make the repository, and let two passes make the branches of the daemon."""
        branches = {"delivery": {"folders": {"branch": "fleet"}}, "feedback": {"branch": "reports"}}
        bodies = (cluster("a"), policy(), deployment(replicas=1), configuration(**branches))
        self.shared = new_shared(self.folder, {path_of(body): text(body) for body in bodies})
        start = self.shared.heads()["main"]
        reported = self.shared.commit([start], {FEEDBACK: report_file(2)}, by=None)
        self.shared.move("reports", reported)
        self.anchors = (start, reported)
        self.oracle = Oracle(self.shared, self.shared.heads())
        self.shared.move("topic", start)
        self.look_twice()
        self.anchors = (start,)
        self.restart()

    @property
    def moved(self) -> str:
        """The branch that passes move."""
        return APART if self.apart else "main"

    @property
    def branches(self) -> list[str]:
        """All branches that anybody moves."""
        return ["main", "fleet", "reports", "topic", *([APART] if self.apart else [])]

    def make(self, moves: Iterable[Callable[["Campaign"], None]]) -> None:
        """Make some moves, one after the other.

        Raises:
            LawBrokenError: A law does not hold.
        """
        for move in moves:
            self.moves.append(move.__name__)
            try:
                move(self)
            except (ReconcilerError, ValueError) as error:
                self._hold(False, f"the daemon ends with {type(error).__name__}: {error}")

    def next_number(self, *, strange: bool = False) -> int:
        """Return a number by which something is known."""
        self.number += 1
        return self.number + (STRANGERS if strange else STRANGERS // 2)

    def told(self, what: str) -> None:
        """Add to what the last move is known by."""
        self.moves[-1] += f" {what}"

    def restart(self) -> None:
        """Forget all that a process remembers."""
        self.passes = None

    def look(self) -> None:
        """Run a pass, which must not take anything from strangers."""
        if self.shared.heads().get("main") is None:
            return
        self.shared.at += STEP
        self.clock.moment = self.shared.at
        self.oracle.look()
        before = self.shared.heads()
        self._opened().run()
        after = self.shared.heads()
        made = self.oracle.note_made(before, after)
        self.oracle.look()
        self.shared.known.update(after.values())
        for commit in made:
            self._check_made(commit)

    def look_twice(self) -> None:
        """Run two passes, after which all that counts must be decided and delivered."""
        self.look()
        self.look()
        decided = self._newest(self.moved, "status")
        wanted = self._of_web(self.oracle.trusted["main"])
        found = DECIDED.search(decided)
        self._hold(found is not None and found[1] == wanted, f"{wanted} is not decided")
        self._hold(
            f"replicas: {wanted}" in self._newest("fleet", "delivery"), f"{wanted} is not delivered"
        )
        reported = self.shared.git(
            "show", f"{self.oracle.trusted['reports']}:{FEEDBACK}", check=False
        )
        count = re.search(r'"readyReplicas": (\d+)', reported)
        told = count is None or f"readyReplicas: {count[1]}" in decided
        self._hold(told, f"the report of {count and count[1]} is not read")

    def _opened(self) -> Passes:
        """Return what a daemon runs, which may have been started just now."""
        if self.passes is None or self.chosen.random() < 0.3:
            found = passes_of(self._branch(), self.clock, APART if self.apart else None)
            trust = Trust(
                found.branch.repository,
                found.branches.layout,
                AllowedKeys(signers=self.shared.allowed),
                own=self.shared.robot.fingerprint,
                anchors=self.anchors,
            )
            delivery = BranchDelivery(key=self.shared.robot.signing)
            self.passes = replace(
                found, delivery=delivery, branches=replace(found.branches, trust=trust)
            )
        return self.passes

    def _branch(self) -> Branch:
        """Return the branch that is served: here, or by a mirror that ends with the process."""
        self.close()
        if not self.mirrored:
            return LocalBranch(Repository.open(self.shared.folder), "main")
        self.mirror = Mirror.open(f"file://{self.shared.folder}", self.folder / "mirror.git")
        return RemoteBranch(self.mirror, self.mirror.repository, "main")

    def close(self) -> None:
        """Let go of the mirror."""
        if self.mirror is not None:
            self.mirror.close()
            self.mirror = None

    def _check_made(self, commit: str) -> None:
        """Hold what the daemon wrote against what strangers did."""
        branch = self.oracle.made[commit]
        folders = {"fleet": ["delivery", "delivery.yaml"]}.get(branch, ["status"])
        listed = self.files(commit, folders)
        found = OUTPUT.search(listed)
        self._hold(found is None, f"{branch} has {found and found[0]} of a stranger", commit)
        told = branch in {self.moved, "fleet"}
        self._hold(told, f"the daemon wrote to {branch}", commit)

    def _newest(self, branch: str, folder: str) -> str:
        """Return what the daemon wrote last to a branch."""
        made = [commit for commit, where in self.oracle.made.items() if where == branch]
        return self.files(made[-1], [folder])

    def written_below(self, branch: str) -> str:
        """Return where the daemon writes on a branch."""
        return "delivery/a" if branch == "fleet" else "status"

    def files(self, commit: str, folders: list[str]) -> str:
        """Return names and content of all files of some folders."""
        return self.shared.git("grep", "-e", "", commit, "--", *folders, check=False)

    def _of_web(self, commit: str) -> str:
        found = re.search(r'"replicas": (\d+)', self.shared.git("show", f"{commit}:{WEB}"))
        assert found is not None
        return found[1]

    def _hold(self, holds: object, law: str, *more: str) -> None:
        if not holds:
            raise LawBrokenError("\n".join((law, *self.moves[-40:], *more)))
