"""What clusters have of an object, as `tree`, `why`, `get` and `status` tell it."""

import re
from pathlib import Path

import pytest

from tests.builders import configuration, text
from tests.cli.history import answer, answer_json
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
PATH = "delivery/member1/default/deployments.apps/shop.yaml"
SILENT = {"assumeAfterSeconds": None}
FOLDERS = text(configuration(delivery={"folders": {}}, feedback=SILENT))
BRANCH = text(configuration(delivery={"folders": {"branch": "fleet"}}, feedback=SILENT))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The example, delivered by one pass; tests only read it."""
    fleet = new_fleet(tmp_path_factory.mktemp("copies") / "fleet", {"reconciler.yaml": FOLDERS})
    run_pass(fleet.folder, 0)
    return fleet


def columns(table: str, *titles: str) -> list[list[str]]:
    """The cells below some titles."""
    names, *rows = (re.split(r" {3,}", line) for line in table.splitlines())
    return [[row[names.index(title)] for title in titles] for row in rows]


def test_a_tree_goes_on_to_what_is_delivered(fleet: Checkout, capsys: Capsys) -> None:
    """Below each cluster."""
    expected = f"""\
resourcebinding/shop-deployment (default)   Scheduled: True, FullyApplied: False (AwaitingFeedback)
└── cluster/member1                         replicas: 2
    ├── folders                             {PATH}
    └── report                              no report yet
"""

    assert (0, expected, "") == answer(fleet, capsys, "tree", "deployment/shop")


def test_a_tree_for_machines_has_the_copy_of_each_cluster(fleet: Checkout, capsys: Capsys) -> None:
    """With its files."""
    _, found = answer_json(fleet, capsys, ["tree", "deployment/shop"])
    copy = found["children"][0]["copy"]

    assert (True, "none", [PATH]) == (
        copy["delivered"],
        copy["report"],
        copy["files"][0]["paths"],
    )


def test_why_says_what_runs_where(fleet: Checkout, capsys: Capsys) -> None:
    """A row a cluster, or the one that is asked about."""
    _, out, _ = answer(fleet, capsys, "why", "deployment/shop")
    _, one, _ = answer(fleet, capsys, "why", "deployment/shop", "member2")
    table = out.partition("What runs there:\n")[2]

    assert [["member1", f"folders: {PATH}", "no report yet", "-"]] == (
        columns(table, "CLUSTER", "DELIVERED", "REPORTED", "WAITS FOR")
    )
    assert "What runs there" not in one


def test_wide_tables_count_clusters(fleet: Checkout, capsys: Capsys) -> None:
    """Of all those that an object is placed on."""
    _, workloads, _ = answer(fleet, capsys, "get", "deploy", "-o", "wide")
    _, placements, _ = answer(fleet, capsys, "get", "crp,placements", "-A", "-o", "wide")

    assert [["2/2", "0/2"], ["1/1", "0/1"]] == columns(workloads, "DELIVERED", "HEALTHY")
    assert [["2/2", "0/2"]] == columns(placements.partition("\n\n")[0], "DELIVERED", "HEALTHY")


def test_a_placement_without_content_has_no_copies(fleet: Checkout, capsys: Capsys) -> None:
    """OCM's Placements say where, not what."""
    _, out, _ = answer(
        fleet, capsys, "get", "placements.cluster.open-cluster-management.io", "-A", "-o", "wide"
    )

    assert [["<none>", "<none>"]] == columns(out, "DELIVERED", "HEALTHY")


def test_status_counts_what_clusters_report(fleet: Checkout, capsys: Capsys) -> None:
    """All of them are silent."""
    _, out, _ = answer(fleet, capsys, "status")
    _, found = answer_json(fleet, capsys, ["status"])

    assert "Copies:      8 in clusters: 8 without a report yet" in out.splitlines()
    assert (8, 8) == (found["copies"]["all"], found["copies"]["silent"])


def test_what_is_on_another_branch_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """By the name of the branch; the branch of an origin counts, too."""
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": BRANCH})
    run_pass(fleet.folder, 0)
    _, here, _ = answer(fleet, capsys, "get", "deploy", "shop", "-o", "wide")
    _, tree, _ = answer(fleet, capsys, "tree", "deployment/shop")
    fleet.git("update-ref", "refs/remotes/origin/fleet", "fleet")
    fleet.git("branch", "-D", "-q", "fleet")
    _, there, _ = answer(fleet, capsys, "get", "deploy", "shop", "-o", "wide")
    fleet.git("update-ref", "-d", "refs/remotes/origin/fleet")
    _, nowhere, _ = answer(fleet, capsys, "get", "deploy", "shop", "-o", "wide")

    assert f"fleet:{PATH}" in tree
    assert [["1/1"]] == columns(here, "DELIVERED") == columns(there, "DELIVERED")
    assert [["0/1"]] == columns(nowhere, "DELIVERED")
