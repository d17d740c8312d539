"""`reconciler history`, `blame` and `get --at`, people's edits and borrowed names included."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.cli.history import (
    ALL,
    FAILED,
    KARMADA,
    OCM,
    SCALED,
    SHOP,
    Case,
    answer,
    answer_json,
    edited_fleet,
    names,
    remove,
    told_fleet,
)
from tests.shell.daemon.test_serve_branch import served
from tests.shell.fleet import DAEMON, EXAMPLE, Clock, decided_fleet, run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

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
    fleet = decided_fleet(tmp_path / "fleet")
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


def test_a_resume_names_what_was_edited_while_nothing_moved(tmp_path: Path, capsys: Capsys) -> None:
    """The scale is why it moved; the resume only let it."""
    workload = "workloads/shop.yaml"
    name = "  name: shop\n"
    frozen = f"{name}  annotations: {{reconciler.dev/suspend: 'true'}}\n"
    fleet = decided_fleet(tmp_path / "fleet")
    steps = [
        (EXAMPLE[workload].replace(name, frozen), "Suspend the shop"),
        (SCALED[workload].replace(name, frozen), "Scale the shop"),
        (SCALED[workload], "Resume the shop"),
    ]
    for number, (content, subject) in enumerate(steps, start=1):
        fleet.commit({workload: content}, subject)
        run_pass(fleet.folder, 60 * number)

    decisions = answer_json(fleet, capsys, ["history", "deployment/shop"])[1]["decisions"]

    assert "resumed" == decisions[0]["cause"]
    assert [subject for _, subject in steps] == [item["title"] for item in decisions[0]["inputs"]]


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
    fleet = decided_fleet(tmp_path / "fleet")
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


@pytest.mark.parametrize("case", ALL)
def test_an_edit_is_told_with_both_sides(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """Who, from where, to where; the placements' own files did not change."""
    fleet = edited_fleet(tmp_path / "fleet", case)

    found = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]
    _, out, _ = answer(fleet, capsys, "history", case.word)

    assert [fleet.head(), fleet.git("rev-parse", "HEAD~1")] == [item["commit"] for item in found]
    assert (case.before, case.after) == (names(found[0]["before"]), names(found[0]["after"]))
    assert ("edited by hand", [fleet.head()]) == (
        found[0]["note"],
        [item["commit"] for item in found[0]["inputs"]],
    )
    assert f"Ada: Prefer another ({fleet.head()[:12]})" in out.splitlines()[1]


@pytest.mark.parametrize("case", ALL)
def test_an_edit_is_blamed_for_its_clusters(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """The cluster that a person wrote in is there because of that commit, the others are not."""
    fleet = edited_fleet(tmp_path / "fleet", case)

    found = answer_json(fleet, capsys, ["blame", case.word])[1]["clusters"]

    by_hand = {item["cluster"] for item in found if item["commit"] == fleet.head()}
    assert case.after == tuple(item["cluster"] for item in found)
    assert set(case.after) - set(case.before) == by_hand


@pytest.mark.parametrize("case", [p for p in ALL if p.id != "karmada"])
def test_a_pass_that_undoes_an_edit_is_caused_by_it(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """Not by time: without the edit nothing would have moved."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    edit = fleet.head()
    run_pass(fleet.folder, 60)

    found = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]

    assert (case.after, case.before) == (names(found[0]["before"]), names(found[0]["after"]))
    assert [edit] == [item["commit"] for item in found[0]["inputs"]]


@pytest.mark.parametrize("case", ALL)
def test_a_commit_that_only_looks_like_a_pass_is_told_by_its_files(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """A person amended the commit of a pass: what it holds is what counts."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("reset", "--quiet", "--soft", "HEAD~1")
    fleet.git("commit", "--quiet", "--amend", "--no-edit")
    fleet.commit({"notes.txt": "a"}, "Take notes")

    [told] = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]
    blamed = answer_json(fleet, capsys, ["blame", case.word])[1]["clusters"]

    assert ((), case.after) == (names(told["before"]), names(told["after"]))
    assert "the commit holds something else; see reconciler verify" == told["note"]
    assert case.after == tuple(item["cluster"] for item in blamed)


def test_a_pass_of_another_version_keeps_its_cause(tmp_path: Path, capsys: Capsys) -> None:
    """It wrote the same decision in other words; that it did is said beside it."""
    fleet = decided_fleet(tmp_path / "fleet")
    path = f"status/{KARMADA.path}"
    fleet.write({path: (fleet.folder / path).read_text() + "# in other words\n"})
    fleet.git("commit", "--quiet", "--all", "--amend", "--no-edit")

    [told] = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]

    assert ("created (policy shop)", ["Start"]) == (
        told["cause"],
        [item["title"] for item in told["inputs"]],
    )
    assert "the commit holds something else; see reconciler verify" == told["note"]


def test_a_revert_of_a_decision_is_an_edit(tmp_path: Path, capsys: Capsys) -> None:
    """The decision goes back to what it was, by the person who reverted."""
    fleet = edited_fleet(tmp_path / "fleet", OCM)
    fleet.git("revert", "--no-edit", "HEAD")

    found = answer_json(fleet, capsys, ["history", OCM.word])[1]["decisions"]

    assert [("edge1",), ("edge2",), ()] == [names(item["before"]) for item in found]
    assert 'Revert "Prefer another"' == found[0]["title"]


def test_an_edit_that_was_merged_is_its_authors(tmp_path: Path, capsys: Capsys) -> None:
    """Who merged is told, too; what else the branch had is not."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.git("checkout", "--quiet", "-b", "fix")
    path = f"status/{OCM.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({"notes.txt": "a"}, "Take notes")
    edit = fleet.commit({path: text.replace(OCM.old, OCM.new)}, "Prefer edge1")
    fleet.git("checkout", "--quiet", "main")
    fleet.git("merge", "--quiet", "--no-ff", "--message=Merge fix", "fix")

    found = answer_json(fleet, capsys, ["history", OCM.word])[1]["decisions"]
    _, out, _ = answer(fleet, capsys, "why", OCM.word)

    assert ["Prefer edge1", "Merge fix"] == [item["title"] for item in found[0]["inputs"]]
    merged = f"merged by Ada in {fleet.head()[:12]}"
    assert f"by an edit of Ada in {edit[:12]} (Prefer edge1), {merged}; it was edge2" in out


def test_a_fleet_in_a_folder_has_editors_too(tmp_path: Path, capsys: Capsys) -> None:
    """In the commit of the pass and in the history, whatever the folder is called."""
    top = new_checkout(tmp_path / "top", {f"fl*et/{path}": text for path, text in EXAMPLE.items()})
    folder = top.folder / "fl*et"
    run_pass(folder, 0)
    path = f"fl*et/status/{OCM.path}"
    text = (top.folder / path).read_text()
    top.commit({path: text.replace(OCM.old, OCM.new)}, "Prefer edge1")
    run_pass(folder, 60)

    found = answer_json(Checkout(folder), capsys, ["history", OCM.word])[1]["decisions"]

    assert "default/reports-decision-1: edited by Ada <ada@example.com>" in top.git("log", "-1")
    assert ["Prefer edge1"] == [item["title"] for item in found[0]["inputs"]]
    assert (("edge2",), ("edge1",)) == (names(found[1]["before"]), names(found[1]["after"]))


def test_an_edit_of_a_neighbour_is_not_told(tmp_path: Path, capsys: Capsys) -> None:
    """Decisions of other placements stand in the same folder."""
    fleet = edited_fleet(tmp_path / "fleet", OCM)
    path = f"status/{OCM.path}"
    other = (fleet.folder / path).read_text().replace("reports", "reports-too")
    fleet.commit({path.replace("reports", "reports-too"): other}, "Add a decision")

    found = answer_json(fleet, capsys, ["history", OCM.word])[1]["decisions"]

    assert ["Prefer another"] == [item["title"] for item in found[:-1]]


def test_an_edit_that_moves_nothing_says_so(tmp_path: Path, capsys: Capsys) -> None:
    """It is told, since it will be undone."""
    fleet = decided_fleet(tmp_path / "fleet")
    path = f"status/{KARMADA.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({path: text.replace("schedulerName: default", "schedulerName: odd")}, "Try")

    found = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]

    assert found[0]["before"] == found[0]["after"]
    assert "edited by hand, on the same clusters" == found[0]["note"]


def test_an_edit_that_cannot_be_read_says_so(tmp_path: Path, capsys: Capsys) -> None:
    """Such as the marks of a conflict: where the object is, is not known then."""
    fleet = decided_fleet(tmp_path / "fleet")
    path = f"status/{KARMADA.path}"
    text = (fleet.folder / path).read_text()
    fleet.commit({path: f"<<<<<<< ours\n{text}"}, "Merge badly")

    found = answer_json(fleet, capsys, ["history", KARMADA.word])[1]["decisions"]

    assert ("member1",) == names(found[0]["before"])
    assert found[0]["after"] is None
    assert "edited by hand, cannot be read" == found[0]["note"]
    for verb in ("blame", "why"):
        _, _, err = answer(fleet, capsys, verb, KARMADA.word)
        assert f"is at an unknown place since {fleet.head()[:12]} (edited by hand, cannot" in err


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("case", ALL)
def test_a_removal_is_the_cause_of_what_the_next_pass_writes(
    tmp_path: Path, capsys: Capsys, case: Case, *, whole: bool
) -> None:
    """Not time, though the inputs are what they were."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.commit({"notes.txt": "a"}, "Take notes")
    removal = remove(fleet, "status" if whole else f"status/{case.path}", "Clean up")
    fleet.commit({"notes.txt": "b"}, "Take more notes")
    run_pass(fleet.folder, 60)

    found = answer_json(fleet, capsys, ["history", case.word])[1]["decisions"]

    assert ["Clean up"] == [item["title"] for item in found[0]["inputs"]]
    assert (removal, "removed by hand") == (found[1]["commit"], found[1]["note"])
    assert case.before == names(found[1]["before"])
    assert case.before == names(found[0]["after"])


def edits(fleet: Checkout, capsys: Capsys, word: str) -> list[str]:
    """Return what events say of edits by hand."""
    found = answer_json(fleet, capsys, ["events", word, "--warnings"])[1]["events"]
    return [event["message"] for event in found if event["reason"] == "OutputEdited"]


@pytest.mark.parametrize("case", ALL)
def test_an_edit_under_the_name_of_the_daemon_is_told_as_one(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """The commit has no trailers, so it is no pass, whatever its author."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("commit", "--quiet", "--amend", "--no-edit", f"--author={DAEMON}")

    [told] = edits(fleet, capsys, case.word)

    assert told.lower().endswith(
        f"edited by hand under the name of the reconciler, {DAEMON}: prefer another"
    )


@pytest.mark.parametrize("case", ALL)
def test_an_edit_put_into_the_commit_of_a_pass_is_told(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """`git commit --amend` keeps author and trailers; the digest beside the decision differs."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("reset", "--quiet", "--soft", "HEAD~1")
    fleet.git("commit", "--quiet", "--amend", "--no-edit")

    [told] = edits(fleet, capsys, case.word)

    assert f"dited by hand under the name of the reconciler, {DAEMON}: Place 5 workloads" in told


@pytest.mark.parametrize("author", [str(DAEMON), "Ada <ada@example.com>"])
@pytest.mark.parametrize("case", ALL)
def test_the_daemon_logs_who_edited_under_its_name(tmp_path: Path, case: Case, author: str) -> None:
    """A person's own edit is a demand, and is told as the cause of a decision."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    fleet.git("commit", "--quiet", "--amend", "--no-edit", f"--author={author}")

    with capture_logs() as logs:
        served(fleet, Clock(NOW + timedelta(seconds=60)), lambda: None)

    warned = [entry for entry in logs if "under the name of the reconciler" in entry["event"]]
    assert [author] * (author == str(DAEMON)) == [entry["author"] for entry in warned]
