"""docs/operations.md names what there is: every metric, every path, every answer."""

import re

from reconciler.shell.metrics import Metrics
from tests.shell.fleet import ROOT
from tests.shell.listening import MOMENT, served

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
