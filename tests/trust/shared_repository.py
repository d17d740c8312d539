"""A repository that people, strangers and a daemon push to, made by git's plumbing alone."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

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
