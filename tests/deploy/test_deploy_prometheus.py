"""deploy/prometheus and deploy/grafana: what they ask for is measured, and alerts fire on time."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.audit.fleet.problems import ProblemKind
from reconciler.shell.reports.metrics import Metrics, ObservationMetrics
from tests.shell.fleet import ROOT
from tests.shell.servers import MOMENT

RULES = ROOT / "deploy/prometheus/rules.yaml"
DASHBOARD = ROOT / "deploy/grafana/reconciler.json"
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
ELSEWHERE = {"up", "process_resident_memory_bytes"}
NAME = re.compile(r"\b((?:reconciler|process)_[a-z_]+|up)\b(?=[{\[)\s]|$)")

promtool = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is not installed: apt-get install prometheus",
)


def alerts() -> list[dict[str, Any]]:
    """Return the alerts of the rules."""
    (group,) = YAML(typ="safe").load(RULES)["groups"]
    return list(group["rules"])


def panels() -> list[dict[str, Any]]:
    """Return the panels of the dashboard."""
    return list(json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"])


def expressions() -> Iterator[str]:
    """Yield all that is asked of Prometheus."""
    yield from (rule["expr"] for rule in alerts())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])


def series() -> set[str]:
    """Return the names of all series that daemon and observer have."""
    found = set()
    registries = Metrics(lambda _: MOMENT).registry, ObservationMetrics().registry
    for family in (one for registry in registries for one in registry.collect()):
        ends = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
        found |= {f"{family.name}{end}" for end in ends.get(family.type, ("",))}
    return found


def test_what_is_asked_for_is_measured() -> None:
    """No alert and no panel waits for a series that never comes."""
    asked = {name for one in expressions() for name in NAME.findall(one)}

    assert 15 < len(asked)
    assert set() == asked - series() - ELSEWHERE


def test_every_metric_has_a_panel() -> None:
    """But for the version, which is counted, none of ours is left out of the dashboard."""
    asked = {
        name for panel in panels() for one in panel["targets"] for name in NAME.findall(one["expr"])
    }
    families = {one.removesuffix("_bucket") for one in asked}
    ours = {one for one in series() if one.startswith("reconciler_")}

    assert set() == {one for one in ours - asked if not one.endswith(("_count", "_sum", "_bucket"))}
    assert {one.removesuffix("_bucket") for one in ours if one.endswith("_bucket")} <= families


def test_every_alert_has_its_section() -> None:
    """And no section is of an alert that is gone; its annotation leads there."""
    names = [rule["alert"] for rule in alerts()]

    assert names == re.findall(r"^### (Reconciler\w+)$", PAGE, re.MULTILINE)
    assert [f"docs/operations.md#{name.lower()}" for name in names] == [
        rule["annotations"]["runbook"] for rule in alerts()
    ]


ALERTS = {
    ProblemKind.NOT_READY: "ReconcilerClustersNotReady",
    ProblemKind.SILENT: "ReconcilerClustersNotReady",
    ProblemKind.OVER: "ReconcilerClustersOverCommitted",
    ProblemKind.NOT_PLACED: "ReconcilerUnschedulable",
    ProblemKind.FAULT: "ReconcilerFaults",
    ProblemKind.UNACCEPTED: "ReconcilerCommitsWait",
    ProblemKind.LATE: "ReconcilerNotReady",
    ProblemKind.WARNING: "ReconcilerWarnings",
    ProblemKind.WAITING: "ReconcilerObjectsWaiting",
    ProblemKind.SUSPENDED: "ReconcilerSuspended",
}


def test_every_kind_of_problem_has_an_alert() -> None:
    """But for what is told once: what people put nowhere, and what was not rebalanced."""
    without = {ProblemKind.NOT_SELECTED, ProblemKind.NOT_REBALANCED}
    assert {*ProblemKind} - without == ALERTS.keys()
    assert {*ALERTS.values()} <= {rule["alert"] for rule in alerts()}


def test_every_alert_is_tested() -> None:
    """By a case of its name, which also says when it is quiet."""
    cases = YAML(typ="safe").load(RULES.with_name("rules_test.yaml"))["tests"]

    assert [rule["alert"] for rule in alerts()] == [case["name"] for case in cases]
    for case in cases:
        quiet, fires = case["alert_rule_test"]
        assert "exp_alerts" not in quiet
        assert {case["name"]} == {quiet["alertname"], fires["alertname"]}
        assert 1 == len(fires["exp_alerts"])


@promtool
def test_alerts_fire_when_they_should() -> None:
    """As promtool runs them."""
    finished = subprocess.run(
        ["promtool", "test", "rules", RULES.with_name("rules_test.yaml").name],
        cwd=RULES.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == finished.returncode, finished.stdout + finished.stderr


@promtool
def test_prometheus_understands_rules_and_panels(tmp_path: Path) -> None:
    """Panels as rules, with an interval where Grafana has its own."""
    file = tmp_path / "rules.yaml"
    asked = [one.replace("$__rate_interval", "5m") for one in expressions()]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(asked)]
    file.write_text(json.dumps({"groups": [{"name": "all", "rules": rules}]}))
    finished = subprocess.run(
        ["promtool", "check", "rules", str(RULES), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == finished.returncode, finished.stdout + finished.stderr


@promtool
def test_prometheus_takes_the_configuration_of_the_page(tmp_path: Path) -> None:
    """With the job name that the rules expect."""
    (example,) = re.findall(r"^```yaml\n(scrape_configs:.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "prometheus.yaml"
    file.write_text(f"{example}rule_files: [{RULES}]\n")
    finished = subprocess.run(
        ["promtool", "check", "config", str(file)], capture_output=True, text=True, check=False
    )

    assert 0 == finished.returncode, finished.stdout + finished.stderr
    (job,) = YAML(typ="safe").load(example)["scrape_configs"]
    assert any(f'job="{job["job_name"]}"' in rule["expr"] for rule in alerts())


def test_panels_lie_side_by_side() -> None:
    """Each with an id of its own, inside of the grid of 24 columns, none over another."""
    ids = [panel["id"] for panel in panels()]
    cells = [
        (column, row)
        for panel in panels()
        for place in [panel["gridPos"]]
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]

    assert len(ids) == len(set(ids))
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < 24
