"""Pages for operators name what exists: commands, metrics, paths, tables and tests."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reconciler.cli.main import cli
from reconciler.model.fields import mapping
from reconciler.shell.reports.metrics import Metrics
from tests.documents.generated import PAGES as GENERATED
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
        for family in metrics.registry.collect()
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
