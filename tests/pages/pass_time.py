"""`sleep SECONDS` of a page: the clock moves on, no process waits."""

import os
import sys
from pathlib import Path

from tests.pages.run import pass_time

if __name__ == "__main__":
    pass_time(Path(os.environ["PAGE_CLOCK"]), float(sys.argv[1]))
