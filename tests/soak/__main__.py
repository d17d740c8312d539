"""`make soak SECONDS=n`: writers, kills, collectors, strangers, a bad remote; nothing is lost.

At the end the branch must be, commit by commit and byte for byte, what a calm daemon makes of the
same inputs at the same moments.
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from reconciler.manifests.paths import FAULTS
from reconciler.model.fields import bodies, mapping, text
from tests.shell.fleet import PATIENCE_SECONDS, eventually, load_world
from tests.shell.repositories import git, new_bare
from tests.soak.collectors import Collectors
from tests.soak.daemons import Daemon, four_daemons
from tests.soak.faults import RemoteFaults
from tests.soak.growth import grow
from tests.soak.replay import astray, rebalanced, recorded, replay
from tests.soak.strangers import Strangers
from tests.soak.writers import WORKLOADS, Writer, first_files, new_writer

QUIET_SECONDS = 8.0  # without a commit: longer than any wait of the fleet
BETWEEN_EDITS = (0.1, 1.2)
BETWEEN_KILLS = (0.3, 3.0)
GROWTH_SHARE = 0.25  # of the time
MOST_GROWTH = 5.0  # percent


def main() -> int:
    """Soak, check, print figures; exit 1 if anything was lost, done twice or differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, help="where the remote goes if anything is wrong")
    asked = parser.parse_args()
    print(f"soaking for {asked.seconds:.0f} s, seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        remote = new_bare(folder / "remote.git", first_files())
        daemons = four_daemons(remote, folder)
        writers = [new_writer(f"p{i}", remote, folder, asked.seed) for i in range(2)]
        choice = random.Random(asked.seed)  # noqa: S311  # to be repeated, no secret
        faults = RemoteFaults(remote=remote, choice=choice)
        mirrors = tuple(folder / f"mirror-{number}" for number in range(len(daemons) - 1))
        collectors = Collectors(remote=remote, mirrors=mirrors, choice=choice)
        strangers = Strangers(remote=remote, choice=choice)
        growth = grow(folder, seconds=asked.seconds * GROWTH_SHARE)
        seconds = asked.seconds * (1 - GROWTH_SHARE)
        try:
            for daemon in daemons:
                daemon.start()
            soak(daemons, writers, faults, (collectors, strangers), seconds)
            collectors.end()
            come_to_rest(remote, daemons)
        finally:
            faults.mend()
            for daemon in daemons:
                daemon.end()
        counts = faults.counts + collectors.counts + strangers.counts
        print(
            f"{sum(one.tried for one in writers)} inputs tried in {seconds:.0f} s; "
            f"faults survived: {', '.join(f'{n} {kind}' for kind, n in counts.items())}"
        )
        print(growth)
        code = report(remote, folder, daemons, writers) or int(growth.percent >= MOST_GROWTH)
        if code and asked.keep is not None:
            shutil.copytree(remote, asked.keep)
        return code


def soak(
    daemons: Sequence[Daemon],
    writers: Sequence[Writer],
    faults: RemoteFaults,
    others: Sequence[Collectors | Strangers],
    seconds: float,
) -> None:
    """Let people edit, daemons die and the remote fail, then leave nothing broken."""
    begin_calmly(faults.remote, writers[0])
    choice = faults.choice
    now = begin = time.monotonic()
    edit_at = kill_at = begin
    while now < begin + seconds:
        if now >= edit_at:
            choice.choice(writers).edit()
            edit_at = time.monotonic() + choice.uniform(*BETWEEN_EDITS)
        if now >= kill_at:
            faults.mend()  # who found no repository is started again
            daemon = choice.choice(daemons)
            daemon.kill()
            daemon.start()
            kill_at = time.monotonic() + choice.uniform(*BETWEEN_KILLS)
        fault_at = min(faults.go_on(), *(one.go_on() for one in others))
        time.sleep(max(0.0, min(edit_at, kill_at, fault_at) - time.monotonic()))
        now = time.monotonic()
    faults.mend()
    for writer in writers:
        writer.mend_all()


def begin_calmly(remote: Path, writer: Writer) -> None:
    """Wait until every workload is placed, and edit on top, so that no rewriting undoes it.

    A file that was broken before its first decision has no last good one: its rebalancer would
    rightly fail, and the checks at the end could not tell that from one that was lost.
    """
    names = (
        "ls-tree",
        "-r",
        "--name-only",
        "refs/heads/main",
        "status/resourcebindings.work.karmada.io",
    )
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


def report(remote: Path, folder: Path, daemons: Sequence[Daemon], writers: Sequence[Writer]) -> int:
    """Check what must hold and print it; return the exit code."""
    git(remote, "fsck", "--strict")
    history = recorded(remote)
    passes = [one for one in history if one.at]
    subjects = [one.subject for one in history]
    edits = [f"Edit {identity}" for writer in writers for identity in writer.pushed]
    lost = [edit for edit in edits if subjects.count(edit) != 1]
    demanded = [name for writer in writers for name in writer.demanded]
    done = finished(remote, demanded)
    undone = [name for name in demanded if done[name] != 1]
    twice = [
        "\n  ".join([name, *lines]) for name, lines in rebalanced(remote).items() if len(lines) > 1
    ]
    differing = replay(remote, folder)
    strayed = astray(remote)
    for title, found in (
        ("lost", lost),
        ("not finished once", undone),
        ("twice", twice),
        ("differing", differing),
        ("astray", strayed),
        ("unsettled", unsettled(remote)),
        ("traceback", [daemon.name for daemon in daemons if daemon.crashed()]),
    ):
        for one in found:
            print(f"{title}: {one}")
    kills = sum(daemon.kills for daemon in daemons)
    print(f"{len(daemons)} daemons, {len(writers)} writers, {kills} kills of whole process groups")
    print(f"{len(edits)} edits pushed, {len(lost)} lost; {len(passes)} passes committed")
    print(f"{len(demanded)} rebalancers, {len(undone)} not finished once, {len(twice)} done twice")
    print(f"{len(passes)} passes replayed by a calm daemon, {len(differing)} differ")
    print(f"the branch of deliveries is {'astray' if strayed else 'as the decisions ask for'}")
    crashed = any(daemon.crashed() for daemon in daemons)
    wrong = lost or undone or twice or differing or strayed or unsettled(remote) or crashed
    return 1 if wrong or not passes else 0


def finished(remote: Path, names: Sequence[str]) -> dict[str, int]:
    """Return how often each rebalancer came to its end: in its status, or when it was removed."""
    world = load_world(remote)
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


def unsettled(remote: Path) -> list[str]:
    """Return the faults that are left, though everything was mended."""
    report = load_world(remote).outputs.get(FAULTS)
    return [text(fault, "message") for fault in bodies(report.body, "faults")] if report else []


if __name__ == "__main__":
    sys.exit(main())
