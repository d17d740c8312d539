"""docs/performance.md shows what was measured, and every goal."""

from benchmarks.__main__ import BEGIN, END
from benchmarks.figure import Figure, Unit
from benchmarks.goals import GOALS, Goal
from benchmarks.groups import GROUPS
from benchmarks.picture import CURVES, SIZES, draw, points
from benchmarks.results import as_json, as_markdown, as_text, cells, read, verdict
from tests.shell.fleet import ROOT

FOLDER = ROOT / "docs/performance"
PAGE = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
TABLE = PAGE.partition(BEGIN)[2].partition(END)[0]
RESULTS = read(FOLDER / "results.json")
FIGURES = [figure for result in RESULTS.values() for figure in result.figures]


def test_the_table_is_that_of_the_results() -> None:
    """Nothing in it was written by hand."""
    assert as_markdown(RESULTS.values()) == TABLE


def test_the_results_are_written_as_they_are_read() -> None:
    """Verdicts and goals in the file are those of today."""
    assert as_json(RESULTS.values()) == (FOLDER / "results.json").read_text(encoding="utf-8")


def test_the_picture_is_that_of_the_results() -> None:
    """To the byte."""
    assert draw(FIGURES) == (FOLDER / "cost.svg").read_text(encoding="utf-8")


def test_every_curve_has_every_size() -> None:
    """A picture with a gap would show nothing."""
    assert {title: list(SIZES) for title in CURVES} == {
        title: [size for size, _ in curve] for title, curve in points(FIGURES).items()
    }


def test_every_group_was_measured() -> None:
    """In the order of the table."""
    assert list(GROUPS) == list(RESULTS)


def test_no_figure_is_measured_twice() -> None:
    """A name stands for one row."""
    names = [figure.name for figure in FIGURES]

    assert sorted(set(names)) == sorted(names)


def test_every_goal_has_a_row() -> None:
    """Also one that was not measured."""
    assert [] == [name for name in GOALS if f"| {name} |" not in TABLE]


def test_figures_have_the_unit_of_their_goal() -> None:
    """Or else the verdict would compare seconds with milliseconds."""
    goals = {figure.name: GOALS[figure.name].unit for figure in FIGURES if figure.name in GOALS}

    assert goals == {figure.name: figure.unit for figure in FIGURES if figure.name in GOALS}


def test_every_missed_goal_is_explained() -> None:
    """Below the table, by its name; and so is one that was not measured."""
    below = PAGE.partition(END)[2]
    met = {figure.name for figure in FIGURES if verdict(figure) == "met"}

    assert [] == [name for name in GOALS if name not in met and f"`{name}`" not in below]


def test_a_ratio_must_reach_its_goal_and_a_time_stay_below() -> None:
    """At the limit itself a ratio is met and a time is missed."""
    assert (True, False) == (Goal(5, Unit.TIMES).is_met(5), Goal(5, Unit.SECONDS).is_met(5))


def test_the_table_is_aligned() -> None:
    """Numbers end, and names begin, below each other."""
    result = next(iter(RESULTS.values()))
    figures = (Figure("a", 5, Unit.SECONDS), Figure("bcd", 12.5, Unit.SECONDS))
    head, *lines = as_text(cells(result, figure) for figure in figures).splitlines()

    assert [head.index("figure") + len("figure")] * 2 == [
        line.index(" s ") + len(" s") for line in lines
    ]
