"""`python -m tests.soak.by_workers`: workers of a Dask cluster are killed; nothing is lost.

Two roots, a daemon that has them computed, and three workers, killed with their git commands in the
middle of whatever they do; now and then the daemon is, too. At the end the branch must be, commit
by commit and byte for byte, what a calm process makes of the same inputs at the same moments.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.builders import text
from tests.shell.dask_processes import MAIN, cluster_in
from tests.shell.repositories import new_bare
from tests.soak.checks import begin_calmly, come_to_rest, report
from tests.soak.commotion import RemoteFaults, read_options, stir
from tests.soak.daemons import POLL, Daemon
from tests.soak.writers import CONFIGURATION, first_files, new_writer

ROOTS = ("teams/a", "teams/b")
WORKERS = 3
OF_THE_DAEMON = 0.15  # of the kills
BETWEEN_KILLS = (0.5, 4.0)


def main() -> int:
    """Soak, check, print figures; exit 1 if anything was lost, done twice or differs."""
    asked = read_options("tests.soak.by_workers", __doc__, seconds=120)
    print(f"soaking workers for {asked.seconds:.0f} s, seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        remote = new_bare(folder / "remote.git", files_of_roots())
        choice = random.Random(asked.seed)  # noqa: S311  # to be repeated, no secret
        faults = RemoteFaults(remote=remote, choice=choice)
        writers = [
            new_writer(f"p{number}", remote, folder, asked.seed, root)
            for number, root in enumerate(ROOTS)
        ]
        with cluster_in(folder, workers=0) as cluster:
            daemon = serving(remote, folder, cluster.dask)
            workers = [computing(cluster.address, folder, number) for number in range(WORKERS)]
            try:
                for one in (daemon, *workers):
                    one.start()
                for writer in writers:
                    begin_calmly(remote, writer)
                stir(
                    writers,
                    partial(_victim, daemon, workers, choice),
                    faults,
                    between_kills=BETWEEN_KILLS,
                    seconds=asked.seconds,
                )
                come_to_rest(remote, [daemon])
            finally:
                faults.mend()
                for one in (daemon, *workers):
                    one.end()
        kills = sum(worker.kills for worker in workers)
        survived = ", ".join(f"{count} {kind}" for kind, count in faults.counts.items())
        print(f"{WORKERS} workers, {kills} kills of them; faults survived: {survived}")
        code = report(remote, folder, [daemon], writers, delivers=False)
        if code and asked.keep is not None:
            shutil.copytree(folder, asked.keep)
        return code


def _victim(daemon: Daemon, workers: Sequence[Daemon], choice: random.Random) -> Daemon:
    return daemon if choice.random() < OF_THE_DAEMON else choice.choice(workers)


def files_of_roots() -> dict[str, str]:
    """Return the fleet of each root; nothing is delivered, for roots share no branch of that."""
    feedback = {"feedback": {"assumeAfterSeconds": 2}}
    configuration = text({**CONFIGURATION, "spec": feedback})
    files = {**first_files(), "reconciler.yaml": configuration}
    return {f"{root}/{path}": content for root in ROOTS for path, content in files.items()}


def serving(remote: Path, folder: Path, address: str) -> Daemon:
    """Return the daemon of the roots."""
    service = ("--remote", f"file://{remote}", "--mirror", str(folder / "mirror"))
    roots = ("--roots", "teams/*", "--executor", address)
    return Daemon(name="daemon", arguments=("run", *service, *roots, *POLL), log=folder / "d.log")


def computing(scheduler: str, folder: Path, number: int) -> Daemon:
    """Return a worker, which finds the mirror and the cache of the one before it.

    Every second one has two threads.
    """
    threads = str(1 + number % 2)
    options = ("--host", "tcp://127.0.0.1", "--nthreads", threads, "--no-nanny", "--no-dashboard")
    place = ("--local-directory", str(folder / f"worker-{number}"))
    return Daemon(
        name=f"worker-{number}",
        arguments=(scheduler, *options, *place),
        log=folder / f"worker-{number}.log",
        program=("-c", MAIN.format(role="worker")),
        environment={
            "XDG_CACHE_HOME": str(folder / "cache"),
            "RECONCILER_CACHE_DIR": str(folder / "cache/reconciler"),
        },
    )


if __name__ == "__main__":
    sys.exit(main())
