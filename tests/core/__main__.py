"""`make laws`: properties of passes with ever other examples, until time is up."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bounded import OTHER_EXAMPLES

FOLDER = Path(__file__).parent
OTHERS = (
    "delivery/test_laws.py",
    "dialects/karmada/test_yaml_text.py",
    "dialects/ocm/cel/test_evaluator.py",
    "manifests/test_built_names.py",
)
"""Properties of what a pass writes that stand in the rooms they are about, from `tests/`."""


def main() -> int:
    """Print how many rounds held, or what pytest says of the first that did not; 1 then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--law", default="", help="word in the file's name: joined_demands")
    asked = parser.parse_args()
    laws = [*FOLDER.glob("test_law*.py"), *map(FOLDER.parent.joinpath, OTHERS)]
    files = sorted(str(file) for file in laws if asked.law in file.stem)
    if not files:
        parser.error(f"no law is in a file called *{asked.law}*.py")
    until, seed = time.monotonic() + asked.seconds, asked.seed
    while time.monotonic() < until:
        held = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", f"--hypothesis-seed={seed}", *files],
            env=os.environ | {OTHER_EXAMPLES: str(seed)},
            capture_output=True,
            text=True,
            check=False,
        )
        if held.returncode:
            print(f"{held.stdout}{held.stderr}\n--seed {seed}: a law does not hold")
            return 1
        print(f"--seed {seed}: {held.stdout.strip().splitlines()[-1]}", flush=True)
        seed += 1
    print(f"{seed - asked.seed} rounds of {len(files)} files, every law holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
