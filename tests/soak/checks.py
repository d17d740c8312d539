"""What a soak checks: that it can begin, that it comes to rest, and that nothing was lost."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.core.changes import WriteFile
from reconciler.manifests.paths import FAULTS
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import RepositoryLayout
from reconciler.model.moments import parse_moment
from reconciler.model.world import World
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from reconciler.shell.work.proofs import prove_branches
from tests.builders import deployment
from tests.builders import text as builders_text
from tests.shell.fleet import DAEMON, PATIENCE_SECONDS, Clock, eventually, new_passes
from tests.shell.repositories import NOW, git, new_bare
from tests.soak.daemons import Daemon
from tests.soak.writers import WORKLOADS, Writer, first_files

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


QUIET_SECONDS = 8.0  # without a commit: longer than any wait of the fleet
BINDINGS = "status/resourcebindings.work.karmada.io"


def begin_calmly(remote: Path, writer: Writer) -> None:
    """Wait until every workload is placed, and edit on top, so that no rewriting undoes it.

    A file that was broken before its first decision has no last good one: its rebalancer would
    rightly fail, and the checks at the end could not tell that from one that was lost.
    """
    names = ("ls-tree", "-r", "--name-only", "refs/heads/main", writer.place(BINDINGS))
    eventually(lambda: len(git(remote, *names).split()) == len(WORKLOADS), "the first placement")
    eventually(writer.scale, "an edit that the remote takes")


def come_to_rest(remote: Path, daemons: Sequence[Daemon]) -> None:
    """Wait until no daemon has anything to commit, then ask them to end."""
    assert all(daemon.running for daemon in daemons)
    head, since = "", time.monotonic()
    end = since + PATIENCE_SECONDS
    while time.monotonic() - since < QUIET_SECONDS:
        assert time.monotonic() < end, "the branch never comes to rest"
        found = git(remote, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
        if found != head:
            head, since = found, time.monotonic()
        time.sleep(0.2)
    for daemon in daemons:
        daemon.stop()


def report(
    remote: Path,
    folder: Path,
    daemons: Sequence[Daemon],
    writers: Sequence[Writer],
    *,
    delivers: bool = True,
) -> int:
    """Check what must hold and print it; return the exit code.

    The roots are those that the writers edit; `delivers` says whether there is a branch of
    deliveries.
    """
    roots = sorted({writer.root for writer in writers})
    git(remote, "fsck", "--strict")
    history = recorded(remote)
    passes = [one for one in history if one.at]
    subjects = [one.subject for one in history]
    edits = [f"Edit {identity}" for writer in writers for identity in writer.pushed]
    lost = [edit for edit in edits if subjects.count(edit) != 1]
    demanded = [name for writer in writers for name in writer.demanded]
    undone = [
        name
        for root in roots
        for name, count in finished(remote, root, of_root(writers, root)).items()
        if count != 1
    ]
    twice = [
        "\n  ".join([name, *lines]) for name, lines in rebalanced(remote).items() if len(lines) > 1
    ]
    differing = replay(remote, folder, roots)
    strayed = astray(remote) if delivers else []
    left = [fault for root in roots for fault in unsettled(remote, root)]
    for title, found in (
        ("lost", lost),
        ("not finished once", undone),
        ("twice", twice),
        ("differing", differing),
        ("astray", strayed),
        ("unsettled", left),
        ("traceback", [daemon.name for daemon in daemons if daemon.crashed()]),
    ):
        for one in found:
            print(f"{title}: {one}")
    kills = sum(daemon.kills for daemon in daemons)
    print(f"{len(daemons)} daemons, {len(writers)} writers, {kills} kills of whole process groups")
    print(f"{len(edits)} edits pushed, {len(lost)} lost; {len(passes)} passes committed")
    print(f"{len(demanded)} rebalancers, {len(undone)} not finished once, {len(twice)} done twice")
    print(f"{len(passes)} passes replayed by a calm daemon, {len(differing)} differ")
    if delivers:
        print(f"the branch of deliveries is {'astray' if strayed else 'as the decisions ask for'}")
    crashed = any(daemon.crashed() for daemon in daemons)
    wrong = lost or undone or twice or differing or strayed or left or crashed
    return 1 if wrong or not passes else 0


def of_root(writers: Sequence[Writer], root: str) -> list[str]:
    """Return the rebalancers that were demanded in a root."""
    return [name for writer in writers if writer.root == root for name in writer.demanded]


def finished(remote: Path, root: str, names: Sequence[str]) -> dict[str, int]:
    """Return how often each rebalancer came to its end: in its status, or when it was removed."""
    world = world_of(remote, root)
    removals = "\n".join(one.body for one in recorded(remote) if one.at)
    counts = {}
    for name in names:
        kept = [
            observed
            for key, manifest in world.outputs.items()
            if (key.kind, key.name) == ("WorkloadRebalancer", name)
            for observed in bodies(mapping(manifest.body, "status"), "observedWorkloads")
            if text(observed, "result") == "Successful"
        ]
        gone = re.findall(rf"WorkloadRebalancer {re.escape(name)}: .* Successful", removals)
        counts[name] = len(kept) + len(gone)
    return counts


def world_of(remote: Path, root: str) -> World:
    """Return the world of a root at the head of the branch."""
    top = Repository.open(remote)
    repository = top.below(root) if root else top
    loader = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout())
    return loader.load(repository.resolve("main"))


def unsettled(remote: Path, root: str) -> list[str]:
    """Return the faults that are left in a root, though everything was mended."""
    report = world_of(remote, root).outputs.get(FAULTS)
    return [text(fault, "message") for fault in bodies(report.body, "faults")] if report else []


COMMITS = 10_000  # of people and passes together
WARM = 3_000  # by then the caches of texts are full
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Growth:
    """Commits of people and passes, and bytes of memory after `WARM` of them and at the end."""

    commits: int
    before: int
    after: int

    @property
    def percent(self) -> float:
        """How much more it is, in percent; 0 where too few commits were made to tell."""
        return 100 * (self.after - self.before) / self.before if self.before else 0.0

    def __str__(self) -> str:
        if not self.before:
            return f"memory: {self.commits} commits are too few to tell, {COMMITS} take a while"
        return f"memory grew by {self.percent:.1f} % from {WARM} to {self.commits} commits"


def grow(folder: Path, *, seconds: float, commits: int = COMMITS) -> Growth:
    """Let people scale workloads and a process follow them, a commit each.

    Args:
        folder: Where the repository is made.
        seconds: After which no more commits are made.
        commits: How many are made at most.
    """
    bare = new_bare(folder / "growth.git", first_files())
    repository = Repository.open(bare)
    clock = Clock(NOW)
    passes = new_passes(bare, clock)
    end = time.monotonic() + seconds
    made, before = 0, 0
    while made < commits and time.monotonic() < end:
        name = WORKLOADS[made // 2 % len(WORKLOADS)]
        edit = WriteFile(
            f"workloads/{name}.yaml", builders_text(deployment(name, replicas=1 + made % 29))
        )
        head = repository.resolve("main")
        clock.pause(100)
        new = write_commit(
            repository, [edit], parent=head, message="Scale", at=clock.now(), author=DAEMON
        )
        passes.branch.publish(old=head, new=new)
        clock.pause(100)
        made += 1 + (passes.run().commit is not None)
        passes.rest()
        if not before and made >= WARM:
            before = _resident_bytes()
    return Growth(made, before, _resident_bytes())


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
