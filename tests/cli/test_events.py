"""`reconciler events`: upstream's events, told from the commits of real histories."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.event_reader import EventReader
from tests.cli.history import SHOP, answer, answer_json, told_fleet
from tests.cli.test_printing import ESCAPE, on_terminal
from tests.shell.fleet import (
    EXAMPLE,
    PATIENCE_SECONDS,
    decided_fleet,
    new_fleet,
    open_revisions,
    process_environment,
    run_pass,
)
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("events") / "fleet")


def test_karmada_says_what_upstream_says(fleet: Checkout, capsys: Capsys) -> None:
    """The newest last, columns aligned, clusters in the order of `spec.clusters`."""
    code, out, err = answer(fleet, capsys, "events", "deployment/shop")

    lines = [re.split(r" {3,}", line) for line in out.splitlines()]
    said = "Binding has been scheduled successfully."
    name = "default/shop-deployment"
    assert (0, "") == (code, err)
    assert ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE", "COMMIT"] == lines[0]
    assert [
        ["Normal", "ScheduleBindingSucceed", name, f"{said} Result: {{member1:2}}"],
        ["Normal", "ScheduleBindingSucceed", name, f"{said} Result: {{member1:5}}"],
        ["Normal", "EvictWorkloadFromClusterSucceed", name, "Evict from cluster member1 succeed."],
        ["Normal", "ScheduleBindingSucceed", name, f"{said} Result: {{backup1:5}}"],
    ] == [line[1:5] for line in lines[1:]]
    assert fleet.git("rev-parse", "--short=12", "HEAD") == lines[-1][5]


def test_wide_tables_say_who_records_it_upstream(fleet: Checkout, capsys: Capsys) -> None:
    """The scheduler what it decided, the controller that evicts what it took away."""
    code, out, err = answer(fleet, capsys, "events", "deployment/shop", "-o", "wide")

    lines = [re.split(r" {3,}", line) for line in out.splitlines()]
    assert (0, "") == (code, err)
    assert [
        "LAST SEEN",
        "TYPE",
        "REASON",
        "OBJECT",
        "TIME",
        "SOURCE",
        "MESSAGE",
        "COMMIT",
    ] == lines[0]
    events = answer_json(fleet, capsys, ["events", "deployment/shop"])[1]["events"]
    sources = [event["source"] for event in events]
    assert sources == [line[5] for line in lines[1:]]
    assert [event["at"] for event in events] == [line[4] for line in lines[1:]]
    assert all(sources)


def test_ocm_and_kubefleet_say_what_upstream_says(fleet: Checkout, capsys: Capsys) -> None:
    """Decisions of the one, stages of the other."""
    ocm = answer_json(fleet, capsys, ["events", "placement/reports"])[1]["events"]
    kubefleet = answer_json(fleet, capsys, ["events", "crp/tools"])[1]["events"]

    where = "with placement reports in namespace default"
    assert [
        ("DecisionCreate", f"Decision reports-decision-1 is created {where}"),
        ("DecisionUpdate", f"Decision reports-decision-1 is updated {where}"),
    ] == [(event["reason"], event["message"]) for event in ocm]
    assert [
        "PlacementScheduleSuccess",
        "PlacementRolloutStarted",
        "PlacementOverriddenSucceeded",
        "PlacementWorkSynchronized",
    ] == [event["reason"] for event in kubefleet]


def test_an_event_has_the_component_of_upstream(fleet: Checkout, capsys: Capsys) -> None:
    """Which Karmada's scheduler, evictions, OCM's placements and KubeFleet's record under."""
    told = {
        (event["reason"], event["source"])
        for word in ("deployment/shop", "placement/reports", "crp/tools")
        for event in answer_json(fleet, capsys, ["events", word])[1]["events"]
    }
    evicts = "resource-binding-graceful-eviction-controller"

    assert {
        ("ScheduleBindingSucceed", "default-scheduler"),
        ("EvictWorkloadFromClusterSucceed", evicts),
        ("DecisionCreate", "placementController"),
        ("PlacementScheduleSuccess", "placement-controller"),
    } <= told
    assert "reconciler" not in {source for _, source in told}


def test_what_cannot_be_placed_is_a_warning(tmp_path: Path, capsys: Capsys) -> None:
    """With the message of the condition; so is an edit by hand."""
    fleet = decided_fleet(tmp_path / "fleet")
    narrow = EXAMPLE["policies/shop.yaml"].replace("member1", "nowhere").replace("backup1", "none")
    fleet.commit({"policies/shop.yaml": narrow}, "Narrow it")
    run_pass(fleet.folder, 60)
    fleet.commit({SHOP: (fleet.folder / SHOP).read_text() + "# mine\n"}, "Prefer member2")

    found = answer_json(fleet, capsys, ["events", "deployment/shop", "--warnings"])[1]["events"]

    assert ["ScheduleBindingFailed", "OutputEdited"] == [event["reason"] for event in found]
    assert ["default-scheduler", "reconciler"] == [event["source"] for event in found]
    assert "0/3 clusters are available" in found[0]["message"]
    assert "Edited by hand by Ada <ada@example.com>: Prefer member2" == found[1]["message"]


def test_the_newest_are_shown(fleet: Checkout, capsys: Capsys) -> None:
    """`--limit` and `--since` bound how far back it goes."""
    _, out, err = answer(fleet, capsys, "events", "--limit", "1")
    since = answer_json(fleet, capsys, ["events", "--since", "HEAD~1"])[1]["events"]
    _, nothing, said = answer(fleet, capsys, "events", "--since", "HEAD")

    assert 2 == len(out.partition("\n\n")[0].splitlines())
    assert "Result: {backup1:5}" in out
    assert "showing the newest" in err
    assert {fleet.head()} == {event["commit"] for event in since}
    assert ("", "no event\n") == (nothing, said)


def test_a_shallow_clone_tells_what_it_has(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """And says that it is one."""
    url = f"file://{fleet.folder}"
    fleet.git("clone", "--quiet", "--depth=2", url, str(tmp_path / "clone"))

    code, out, err = answer(Checkout(tmp_path / "clone"), capsys, "events", "deployment/shop")

    assert 0 == code
    assert 3 == len(out.splitlines())
    assert "this clone is shallow" in err


def test_watch_goes_on_with_what_the_branch_brings(tmp_path: Path) -> None:
    """One JSON object a line, as soon as the branch moves; Ctrl-C ends it."""
    fleet = new_fleet(tmp_path / "fleet")
    process = subprocess.Popen(
        [sys.executable, "-m", "reconciler", "events", "--watch", "-o", "json"],
        cwd=fleet.folder,
        env=process_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        run_pass(fleet.folder, 0)
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()

    assert (1, "DecisionCreate") == (first["schemaVersion"], first["reason"])
    assert (130, "") == (process.returncode, err.strip())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["shop"], "must be KIND/NAME", id="no-kind"),
        pytest.param(["gizmo/shop"], "there is no kind", id="unknown-kind"),
        pytest.param(["cluster/member1"], "is not placed", id="not-placed"),
        pytest.param(["--since", "v9"], "no revision", id="unknown-revision"),
        pytest.param(["--branch", "mian"], "near it: main", id="unknown-branch"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    code, out, err = answer(fleet, capsys, "events", *arguments)

    assert (2, "") == (code, out)
    assert message in err
    assert 1 == err.count("\n")


def test_colour_is_for_terminals_only(fleet: Checkout, capsys: Capsys) -> None:
    """A bold head on a terminal, plain text in a pipe."""
    assert ESCAPE in on_terminal(fleet.folder, ["events"], {})
    assert ESCAPE not in answer(fleet, capsys, "events")[1]


def test_an_object_that_never_was_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """It is no object without events."""
    code, out, err = answer(fleet, capsys, "events", "deployment/shpo")

    assert (2, "") == (code, out)
    assert "there is no" in err


def test_an_object_that_is_gone_is_none_that_never_was(tmp_path: Path, capsys: Capsys) -> None:
    """It has no events since, which is no mistake."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    fleet.git("commit", "--quiet", "--message=Close the shop")
    run_pass(fleet.folder, 200)

    code, out, err = answer(fleet, capsys, "events", "deployment/shop", "--since", "HEAD~1")

    assert (0, "", "no event\n") == (code, out, err)


@pytest.mark.parametrize("word", ["deployment/shop", "placement/reports", "crp/tools"])
def test_events_of_one_object_are_all_of_its(fleet: Checkout, capsys: Capsys, word: str) -> None:
    """Only commits that changed its outputs are read, and no event of it is in another one."""
    own = answer_json(fleet, capsys, ["events", word])[1]["events"]
    everything = answer_json(fleet, capsys, ["events", "--limit", "0"])[1]["events"]
    about = own[0]["object"]

    assert own == [event for event in everything if event["object"] == about]


def test_events_of_one_object_are_those_among_all(fleet: Checkout) -> None:
    """Only files that mention it are read for it, and none of its events is missing."""
    revisions = open_revisions(fleet.folder)
    every, _ = EventReader(revisions, None).read(fleet.head(), None)

    for key in {event.key for event in every}:
        own, _ = EventReader(revisions, key).read(fleet.head(), None)

        assert [event for event in every if event.key == key] == own


def asked_events(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[dict[str, Any]]:
    """Return what is asked for; that there is none is said beside it."""
    code, out, _ = answer(fleet, capsys, "events", *arguments, "-o", "json")
    assert 0 == code
    found: list[dict[str, Any]] = json.loads(out)["events"]
    return found


def namespaces(fleet: Checkout, capsys: Capsys, *arguments: str) -> set[str]:
    """Of the objects that have events."""
    return {one["object"]["namespace"] for one in asked_events(fleet, capsys, *arguments)}


def test_a_namespace_is_all_that_is_asked_for(fleet: Checkout, capsys: Capsys) -> None:
    """Without one, or with -A, events of all are told, those of no namespace, too."""
    assert {"default"} == namespaces(fleet, capsys, "-n", "default")
    assert set() == namespaces(fleet, capsys, "-n", "nosuch")
    assert {"", "default"} <= namespaces(fleet, capsys)
    assert namespaces(fleet, capsys) == namespaces(fleet, capsys, "-A")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("--types", "Normal"), {"Normal"}, id="normal"),
        pytest.param(("--types", "normal,Warning"), {"Normal"}, id="both"),
        pytest.param(("--types", "Warning"), set(), id="warning"),
    ],
)
def test_types_are_those_of_kubectl(
    fleet: Checkout, capsys: Capsys, arguments: tuple[str, ...], expected: set[str]
) -> None:
    """Several are separated by commas; this fleet has no warning."""
    assert expected == {one["type"] for one in asked_events(fleet, capsys, *arguments)}


def test_a_span_begins_so_long_ago(fleet: Checkout, capsys: Capsys) -> None:
    """Everything here happened long before an hour ago, and less than a hundred years ago."""
    assert [] == asked_events(fleet, capsys, "--since", "1h30m")
    assert asked_events(fleet, capsys, "--since", "36500d")


def test_a_history_is_cut_likewise(fleet: Checkout, capsys: Capsys) -> None:
    """By a span, or after a revision."""
    every, none, newest = (
        answer(fleet, capsys, "history", "deployment/shop", "--since", since)[1].splitlines()
        for since in ("36500d", "1h", "HEAD~1")
    )

    assert (4, 0, 2) == (len(every), len(none), len(newest))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--types", "Bad"), '"Bad" is no type of events', id="type"),
        pytest.param(("-A", "-n", "a"), "--all-namespaces excludes -n", id="all-and-one"),
        pytest.param(("--since", "v9"), "no revision", id="revision"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    fleet: Checkout, capsys: Capsys, arguments: tuple[str, ...], said: str
) -> None:
    """With what there is."""
    code, _, err = answer(fleet, capsys, "events", *arguments)

    assert (2, True) == (code, said in err)
