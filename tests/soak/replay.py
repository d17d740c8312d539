"""The same inputs at the same moments once more, by a calm daemon: every commit must come out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.model.identity import RepositoryLayout
from reconciler.model.moments import parse_moment
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from reconciler.shell.work.proofs import prove_branches
from tests.shell.fleet import DAEMON, Clock
from tests.shell.repositories import git

AT = "%(trailers:key=Reconciled-At,valueonly,separator=%x20)"
DECIDED_BY = re.compile(r"\((?:WorkloadRebalancer) ([^)]+)\)")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One commit of the branch; `at` is the moment of a pass, `""` for a person's commit."""

    commit: str
    parents: str
    at: str
    subject: str
    body: str


def recorded(remote: Path) -> Sequence[Recorded]:
    """Return the commits of the branch, the oldest first."""
    layout = f"%H%x1f%P%x1f{AT}%x1f%s%x1f%b%x1e"
    listed = git(
        remote, "log", "--reverse", "--first-parent", f"--format={layout}", "refs/heads/main"
    )
    commits = [
        record.strip("\n").split("\x1f") for record in listed.split("\x1e") if record.strip()
    ]
    return [
        Recorded(commit=commit, parents=parents, at=at.strip(), subject=subject, body=body)
        for commit, parents, at, subject, body in commits
    ]


def replay(remote: Path, folder: Path, roots: Sequence[str] = ("",)) -> list[str]:
    """Decide every pass again in a repository of its own; return what came out otherwise.

    Args:
        remote: Whose branch.
        folder: Where that repository is made.
        roots: The folders that were served, each by itself.
    """
    git(folder, "clone", "--quiet", "--bare", str(remote), "calm.git")
    calm = folder / "calm.git"
    passes = {root: _calm_passes(calm, root) for root in roots}
    wrong = []
    for one in recorded(remote):
        if not one.at:
            git(calm, "update-ref", "refs/heads/calm", one.commit)
            continue
        git(calm, "update-ref", "refs/heads/calm", one.parents)
        root = _root_of(calm, one.commit, roots)
        made = passes[root].run(at=parse_moment(one.at)).commit
        if made != one.commit:
            wrong.append(f"{one.commit[:12]} {one.subject}: a calm daemon makes {made}")
            git(calm, "update-ref", "refs/heads/calm", one.commit)
    return wrong


def _calm_passes(calm: Path, root: str) -> Passes:
    """Return what runs passes on a root of the calm repository."""
    top = Repository.open(calm)
    repository = top.below(root) if root else top
    return Passes(
        branches=ServedBranches(LocalBranch(repository, "calm"), RepositoryLayout()),
        loader=Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()),
        clock=Clock(),
        author=DAEMON,
    )


def _root_of(calm: Path, commit: str, roots: Sequence[str]) -> str:
    """Return the root whose pass a commit is."""
    if len(roots) == 1:
        return roots[0]
    path = git(calm, "diff-tree", "-r", "--no-commit-id", "--name-only", commit).splitlines()[0]
    return next(root for root in roots if path.startswith(f"{root}/"))


def astray(remote: Path) -> list[str]:
    """Return what is wrong with the branch of deliveries: it holds what a decision asks for."""
    repository = Repository.open(remote)
    loader = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout())
    line = {one.commit for one in recorded(remote)}
    [proof] = prove_branches(repository, loader, loader.load(repository.resolve("main")))
    wrong = [f"{proof.branch}: {one.path}: {one.message}" for one in proof.findings]
    if proof.commit not in line:
        wrong.append(f"{proof.branch} follows {proof.commit or 'nothing'}, which is not on main")
    return wrong if proof.files else [*wrong, f"{proof.branch} has no files"]


def rebalanced(remote: Path) -> dict[str, list[str]]:
    """Return the decisions that each rebalancer caused, by its name."""
    lines: dict[str, list[str]] = {}
    for one in recorded(remote):
        for line in one.body.splitlines() if one.at else ():
            for name in DECIDED_BY.findall(line):
                lines.setdefault(name, []).append(f"{one.commit[:12]} {one.at} {line}")
    return lines
