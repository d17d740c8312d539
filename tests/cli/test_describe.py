"""`describe`: labels, fields, conditions, decision and events of one object."""

import re
from pathlib import Path

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout, new_checkout

pytestmark = pytest.mark.usefixtures("an_hour_later")
Capsys = pytest.CaptureFixture[str]
PLAIN = """apiVersion: v1
kind: ConfigMap
metadata:
  name: plain
  labels: {tier: web, app: shop}
data: {someKey: one, log.conf: "a\\nb\\n"}
"""
LOGIN = """apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hunter2}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    return told_fleet(tmp_path_factory.mktemp("describe") / "fleet")


def described(checkout: Checkout, capsys: Capsys, *arguments: str) -> str:
    """Return what is printed."""
    code, out, err = answer(checkout, capsys, "describe", *arguments)
    assert (0, "") == (code, err)
    return out


def test_parts_have_kubectls_order(fleet: Checkout, capsys: Capsys) -> None:
    """Who it is, what it holds, how it is, what was decided, what happened."""
    out = described(fleet, capsys, "rb", "shop-deployment")

    assert [
        "Name",
        "Namespace",
        "Labels",
        "Annotations",
        "File",
        "API Version",
        "Kind",
        "Metadata",
        "Spec",
        "Status",
        "Conditions",
        "Decision",
        "Events",
    ] == re.findall(r"^(\w[\w ]*):", out, re.MULTILINE)


def test_fields_are_words_and_stand_below_each_other(fleet: Checkout, capsys: Capsys) -> None:
    """As `kubectl describe` prints what it has no page for."""
    out = described(fleet, capsys, "deploy/shop")

    assert out.startswith(
        "Name:         shop\n"
        "Namespace:    default\n"
        "Labels:       app=shop\n"
        "Annotations:  <none>\n"
        "File:         workloads/shop.yaml\n"
        "API Version:  apps/v1\n"
        "Kind:         Deployment\n"
        "Spec:\n"
        "  Replicas:  5\n"
        "  Selector:\n"
        "    Match Labels:\n"
        "      App:  shop\n"
    )


def test_conditions_are_a_table(fleet: Checkout, capsys: Capsys) -> None:
    """And stand in it only."""
    out = described(fleet, capsys, "rb/shop-deployment")

    table = [line.split() for line in out.partition("Conditions:\n")[2].splitlines()[:4]]
    assert [
        ["Type", "Status", "Reason", "Age", "Message"],
        ["----", "------", "------", "---", "-------"],
    ] == table[:2]
    assert ["Scheduled", "True", "Success"] == table[2][:3]
    assert ["FullyApplied", "True", "FullyAppliedAssumed"] == table[3][:3]
    assert ["No", "cluster", "reported,", "all", "are", "assumed"] == table[3][4:10]
    assert 1 == out.count("FullyAppliedAssumed")


def test_a_decision_is_told_with_whose_commit_it_was(fleet: Checkout, capsys: Capsys) -> None:
    """A workload's is that of its binding."""
    decision = described(fleet, capsys, "deployment", "shop").partition("Decision:\n")[2]
    commits = [fleet.git("rev-parse", "--short=12", name) for name in ("HEAD", "HEAD~1")]

    evicted = "evicted (member1: toleration of cluster.karmada.io/not-ready:NoExecute ended)"
    assert [
        "  Object:    ResourceBinding/shop-deployment",
        "  Clusters:  backup1(5)",
        f"  Decided:   2026-11-20T12:02:00Z in {commits[0]}: {evicted}",
        f"  Because:   Ada: Report that member1 is down ({commits[1]})",
    ] == decision.splitlines()[:4]


def test_events_are_told_the_newest_last(fleet: Checkout, capsys: Capsys) -> None:
    """As `events` tells them, with kubectl's columns."""
    lines = described(fleet, capsys, "deploy/shop").partition("Events:\n")[2].splitlines()

    assert ["Type", "Reason", "Age", "From", "Commit", "Message"] == lines[0].split()
    assert ["Normal", "ScheduleBindingSucceed"] == lines[-1].split()[:2]
    assert lines[-1].endswith("Result: {backup1:5}")


def test_events_may_be_left_out(fleet: Checkout, capsys: Capsys) -> None:
    """They are read from the history, which may be long."""
    assert "Events:" not in described(fleet, capsys, "deploy/shop", "--hide-events")


def test_what_another_object_carries_says_so(fleet: Checkout, capsys: Capsys) -> None:
    """Nothing is decided about it by itself."""
    out = described(fleet, capsys, "ns", "tools")

    assert "\nDecision:  carried by clusterresourceplacement/tools\n" in out.replace("   ", "")


def test_a_kind_without_decisions_has_none(fleet: Checkout, capsys: Capsys) -> None:
    """Clusters are where things are placed."""
    out = described(fleet, capsys, "cluster/member2")

    assert ("Decision:" in out, "Events:" in out) == (False, True)


def test_an_object_is_described_as_it_was(fleet: Checkout, capsys: Capsys) -> None:
    """Before member1 failed it had the shop."""
    assert "  Clusters:  member1(5)\n" in described(fleet, capsys, "deploy/shop", "--at", "HEAD~2")


def test_keys_of_data_stay_as_they_are(tmp_path: Path, capsys: Capsys) -> None:
    """Labels are sorted; text of several lines is indented."""
    out = described(new_checkout(tmp_path / "plain", {"a.yaml": PLAIN}), capsys, "cm/plain")

    assert "Labels:       app=shop\n              tier=web\n" in out
    assert "Data:\n  log.conf:\n    a\n    b\n  someKey:  one\n" in out
    assert out.endswith("Kind:       ConfigMap\nDecision:   <none>\nEvents:     <none>\n")


def test_values_of_secrets_are_hidden(tmp_path: Path, capsys: Capsys) -> None:
    """There is no option that prints them."""
    out = described(new_checkout(tmp_path / "login", {"a.yaml": LOGIN}), capsys, "secret/login")

    assert ("hunter2" in out, "password:  ***" in out) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["deploy/shpo"], 1, "near it: shop", id="name"),
        pytest.param(["deploy", "shop", "-n", "x"], 1, "add -n default", id="elsewhere"),
        pytest.param(["gizmo/shop"], 2, "there is no kind", id="kind"),
        pytest.param(["deploy/shop", "--at", "v9"], 2, "no revision", id="revision"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], code: int, message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    found, out, err = answer(fleet, capsys, "describe", *arguments)

    assert (code, "", True, 1) == (found, out, message in err, err.count("\n"))
