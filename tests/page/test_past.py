"""What the page tells of the past: from an index that follows commits."""

import re
from pathlib import Path

import pytest

from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.history.moves import object_over_time
from reconciler.cli.main import run
from reconciler.cli.page.passes import AT_ONCE, HistoryIndex
from reconciler.core.dialects import PLACED
from reconciler.library.fleet import open_repository
from tests.cli.history import SCALED, told_fleet
from tests.page.served import ServedPage, served_page
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

SHOP = "/object?group=apps&kind=Deployment&namespace=default&name=shop"


def told(page: ServedPage, path: str) -> dict[str, str]:
    """Return what the pictures of a view say, by their titles."""
    shown = page.get(path).text
    found = re.findall(
        r'<svg viewBox="0 0 100 100"[^>]+ role="(?:img|group)" aria-label="([^"]+)"', shown
    )
    return dict(one.split(": ", 1) for one in found)


def index_of(fleet: Checkout) -> HistoryIndex:
    """Return the index of all that a repository has."""
    index = HistoryIndex(open_repository(fleet.folder).revisions)
    index.follow(fleet.head())
    while index.read_on():
        pass
    return index


def test_what_was_where_is_what_each_commit_holds(tmp_path: Path) -> None:
    """Of every object, after every commit of the history, a decision that was reverted, too."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.git("revert", "--no-edit", "HEAD")
    run_pass(fleet.folder, 180)
    index, loader = index_of(fleet), open_repository(fleet.folder).revisions.loader
    world = loader.load(fleet.head())
    for key in (key for key in world.outputs if key[:2] in PLACED):
        found = object_over_time(key, placed_on(world, key), index.found)
        by_commit = {one.revision: one.parts for one in found.steps}
        parts = found.before
        for commit in reversed(index.commits):
            parts = by_commit.get(commit.revision, parts)
            then = placed_on(loader.load(commit.revision), key)
            assert {str(name): max(1, count) for name, count in then} == parts


def test_an_index_that_follows_knows_what_a_new_one_knows(tmp_path: Path) -> None:
    """From each commit to the next, and from the first one to the last at once."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    index = index_of(fleet)
    fleet.commit(SCALED, "Scale the shop")
    index.follow(fleet.head())
    run_pass(fleet.folder, 60)
    index.follow(fleet.head())

    assert index_of(fleet).found == index.found
    assert index.is_whole


def test_a_branch_that_was_moved_back_is_listed_anew(tmp_path: Path) -> None:
    """Nothing of what was cut off stays."""
    fleet = told_fleet(tmp_path / "fleet")
    index = index_of(fleet)
    fleet.git("reset", "--quiet", "--hard", "HEAD~2")
    index.follow(fleet.head())

    assert index_of(fleet).found == index.found


def test_older_commits_are_read_later(tmp_path: Path) -> None:
    """A view waits for few of them; until all are read that is said in one line."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    for number in range(AT_ONCE + 2):
        fleet.commit({"notes.txt": str(number)}, f"Note {number}")
    index = HistoryIndex(open_repository(fleet.folder).revisions)
    index.follow(fleet.head())
    at_once = len(index.found)
    while index.read_on():
        pass

    assert (AT_ONCE, AT_ONCE + 4, True) == (at_once, len(index.found), index.is_whole)


def test_what_is_read_in_pieces_is_what_is_read_at_once(tmp_path: Path) -> None:
    """A change at a time, of a pass that wrote more than a view reads."""
    fleet = told_fleet(tmp_path / "fleet")
    slow = HistoryIndex(open_repository(fleet.folder).revisions, most_blobs=0, piece=1)
    slow.follow(fleet.head())
    pieces = 0
    while slow.read_on():
        pieces += 1

    assert index_of(fleet).found == slow.found
    assert len(slow.commits) < pieces


def test_the_pictures_say_what_they_show(tmp_path: Path) -> None:
    """For those who do not see them; each has a table, too."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        timeline, thing, cluster = (
            told(page, path) for path in ("/timeline", SHOP, "/cluster?name=member1")
        )
        tables = page.get(SHOP).text.count("Replicas over time, as a table")

    assert {"Replicas over time": "from 0 to 5 in 3 changes, 5 at most"} == thing
    assert "from 0 to 4 in 3 changes, 9 at most" == cluster["Replicas over time"]
    assert timeline["Moves of each pass"].startswith("22 came and 5 left in all; most at ")
    assert 1 == tables


def test_a_day_without_moves_is_one_line(tmp_path: Path) -> None:
    """Instead of an empty picture: these commits are of long ago."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        shown = page.get("/").text

    assert "Moves per hour: nothing moved in any hour from " in shown


@pytest.mark.parametrize("title", ["Moves per hour", "Moves of each pass", "Replicas over time"])
def test_the_report_has_the_same_pictures(tmp_path: Path, title: str) -> None:
    """Up to the commit that it is of."""
    fleet, file = told_fleet(tmp_path / "fleet"), tmp_path / "report.html"
    assert 0 == run(["-C", str(fleet.folder), "report", "-o", str(file)])

    assert f'aria-label="{title}: ' in file.read_text(encoding="utf-8")
