"""`make soak SECONDS=n`: writers, kills, collectors, strangers, a bad remote; nothing is lost.

At the end the branch must be, commit by commit and byte for byte, what a calm daemon makes of the
same inputs at the same moments.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.shell.repositories import new_bare
from tests.soak.checks import begin_calmly, come_to_rest, report
from tests.soak.collectors import Collectors
from tests.soak.daemons import Daemon, four_daemons
from tests.soak.faults import RemoteFaults
from tests.soak.growth import grow
from tests.soak.strangers import Strangers
from tests.soak.writers import Writer, first_files, new_writer

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


if __name__ == "__main__":
    sys.exit(main())
