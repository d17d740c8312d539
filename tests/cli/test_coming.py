"""What is coming, as those see it who are on call: in every verb that they reach for."""

import re
from pathlib import Path

import pytest

from reconciler.audit.previews.foresight import Coming
from reconciler.cli.printing import coming_lines
from reconciler.model.identity import ObjectKey
from tests.cli.history import FAILED, answer, answer_json, told_fleet
from tests.shell.fleet import EXAMPLE, decided_fleet, new_fleet, run_pass
from tests.shell.repositories import NOW, Checkout

Capsys = pytest.CaptureFixture[str]
SHOP = ObjectKey("work.karmada.io", "ResourceBinding", "default", "shop-deployment")
FRONTEND = (
    "default/frontend: member1 is not ready and tolerated until 2026-11-20T12:06:30Z, "
    "then 4 replicas leave member1, as of now to member2(6)"
)
SETTINGS = (
    "default/settings: member1 is not ready and tolerated until 2026-11-20T12:06:30Z, "
    "then it leaves member1, and it stays on backup1, member2"
)
REPORTS = (
    "default/reports: scores changed, and its decisions stay until 2026-11-20T12:05:00Z, "
    "then it may move, as of now to edge1"
)
BUSY = {
    "scores/edge1.yaml": EXAMPLE["scores/edge1.yaml"].replace("value: 20", "value: 90"),
}
REBALANCER = """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: back
spec:
  workloads:
  - apiVersion: apps/v1
    kind: Deployment
    name: frontend
    namespace: default
  ttlSecondsAfterFinished: 3600
"""
UNWELL = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: edge9
spec:
  hubAcceptsClient: true
status:
  conditions:
  - type: ManagedClusterConditionAvailable
    status: Unknown
    reason: ManagedClusterLeaseUpdateStopped
    message: Registration agent stopped updating its lease.
    lastTransitionTime: "2026-11-20T12:00:00Z"
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Since the last pass member1 is tolerated though it is not ready; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("coming") / "fleet")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A score that puts edge1 first was merged a minute after the decision; tests only read it."""
    fleet = decided_fleet(tmp_path_factory.mktemp("scored") / "fleet")
    fleet.commit(BUSY, "Report that edge1 is idle")
    run_pass(fleet.folder, 60)
    return fleet


def coming_in(out: str) -> list[str]:
    """The lines below `Coming:`."""
    return [line.strip() for line in out.partition("\nComing:\n")[2].splitlines()]


def test_why_tells_what_is_coming(fleet: Checkout, capsys: Capsys) -> None:
    """Of the object that is asked about only."""
    _, out, _ = answer(fleet, capsys, "why", "deployment/frontend")
    _, found = answer_json(fleet, capsys, ["why", "deployment/frontend"])

    assert [FRONTEND] == coming_in(out)
    assert [
        {
            "at": "2026-11-20T12:06:30Z",
            "object": {
                "group": "work.karmada.io",
                "kind": "ResourceBinding",
                "namespace": "default",
                "name": "frontend-deployment",
            },
            "subject": "default/frontend",
            "what": "4 replicas leave member1, as of now to member2(6)",
            "why": "member1 is not ready and tolerated",
            "before": [
                {"cluster": "member1", "replicas": 4},
                {"cluster": "member2", "replicas": 2},
            ],
            "after": [{"cluster": "member2", "replicas": 6}],
        }
    ] == found["coming"]


def test_a_tree_tells_what_is_coming_to_what_hangs_on_it(fleet: Checkout, capsys: Capsys) -> None:
    """A policy's workloads, not those of others."""
    _, out, _ = answer(fleet, capsys, "tree", "cpp/settings")
    _, quiet, _ = answer(fleet, capsys, "tree", "pp/shop")

    assert [SETTINGS] == coming_in(out)
    assert "Coming" not in quiet


def test_events_end_with_what_is_coming(fleet: Checkout, capsys: Capsys) -> None:
    """Of all objects, or of the one that is named."""
    _, out, _ = answer(fleet, capsys, "events")
    _, named, _ = answer(fleet, capsys, "events", "deployment/frontend")
    _, found = answer_json(fleet, capsys, ["events"])

    assert [FRONTEND, SETTINGS] == coming_in(out)
    assert [FRONTEND] == coming_in(named)
    assert ["default/frontend", "default/settings"] == [one["subject"] for one in found["coming"]]


def test_what_is_coming_is_an_event(fleet: Checkout, capsys: Capsys) -> None:
    """Nobody is told that there is none because nothing has happened yet."""
    of_settings = ("events", "configmap/settings", "--types")
    code, out, err = answer(fleet, capsys, *of_settings, "Warning")

    assert (0, [SETTINGS], "") == (code, coming_in(out), err)


def test_of_many_the_first_are_listed() -> None:
    """The others are counted."""
    told = Coming(at=NOW, key=SHOP, subject="s", what="it goes", why="it waits", waits=True)

    lines = coming_lines([told] * 32)

    assert ["  and 2 more; -o json has all"] == lines[31:]
    assert "  s: it waits until 2026-11-20T12:00:00Z, then it goes" == lines[30]


def test_status_lists_what_is_coming(fleet: Checkout, capsys: Capsys) -> None:
    """Of all objects."""
    _, out, _ = answer(fleet, capsys, "status")
    _, found = answer_json(fleet, capsys, ["status"])

    lines = out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Coming:"))
    assert FRONTEND == lines[first].removeprefix("Coming:").strip()
    assert SETTINGS == lines[first + 1].strip()
    assert ["default/frontend", "default/settings"] == [one["subject"] for one in found["coming"]]


def test_wide_tables_say_what_comes_first(fleet: Checkout, capsys: Capsys) -> None:
    """Of a cluster all that leaves it or comes to it at that moment."""
    _, clusters, _ = answer(fleet, capsys, "get", "clusters", "-o", "wide")
    _, bindings, _ = answer(fleet, capsys, "get", "rb", "-A", "-o", "wide")
    _, workloads, _ = answer(fleet, capsys, "get", "deploy", "-o", "wide")

    at, moves = "2026-11-20T12:06:30Z", "4 replicas leave member1, as of now to member2(6)"
    assert ["<none>", f"{at} 4 replicas leave", f"{at} 4 replicas come"] == column(
        clusters, "COMING"
    )
    leaves = f"{at} it leaves member1, and it stays on backup1, member2"
    assert [f"{at} {moves}", leaves, "<none>"] == column(bindings, "COMING")
    assert [f"{at} {moves}", "<none>"] == column(workloads, "COMING")


def column(table: str, title: str) -> list[str]:
    """The cells below a title."""
    titles, *rows = (re.split(r" {3,}", line) for line in table.splitlines())
    return [row[titles.index(title)] for row in rows]


def test_kinds_that_nothing_moves_have_no_such_column(fleet: Checkout, capsys: Capsys) -> None:
    """And no pass is computed for them."""
    _, out, _ = answer(fleet, capsys, "get", "pp", "-o", "wide")

    assert "COMING" not in out


def test_changed_scores_are_told_until_they_take_effect(scored: Checkout, capsys: Capsys) -> None:
    """The moment, and where the placement would go as of now."""
    _, out, _ = answer(scored, capsys, "why", "placement/reports")

    assert [REPORTS] == coming_in(out)


def test_now_judges_with_the_scores_of_today(scored: Checkout, capsys: Capsys) -> None:
    """Above it the scores of the decision stand."""
    _, out, _ = answer(scored, capsys, "why", "placement/reports")

    assert "edge2     chosen #1   80 = AddOn/usage/cpuratio 80" in out
    assert (
        "Now, different from then:\n"
        "  edge1 would be #1 with a score of 90 and chosen today; it was #2 with a score of 20\n"
        "  edge2 would be #2 with a score of 80 today; it was #1 with a score of 80 and chosen\n"
    ) in out


def test_a_plan_shows_now_and_then(tmp_path: Path, capsys: Capsys) -> None:
    """Scores alone move nothing at once, and the plan does not say that nothing moves."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.git("checkout", "--quiet", "-b", "idle")
    fleet.commit(BUSY, "Report that edge1 is idle")
    words = ("plan", "--base", "main", "--now", "2026-11-20T12:01:00Z")

    code, out, _ = answer(fleet, capsys, *words, "--detailed-exitcode")
    _, markdown, _ = answer(fleet, capsys, *words, "-o", "markdown")
    _, html, _ = answer(fleet, capsys, *words, "-o", "html")

    sentence = REPORTS.replace("reports: ", "reports: now edge2; ")
    assert (2, "Plan: Nothing moves now; 1 object moves later") == (code, out.splitlines()[0])
    assert f"\nLater, because of this change:\n  {sentence}\n" in out
    assert f"**Later, because of this change:**\n\n- `{sentence}`\n" in markdown
    assert f"<h2>Later, because of this change</h2>\n<ul>\n<li>{sentence}</li>\n</ul>" in html


def test_a_plan_tells_what_does_not_come_any_more(fleet: Checkout, capsys: Capsys) -> None:
    """And what comes anyway, apart from that."""
    toleration = EXAMPLE["policies/frontend.yaml"].replace(
        "  placement:\n",
        "  placement:\n    clusterTolerations:\n"
        "    - {key: cluster.karmada.io/not-ready, operator: Exists}\n",
    )
    fleet.git("checkout", "--quiet", "-b", "tolerant")
    fleet.commit({"policies/frontend.yaml": toleration}, "Bear with member1")
    fleet.git("checkout", "--quiet", "main")

    words = ("--base", "main", "--head", "tolerant", "--now", "2026-11-20T12:02:10Z")
    _, out, _ = answer(fleet, capsys, "plan", *words)

    now = "frontend: now member1(4), member2(2); "
    assert f"No longer, because of this change:\n  {FRONTEND.replace('frontend: ', now)}\n" in out
    now = "settings: now backup1, member1, member2; "
    assert f"Later, independent of this change:\n  {SETTINGS.replace('settings: ', now)}\n" in out


def test_the_end_of_a_rebalancer_is_told(fleet: Checkout, capsys: Capsys, tmp_path: Path) -> None:
    """When its manifest goes."""
    copy = told_fleet(tmp_path / "fleet")
    copy.commit({"rebalancers/back.yaml": REBALANCER}, "Bring the frontend back")
    run_pass(copy.folder, 180)

    _, out, _ = answer(copy, capsys, "get", "wr", "-o", "wide")

    assert ["2026-11-20T13:03:00Z its manifest is removed"] == column(out, "COMING")


def test_simulate_after_by_itself_shows_what_time_moves(fleet: Checkout, capsys: Capsys) -> None:
    """Nothing else has to happen."""
    words = ("simulate", "--now", "2026-11-20T12:02:10Z", "--after")
    code, out, _ = answer(fleet, capsys, *words, "300")
    _, early, _ = answer(fleet, capsys, *words, "60")

    assert 0 == code
    assert "Simulation: 2 bindings change; 4 replicas move" == out.splitlines()[0]
    assert ": 300 seconds later" in out.splitlines()[1]
    assert "~ default/frontend (changed): evicted (member1: toleration of cluster.karmada.io" in out
    assert "Simulation: Nothing moves" == early.splitlines()[0]


def test_a_cluster_is_said_to_be_down_before_what_follows(fleet: Checkout, capsys: Capsys) -> None:
    """It reports no API either, which is not the cause."""
    _, out, _ = answer(fleet, capsys, "why", "deployment/shop")
    _, named, _ = answer(fleet, capsys, "why", "deployment/shop", "member1")

    down = "  it is not ready (PowerLost: The data center has no power.)\n"
    follows = "  APIEnablement: cluster(s) did not have the API resource\n"
    assert f"Why not member1:\n{down}{follows}" in out
    assert f"{down}{follows}" in named


def test_a_cluster_that_is_down_by_now_is_told_where_it_is_kept(
    fleet: Checkout, capsys: Capsys
) -> None:
    """It was well at the decision, and is tolerated."""
    _, out, _ = answer(fleet, capsys, "why", "cm/settings")

    assert "  member1 is not ready (PowerLost: The data center has no power.)\n" in out


def test_a_plan_says_that_a_cluster_is_down_before_what_follows(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Where nothing is left to go to."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "clusters/backup1.yaml")
    fleet.commit(FAILED, "Lose both")

    _, out, _ = answer(fleet, capsys, "plan", "--base", "HEAD~1", "--now", "2026-11-20T12:02:00Z")

    down = "is not ready (PowerLost: The data center has no power.)"
    assert f"      member1: it {down}; cluster(s) did not have the API resource\n" in out
    assert f"warning: default/shop: member1 {down}; 0/2 clusters are available: " in out


def test_clusters_are_shown_with_the_taints_that_scheduling_uses(
    fleet: Checkout, capsys: Capsys
) -> None:
    """Those that follow from what they report, too."""
    _, clusters, _ = answer(fleet, capsys, "get", "cluster", "member1")
    _, top, _ = answer(fleet, capsys, "top", "clusters")

    key = "cluster.karmada.io/not-ready"
    taints = f"{key}:NoSchedule, {key}:NoExecute"
    assert [taints] == column(clusters, "TAINTS")
    assert taints in column(top, "TAINTS")


def test_the_taint_of_an_unreachable_managed_cluster_is_shown(
    tmp_path: Path, capsys: Capsys
) -> None:
    """It is derived by the hub, no person wrote it."""
    fleet = new_fleet(tmp_path / "fleet", {"clusters/edge9.yaml": UNWELL})

    _, out, _ = answer(fleet, capsys, "get", "managedcluster", "edge9")

    assert ["cluster.open-cluster-management.io/unreachable:NoSelect"] == column(out, "TAINTS")


def test_a_manifest_is_printed_as_it_was_written(fleet: Checkout, capsys: Capsys) -> None:
    """Without taints that no person wrote."""
    _, out, _ = answer(fleet, capsys, "get", "cluster", "member1", "-o", "yaml")

    assert "taints" not in out.partition("status:")[0]
