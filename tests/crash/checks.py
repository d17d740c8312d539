"""What must hold after a process was killed and started again."""

from dataclasses import dataclass
from pathlib import Path

from tests.crash.scenarios import DELIVERED, MIRROR, Scenario
from tests.shell.repositories import git

LEFT = (
    "*.lock",
    "*.step",
    "*.import",
    "*.keep",
    "reconciler-index-*",
    "reconciler-before.index",
    "reconciler-new-*",
    "reconciler-broken-*",
)
LEFT_IN_MIRROR = ("tmp_obj_*", "tmp_pack_*", "tmp_idx_*", "tmp_objdir-*")


@dataclass(frozen=True, kw_only=True)
class EndState:
    """Everything that counts of a place.

    Attributes:
        head: Id of the commit of the branch of outputs: its tree, its history and its messages,
            byte for byte.
        rebalanced: How many commits moved the workload by the rebalancer.
        files: What the person's checkout holds, path to content; empty for a remote.
        status: What git says of that checkout.
        delivered: Id of the tree of the branch that is delivered to, `""` if there is none.
    """

    head: str
    rebalanced: int
    files: dict[str, bytes]
    status: str
    delivered: str


def end_state(scenario: Scenario, root: Path) -> EndState:
    """Return the state of a place at rest."""
    served = scenario.served(root)
    branch = scenario.output_branch or "main"
    subjects = git(served, "log", "--format=%s", branch).splitlines()
    files: dict[str, bytes] = {}
    status = ""
    if not scenario.remote:
        person = scenario.person(root)
        status = person.status()
        files = files_of(person.folder)
    return EndState(
        head=git(served, "rev-parse", branch),
        rebalanced=sum(subject.startswith("Rebalance default/web") for subject in subjects),
        files=files,
        status=status,
        delivered=_tree(served, DELIVERED),
    )


def files_of(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds, path to content; what is git's is left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def left_in_mirrors(cache: Path) -> list[str]:
    """Return what is wrong with the mirrors below a cache after they were used once more."""
    left = sorted(path.name for name in LEFT + LEFT_IN_MIRROR for path in cache.rglob(name))
    for mirror in cache.rglob("repository.git"):
        git(mirror, f"--git-dir={mirror}", "fsck")
    return [f"left behind in the cache: {', '.join(left)}"] if left else []


def _tree(served: Path, branch: str) -> str:
    """The id of the tree of a branch, `""` without one; when it was reached may differ."""
    found = git(served, "for-each-ref", "--format=%(tree)", f"refs/heads/{branch}")
    return found.strip()


def problems(scenario: Scenario, root: Path, expected: EndState, *, when: str) -> list[str]:
    """Return what is wrong with a place, each in a line."""
    found = end_state(scenario, root)
    wrong = [
        f"{when}: {name} is {getattr(found, name)!r}, not {getattr(expected, name)!r}"[:400]
        for name in ("head", "rebalanced", "status", "delivered")
        if getattr(found, name) != getattr(expected, name)
    ]
    differing = sorted(dict(found.files.items() ^ expected.files.items()))
    if differing:
        wrong.append(f"{when}: files differ: {', '.join(differing)}")
    ours = root / MIRROR if scenario.remote else scenario.person(root).folder / ".git"
    patterns = LEFT + (LEFT_IN_MIRROR if scenario.remote else ())
    left = sorted(path.name for pattern in patterns for path in ours.rglob(pattern))
    if left:
        wrong.append(f"{when}: left behind: {', '.join(left)}")
    repository = ours / "repository.git" if scenario.remote else ours
    for folder in {repository, scenario.served(root)}:
        try:
            git(
                folder,
                f"--git-dir={folder if folder.name != 'person' else folder / '.git'}",
                "fsck",
            )
        except AssertionError as error:
            wrong.append(f"{when}: fsck: {error}"[:400])
    return wrong
