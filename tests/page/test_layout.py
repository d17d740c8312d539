"""The page in a window of any width: nothing but a table scrolls sideways, in either theme."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.cli.history import told_fleet
from tests.page.browser import MISSING, Browser, chromium
from tests.page.served import VIEWS, ServedPage, served_page

WIDTHS = (390, 768, 1440)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SILENT = """[...document.querySelectorAll("*")].filter((one) =>
  one.checkVisibility() && one.scrollWidth > one.clientWidth + 1
  && getComputedStyle(one).overflowX !== "visible"
  && !one.matches("input, select, .hidden, .hidden *")
  && !(one.matches(".scroll") && one.tabIndex === 0 && one.getAttribute("aria-label")
       && getComputedStyle(one, "::before").content.includes("scrolls sideways")
       && getComputedStyle(one, "::before").display === "block")
).map((one) => one.outerHTML.slice(0, 80))"""
"""What can be scrolled sideways without saying so."""

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "there"),
    pytest.mark.cpu_seconds(180),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A fleet with three passes, served."""
    fleet = told_fleet(tmp_path_factory.mktemp("layout") / "fleet")
    with served_page(fleet.folder) as found:
        yield found


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A person in front of a browser."""
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_view_is_wider_than_its_window(
    page: ServedPage, person: Browser, width: int, theme: str
) -> None:
    """A table that is wider scrolls by itself, can be reached by the keyboard, and says so."""
    person.prefer(theme)
    person.resize(width)
    wider = {}
    for path in VIEWS:
        person.open(f"{page.address}{path}")
        wider[path] = (person.run(WIDER), person.run(SILENT))

    assert {path: (0, []) for path in VIEWS} == wider


def test_on_a_telephone_nothing_scrolls_sideways(page: ServedPage, person: Browser) -> None:
    """No table either: a row is a card, whose state comes first, with the names of its columns."""
    person.resize(390)
    wide = """[...document.querySelectorAll("main *")].filter((one) =>
      one.checkVisibility() && one.scrollWidth > one.clientWidth + 1
      && getComputedStyle(one).overflowX === "auto").map((one) => one.outerHTML.slice(0, 80))"""
    found = {}
    for path in VIEWS:
        person.open(f"{page.address}{path}")
        found[path] = person.run(wide)
    person.open(f"{page.address}/objects")
    tops = person.run(
        "['.state', 'th'].map((one) => document.querySelector(`.cards tbody ${one}`))"
        ".map((one) => one.getBoundingClientRect().top)"
    )

    assert {path: [] for path in VIEWS} == found
    assert tops == sorted(tops)


def test_a_heading_stands_above_its_column(page: ServedPage, person: Browser) -> None:
    """The bars of what is used begin where their heading does, taints, too."""
    person.resize(1440)
    person.open(f"{page.address}/clusters")
    lefts = person.run(
        "['used', 'taints'].map((name) => [...document.querySelectorAll('thead th')]"
        ".find((one) => one.textContent === name)).map((one) => {"
        " const cell = document.querySelector('tbody tr').cells[one.cellIndex];"
        " const text = (one) => { const range = document.createRange();"
        " range.selectNodeContents(one); return range.getBoundingClientRect().left; };"
        " return [text(one), cell.getBoundingClientRect().left]; })"
    )

    assert [True, True] == [abs(head - cell) < 2 for head, cell in lefts]


def test_on_a_telephone_the_menu_is_one_button(page: ServedPage, person: Browser) -> None:
    """It opens by a click, without a script, and leads on."""
    person.resize(390)
    person.open(page.address)
    height = person.run("document.querySelector('header').getBoundingClientRect().height")
    menu = person.driver.find_element("css selector", "#views")
    closed = menu.is_displayed()
    person.click("button", "Menu")
    person.click("link", "Faults")
    person.until("location.pathname === '/faults'")

    assert not closed
    assert height < 100


@pytest.mark.parametrize("width", WIDTHS)
def test_no_report_is_wider_than_its_window(
    page: ServedPage, person: Browser, tmp_path: Path, width: int
) -> None:
    """As the page itself."""
    report = tmp_path / "report.html"
    assert 0 == run(["-C", str(page.folder), "report", "-o", str(report)])
    person.resize(width)
    person.open(report.as_uri())

    assert (0, []) == (person.run(WIDER), person.run(SILENT))


def test_nothing_moves_for_those_who_want_no_motion(page: ServedPage, person: Browser) -> None:
    """The only motion is that of the browser's own scrolling."""
    behaviour = "getComputedStyle(document.documentElement).scrollBehavior"
    person.open(page.address)
    smooth = person.run(behaviour)
    person.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]},
    )

    assert ("smooth", "auto") == (smooth, person.run(behaviour))
