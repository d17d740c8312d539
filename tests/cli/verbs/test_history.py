"""`reconciler history`, `blame` and `get --at`, on real histories."""

import re
from pathlib import Path

import pytest

from tests.cli.history import FAILED, SCALED, SHOP, answer, answer_json, told_fleet
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
OBJECTS = ["deployment/shop", "deploy/shop", "Deployments.apps/shop", "rb/shop-deployment"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("history") / "fleet")


@pytest.mark.parametrize("word", OBJECTS)
def test_history_tells_each_decision(fleet: Checkout, capsys: Capsys, word: str) -> None:
    """Newest first, with what moved, why, and whose commit caused it."""
    code, out, err = answer(fleet, capsys, "history", word)

    lines = [re.split(r" {3,}", line) for line in out.splitlines()]
    assert (0, "") == (code, err)
    assert ["COMMIT", "WHEN", "FROM", "TO", "WHY", "BY"] == lines[0]
    assert [
        ["2026-11-20T12:02:00Z", "member1(5)", "backup1(5)"],
        ["2026-11-20T12:01:00Z", "member1(2)", "member1(5)"],
        ["2026-11-20T12:00:00Z", "nowhere", "member1(2)"],
    ] == [line[1:4] for line in lines[1:]]
    assert lines[1][4].startswith("evicted (member1: ")
    assert ["replicas changed", "created (policy shop)"] == [line[4] for line in lines[2:]]
    assert ["Ada: Report that member1 is down", "Ada: Scale the shop", "Ada: Start"] == [
        line[5].partition(" (")[0] for line in lines[1:]
    ]


def test_history_for_machines(fleet: Checkout, capsys: Capsys) -> None:
    """Clusters, replicas and the commits that caused it, by their full ids."""
    code, found = answer_json(fleet, capsys, ["history", "deployment/shop"])
    found = found["decisions"]

    assert 0 == code
    assert [{"cluster": "backup1", "replicas": 5}] == found[0]["after"]
    assert [fleet.git("rev-parse", "HEAD~1")] == [item["commit"] for item in found[0]["inputs"]]


def test_of_several_commits_the_first_that_is_enough_is_the_cause(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A pass takes commits together; those that did not matter are not blamed."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.commit({"notes.txt": "a"}, "Take notes")
    text = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 9")
    fleet.commit({"workloads/shop.yaml": text}, "Scale to 9")
    fleet.commit({"notes.txt": "b"}, "Take more notes")
    run_pass(fleet.folder, 300)

    found = answer_json(fleet, capsys, ["history", "deployment/shop"])[1]["decisions"]

    assert ["Scale to 9"] == [item["title"] for item in found[0]["inputs"]]


def test_all_commits_that_caused_a_move_are_told(tmp_path: Path, capsys: Capsys) -> None:
    """As the trailers of the pass tell: both that it needed, and not the note beside."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit(SCALED, "Scale the shop")
    fleet.commit({"notes.txt": "a"}, "Take notes")
    fleet.commit(FAILED, "Report that member1 is down")
    run_pass(fleet.folder, 120)

    found = answer_json(fleet, capsys, ["history", "deployment/shop"])[1]["decisions"][0]["inputs"]
    told = fleet.git("log", "-1", "--format=%(trailers:key=Caused-By,valueonly)", "main")

    assert ["Scale the shop", "Report that member1 is down"] == [item["title"] for item in found]
    assert [item["commit"] for item in found] == [
        line.split()[0] for line in told.split("\n") if line
    ]


def test_time_alone_can_be_the_cause(tmp_path: Path, capsys: Capsys) -> None:
    """Nobody edits anything when a toleration ends."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.commit({"notes.txt": "a"}, "Take notes")
    run_pass(fleet.folder, 3600)

    code, out, _ = answer(fleet, capsys, "history", "deployment/frontend")

    assert 0 == code
    assert "evicted" in out.splitlines()[1]
    assert out.splitlines()[1].endswith("   time")


def test_an_edit_by_hand_is_told_and_blamed(tmp_path: Path, capsys: Capsys) -> None:
    """The cluster that a person wrote into a decision is there because of that commit."""
    fleet = told_fleet(tmp_path / "fleet")
    edited = (fleet.folder / SHOP).read_text().replace("name: backup1", "name: member2")
    fleet.commit({SHOP: edited}, "Prefer member2")
    run_pass(fleet.folder, 200)

    _, out, _ = answer(fleet, capsys, "history", "deployment/shop")

    assert "edited by hand" in out
    assert "Ada: Prefer member2" in out


@pytest.mark.parametrize("passes", [0, 1])
def test_blame_tells_an_edit_that_a_pass_keeps(tmp_path: Path, capsys: Capsys, passes: int) -> None:
    """Where it is now is asked of the outputs, whether a pass has seen the edit or not."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    edited = (fleet.folder / SHOP).read_text().replace("name: member1", "name: backup1")
    fleet.commit({SHOP: edited}, "Prefer backup1")
    for number in range(passes):
        run_pass(fleet.folder, 60 + number)

    [found] = answer_json(fleet, capsys, ["blame", "deployment/shop"])[1]["clusters"]

    assert ("backup1", None, "edited by hand") == (
        found["cluster"],
        found["cause"],
        found["note"],
    )


def test_blame_names_the_commit_that_put_it_there(fleet: Checkout, capsys: Capsys) -> None:
    """One cluster a row; a change of replicas is not a new start."""
    code, out, _ = answer(fleet, capsys, "blame", "deployment/frontend")
    _, before, _ = answer(fleet, capsys, "blame", "deployment/shop", "--at", "HEAD~2")
    found = answer_json(fleet, capsys, ["blame", "deployment/shop"])[1]["clusters"]

    assert 0 == code
    assert ["member1", "member2"] == [line.split()[0] for line in out.splitlines()[1:]]
    assert re.search(r"member1 +5 +2026-11-20T12:00:00Z .* Ada: Start", before)
    assert ["backup1", "2026-11-20T12:02:00Z"] == [found[0]["cluster"], found[0]["at"]]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["shop"], 2, "must be KIND/NAME", id="no-kind"),
        pytest.param(["gizmo/shop"], 2, "there is no kind", id="unknown-kind"),
        pytest.param(["cluster/member1"], 2, "is not placed", id="not-placed"),
        pytest.param(["deploy/nobody"], 1, "nothing was decided about", id="unknown-object"),
        pytest.param(["deploy/shop", "-n", "x"], 1, "nothing was decided", id="elsewhere"),
        pytest.param(["deploy/shop", "--at", "v9"], 2, "no revision", id="unknown-revision"),
    ],
)
@pytest.mark.parametrize("verb", ["history", "blame"])
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, verb: str, arguments: list[str], code: int, message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    found, out, err = answer(fleet, capsys, verb, *arguments)

    assert (code, "") == (found, out)
    assert message in err
    assert 1 == err.count("\n")


def test_blame_tells_who_took_it_off_its_last_cluster(tmp_path: Path, capsys: Capsys) -> None:
    """Where an object is nowhere, somebody wanted that."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    fleet.git("commit", "--quiet", "--message=Close the shop")
    run_pass(fleet.folder, 200)

    code, out, err = answer(fleet, capsys, "blame", "deployment/shop")

    assert (1, "") == (code, out)
    assert f"deployment/shop in namespace default is on no cluster since {fleet.head()[:12]}" in err
    assert "(removed; Ada: Close the shop (" in err


def test_a_name_that_never_was_has_others_near_it(fleet: Checkout, capsys: Capsys) -> None:
    """The object is told as it was asked for, not as its binding."""
    for verb in ("history", "blame"):
        _, _, err = answer(fleet, capsys, verb, "deploy/shpo")

        assert "nothing was decided about deployment/shpo in namespace default" in err
        assert err.endswith("in the history of HEAD; near it: shop\n")


def test_ocm_and_kubefleet_have_a_history(fleet: Checkout, capsys: Capsys) -> None:
    """Placements of the other two APIs are told in the same way."""
    for word in ("placement/reports", "crp/tools", "placementdecision/reports-decision-1"):
        code, found = answer_json(fleet, capsys, ["history", word])
        found = found["decisions"]

        assert 0 == code
        assert [] == found[-1]["before"]


def test_get_at_shows_what_was(fleet: Checkout, capsys: Capsys) -> None:
    """At an earlier revision the shop is on member1."""
    now = answer(fleet, capsys, "get", "rb", "shop-deployment")[1]
    then = answer(fleet, capsys, "get", "rb", "shop-deployment", "--at", "HEAD~2")[1]

    assert ("backup1(5)" in now, "member1(5)" in then) == (True, True)
    assert 2 == answer(fleet, capsys, "get", "rb", "--at", "nothing")[0]
