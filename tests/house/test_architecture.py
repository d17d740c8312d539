"""The architecture page can be read in one sitting, and leads to rooms, files and functions."""

import re
from pathlib import Path

import pytest

from tests.house.deciders import RULES, Rule
from tests.house.sources import PACKAGE, ROOT

PAGES = ("docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md")
FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
ROOM = re.compile(r"^\| `([a-z]+)/` \| (.+) \|$", re.MULTILINE)
INNER = re.compile(r"`([a-z]+)/`")
SECTIONS = (
    "Layers and rooms",
    "Rounds and the pass",
    "The table of reads",
    "Delivery",
    "Imports",
    "Trust and branches",
    "The page",
    "Git",
    "Where is the rule",
)
MOST_WORDS = 4500  # twenty minutes


def text_of(page: str) -> str:
    """What a page says."""
    return (ROOT / page).read_text(encoding="utf-8")


PAGE = text_of(PAGES[0])
MENTIONED = sorted({(path, page) for page in PAGES for path in FILE.findall(text_of(page))})


def test_it_can_be_read_in_twenty_minutes() -> None:
    """What shows code, or lists options, has a page of its own."""
    assert len(PAGE.split()) <= MOST_WORDS


def test_each_subject_has_a_section() -> None:
    """Somebody who looks for one finds it."""
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)

    assert set(SECTIONS) <= set(headings)


def test_every_room_has_a_line() -> None:
    """And in it each room of the room, but for those of an API, which have a table."""
    section = PAGE.partition("## Layers and rooms\n")[2].partition("\n## ")[0]
    told = {name: set(INNER.findall(says)) for name, says in ROOM.findall(section)}

    assert {room.name for room in rooms(PACKAGE)} == told.keys()
    for name, inner in told.items():
        found = {room.name for room in rooms(PACKAGE / name)}
        if name == "shell":
            found |= {room.name for room in rooms(PACKAGE / "shell/git")}
        assert found == inner, name


def rooms(folder: Path) -> list[Path]:
    """The packages in a folder."""
    return [path.parent for path in folder.glob("*/__init__.py")]


@pytest.mark.parametrize(("path", "page"), MENTIONED)
def test_a_file_that_a_page_mentions_exists(path: str, page: str) -> None:
    """Below the package, or from the top."""
    assert (PACKAGE / path).is_file() or (ROOT / path).is_file(), page


def test_forty_questions_have_one_answer_each() -> None:
    """Each leads to one function, and no two to the same; every row of the table is read."""
    table = PAGE.partition("## Where is the rule\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]

    assert len(RULES) >= 40
    assert len(RULES) == len(rows)
    assert len({rule.question for rule in RULES}) == len(RULES)
    assert len({rule.symbol for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=[rule.symbol for rule in RULES])
def test_who_decides_is_there(rule: Rule) -> None:
    """A function or a class, at home in the module that is named."""
    assert f"reconciler.{rule.module}" == rule.find().__module__
