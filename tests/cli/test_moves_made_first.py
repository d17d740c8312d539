"""Moves that make before they break, over real commits: each step is proven from a clone."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.imports.importers import report_of
from reconciler.manifests.text.reader import read
from reconciler.model.fields import mapping
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    taint,
    text,
)
from tests.cli.history import answer
from tests.core.test_make_before_break import ALL, OPTIONS, STATUS, given, hear
from tests.core.test_preserve import KEEPS, stuck
from tests.core.test_preserve import placed as placed_evenly
from tests.dialects.kubefleet.fleet import member, pick
from tests.dialects.kubefleet.fleet import placement as member_placement
from tests.dialects.ocm import worlds as hub
from tests.page.served import served_page
from tests.shell.fleet import eventually, run_pass, running, subjects
from tests.shell.repositories import ENVIRONMENT, Checkout, git, new_checkout
from tests.stories import Story

FIRST = ("--make-before-break", "--dry-run")
Capsys = pytest.CaptureFixture[str]


def put(fleet: Checkout, *objects: Body, message: str) -> None:
    """Commit what people write."""
    fleet.commit({path_of(one): text(one) for one in objects}, message)


def standing(fleet: Checkout) -> Story:
    """The files of the branch as a story has them."""
    paths = fleet.git("ls-files").splitlines()
    return Story({path: (fleet.folder / path).read_text() for path in paths})


def report(fleet: Checkout, where: str) -> None:
    """Commit what a cluster reports: all that it was given is ready."""
    path = f"feedback/{where}/web.yaml"
    fleet.commit({path: hear(standing(fleet), where).files[path]}, f"Report of {where}")


def ready(folder: Path) -> Checkout:
    """Web is on b, which reports it, and could be on a."""
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    first = (
        cluster("a", status=STATUS, taints=[taint()]),
        cluster("b", status=STATUS),
        policy(placement=placement),
        deployment(replicas=4),
        configuration(**OPTIONS),
    )
    fleet = new_checkout(folder, {path_of(one): text(one) for one in first})
    run_pass(fleet.folder, 0)
    put(fleet, cluster("a", status=STATUS), message="Take the taint away")
    report(fleet, "b")
    return fleet


def moving(folder: Path) -> Checkout:
    """Since second 10 web is on its way from b to a."""
    fleet = ready(folder)
    put(fleet, rebalancer(limits=ALL), message="Bring web home")
    run_pass(fleet.folder, 10)
    return fleet


def is_ready(fleet: Checkout) -> None:
    """Cluster a reports what it was given."""
    report(fleet, "a")
    run_pass(fleet.folder, 20)


def is_late(fleet: Checkout) -> None:
    """It never does."""
    run_pass(fleet.folder, 110)


def is_cancelled(fleet: Checkout) -> None:
    """The rebalancer is removed."""
    fleet.git("rm", "--quiet", path_of(rebalancer()))
    fleet.git("commit", "--quiet", "--message", "Leave web where it is")
    run_pass(fleet.folder, 20)


@pytest.mark.parametrize(
    ("ends", "becomes", "said"),
    [
        pytest.param(is_ready, {"a": 4}, "4 on a ready", id="success"),
        pytest.param(is_late, {"b": 4}, "4 on a given back", id="deadline"),
        pytest.param(is_cancelled, {"b": 4}, "4 on a given back", id="cancel"),
    ],
)
def test_each_step_is_a_commit_that_is_proven(
    tmp_path: Path,
    capsys: Capsys,
    ends: Callable[[Checkout], None],
    becomes: dict[str, int],
    said: str,
) -> None:
    """The clusters are given both sides in between, and one of them at the end."""
    fleet = moving(tmp_path / "fleet")
    assert {"a": 4, "b": 4} == given(standing(fleet))
    assert "Rebalance default/web, which stays on b(4)" == subjects(fleet)[0]
    ends(fleet)

    assert becomes == given(standing(fleet))
    assert said in fleet.git("log", "-1", "--format=%b")
    assert 3 == proven(fleet, tmp_path, capsys)


def test_a_plan_says_what_runs_beside_until_when(tmp_path: Path, capsys: Capsys) -> None:
    """Its first step, its goal, what clusters are given, and what is given back otherwise."""
    fleet = ready(tmp_path / "fleet")
    _, out, _ = answer(fleet, capsys, "rebalance", "deployment/web", *FIRST)

    assert "warning: default/web: it moves in steps, first 1 on a to be ready by " in out
    assert "; the goal is a(4)\n" in out
    assert "  a (folders): 1 file written\n" in out
    assert "  default/web: it waits for 1 on a to be ready until " in out
    assert ", then what is not ready is given back\n" in out


def test_what_runs_beside_is_shown(tmp_path: Path, capsys: Capsys) -> None:
    """In the list of bindings, in the tree, and as what comes next."""
    fleet = moving(tmp_path / "fleet")
    _, listed, _ = answer(fleet, capsys, "get", "resourcebindings")
    _, tree, _ = answer(fleet, capsys, "tree", "deployment/web")

    assert " a(+4), b(4) " in listed
    assert "beside: 4 to be ready by 2026-11-20T12:01:50Z" in tree


def test_the_page_draws_a_move_as_its_steps(tmp_path: Path) -> None:
    """What runs beside what since when, what is ready, and what happens at the deadline."""
    fleet = moving(tmp_path / "fleet")
    beside = "4 on a started beside b(4), asked for by WorkloadRebalancer demo; its room is taken"
    ends = "what is ready takes over from the rest, what is not is given back; until then it waits"

    with served_page(fleet.folder) as page:
        shown = page.get("/object?group=apps&kind=Deployment&namespace=default&name=web").text

    move = shown.partition("Move under way")[2].partition("</ol>")[0]
    begun, over = re.findall(r"<li>(.*?)</li>", move)
    assert 'datetime="2026-11-20T12:00:10Z"' in begun
    assert beside in begun
    assert 'datetime="2026-11-20T12:01:50Z"' in over
    assert f"{ends} for reports of a" in over


def test_steps_are_events(tmp_path: Path, capsys: Capsys) -> None:
    """When one begins, and when something is given back."""
    fleet = moving(tmp_path / "fleet")
    is_late(fleet)
    _, out, _ = answer(fleet, capsys, "events", "deployment/web")
    told = [line for line in out.splitlines() if "Move" in line]

    assert ["MoveGivenBack", "MoveStepBegan"] == sorted(
        next(word for word in line.split() if word.startswith("Move")) for line in told
    )
    assert any("4 on a given back" in line and "Warning" in line for line in told)


def test_a_plan_names_what_a_rebalance_refuses(tmp_path: Path, capsys: Capsys) -> None:
    """Before the merge, not only by its result."""
    fleet = ready(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "feedback/b/web.yaml")
    fleet.git("commit", "--quiet", "--message", "Lose the report")
    _, out, _ = answer(fleet, capsys, "rebalance", "deployment/web", *FIRST)

    why = "no cluster reports it, so nothing could be seen to be ready"
    assert f"warning: rebalance-web: Deployment web stays: {why}\n" in out


def drained(fleet: Checkout, capsys: Capsys) -> tuple[int, str]:
    """Exit code and first line of what is left on b."""
    code, out, _ = answer(fleet, capsys, "drain", "b", "--status")
    return code, out.splitlines()[0]


def test_a_drain_in_steps_evicts_nothing(tmp_path: Path, capsys: Capsys) -> None:
    """Each look at what is left says what is waited for, and the last one that it is done."""
    fleet = ready(tmp_path / "fleet")
    code, _, err = answer(fleet, capsys, "drain", "b", "--make-before-break")
    assert (0, "") == (code, "".join(line for line in err.splitlines() if "fault" in line))
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Drain b")
    for seconds, placed in ((10, {"a": 1, "b": 4}), (20, {"a": 2, "b": 3}), (30, {"a": 3, "b": 2})):
        run_pass(fleet.folder, seconds)
        assert placed == given(standing(fleet))
        assert (1, "cluster/b is being drained: 1 object left") == drained(fleet, capsys)
        report(fleet, "a")
    run_pass(fleet.folder, 40)
    report(fleet, "a")
    run_pass(fleet.folder, 50)

    assert {"a": 4} == given(standing(fleet))
    assert (0, "cluster/b is drained: nothing is left") == drained(fleet, capsys)
    assert "gracefulEvictionTasks" not in "".join(standing(fleet).outputs.values())


def test_why_names_who_leaves_a_cluster_in_steps(tmp_path: Path, capsys: Capsys) -> None:
    """Nothing is evicted, so it speaks of none."""
    fleet = ready(tmp_path / "fleet")
    answer(fleet, capsys, "drain", "b", "--make-before-break")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Drain b")
    run_pass(fleet.folder, 10)

    _, out, _ = answer(fleet, capsys, "why", "deployment/web")

    assert "WorkloadRebalancer drain-b leaves it" in out
    assert "be taken out of `leaving` of WorkloadRebalancer drain-b" in out
    assert "eviction" not in out


def test_an_uncordon_cancels_a_drain_in_steps(tmp_path: Path, capsys: Capsys) -> None:
    """Taint and rebalancer go, byte for byte."""
    fleet = ready(tmp_path / "fleet")
    before = fleet.git("ls-tree", "-r", "HEAD")
    answer(fleet, capsys, "drain", "b", "--make-before-break")
    answer(fleet, capsys, "uncordon", "b")
    fleet.git("add", "--all")

    assert before == fleet.git("ls-tree", "-r", fleet.git("write-tree").strip())


def test_what_a_drain_in_steps_leaves_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """Before the merge, and by its status."""
    fleet = ready(tmp_path / "fleet")
    fleet.git("rm", "--quiet", "feedback/b/web.yaml")
    fleet.git("commit", "--quiet", "--message", "Lose the report")
    _, out, _ = answer(fleet, capsys, "drain", "b", "--make-before-break")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Drain b")
    run_pass(fleet.folder, 10)
    _, status, _ = answer(fleet, capsys, "drain", "b", "--status")

    why = "no cluster reports it, so nothing could be seen to be ready"
    assert f"stays on b: Deployment web, since {why}" in out
    assert why in status


def in_all_apis(folder: Path) -> Checkout:
    """Something of each API on the cluster b, which reports it, and could be on a."""
    namespace = {"group": "", "version": "v1", "kind": "Namespace", "name": "green"}
    placed = member_placement(pick(1))
    spec = {**mapping(placed, "spec"), "resourceSelectors": [namespace]}
    full = {"key": "full", "value": "", "effect": "NoSelect"}
    first = (
        cluster("a", status=STATUS, taints=[taint()]),
        cluster("b", status=STATUS),
        policy(placement=groups(["a"], ["b"], replicaScheduling=DYNAMIC)),
        deployment(replicas=4),
        member("a", taints=[{"key": "full", "effect": "NoSchedule"}]),
        member("b"),
        {**placed, "spec": spec},
        deployment("web", namespace="green", replicas=2),
        hub.cluster_set(),
        hub.binding(),
        hub.cluster("a", full),
        hub.cluster("b"),
        hub.placement(numberOfClusters=1),
        hub.replica_set(deployment("web", namespace="shop", replicas=2)),
        configuration(**OPTIONS),
    )
    fleet = new_checkout(folder, {path_of(one): text(one) for one in first})
    run_pass(fleet.folder, 0)
    put(fleet, cluster("a", status=STATUS), member("a"), hub.cluster("a"), message="Clean a")
    report_all(fleet, "b")
    return fleet


def report_all(fleet: Checkout, where: str) -> None:
    """Commit what a cluster reports: all that it was given is ready."""
    folder, reports = fleet.folder / "clusters" / where, {}
    for file in sorted(folder.rglob("web.yaml")):
        body = read(file.read_bytes(), file.name).documents[0].body
        count = mapping(body, "spec")["replicas"]
        own = {**mapping(body, "metadata"), "uid": "1", "generation": 7}
        counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), count)
        status = {"observedGeneration": 7, **counts}
        told = report_of({**body, "metadata": own, "status": status})
        reports[f"feedback/{where}/{own['namespace']}.yaml"] = text(told)
    fleet.commit(reports, f"Report of {where}")


def namespaces_on(fleet: Checkout, where: str) -> list[str]:
    """The namespaces of which a cluster is given something."""
    folder = fleet.folder / "clusters" / where
    return sorted(file.parent.parent.name for file in folder.rglob("web.yaml"))


def line_of(why: str, cluster: str) -> str:
    """What is said of a cluster in the table of an answer."""
    return next(line for line in why.splitlines() if line.startswith(f"{cluster} "))


def test_a_drain_in_steps_moves_what_any_api_has_there(tmp_path: Path, capsys: Capsys) -> None:
    """Nothing leaves before what replaces it is ready, and each decision is proven."""
    fleet = in_all_apis(tmp_path / "fleet")
    every = ("cluster/b", "membercluster/b", "managedcluster/b")
    code, _, _ = answer(fleet, capsys, "drain", *every, "--make-before-break")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Drain b")
    for stage in ("no pass has seen it yet", "a step is under way"):
        if stage == "a step is under way":
            _, why, _ = answer(fleet, capsys, "why", "placement/p", "-n", "ns1")
            assert "is there" in line_of(why, "a")
            assert "filtered" in line_of(why, "b")
            assert "  WorkloadRebalancer drain-b leaves it\n" in why
        for one in every:
            left, told, _ = answer(fleet, capsys, "drain", one, "--status")
            assert 1 == left
            assert "on a to be ready by" in told
            assert "nothing asks it to leave" not in told
        run_pass(fleet.folder, 10)
    assert (0, ["default", "green", "shop"]) == (code, namespaces_on(fleet, "b"))
    assert ["default", "green", "shop"] == namespaces_on(fleet, "a")
    for seconds in (20, 30, 40, 50):
        report_all(fleet, "a")
        run_pass(fleet.folder, seconds)

    assert ([], ["default", "green", "shop"]) == (
        namespaces_on(fleet, "b"),
        namespaces_on(fleet, "a"),
    )
    assert not fleet.git("ls-files", "*eviction*")
    for one in every:
        assert 0 == answer(fleet, capsys, "drain", one, "--status")[0]
    assert 6 == proven(fleet, tmp_path, capsys)


def test_a_drain_in_steps_that_nothing_answers_is_given_back(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Of each API, at the deadline; what was there stays, and the status says why."""
    fleet = in_all_apis(tmp_path / "fleet")
    answer(fleet, capsys, "drain", "cluster/b", "--make-before-break")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Drain b")
    run_pass(fleet.folder, 10)
    run_pass(fleet.folder, 610)

    assert (["default", "green", "shop"], []) == (
        namespaces_on(fleet, "b"),
        namespaces_on(fleet, "a"),
    )
    _, told, _ = answer(fleet, capsys, "drain", "cluster/b", "--status")
    assert "not ready on a by 2026-11-20T12:10:10Z" in told
    assert proven(fleet, tmp_path, capsys) == 3


def test_an_uncordon_gives_back_what_any_api_has_begun(tmp_path: Path, capsys: Capsys) -> None:
    """What is ready by then is kept, the rest stays where it was."""
    fleet = in_all_apis(tmp_path / "fleet")
    answer(fleet, capsys, "drain", "cluster/b", "--make-before-break")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Drain b")
    run_pass(fleet.folder, 10)
    answer(fleet, capsys, "uncordon", "cluster/b")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Keep b")
    run_pass(fleet.folder, 20)

    assert (["default", "green", "shop"], []) == (
        namespaces_on(fleet, "b"),
        namespaces_on(fleet, "a"),
    )
    assert proven(fleet, tmp_path, capsys) == 3


def test_a_rebalance_that_keeps_what_runs_is_proven(tmp_path: Path, capsys: Capsys) -> None:
    """What moves is what the cluster reported as unschedulable."""
    told = stuck(placed_evenly(), "a", 3).put(rebalancer(reschedule=KEEPS))
    later = {path_of(one): told.files[path_of(one)] for one in (cluster("c"), rebalancer())}
    first = {path: data for path, data in told.inputs.items() if path not in later}
    fleet = new_checkout(tmp_path / "fleet", first)
    run_pass(fleet.folder, 0)
    fleet.commit(later, "Move what waits")
    run_pass(fleet.folder, 1000)

    moved = standing(fleet).placed()
    assert (8, 1, True) == (sum(moved.values()), moved["a"], moved["b"] >= 4)
    assert 2 == proven(fleet, tmp_path, capsys)


def proven(fleet: Checkout, folder: Path, capsys: Capsys) -> int:
    """How many decisions a fresh clone proves; all of them."""
    git(folder, "clone", "--quiet", str(fleet.folder), "clone")
    capsys.readouterr()
    code = run(["-C", str(folder / "clone"), "verify", "-v"])
    told = capsys.readouterr()
    assert (0, "") == (code, told.err), told.out
    return told.out.count("✔ proven")


def test_a_daemon_takes_what_is_ready_and_gives_back_what_is_not(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A cluster that starts late is waited for, one that never does until the deadline."""
    fleet, remote = ready(tmp_path / "fleet"), tmp_path / "remote"
    git(tmp_path, "clone", "--quiet", "--bare", str(fleet.folder), str(remote))
    fleet.git("remote", "add", "origin", str(remote))
    soon = {"makeBeforeBreak": {"deadlineSeconds": 1, "maxSurgePercent": 100}}
    options = ("--remote", str(remote), "--mirror", str(tmp_path / "m"), "--poll-seconds", "0.2")
    with running(tmp_path, *options, log=tmp_path / "log"):
        put(fleet, rebalancer("early", limits=soon), message="Bring web home at once")
        push_rebased(fleet)
        eventually(lambda: "given back" in pulled(fleet).git("log", "--format=%b"), "the deadline")
        never = given(standing(fleet))
        put(fleet, rebalancer("late", limits=ALL), message="Bring web home")
        push_rebased(fleet)
        eventually(lambda: given(standing(pulled(fleet))) == {"a": 4, "b": 4}, "the step")
        report(fleet, "a")
        push_rebased(fleet)
        eventually(lambda: given(standing(pulled(fleet))) == {"a": 4}, "what is ready")

    assert {"b": 4} == never
    assert 5 <= proven(pulled(fleet), tmp_path, capsys)


def pulled(fleet: Checkout) -> Checkout:
    """A person's clone as the branch is now."""
    fleet.git("pull", "--quiet", "--rebase", "origin", "main")
    return fleet


def push_rebased(fleet: Checkout) -> None:
    """Push on top of what the branch is by then."""

    def pushed() -> bool:
        pulled(fleet)
        command = ["git", "push", "--quiet", "origin", "main"]
        done = subprocess.run(command, cwd=fleet.folder, env=ENVIRONMENT, check=False)
        return done.returncode == 0

    eventually(pushed, "the push")
