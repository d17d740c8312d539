"""The clock of a page: a moment in a file, which commands read and `sleep` moves on.

`python -m tests.pages.clocked ARGUMENTS` is the `reconciler` command under that clock, and
`python -m tests.pages.clocked --sleep SECONDS` lets time go by; PAGE_CLOCK names the file.
"""

import os
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

from reconciler.model.moments import format_moment, parse_moment


class PageClock:
    """Reads the moment anew each time, since `sleep` moves it on."""

    def __init__(self) -> None:
        """Begin to count seconds."""
        self._began = time.monotonic()

    def now(self, _: object = None) -> datetime:
        """Return the moment of the page, with the seconds since the command began."""
        moment = parse_moment(Path(os.environ["PAGE_CLOCK"]).read_text(encoding="utf-8"))
        return moment + timedelta(seconds=int(time.monotonic() - self._began))


def pass_time(clock: Path, seconds: float) -> None:
    """Move the clock of a page on."""
    moment = parse_moment(clock.read_text(encoding="utf-8"))
    clock.write_text(format_moment(moment + timedelta(seconds=seconds)), encoding="utf-8")


def main() -> None:
    """Let time go by, or run the command."""
    if sys.argv[1] == "--sleep":
        pass_time(Path(os.environ["PAGE_CLOCK"]), float(sys.argv[2]))
        return
    from reconciler.cli.main import main as run  # no sleep needs it
    from reconciler.shell.resources import SystemClock

    SystemClock.now = PageClock().now  # type: ignore[method-assign, assignment]
    run()


if __name__ == "__main__":
    main()
