"""`make strangers`: moves of strangers, people and a daemon, until time is up."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests import strict
from tests.trust.campaign import LawBrokenError
from tests.trust.moves import play

MOVES = 60  # of one repository


def main() -> int:
    """Print what was tried, and the first law that does not hold; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    strict.enforce()
    until, seed = time.monotonic() + asked.seconds, asked.seed
    while time.monotonic() < until:
        with tempfile.TemporaryDirectory() as place:
            try:
                play(Path(place), seed, MOVES)
            except LawBrokenError as error:
                print(f"--seed {seed}: {error}")
                return 1
        seed += 1
    print(f"{seed - asked.seed} repositories of {MOVES} moves, both laws hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
