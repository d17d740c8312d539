"""`reconciler rebalance`: its manifest, its plan, its pass, and what history says of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.builders import (
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    groups,
    live,
    path_of,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
    text,
)
from tests.cli.history import FAILED, answer, answer_json
from tests.cli.test_printing import ESCAPE, on_terminal
from tests.shell.fleet import EXAMPLE, decided_fleet, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
LATER = "2026-11-20T14:01:00Z"
SHOP = "ResourceBinding.work.karmada.io default/shop-deployment"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "namespace": "default"}


def recovered_fleet(folder: Path) -> Checkout:
    """The shop left member1, which failed and is back, so only a rebalancer moves it back."""
    fleet = decided_fleet(folder)
    fleet.commit(FAILED, "Report that member1 is down")
    run_pass(fleet.folder, 120)
    fleet.commit({"clusters/member1.yaml": EXAMPLE["clusters/member1.yaml"]}, "It is back")
    run_pass(fleet.folder, 3600)
    return fleet


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet to which nothing is written."""
    return recovered_fleet(tmp_path_factory.mktemp("rebalance") / "fleet")


def test_what_is_written_does_what_was_planned(tmp_path: Path, capsys: Capsys) -> None:
    """The plan says member1; merged, a pass moves it there."""
    fleet = recovered_fleet(tmp_path / "fleet")

    code, out, err = answer(fleet, capsys, "rebalance", "deployment/shop", "--ttl", "3600")
    status = fleet.status()
    fleet.git("add", "rebalancers")
    fleet.git("commit", "--quiet", "--message=Rebalance")
    run_pass(fleet.folder, 7200)

    written = YAML(typ="safe").load((fleet.folder / "rebalancers/rebalance-shop.yaml").read_text())
    assert 0 == code
    assert "?? rebalancers/rebalance-shop.yaml" == status
    assert "rebalancers/rebalance-shop.yaml is written, not committed" in err
    assert {"workloads": [TARGET], "ttlSecondsAfterFinished": 3600} == written["spec"]
    assert "Plan: 1 binding changes; 2 replicas move" in out
    assert [{"name": "member1", "replicas": 2}] == decisions(load_world(fleet.folder))[SHOP]


def test_what_is_on_a_cluster_and_away_from_its_first_affinity_is_described(
    fleet: Checkout, capsys: Capsys
) -> None:
    """The selector says what the words say; nothing is written."""
    words = ("--on-cluster", "member2", "--state", "AwayFromFirstAffinity", "-A")
    code, out, _ = answer(fleet, capsys, "rebalance", *words, "--dry-run", "-o", "yaml")

    selector = {"onCluster": "member2", "state": "AwayFromFirstAffinity"}
    assert (0, {"selector": selector}) == (code, YAML(typ="safe").load(out)["spec"])


def test_a_branch_gets_it_and_the_checkout_nothing(tmp_path: Path, capsys: Capsys) -> None:
    """One commit on top of the served branch; a person's edits stay as they are."""
    fleet = recovered_fleet(tmp_path / "fleet")
    fleet.write({"notes.txt": "mine"})
    before = (fleet.head(), fleet.status())

    code, out, err = answer(
        fleet, capsys, "rebalance", "--policy", "default/shop", "--branch", "move", "--author",
        "Ada <ada@example.com>", "-o", "yaml",
    )  # fmt: skip

    path = "rebalancers/rebalance-shop.yaml"
    assert 0 == code
    assert before == (fleet.head(), fleet.status())
    assert fleet.head() == fleet.git("rev-parse", "move~1")
    assert out.rstrip("\n") == fleet.git("show", f"move:{path}")
    assert [path] == fleet.git("diff", "--name-only", "main", "move").splitlines()
    assert "Ada Rebalance what default/shop placed" == fleet.git(
        "log", "-1", "--format=%an %s", "move"
    )
    assert "committed on the new branch move" in err
    code, _, err = answer(fleet, capsys, "rebalance", "deploy/shop", "--branch", "move")
    assert (2, True) == (code, 'branch "move" already exists' in err)


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        pytest.param(["deploy/shop", "rb/shop-deployment"], {"workloads": [TARGET]}, id="twice"),
        pytest.param(
            ["deploy/shop", "--max-moves", "5"],
            {"workloads": [TARGET], "limits": {"maxMoves": 5}},
            id="limited",
        ),
        pytest.param(
            ["deploy/shop", "--make-before-break", "--max-moves", "5"],
            {"workloads": [TARGET], "limits": {"makeBeforeBreak": {}, "maxMoves": 5}},
            id="made-first",
        ),
        pytest.param(
            ["deploy/shop", "--preserve-available"],
            {"workloads": [TARGET], "reschedule": {"preserveAvailableReplicas": True}},
            id="what-runs-is-kept",
        ),
        pytest.param(
            ["deploy/shop", "--preserve-available", "--rest", "3600"],
            {
                "workloads": [TARGET],
                "reschedule": {"preserveAvailableReplicas": True},
                "limits": {"restSeconds": 3600},
            },
            id="what-moved-rests",
        ),
        pytest.param(
            ["-l", "app=shop,tier=web", "-n", "prod"],
            {
                "selector": {
                    "namespace": "prod",
                    "labelSelector": {"matchLabels": {"app": "shop", "tier": "web"}},
                }
            },
            id="labels",
        ),
        pytest.param(
            ["-l", "app=shop", "-A"],
            {"selector": {"labelSelector": {"matchLabels": {"app": "shop"}}}},
            id="everywhere",
        ),
        pytest.param(
            ["--policy", "default/shop"],
            {"selector": {"policy": {"namespace": "default", "name": "shop"}}},
            id="policy",
        ),
    ],
)
def test_words_become_fields(
    fleet: Checkout, capsys: Capsys, arguments: list[str], spec: dict[str, object]
) -> None:
    """The manifest alone, for a person or a pipe; it is valid, and nothing is written."""
    code, out, err = answer(fleet, capsys, "rebalance", *arguments, "--dry-run", "-o", "yaml")

    assert 0 == code
    assert spec == YAML(typ="safe").load(out)["spec"]
    assert "nothing is written" in err
    assert "" == fleet.status()


@pytest.mark.parametrize("word", ["placement/reports", "crp/tools"])
def test_placements_of_the_other_apis_can_be_named(
    fleet: Checkout, capsys: Capsys, word: str
) -> None:
    """Like workloads."""
    code, out, _ = answer(fleet, capsys, "rebalance", word, "--dry-run", "-o", "json")
    found = json.loads(out)

    assert 0 == code
    assert word.partition("/")[2] == found["manifest"]["spec"]["workloads"][0]["name"]


def test_what_is_placed_by_nothing_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """It would fail in the rebalancer's status."""
    unplaced = answer(fleet, capsys, "rebalance", "ns/tools", "--dry-run")[2]
    unmatched = answer(fleet, capsys, "rebalance", "-l", "app=nobody", "--dry-run")[2]

    assert "warning: Namespace tools is placed by nothing" in unplaced
    assert "warning: it selects nothing that is placed" in unmatched


def test_what_has_to_wait_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """A suspended policy's workloads do not move before it is resumed."""
    fleet = recovered_fleet(tmp_path / "fleet")
    answer(fleet, capsys, "suspend", "pp/shop")
    fleet.git("commit", "--quiet", "--all", "--message=Hold")

    _, _, err = answer(fleet, capsys, "rebalance", "deploy/shop", "--dry-run")

    why = "PropagationPolicy shop suspends its scheduling (policies/shop.yaml:"
    assert f"warning: Deployment shop has to wait: {why}" in err


def test_a_root_below_the_top_gets_it_below_its_own_folder(tmp_path: Path, capsys: Capsys) -> None:
    """`-C` names a folder of a repository with others beside it."""
    inner = {f"teams/a/{path}": text for path, text in EXAMPLE.items()}
    fleet = new_checkout(tmp_path / "fleet", inner)
    folder = Checkout(fleet.folder / "teams/a")
    assert 0 == answer(folder, capsys, "reconcile")[0]

    written = answer(folder, capsys, "rebalance", "deploy/shop")[0]
    by = ("--author", "Ada <ada@example.com>")
    branched = answer(folder, capsys, "suspend", "pp/shop", "--branch", "hold", *by)[0]
    told = answer(folder, capsys, "events", "deploy/shop")[1]

    assert (0, 0) == (written, branched)
    assert "?? teams/a/rebalancers/rebalance-shop.yaml" == fleet.status()
    assert "teams/a/policies/shop.yaml" == fleet.git("diff", "--name-only", "main", "hold")
    assert "ScheduleBindingSucceed" in told


def test_a_name_is_never_used_twice(tmp_path: Path, capsys: Capsys) -> None:
    """A rebalancer runs once, so the next one has another name."""
    fleet = recovered_fleet(tmp_path / "fleet")
    answer(fleet, capsys, "rebalance", "deploy/shop")
    fleet.git("add", "rebalancers")
    fleet.git("commit", "--quiet", "--message=Rebalance")

    _, out, _ = answer(fleet, capsys, "rebalance", "deploy/shop", "--dry-run", "-o", "yaml")
    code, _, err = answer(fleet, capsys, "rebalance", "deploy/shop", "--name", "rebalance-shop")

    assert "rebalance-shop-2" == YAML(typ="safe").load(out)["metadata"]["name"]
    assert (2, True) == (code, "give another --name" in err)


def test_no_link_is_followed(tmp_path: Path, capsys: Capsys) -> None:
    """A folder of the repository may lead anywhere."""
    fleet = recovered_fleet(tmp_path / "fleet")
    outside = tmp_path / "outside"
    outside.mkdir()
    for file in (fleet.folder / "rebalancers").iterdir():
        file.unlink()
    (fleet.folder / "rebalancers").rmdir()
    (fleet.folder / "rebalancers").symlink_to(outside)

    code, out, err = answer(fleet, capsys, "rebalance", "deploy/shop")

    assert (2, "") == (code, out)
    assert "is not a folder" in err
    assert [] == list(outside.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "no targets; give a KIND/NAME", id="nothing"),
        pytest.param(
            ["deploy/shp"],
            "there is no deployment/shp in namespace default; near it: shop",
            id="unknown",
        ),
        pytest.param(["cluster/member1"], "is not placed", id="cluster"),
        pytest.param(["deploy/shop", "-l", "app"], "must be KEY=VALUE", id="selector"),
        pytest.param(["--policy", "shop"], "near it: default/shop", id="policy"),
        pytest.param(["--on-cluster", "membr1"], 'no cluster "membr1"', id="on-cluster"),
        pytest.param(["deploy/shop", "--name", "A/b"], "must be lower-case letters", id="name"),
        pytest.param(["deploy/shop", "--base", "v9"], "no revision", id="revision"),
        pytest.param(["deploy/shop", "--branch", "-x"], "no branch name", id="branch"),
        pytest.param(
            ["deploy/shop", "--branch", "b", "--author", "me"], "NAME <EMAIL>", id="author"
        ),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """What is wrong, nothing on standard output, nothing written."""
    code, out, err = answer(fleet, capsys, "rebalance", *arguments)

    assert (2, "") == (code, out)
    assert message in err
    assert 1 == err.count("\n")
    assert "" == fleet.status()


def test_a_file_that_no_pass_would_read_is_not_written(tmp_path: Path, capsys: Capsys) -> None:
    """`exclude` leaves it out."""
    text = EXAMPLE["reconciler.yaml"].rstrip("\n") + "\n  exclude: [rebalancers/**]\n"
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": text})

    code, _, err = answer(fleet, capsys, "rebalance", "deploy/shop")

    assert (2, True) == (code, "would not be read" in err)


def test_colour_is_for_terminals_only(fleet: Checkout, capsys: Capsys) -> None:
    """Bold heads on a terminal, plain text in a pipe."""
    arguments = ["rebalance", "deployment/shop", "--dry-run"]
    assert ESCAPE in on_terminal(fleet.folder, arguments, {})
    assert ESCAPE not in answer(fleet, capsys, *arguments)[1]


@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_a_branch_names_whoever_git_knows(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    """Without GIT_AUTHOR_* it is the person of git's settings; `blame` would name nobody else."""
    fleet = recovered_fleet(tmp_path / "fleet")
    monkeypatch.delenv("GIT_AUTHOR_NAME", raising=False)
    monkeypatch.delenv("GIT_AUTHOR_EMAIL", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = tmp_path / ".gitconfig" if scope == "--global" else fleet.folder / ".git/config"
    with settings.open("a") as file:
        file.write("[user]\nname = Grace\nemail = grace@example.com\n")

    code, _, _ = answer(fleet, capsys, "rebalance", "deployment/shop", "--branch", "move")

    assert 0 == code
    assert "Grace <grace@example.com>" == fleet.git("log", "-1", "--format=%an <%ae>", "move")


def test_who_is_not_known_to_git_is_told_how_to_change_that(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git would refuse the commit, too; it is not made under the daemon's name."""
    fleet = recovered_fleet(tmp_path / "fleet")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    code, _, err = answer(fleet, capsys, "rebalance", "deployment/shop", "--branch", "move")

    assert 2 == code
    assert "git does not know who you are" in err
    assert "set user.name and user.email (git config --global" in err
    assert "" == fleet.git("branch", "--list", "move")


def test_a_first_batch_is_not_taken_for_all(fleet: Checkout, capsys: Capsys) -> None:
    """A plan shows what the next pass moves; where a limit holds back the rest, it says so."""
    ask = ("rebalance", "deployment/shop", "--dry-run", "-o", "json", "--max-moves")

    _, one, _ = answer(fleet, capsys, *ask, "1")
    _, two, _ = answer(fleet, capsys, *ask, "2")

    message = "this is only the first batch; the goal is member1(2)"
    assert [{"rule": "first-batch", "subject": "default/shop", "message": message}] == json.loads(
        one
    )["plan"]["warnings"]
    assert [] == json.loads(two)["plan"]["warnings"]


def test_a_plan_warns_of_a_limit_that_would_not_hold(tmp_path: Path, capsys: Capsys) -> None:
    """Whose limit it is, how much it would let go, and who demands more; both are done by it."""
    fleet = recovered_fleet(tmp_path / "fleet")
    slowly = rebalancer("slowly", TARGET, limits={"maxMoves": 1, "intervalSeconds": 600})
    fleet.commit({"rebalancers/slowly.yaml": text(slowly)}, "Move back slowly")
    run_pass(fleet.folder, 7200)

    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit({"rebalancers/now.yaml": text(rebalancer("now", TARGET))}, "Move back at once")
    _, out, _ = answer(fleet, capsys, "plan", "-o", "json", "--now", LATER)
    fleet.git("checkout", "--quiet", "main")
    fleet.git("merge", "--quiet", "--ff-only", "topic")
    run_pass(fleet.folder, 7260)

    message = (
        "the limit of WorkloadRebalancer slowly (0 replicas of it now) does not hold beside "
        "WorkloadRebalancer now"
    )
    assert [{"rule": "limit-overridden", "subject": "default/shop", "message": message}] == (
        json.loads(out)["warnings"]
    )
    assert [{"name": "member1", "replicas": 2}] == decisions(load_world(fleet.folder))[SHOP]
    for name in ("now", "slowly"):
        record = fleet.folder / f"status/workloadrebalancers.apps.karmada.io/{name}.yaml"
        assert "result: Successful" in record.read_text()


def test_what_a_rebalancer_waits_for_is_told_everywhere(tmp_path: Path, capsys: Capsys) -> None:
    """With file and line: `get -o wide`, `describe`, `events`, and the commit."""
    fleet = recovered_fleet(tmp_path / "fleet")
    broken = EXAMPLE["workloads/shop.yaml"] + "a: [\n"
    demand = {"rebalancers/back.yaml": text(rebalancer("back", TARGET))}
    fleet.commit({"workloads/shop.yaml": broken, **demand}, "Break it, move it")
    run_pass(fleet.folder, 7200)

    why = f"its file cannot be understood (workloads/shop.yaml:{broken.count(chr(10)) + 1})"
    for arguments in (
        ("get", "wr", "-o", "wide"),
        ("describe", "wr", "back"),
        ("events", "wr/back"),
    ):
        assert why in " ".join(answer(fleet, capsys, *arguments)[1].split())
    assert f"waits for Deployment default/shop: {why}" in fleet.git("log", "-1", "--format=%B")


RUNS_ONCE = {"template": {"spec": {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}}}


def fleet_of(folder: Path, *bodies: Body) -> Checkout:
    """A repository that holds two clusters, a policy, a workload and these objects."""
    fleet = new_checkout(folder)
    own = (cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())
    return put(fleet, *own, *bodies)


def put(fleet: Checkout, *bodies: Body, subject: str = "Write") -> Checkout:
    """Commit objects, each in its file."""
    fleet.commit({path_of(body): text(body) for body in bodies}, subject)
    return fleet


def body_of(fleet: Checkout) -> list[str]:
    """The body of the last commit, without its trailers."""
    lines = fleet.git("log", "-1", "--format=%b").splitlines()
    return lines[: lines.index("")] if "" in lines else lines


def events(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[tuple[str, str]]:
    """Reason and message of events, the newest last."""
    found = answer_json(fleet, capsys, ["events", *arguments])[1]["events"]
    return [(item["reason"], item["message"]) for item in found]


def told_decisions(fleet: Checkout, capsys: Capsys, word: str) -> Sequence[Any]:
    """What history tells, the newest first."""
    found: Sequence[Any] = answer_json(fleet, capsys, ["history", word])[1]["decisions"]
    return found


def test_a_rebalancer_that_goes_at_once_leaves_its_results(tmp_path: Path, capsys: Capsys) -> None:
    """With a time to live of 0 there is never a status: commit, events and history have it."""
    fleet = fleet_of(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    put(fleet, rebalancer("demo", target(), target(name="gone"), ttl=0))
    run_pass(fleet.folder, 60)

    assert "Rebalance default/web, which stays on a(2)" == fleet.git("log", "-1", "--format=%s")
    assert [
        "- default/web: stays on a(2): rebalanced (WorkloadRebalancer demo)",
        "- workloadrebalancer/demo.yaml: finished and removed",
        "- WorkloadRebalancer demo: Deployment default/gone Failed (ReferencedBindingNotFound)",
        "- WorkloadRebalancer demo: Deployment default/web Successful",
    ] == body_of(fleet)
    assert [
        ("RebalanceFailed", "Deployment default/gone: ReferencedBindingNotFound"),
        ("RebalanceSuccessful", "Deployment default/web: scheduled afresh"),
    ] == events(fleet, capsys, "workloadrebalancer/demo")
    told = told_decisions(fleet, capsys, "deployment/web")[0]
    assert ("rebalanced (WorkloadRebalancer demo)", told["before"]) == (
        told["cause"],
        told["after"],
    )
    assert "WorkloadRebalancer demo, removed by then: Successful" == told["note"]
    assert 0 == answer(fleet, capsys, "verify")[0]


def test_what_a_status_tells_is_told_once(tmp_path: Path, capsys: Capsys) -> None:
    """Where the record stands for a while, its removal is no second result."""
    fleet = fleet_of(tmp_path / "fleet", rebalancer(ttl=60))
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 60)

    assert not (fleet.folder / "workloadrebalancer/demo.yaml").exists()
    assert ["RebalanceSuccessful"] == [
        reason for reason, _ in events(fleet, capsys, "workloadrebalancer/demo")
    ]


def test_a_trigger_that_failed_is_over_not_finished(tmp_path: Path, capsys: Capsys) -> None:
    """Each target's result and reason stand in the commit that removes it."""
    trigger = schedule_trigger("demo", target(), target(name="gone"), autoCleanAfterMinutes=1)
    fleet = fleet_of(tmp_path / "fleet", trigger)
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 60)

    reason = "no binding was found for the resource; no policy has claimed it"
    assert [
        "- scheduletrigger/demo.yaml: its time is over, removed",
        f"- ScheduleTrigger demo: Deployment default/gone Failed ({reason})",
        "- ScheduleTrigger demo: Deployment default/web Success",
    ] == [line for line in body_of(fleet) if "demo" in line]
    assert [("TriggerFailed", f"Deployment default/gone: {reason}")] == events(
        fleet, capsys, "scheduletrigger/demo"
    )


def test_a_retry_and_a_first_placement_are_told_as_such(tmp_path: Path, capsys: Capsys) -> None:
    """The one is no change of replicas, the other no rebalance."""
    fleet = fleet_of(tmp_path / "fleet", rebalancer())
    run_pass(fleet.folder, 0)
    put(fleet, policy(placement=groups(["late"])))
    run_pass(fleet.folder, 60)
    put(fleet, rebalancer("again"))
    run_pass(fleet.folder, 120)
    failed = body_of(fleet)
    put(fleet, cluster("late"))
    run_pass(fleet.folder, 180)

    assert "- default/web: stays nowhere: rebalanced (WorkloadRebalancer again)" in failed
    assert any("0/2 clusters are available" in line for line in failed)
    assert [
        "rebalance tried again, clusters changed",
        "rebalanced (WorkloadRebalancer again)",
        "placement changed",
        "created (policy p, WorkloadRebalancer demo)",
    ] == [item["cause"] for item in told_decisions(fleet, capsys, "deployment/web")]
    assert "ScheduleBindingFailed" == events(fleet, capsys, "deployment/web", "--warnings")[-1][0]


def test_what_follows_from_scheduling_is_told_as_upstream_does(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Dependencies, copies that were applied, and that their status was gathered."""
    body = {**deployment(), "spec": {"replicas": 2, **RUNS_ONCE}}
    fleet = fleet_of(tmp_path / "fleet", body, configmap(), cluster("late"))
    placement = groups(["a"])
    put(fleet, policy(placement=placement, propagateDeps=True))
    run_pass(fleet.folder, 0)
    status = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
    fleet.commit({"feedback/a/web.yaml": text({**body, "status": status})}, "Report")
    run_pass(fleet.folder, 60)

    listed = "{APIVersion:v1 Kind:ConfigMap Namespace:default Name:settings LabelSelector:<nil>}"
    name = "default/web-deployment"
    assert [
        (
            "ScheduleBindingSucceed",
            "Binding has been scheduled successfully. Result: {a:2}",
        ),
        ("GetDependenciesSucceed", f"Get dependencies([{listed}]) succeed."),
        ("SyncSucceed", "Successfully applied resource(default/web) to cluster a"),
        (
            "AggregateStatusSucceed",
            f"Update resourceBinding({name}) with AggregatedStatus successfully.",
        ),
    ] == events(fleet, capsys, "deployment/web")


def test_a_workload_without_dependencies_has_an_empty_list(tmp_path: Path, capsys: Capsys) -> None:
    """As the proposal of rebalancing shows it."""
    fleet = fleet_of(tmp_path / "fleet", policy(propagateDeps=True))
    run_pass(fleet.folder, 0)

    assert ("GetDependenciesSucceed", "Get dependencies([]) succeed.") in events(
        fleet, capsys, "deployment/web"
    )


def test_an_eviction_within_one_pass_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """The workload is healthy on its other cluster, so that its task ends where it began."""
    fleet = fleet_of(tmp_path / "fleet", policy(), configuration())
    report = live(deployment(), replicas=2, updatedReplicas=2, availableReplicas=2)
    fleet.commit({f"feedback/{name}/web.yaml": text(report) for name in "ab"}, "Report")
    run_pass(fleet.folder, 0)
    leaves = cluster("a", taints=[taint(effect="NoExecute")], status=cluster_status(since=after(0)))
    put(fleet, leaves)
    run_pass(fleet.folder, 60)
    binding = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"

    assert "gracefulEvictionTasks" not in (fleet.folder / binding).read_text()
    assert [
        ("EvictWorkloadFromClusterSucceed", "Evict from cluster a succeed."),
        ("ScheduleBindingSucceed", "Binding has been scheduled successfully. Result: {b:2}"),
    ] == events(fleet, capsys, "deployment/web")[-2:]


def test_a_trigger_written_by_hand_asks_once(tmp_path: Path, capsys: Capsys) -> None:
    """Even one in the future; pass, verify and history agree that a person asked."""
    fleet = fleet_of(tmp_path / "fleet", rebalancer())
    run_pass(fleet.folder, 0)
    binding = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    written = (fleet.folder / binding).read_text()
    edited = written.replace('At: "2026-11-20T12:00:00Z"', 'At: "2126-01-01T00:00:00Z"')
    assert written != edited
    fleet.commit({binding: edited}, "Ask for a schedule")
    run_pass(fleet.folder, 60)
    asked = body_of(fleet)

    assert 'rescheduleTriggeredAt: "2026-11-20T12:01:00Z"' in (fleet.folder / binding).read_text()
    assert (
        "- default/web: stays on a(2): rebalanced (rescheduleTriggeredAt edited by hand)" in asked
    )
    assert any("edited by Ada" in line for line in asked)
    put(fleet, cluster("b", labels={"any": "change"}))
    assert () == run_pass(fleet.folder, 120).outcome.decisions
    _, out, _ = answer(fleet, capsys, "verify")
    assert f"{binding}: edited by Ada <ada@example.com>" in out
    assert "asks for a schedule afresh if it is later than the last one" in out
    assert "rebalanced (rescheduleTriggeredAt edited by hand)" in [
        item["cause"] for item in told_decisions(fleet, capsys, "deployment/web")
    ]
