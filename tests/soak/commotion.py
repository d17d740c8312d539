"""What goes on while a soak lasts: people edit, processes are killed, the remote is bad."""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.soak.collectors import Collectors
from tests.soak.daemons import Daemon
from tests.soak.faults import RemoteFaults
from tests.soak.strangers import Strangers
from tests.soak.writers import Writer

BETWEEN_EDITS = (0.1, 1.2)


def read_options(program: str, description: str | None, *, seconds: float) -> argparse.Namespace:
    """Return what a soak is asked for: `seconds`, `seed`, and where it is kept if it fails."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, help="where the remote goes if anything is wrong")
    return parser.parse_args()


def stir(
    writers: Sequence[Writer],
    victim: Callable[[], Daemon],
    faults: RemoteFaults,
    *,
    between_kills: tuple[float, float],
    seconds: float,
    others: Sequence[Collectors | Strangers] = (),
) -> None:
    """Let people edit, processes die and the remote fail, then leave nothing broken.

    Args:
        writers: Who edits, now this one, now that.
        victim: Returns who is killed next, and started again.
        faults: Of the remote.
        between_kills: The least and the most seconds.
        seconds: How long.
        others: Who does something of their own now and then.
    """
    choice = faults.choice
    now = begin = time.monotonic()
    edit_at = kill_at = begin
    while now < begin + seconds:
        if now >= edit_at:
            choice.choice(writers).edit()
            edit_at = time.monotonic() + choice.uniform(*BETWEEN_EDITS)
        if now >= kill_at:
            faults.mend()  # a daemon that found no repository is started again
            killed = victim()
            killed.kill()
            killed.start()
            kill_at = time.monotonic() + choice.uniform(*between_kills)
        fault_at = min((faults.go_on(), *(one.go_on() for one in others)))
        time.sleep(max(0.0, min(edit_at, kill_at, fault_at) - time.monotonic()))
        now = time.monotonic()
    faults.mend()
    for writer in writers:
        writer.mend_all()
