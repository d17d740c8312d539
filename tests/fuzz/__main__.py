"""`make fuzz`: mutate every field of every manifest that we have, until time is up."""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

from tests import strict
from tests.fuzz.corpus import repositories
from tests.fuzz.mutations import ordered
from tests.fuzz.run import Tally, broken_by_daemon, broken_by_verbs, run_share

THROUGH_THE_COMMAND = 0.15  # of the time
DAEMON_STEPS = 100


def main() -> int:
    """Print what was tried and what held; 1 if a law is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    through_command = asked.seconds * THROUGH_THE_COMMAND
    tally = Tally()
    with ProcessPoolExecutor(asked.jobs, initializer=strict.enforce) as pool:
        shares = [
            pool.submit(run_share, number, asked.jobs, asked.seconds - through_command)
            for number in range(asked.jobs)
        ]
        for share in shares:
            tally.add(share.result())
    strict.enforce()
    commanded, served = _through_the_command(through_command, tally)
    for line in tally.broken[:50]:
        print(line)
    print(
        f"{tally.tried} mutations of {len(tally.shapes)} shapes in {len(repositories())} "
        f"repositories; {commanded} of them through each verb, {served} before a daemon; "
        f"laws broken: {len(tally.broken)}"
    )
    return 1 if tally.broken else 0


def _through_the_command(seconds: float, tally: Tally) -> tuple[int, int]:
    """Run some mutations before a daemon, then others through the command; return how many."""
    spots = ordered(repositories())
    example = [spot for spot in spots if spot.repository.name == "example-repo"]
    done = 0
    with tempfile.TemporaryDirectory() as place:
        steps = list(islice(example, DAEMON_STEPS))
        tally.broken += broken_by_daemon(steps, Path(place) / "daemon")
        until = time.monotonic() + seconds
        for spot in spots:
            if time.monotonic() > until:
                break
            tally.broken += broken_by_verbs(spot, Path(place) / str(done))
            done += 1
    return done, len(steps)


if __name__ == "__main__":
    sys.exit(main())
