"""docs/operations.md names what there is: every metric, every path, every answer."""

import json
import re
from pathlib import Path

from reconciler.model.fields import mapping
from reconciler.shell.reports.metrics import Metrics
from tests.shell.fleet import ROOT, eventually, new_fleet, running
from tests.shell.listening import MOMENT, served
from tests.shell.reports.test_reporters import fields, scale, told

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
METRICS = re.findall(r"^\| `(reconciler_[a-z_]+)(?:\{([a-z,]+)\})?` \|", PAGE, re.MULTILINE)


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
    paths = re.findall(r"^\| `(GET|POST) (/[a-z]+)` \|", PAGE, re.MULTILINE)
    with served() as listener:
        found = [
            listener.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())[0]
            for method, path in paths
        ]

    assert [200, 503, 200, 401] == found


def test_the_document_of_the_page_is_what_a_webhook_gets(tmp_path: Path) -> None:
    """The example is that of a decision on the example fleet; ids and moments differ."""
    (example,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    fleet = new_fleet(tmp_path / "fleet")

    document = fields(told(fleet, lambda: None, scale(fleet))[1])

    shown = json.loads(example)
    assert list(shown) == list(document)
    assert list(shown["metadata"]) == [*mapping(document, "metadata")]
    same = ("severity", "reason", "message", "reportingController", "decisions", "faults")
    assert {name: shown[name] for name in same} == {name: document[name] for name in same}


def test_the_line_of_a_pass_has_the_fields_of_the_page(tmp_path: Path) -> None:
    """Those that are named, and those that every line has."""
    said = PAGE.partition("`pass committed` with ")[2].partition(";")[0]
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"

    with running(fleet.folder, "--log-format", "json", log=log):
        eventually(lambda: "pass committed" in log.read_text(), "a pass")
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    (found, *_) = [line for line in lines if line["msg"] == "pass committed"]
    assert {*re.findall(r"`(\w+)`", said), "ts", "level", "msg"} == found.keys()
