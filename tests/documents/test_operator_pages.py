"""Pages for operators name what exists: commands, metrics, tables, tests, and what was measured."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benchmarks.__main__ import BEGIN, END
from benchmarks.calls.__main__ import FIRST, QUESTIONS, RECORD, judged
from benchmarks.calls.counted_command import calls_of
from benchmarks.figure import Figure, Unit
from benchmarks.goals import GOALS, Goal
from benchmarks.groups import GROUPS
from benchmarks.picture import CURVES, SIZES, draw, points
from benchmarks.results import as_json, as_markdown, as_text, cells, read, verdict
from reconciler.cli import verify
from reconciler.cli.main import cli
from reconciler.model.fields import mapping
from reconciler.model.text import printable
from reconciler.shell.reports.metrics import Metrics, ObservationMetrics
from reconciler.shell.work import dask, divided_pass, failures, proofs
from tests.cli.history import answer, told_fleet
from tests.documents.generated import PAGES as GENERATED
from tests.shell.dask_processes import cluster_in
from tests.shell.fleet import ROOT, eventually, new_fleet, running
from tests.shell.reports.test_outbox import fields, scale, told
from tests.shell.servers import MOMENT, served

PAGES = ("operations", "security", "protected-branches", "upgrade", "page", "adopt", "delivery")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "console", "sh", "shell")
INLINE = re.compile(r"`([^`\n]+)`")
OTHERS = {"--cascade", "--override-manager", "--upgrade"}  # of kubectl, the Argo CD CLI and pip
OPTION = re.compile(r"(--[a-z][a-z-]+)(?:[ =].*)?")


def text_of(page: str) -> str:
    """Return a page."""
    return (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each command of ours that a page shows."""
    blocks = (body for language, body in FENCED.findall(text_of(page)) if language in SHELL)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"[|&;]", line.removeprefix("$ ")):
                if part.strip().startswith("reconciler "):
                    yield shlex.split(part, comments=True)
    for code in INLINE.findall(text_of(page)):
        if code.startswith("reconciler "):
            yield shlex.split(code)


SHOWN = [
    pytest.param(words, id=f"{page}: {' '.join(words)}"[:100])
    for page in PAGES
    for words in commands(page)
]


@pytest.mark.parametrize("words", SHOWN)
def test_a_command_that_is_shown_is_understood(words: list[str]) -> None:
    """Its verb and all its options, whatever their values."""
    context = cli.make_context("reconciler", [], resilient_parsing=True)
    _, *rest = words
    verb, arguments = rest[0], rest[1:]
    found = cli.get_command(context, verb)

    assert found is not None, verb
    found.make_parser(click.Context(found, parent=context)).parse_args(arguments)


def known_options() -> set[str]:
    """Return the options of all verbs."""
    context = cli.make_context("reconciler", [], resilient_parsing=True)
    verbs = [cli.get_command(context, name) for name in cli.list_commands(context)]
    params = [*cli.params, *(one for verb in verbs if verb for one in verb.params)]
    return {name for one in params for name in one.opts}


@pytest.mark.parametrize("page", PAGES)
def test_an_option_that_is_named_is_there(page: str) -> None:
    """Of some verb."""
    named = {
        found[1] for code in INLINE.findall(text_of(page)) if (found := OPTION.fullmatch(code))
    }

    assert set() == named - known_options() - OTHERS


OPERATIONS_PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
METRICS = re.findall(
    r"^\| `(reconciler_[a-z_]+)(?:\{([a-z,]+)\})?` \|", OPERATIONS_PAGE, re.MULTILINE
)


def test_the_table_of_metrics_is_the_registry() -> None:
    """Names and labels, none missing and none too many."""
    metrics = Metrics(lambda _: MOMENT)
    metrics.hook_answered("github", 202)
    metrics.reported("github", "sent")
    metrics.count_decision("created")
    registered = {
        family.name + ("_total" if family.type == "counter" else ""): {
            label for sample in family.samples for label in sample.labels if label != "le"
        }
        for registry in (metrics.registry, ObservationMetrics().registry)
        for family in registry.collect()
        if family.name.startswith("reconciler_")
    }

    assert registered == {name: set(filter(None, labels.split(","))) for name, labels in METRICS}


def test_the_paths_of_the_page_are_answered() -> None:
    """Each of them, and the page tells the method."""
    paths = re.findall(r"^\| `(GET|POST) (/[a-z]+)` \|", OPERATIONS_PAGE, re.MULTILINE)
    with served() as listener:
        found = [
            listener.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())[0]
            for method, path in paths
        ]

    assert [200, 503, 200, 401] == found


def test_the_document_of_the_page_is_what_a_webhook_gets(tmp_path: Path) -> None:
    """The example is that of a decision on the example fleet; ids and moments differ."""
    (example,) = re.findall(r"^```json\n(.*?)^```$", OPERATIONS_PAGE, re.MULTILINE | re.DOTALL)
    fleet = new_fleet(tmp_path / "fleet")

    document = fields(told(fleet, lambda: None, scale(fleet))[1])

    shown = json.loads(example)
    assert list(shown) == list(document)
    assert list(shown["metadata"]) == [*mapping(document, "metadata")]
    same = ("severity", "reason", "message", "reportingController", "decisions", "faults")
    assert {name: shown[name] for name in same} == {name: document[name] for name in same}


def test_the_line_of_a_pass_has_the_fields_of_the_page(tmp_path: Path) -> None:
    """Those that are named, and those that every line has."""
    said = OPERATIONS_PAGE.partition("`pass committed` with ")[2].partition(";")[0]
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"

    with running(fleet.folder, "--log-format", "json", log=log):
        eventually(lambda: "pass committed" in log.read_text(), "a pass")
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    (found, *_) = [line for line in lines if line["msg"] == "pass committed"]
    assert {*re.findall(r"`(\w+)`", said), "ts", "level", "msg"} == found.keys()


SECURITY_PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
TABLE = SECURITY_PAGE.partition("\n## Attacks")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)[2:]
NAMED = [
    pair for *_, tests in ROWS for pair in re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
]


def test_every_attack_has_a_test() -> None:
    """At least one."""
    assert [] == [attack for attack, _, tests in ROWS if "::test_" not in tests]
    assert 30 < len(ROWS)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_named_test_exists(path: str, name: str) -> None:
    """In the file where the page says that it is."""
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_apis() -> None:
    """`make docs` writes them."""
    assert_current("docs/one-system.md")


def test_the_table_is_that_of_delivery() -> None:
    """`make docs` writes it."""
    assert_current("docs/delivery.md")


def test_who_decides_is_in_the_architecture() -> None:
    """`make docs` writes the rows of `tests/house/test_deciders.py`."""
    assert_current("docs/architecture.md")


def assert_current(name: str) -> None:
    """Hold a page to what would be written now."""
    page = (ROOT / name).read_text(encoding="utf-8")

    assert GENERATED[name](page) == page


FOLDER = ROOT / "docs/performance"
PAGE = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
PERFORMANCE_TABLE = PAGE.partition(BEGIN)[2].partition(END)[0]
RESULTS = read(FOLDER / "results.json")
FIGURES = [figure for result in RESULTS.values() for figure in result.figures]


def test_the_table_is_that_of_the_results() -> None:
    """Nothing in it was written by hand."""
    assert as_markdown(RESULTS.values()) == PERFORMANCE_TABLE


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
    assert [] == [name for name in GOALS if f"| {name} |" not in PERFORMANCE_TABLE]


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


RECORDED = {"status": 1000, "why": 200}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"status": 1000, "why": 200}, []),
        ({"status": 1100, "why": 180}, []),
        ({"status": 1101, "why": 200}, ["status: 1,101 calls, 10 % more than the 1,000 recorded"]),
        ({"status": 10, "why": 400}, ["why: 400 calls, 100 % more than the 200 recorded"]),
        ({"status": 1000}, ["why: it is not counted any more; take it out with make bench-record"]),
        (
            {"status": 1000, "why": 200, "plan": 1},
            ["plan: it was never recorded; make bench-record does"],
        ),
    ],
)
def test_what_takes_a_tenth_more_is_told(found: dict[str, int], said: list[str]) -> None:
    """A tenth itself is let through, and so is what takes less."""
    assert judged(found, RECORDED) == said


def test_every_question_is_recorded() -> None:
    """And every pass."""
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))

    assert {f"{name}, second call" for name in QUESTIONS} < recorded.keys()
    assert FIRST in recorded


def test_only_our_functions_are_counted_and_each_call_of_them() -> None:
    """Comprehensions are none of their own in later versions of Python, so they never are."""
    assert calls_of(lambda: [printable(text) for text in ("a", "b", "c")]) == 3
    assert calls_of(lambda: sorted(json.loads("[2, 1]"))) == 0


def test_counting_leaves_no_profile_behind() -> None:
    """What comes after it is as quick as before."""
    calls_of(lambda: printable("a"))

    assert sys.getprofile() is None


SCALE_PAGE = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
ADDRESS = re.compile(r"(?:dask|tcp)://127\.0\.0\.1:8786")
PERFORMANCE_SHOWN = re.compile(
    r"^\$ (?:DASK_SCHEDULER_ADDRESS=(\S+) )?reconciler (.*)\n((?:[^$`].*\n)*)", re.MULTILINE
)
ROW = re.compile(
    r"^\| 10,000 \| 500 \| ([\d,]+) \| ([\d.]+) s \| ([\d.]+) s \| ([\d,]+) MB \|$", re.MULTILINE
)
ROOTS = 20


def number(text: str) -> float:
    """Return a number as people write it."""
    return float(text.replace(",", ""))


@pytest.mark.parametrize(
    "words",
    [
        f"({proofs.ENOUGH} commits or {failures.ENOUGH} clusters for each process",
        f"ranges of {verify.FEW} commits and more",
        f"not answer within {dask.CONNECT_SECONDS} s",
        f"no worker within {dask.WORKER_SECONDS} s",
        f"{divided_pass.ENOUGH:,} inputs for each worker",
        f"so from {2 * divided_pass.ENOUGH:,} inputs and two workers on",
    ],
)
def test_numbers_are_those_of_the_code(words: str) -> None:
    """Each where it is told."""
    assert words in " ".join(SCALE_PAGE.split())


def test_arithmetic_follows_from_the_measured_row() -> None:
    """A million workloads cost what those of the row cost, so many times."""
    found = ROW.search(SCALE_PAGE)
    assert found is not None
    workloads, load, first, memory = map(number, found.groups())
    times, each = 1_000_000 / workloads, 1_000_000 / workloads / ROOTS
    share = memory / workloads * 1000
    expected = [
        f"| memory of one workload with its policy and binding | {share:.0f} kB |",
        f"| memory of a million | {memory * times / 1000:.0f} GB |",
        f"| memory of each of {ROOTS} roots of 50,000 | {memory * each / 1000:.1f} GB |",
        f"| first load of such a root | {load * each:.0f} s |",
        f"| first pass of such a root, load not included | {first * each:.0f} s |",
    ]

    assert expected == [line for line in expected if line in SCALE_PAGE.splitlines()]


def test_commands_print_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a scheduler and a worker on loopback."""
    fleet = told_fleet(tmp_path / "fleet")
    shown = PERFORMANCE_SHOWN.findall(SCALE_PAGE)
    (tmp_path / "dask").mkdir()
    with cluster_in(tmp_path / "dask", workers=1) as cluster:
        for variable, words, expected in shown:
            monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.address if variable else "")
            arguments = ADDRESS.sub(cluster.dask, words).split()

            assert (0, expected, "") == answer(fleet, capsys, *arguments)
    assert 2 == len(shown)
