"""`make soak SECONDS=n`: writers, kills, collectors, strangers, a bad remote; nothing is lost.

At the end the branch must be, commit by commit and byte for byte, what a calm daemon makes of the
same inputs at the same moments.
"""

import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.shell.repositories import new_bare
from tests.soak.checks import begin_calmly, come_to_rest, grow, report
from tests.soak.commotion import Collectors, RemoteFaults, Strangers, read_options, stir
from tests.soak.daemons import four_daemons
from tests.soak.writers import first_files, new_writer

BETWEEN_KILLS = (0.3, 3.0)
GROWTH_SHARE = 0.25  # of the time
MOST_GROWTH = 5.0  # percent


def main() -> int:
    """Soak, check, print figures; exit 1 if anything was lost, done twice or differs."""
    asked = read_options("tests.soak", __doc__, seconds=600)
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
            begin_calmly(remote, writers[0])
            stir(
                writers,
                lambda: choice.choice(daemons),
                faults,
                between_kills=BETWEEN_KILLS,
                seconds=seconds,
                others=(collectors, strangers),
            )
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


if __name__ == "__main__":
    sys.exit(main())
