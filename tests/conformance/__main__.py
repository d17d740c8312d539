"""Run vector files: `python -m tests.conformance FILE...`."""

import sys
from pathlib import Path

from tests.conformance.run import run_files

if __name__ == "__main__":
    sys.exit(run_files([Path(name) for name in sys.argv[1:]]))
