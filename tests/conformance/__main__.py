"""Run vectors made by the real upstream schedulers: `python -m tests.conformance FILE...`.

Prints what passes through the public functions here, and for each failure the first difference.
"""

import sys
from pathlib import Path

from tests.conformance.run import run_files

if __name__ == "__main__":
    sys.exit(run_files([Path(name) for name in sys.argv[1:]]))
