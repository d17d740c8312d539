"""The `reconciler` command under the clock of a page: the moment in a file, and what went by since.

`python -m tests.pages.clocked ARGUMENTS`; the file is named by PAGE_CLOCK.
"""

import os
import time
from datetime import datetime, timedelta
from pathlib import Path

from reconciler.cli.main import main
from reconciler.shell import resources

STARTED = time.monotonic()


class PageClock:
    """Reads the moment anew each time, since `sleep` moves it on."""

    def now(self) -> datetime:
        """Return the moment of the page, with the seconds since this process was started."""
        moment = datetime.fromisoformat(Path(os.environ["PAGE_CLOCK"]).read_text(encoding="utf-8"))
        return moment + timedelta(seconds=int(time.monotonic() - STARTED))


if __name__ == "__main__":
    vars(resources)["SystemClock"] = PageClock
    main()
