"""`reconciler why` on real histories: decisions, people's edits of outputs, lazy policies."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.builders import cluster, deployment, path_of, policy, selector, text
from tests.cli.history import (
    ALL,
    KARMADA,
    KUBEFLEET,
    OCM,
    SHOP,
    Case,
    answer,
    answer_json,
    edited_fleet,
    remove,
    told_fleet,
)
from tests.cli.test_printing import ESCAPE, on_terminal
from tests.shell.fleet import EXAMPLE, decided_fleet, new_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
TAINTED = EXAMPLE["clusters/member2.yaml"] + (
    "  taints:\n  - key: maintenance\n    effect: NoSchedule\n"
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("why") / "fleet")


def test_the_decision_is_told_with_its_cause(fleet: Checkout, capsys: Capsys) -> None:
    """Where it is, what was asked, which pass decided, and whose commit brought it about."""
    code, out, err = answer(fleet, capsys, "why", "deployment/shop")

    lines = out.splitlines()
    assert (0, "") == (code, err)
    assert "default/shop is on backup1(5)" == lines[0]
    assert "  asked    5 replicas, divided by static weights" == lines[1]
    assert re.search(r"decided  2026-11-20T12:02:00Z in [0-9a-f]{12}: evicted \(member1", out)
    assert "it was member1(5)" in out
    assert "because  Ada: Report that member1 is down" in out


def test_every_cluster_has_its_verdict_and_its_remedy(fleet: Checkout, capsys: Capsys) -> None:
    """A row for each cluster, each reason below it, the steps in order."""
    _, out, _ = answer(fleet, capsys, "why", "deployment/shop")

    assert re.search(r"^CLUSTER +VERDICT +SCORE +REPLICAS +NOTE$", out, re.MULTILINE)
    backup1 = r"^backup1 +chosen #1 +0 = ClusterAffinity 0 .* 5 +no capacity limit"
    assert re.search(backup1, out, re.MULTILINE)
    assert re.search(r"^member1 +filtered out +- +- +APIEnablement, TaintTol", out, re.MULTILINE)
    assert "Why not member1:" in out
    assert "    to qualify: lose the taint cluster.karmada.io/not-ready:NoSchedule" in out
    assert "  1. Group primary: 0 of 3 clusters pass the filters." in out


def test_one_cluster_can_be_asked_about(fleet: Checkout, capsys: Capsys) -> None:
    """Only that cluster is told of."""
    code, out, _ = answer(fleet, capsys, "why", "deployment/shop", "member2")
    _, found = answer_json(fleet, capsys, ["why", "deployment/shop", "member2"])

    assert 0 == code
    assert "member2: filtered out\n  ClusterAffinity: " in out
    assert "member1: " not in out.partition("\n\n")[2]
    assert ["member2"] == [item["cluster"] for item in found["then"]["clusters"]]


def test_what_scheduling_would_say_today_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """A cluster whose taint went, one that is new, one that is gone."""
    fleet = decided_fleet(tmp_path / "fleet", {"clusters/member2.yaml": TAINTED})
    member2 = EXAMPLE["clusters/member2.yaml"]
    third = member2.replace("member2", "member3")
    fleet.commit({"clusters/member2.yaml": member2, "clusters/member3.yaml": third}, "Mend")
    fleet.git("rm", "--quiet", "clusters/backup1.yaml")
    fleet.git("commit", "--quiet", "--message=Sell it")

    _, out, _ = answer(fleet, capsys, "why", "cm/settings")
    _, found = answer_json(fleet, capsys, ["why", "cm/settings"])

    assert (
        "Now, different from then:\n"
        "  backup1 would be filtered out today: cluster(s) being deleted, or without a file\n"
        "  member2 would pass today\n"
        "  member3 is new, and would pass\n\n"
    ) in out
    assert ["backup1", "member2", "member3"] == [c["cluster"] for c in found["changedSince"]]


def test_an_earlier_revision_is_explained_as_it_was(fleet: Checkout, capsys: Capsys) -> None:
    """At the first pass the shop was on member1."""
    _, out, _ = answer(fleet, capsys, "why", "deployment/shop", "--at", "HEAD~4")

    assert "default/shop is on member1(2)" == out.splitlines()[0]
    assert "created (policy shop); it was nowhere" in out


@pytest.mark.parametrize(
    ("word", "where", "asked"),
    [
        pytest.param("placement/reports", "edge2", "the best cluster", id="ocm"),
        pytest.param("crp/tools", "fleet1, fleet2", "every cluster that fits", id="kubefleet"),
        pytest.param("rb/settings-configmap", "backup1, member1, member2", "one copy", id="rb"),
    ],
)
def test_each_api_is_explained(
    fleet: Checkout, capsys: Capsys, word: str, where: str, asked: str
) -> None:
    """The same form, whatever the API."""
    code, out, _ = answer(fleet, capsys, "why", word)

    assert 0 == code
    assert out.splitlines()[0].endswith(f" is on {where}")
    assert asked in out.splitlines()[1]


def test_formats_for_machines_say_the_same(fleet: Checkout, capsys: Capsys) -> None:
    """JSON and YAML hold every cluster with its rejections and scores."""
    _, found = answer_json(fleet, capsys, ["why", "placement/reports"])
    code, out, _ = answer(fleet, capsys, "why", "placement/reports", "-o", "yaml")

    assert 0 == code
    assert found == YAML(typ="safe").load(out)
    assert [{"cluster": "edge2", "replicas": 0}] == found["placed"]
    assert [("edge1", 20, False), ("edge2", 80, True)] == [
        (item["cluster"], item["total"], item["picked"]) for item in found["then"]["clusters"]
    ]
    assert [fleet.git("rev-parse", "HEAD~5")] == [c["commit"] for c in found["decided"]["inputs"]]


def test_a_shallow_clone_explains_the_present_and_says_so(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """The pass that decided is not there, so nothing is claimed about it."""
    url = f"file://{fleet.folder}"
    fleet.git("clone", "--quiet", "--depth=1", url, str(tmp_path / "clone"))
    clone = Checkout(tmp_path / "clone")

    code, out, err = answer(clone, capsys, "why", "deployment/frontend")
    _, found = answer_json(clone, capsys, ["why", "deployment/frontend"])

    assert (0, "") == (code, err)
    assert "default/frontend is on member1(4), member2(2)" == out.splitlines()[0]
    assert "unknown; this is what scheduling would decide now" in out
    assert "this clone is shallow" in out
    assert (None, None) == (found["decided"], found["then"])


def test_what_no_pass_has_decided_is_explained_as_it_would_be(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Before the first pass, and after a person's edit of the output."""
    fleet = new_fleet(tmp_path / "fleet")

    _, before, _ = answer(fleet, capsys, "why", "deployment/shop")
    run_pass(fleet.folder, 0)
    edited = (fleet.folder / SHOP).read_text().replace("name: member1", "name: member2")
    fleet.commit({SHOP: edited}, "Prefer member2")
    _, after, _ = answer(fleet, capsys, "why", "deployment/shop")

    assert "default/shop is nowhere" == before.splitlines()[0]
    assert "default/shop is on member2(2)" == after.splitlines()[0]
    assert f"by an edit of Ada in {fleet.head()[:12]} (Prefer member2); it was member1(2)" in after


def test_a_lost_policy_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """It stays where it is; that scheduling would say the same today is beside the point."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "policies/shop.yaml")
    fleet.commit({}, "Remove a policy")
    run_pass(fleet.folder, 60)

    _, out, _ = answer(fleet, capsys, "why", "deployment/shop")

    assert "Now: Not scheduled: no policy claims it." == out.splitlines()[-3]


def test_a_fault_of_the_object_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """Its last good version is what is explained."""
    fleet = told_fleet(tmp_path / "fleet")
    text = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 2\n  replicas: 3")
    fleet.commit({"workloads/shop.yaml": text}, "Break it")

    code, out, _ = answer(fleet, capsys, "why", "deployment/shop")

    assert 0 == code
    assert "default/shop is on backup1(5)" == out.splitlines()[0]
    assert "  faults   workloads/shop.yaml:" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["shop"], 2, "must be KIND/NAME", id="no-kind"),
        pytest.param(["gizmo/shop"], 2, "there is no kind", id="unknown-kind"),
        pytest.param(["cluster/member1"], 2, "is not placed", id="not-placed"),
        pytest.param(["deploy/shpo"], 1, "there is no deployment/shpo", id="unknown-object"),
        pytest.param(["deploy/shop", "-n", "x"], 1, "default: add -n default", id="elsewhere"),
        pytest.param(["ns/tools"], 1, "clusterresourceplacement/tools carries it", id="carried"),
        pytest.param(["deploy/shop", "--at", "v9"], 2, "no revision", id="unknown-revision"),
        pytest.param(["deploy/shop", "membr1"], 2, "near it: member1", id="unknown-cluster"),
        pytest.param(["deploy/sh\x1b[2Jop"], 1, "there is no deployment/sh", id="escape"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], code: int, message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    found, out, err = answer(fleet, capsys, "why", *arguments)

    assert (code, "") == (found, out)
    assert message in err
    assert 1 == err.count("\n")
    assert ESCAPE not in err


def test_what_is_gone_is_told_with_its_last_place(tmp_path: Path, capsys: Capsys) -> None:
    """And how to ask why it was there."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    fleet.git("commit", "--quiet", "--message=Close the shop")
    run_pass(fleet.folder, 200)

    code, out, err = answer(fleet, capsys, "why", "deployment/shop")

    assert (1, "") == (code, out)
    assert f"is nowhere since {fleet.git('rev-parse', '--short=12', 'HEAD')} (removed" in err
    assert "Ada: Close the shop" in err
    assert "it was backup1(5): reconciler why deployment/shop --at " in err


def test_a_suspended_repository_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """Nothing is scheduled, so only the decision is explained."""
    fleet = told_fleet(tmp_path / "fleet")
    text = EXAMPLE["reconciler.yaml"].rstrip("\n") + "\n  suspend: true\n"
    fleet.commit({"reconciler.yaml": text}, "Hold")

    code, out, _ = answer(fleet, capsys, "why", "deployment/shop")

    assert 0 == code
    assert "suspended  with everything (reconciler.yaml)\n  resumed    it would stay where" in out
    assert "Now: not scheduled, because it is suspended." in out


def test_colour_is_for_terminals_only(fleet: Checkout, capsys: Capsys) -> None:
    """Bold heads on a terminal, plain text in a pipe."""
    assert ESCAPE in on_terminal(fleet.folder, ["why", "deployment/shop"], {})
    assert ESCAPE not in answer(fleet, capsys, "why", "deployment/shop")[1]


def test_why_tells_an_edit_outside_of_the_policy_apart_from_scheduling(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Where it is, who put it there, what comes next, and what the filters say of it."""
    fleet = edited_fleet(tmp_path / "fleet", KARMADA)
    _, out, _ = answer(fleet, capsys, "why", KARMADA.word)
    _, found = answer_json(fleet, capsys, ["why", KARMADA.word])

    lines = [line.rstrip() for line in out.splitlines()]
    short = fleet.head()[:12]
    assert "default/shop is on member2(2)" == lines[0]
    assert f"by an edit of Ada in {short} (Prefer another); it was member1(2)" in lines[3]
    assert "  next    the next pass keeps it there" == lines[4]
    assert "If scheduled from scratch:" in lines
    verdicts = {line.split("   ")[0].strip(): line for line in lines if "   " in line}
    assert "would be chosen #1" in verdicts["member1"]
    assert "is there, would be filtered out" in verdicts["member2"]
    assert "would be filtered out" in verdicts["backup1"]
    assert (None, fleet.head(), None) == (
        found["decided"],
        found["edited"]["commit"],
        found["next"],
    )
    run_pass(fleet.folder, 60)
    assert lines[0:5] == answer(fleet, capsys, "why", KARMADA.word)[1].splitlines()[0:5]


@pytest.mark.parametrize("case", [p for p in ALL if p.id != "karmada"])
def test_why_says_that_the_next_pass_undoes_an_edit(
    tmp_path: Path, capsys: Capsys, case: Case
) -> None:
    """And it does, for the reason that was told."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    _, out, _ = answer(fleet, capsys, "why", case.word)
    run_pass(fleet.folder, 60)
    _, after, _ = answer(fleet, capsys, "why", case.word)

    assert f"the next pass moves it to {', '.join(case.before)}: edited by hand" in out
    assert after.splitlines()[0].endswith(f" is on {', '.join(case.before)}")
    assert "because  Ada: Prefer another" in after


def test_why_names_a_cluster_that_scheduling_does_not_know(tmp_path: Path, capsys: Capsys) -> None:
    """A person may write any name."""
    fleet = edited_fleet(tmp_path / "fleet", KUBEFLEET)

    _, out, _ = answer(fleet, capsys, "why", KUBEFLEET.word)

    [line] = [line for line in out.splitlines() if line.startswith("fleet9")]
    assert "is there" in line
    assert "not considered by scheduling" in line
    assert "fleet9: not considered" in answer(fleet, capsys, "why", KUBEFLEET.word, "fleet9")[1]


def test_why_tells_who_removed_the_outputs(tmp_path: Path, capsys: Capsys) -> None:
    """It is nowhere until the next pass."""
    fleet = decided_fleet(tmp_path / "fleet")
    removal = remove(fleet, "status", "Clean up")

    _, out, _ = answer(fleet, capsys, "why", KARMADA.word)

    assert "default/shop is nowhere" == out.splitlines()[0]
    assert f"by an edit of Ada in {removal[:12]} (Clean up); it was member1(2)" in out
    assert "the next pass places it on member1(2): created (policy shop)" in out


@pytest.mark.parametrize("case", ALL)
def test_events_tell_an_edit_and_a_removal(tmp_path: Path, capsys: Capsys, case: Case) -> None:
    """About the object that people ask about, whatever output its decision is written in."""
    fleet = edited_fleet(tmp_path / "fleet", case)
    remove(fleet, f"status/{case.path}", "Clean up")

    found = answer_json(fleet, capsys, ["events", case.word, "--warnings"])[1]["events"]

    whose = "Ada <ada@example.com>"
    part = case.path.rpartition("/")[2].removesuffix(".yaml")
    kind = "PlacementDecision" if case is OCM else "ClusterResourceBinding"
    edited, removed = (
        ("Edited", "Removed")
        if case is KARMADA
        else (f"{kind} {part} edited", f"{kind} {part} removed")
    )
    assert [
        f"{edited} by hand by {whose}: Prefer another",
        f"{removed} by hand by {whose}: Clean up",
    ] == [item["message"] for item in found]


LAZY = policy(
    "lazy", activationPreference="Lazy", selectors=[selector()], placement={"clusterAffinity": {}}
)


@pytest.fixture
def lazy_fleet(tmp_path: Path) -> Checkout:
    """Two workloads that no policy claims, and a branch with a Lazy policy for them."""
    bodies = (cluster("a"), deployment("web"), deployment("api"))
    fleet = new_checkout(tmp_path / "fleet", {path_of(one): text(one) for one in bodies})
    run_pass(fleet.folder, 0)
    fleet.git("switch", "--quiet", "--create", "topic")
    fleet.commit({path_of(LAZY): text(LAZY)}, "Add a Lazy policy")
    return fleet


def test_validate_names_them(lazy_fleet: Checkout, capsys: Capsys) -> None:
    """Before the merge, from the files alone."""
    out = answer(lazy_fleet, capsys, "validate")[1]

    assert "places 2 workloads at once that have no binding yet: Deployment api, Deployment" in out
    assert "[policy-lazy-places]" in out


def test_plan_names_them_and_can_refuse(lazy_fleet: Checkout, capsys: Capsys) -> None:
    """With their number; `--fail-on lazy` answers 3."""
    code, out, err = answer(lazy_fleet, capsys, "plan", "--base", "main", "--fail-on", "lazy")

    assert 3 == code
    assert "places 2 workloads at once that had no binding: default/api, default/web" in out
    assert "the plan has 1 policy that is newly Lazy and places workloads at once" in err


def test_the_commit_names_them(lazy_fleet: Checkout, capsys: Capsys) -> None:
    """After which nothing is told any more, also where another workload comes."""
    lazy_fleet.git("switch", "--quiet", "main")
    lazy_fleet.git("merge", "--quiet", "topic")
    run_pass(lazy_fleet.folder, 60)
    message = lazy_fleet.git("log", "-1", "--format=%B")
    later = deployment("later")
    lazy_fleet.commit({path_of(later): text(later)}, "Add another workload")

    assert (
        "default/web: nowhere -> a(2): created (policy lazy, Lazy, which found no binding"
        in message
    )
    assert "lazy" not in answer(lazy_fleet, capsys, "validate")[1]
    assert (0, "") == (answer(lazy_fleet, capsys, "plan", "--fail-on", "lazy")[0], "")
