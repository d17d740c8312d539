"""What README.md shows is true on any day: everything on it is written and run."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.pages.page import Command, steps_of
from tests.pages.run import new_reader
from tests.shell.fleet import ROOT

DAYS = [
    pytest.param(datetime.now(UTC).replace(microsecond=0), id="today"),
    pytest.param(datetime(2031, 2, 28, 23, 59, 30, tzinfo=UTC), id="years-later-over-midnight"),
]
PAGES = ["README.md", "example-repo/README.md", "docs/editors.md"]


@pytest.mark.cpu_seconds(300)
@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_commands_print(page: str, day: datetime, tmp_path: Path) -> None:
    """From its first line to its last."""
    text = (ROOT / page).read_text(encoding="utf-8")

    assert "" == "\n".join(new_reader(tmp_path, day).follow(text))


@pytest.mark.parametrize(("page", "commands"), [*zip(PAGES, (30, 20, 3), strict=True)])
def test_something_is_run(page: str, commands: int) -> None:
    """The patterns find the consoles."""
    steps = steps_of((ROOT / page).read_text(encoding="utf-8"))

    assert commands <= sum(isinstance(step, Command) for step in steps)
