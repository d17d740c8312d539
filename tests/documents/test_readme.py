"""What README.md shows is true on any day: everything on it is written and run."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.shell.resources import write_example
from tests.pages.page import Command, steps_of
from tests.pages.run import new_reader
from tests.pages.served import busy_processors, served_reader
from tests.shell.fleet import ROOT

DAYS = [
    pytest.param(datetime.now(UTC).replace(microsecond=0), id="today"),
    pytest.param(datetime(2031, 2, 28, 23, 59, 30, tzinfo=UTC), id="years-later-over-midnight"),
]
PAGES = ["README.md", "example-repo/README.md", "docs/tour.md", "docs/editors.md"]
SERVED = ["example-repo/README.md"]  # those that start the daemon


@pytest.mark.cpu_seconds(300)
@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_commands_print(page: str, day: datetime, tmp_path: Path) -> None:
    """From its first line to its last."""
    text = (ROOT / page).read_text(encoding="utf-8")
    reader = new_reader(tmp_path, day)
    prepare(page, reader.folder)

    assert "" == "\n".join(reader.follow(text))


def prepare(page: str, folder: Path) -> None:
    """Write what is there before a page begins: that of the example is in it."""
    if page.startswith("example-repo/"):
        write_example(folder)


@pytest.mark.cpu_seconds(600)
@pytest.mark.parametrize("load", [nullcontext, busy_processors])
@pytest.mark.parametrize("page", SERVED)
def test_a_page_is_true_beside_its_daemon(
    page: str, load: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    """On any machine: once alone, once beside others that take all processors."""
    text = (ROOT / page).read_text(encoding="utf-8")
    with load(), served_reader(tmp_path) as reader:
        prepare(page, reader.folder)

        assert "" == "\n".join(reader.follow(text))
        assert reader.daemon is not None


@pytest.mark.parametrize(("page", "commands"), [*zip(PAGES, (10, 20, 25, 3), strict=True)])
def test_something_is_run(page: str, commands: int) -> None:
    """The patterns find the consoles."""
    steps = steps_of((ROOT / page).read_text(encoding="utf-8"))

    assert commands <= sum(isinstance(step, Command) for step in steps)
