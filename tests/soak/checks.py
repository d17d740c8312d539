"""What a soak checks: that it can begin, that it comes to rest, and that nothing was lost."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from reconciler.manifests.paths import FAULTS
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.shell.fleet import PATIENCE_SECONDS, eventually
from tests.shell.repositories import git
from tests.soak.daemons import Daemon
from tests.soak.replay import astray, rebalanced, recorded, replay
from tests.soak.writers import WORKLOADS, Writer

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
