"""Whatever verb names it: what is suspended is seen, with what would happen on resume."""

from pathlib import Path

import pytest

from reconciler.cli.page.answers import PageAnswers
from reconciler.cli.page.views import new_memory
from reconciler.library.fleet import open_repository
from tests.cli.history import answer, answer_json
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
SHOP = {"group": "apps", "kind": "Deployment", "namespace": "default", "name": "shop"}
MOVES = "default/shop member1(2) -> member1(5)"
OBJECTS = [
    pytest.param("pp/shop", "deployment/shop", "propagationpolicy/shop", id="policy"),
    pytest.param("deployment/shop", "deployment/shop", "deployment/shop", id="workload"),
    pytest.param("placement/reports", "placement/reports", "placement/reports", id="ocm"),
    pytest.param("crp/tools", "crp/tools", "clusterresourceplacement/tools", id="kubefleet"),
    pytest.param("--all", "deployment/shop", "everything", id="all"),
]


def suspended_fleet(folder: Path, capsys: Capsys, word: str) -> Checkout:
    """The example after a pass; then something is suspended, and the shop is scaled to 5."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    answer(fleet, capsys, "suspend", word)
    path = "workloads/shop.yaml"
    text = (fleet.folder / path).read_text()
    fleet.write({path: text.replace("replicas: 2", "replicas: 5")})
    fleet.git("commit", "--quiet", "--all", "--message=Hold, and scale the shop")
    run_pass(fleet.folder, 60)
    return fleet


@pytest.mark.parametrize(("word", "asked", "by"), OBJECTS)
def test_each_verb_says_that_it_is_suspended(
    tmp_path: Path, capsys: Capsys, word: str, asked: str, by: str
) -> None:
    """`why`, `tree` and `describe` by which file, `get` in a column, `status` in a line."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, word)
    clause = "with everything (reconciler.yaml)" if word == "--all" else f"by {by}"
    kind, name = asked.split("/")

    why = answer(fleet, capsys, "why", asked)[1].splitlines()
    tree = answer(fleet, capsys, "tree", asked)[1]
    status = answer(fleet, capsys, "status")[1]
    described = answer(fleet, capsys, "describe", asked)[1]
    for more in ([], ["-o", "wide"]):
        head, row = answer(fleet, capsys, "get", kind, name, *more)[1].splitlines()
        shown = row[head.index("SUSPENDED") :].split()[0]
        assert shown in ("itself", "everything", by)

    assert f"  suspended  {clause}" in why[1]
    assert why[2].startswith("  resumed    ")
    assert "suspended" in tree.splitlines()[0]
    assert f"Suspended:\n  {by}" in tree
    assert f"Suspended:   {by}" in status
    (told,) = (line for line in described.splitlines() if line.startswith("Suspended:"))
    assert told.removeprefix("Suspended:").strip().startswith(by)


@pytest.mark.parametrize("word", ["pp/shop", "deployment/shop", "--all"])
def test_what_the_file_asks_for_is_told_and_held(tmp_path: Path, capsys: Capsys, word: str) -> None:
    """5 replicas, not the 2 of the last decision, and where they would go on resume."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, word)

    why = answer(fleet, capsys, "why", "deployment/shop")[1]
    told = answer_json(fleet, capsys, ["why", "deployment/shop"])[1]["suspended"]

    asked = "5 replicas, divided by static weights (held; decided was 2 replicas, "
    assert f"  asked      {asked}" in why
    assert "the next pass would move it: member1(2) -> member1(5)" in why
    assert "Now: not scheduled, because it is suspended." in why
    assert "5 replicas, divided by static weights" == told["question"]
    assert [{"cluster": "member1", "replicas": 5}] == told["next"]["after"]
    assert MOVES in answer(fleet, capsys, "tree", "deployment/shop")[1]
    assert MOVES in answer(fleet, capsys, "status")[1]


@pytest.mark.parametrize("word", ["pp/shop", "deployment/shop", "--all"])
def test_what_was_told_is_what_a_resume_does(tmp_path: Path, capsys: Capsys, word: str) -> None:
    """By the next pass."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, word)
    told = answer_json(fleet, capsys, ["why", "deployment/shop"])[1]["suspended"]["next"]
    answer(fleet, capsys, "resume", word)
    fleet.git("commit", "--quiet", "--all", "--message=Go on")
    report = run_pass(fleet.folder, 120)

    (moved,) = report.outcome.decisions
    placed = [{"cluster": str(name), "replicas": count} for name, count in moved.after]
    assert told["after"] == placed
    assert answer_json(fleet, capsys, ["why", "deployment/shop"])[1]["suspended"] is None
    assert "SUSPENDED" not in answer(fleet, capsys, "get", "rb,deploy,pp", "-A")[1]


def test_only_tables_with_something_suspended_have_the_column(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A suspended policy suspends its workloads, and says nothing of others."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, "pp/shop")

    tables = answer(fleet, capsys, "get", "rb,deploy,cm,cluster", "-A")[1].split("\n\n")

    assert [True, True, False, False] == ["SUSPENDED" in table for table in tables]
    assert ["<none>", "propagationpolicy/shop"] == [
        line.split()[-1] for line in tables[1].splitlines()[1:]
    ]


def test_a_schedule_that_rests_is_suspended(tmp_path: Path, capsys: Capsys) -> None:
    """Its own field says so, and `status` tells of it, too."""
    weekly = (
        "apiVersion: apps.karmada.io/v1alpha1\nkind: WorkloadRebalancer\n"
        "metadata: {name: weekly}\nspec:\n  suspend: true\n  schedule: '0 3 * * SUN'\n"
        "  workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: default, name: shop}]\n"
    )
    fleet = new_fleet(tmp_path / "fleet", {"rebalancers/weekly.yaml": weekly})
    run_pass(fleet.folder, 0)

    assert "Suspended:   workloadrebalancer/weekly" in answer(fleet, capsys, "status")[1]
    assert "itself" == answer(fleet, capsys, "get", "wr")[1].split()[-1]


def test_the_page_says_so_of_an_object(tmp_path: Path, capsys: Capsys) -> None:
    """Above where it runs."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, "pp/shop")
    repository = open_repository(fleet.folder)
    page = PageAnswers(repository, "main", new_memory(repository.revisions, None))

    shown = page.answer("object", SHOP, fleet.head()).html

    assert "Suspended by propagationpolicy/shop in namespace default (policies/shop.yaml)" in shown
    assert "Asked for: 5 replicas, divided by static weights (held; decided was 2" in shown


def test_the_annotation_suspends_nothing_where_it_is_not_read(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A cluster that has it is no suspended one."""
    path = "clusters/member1.yaml"
    note = 'metadata:\n  annotations: {reconciler.dev/suspend: "true"}'
    text = EXAMPLE[path].replace("metadata:", note, 1)
    fleet = new_fleet(tmp_path / "fleet", {path: text})
    run_pass(fleet.folder, 0)

    assert "SUSPENDED" not in answer(fleet, capsys, "get", "clusters")[1]
    assert "Suspended:   none" in answer(fleet, capsys, "status")[1]
