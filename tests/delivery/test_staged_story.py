"""Stages over real commits: people merge, clusters report and fail, and a fresh clone proves it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.imports.importers import report_of
from reconciler.manifests.text.reader import read
from reconciler.shell.git.command import HistoryMissing
from tests.builders import Body, cluster, cluster_status, policy, taint, text
from tests.core.test_staged_deliveries import managed, staged_delivery, version
from tests.delivery.story import files_of
from tests.delivery.test_story import UNHEARD
from tests.dialects.kubefleet.fleet import APPROVAL, stage, strategy
from tests.dialects.ocm import worlds
from tests.page.served import served_page
from tests.shell.fleet import Clock, new_passes, run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

SPREAD: Body = {"spreadByField": "cluster", "minGroups": 3, "maxGroups": 3}
SPREAD_WIDELY: Body = {"spreadConstraints": [SPREAD]}
IN_STAGES = {"a": "canary", "b": "early", "c": "prod", "d": "prod"}
PODS = {"a": 40, "b": 30, "c": 20, "d": 10}
IN_THREE: tuple[Body, ...] = (
    stage("canary"),
    stage("early", beforeStageTasks=[APPROVAL]),
    stage("prod", maxConcurrency=2),
)


@dataclass(frozen=True)
class StagedApi:
    """How an API places web on three clusters, and what a staged delivery selects of it.

    `cluster` is a cluster of its stage, as it is or as one that web must leave; `named` is what is
    staged, as verbs are told it.
    """

    around: Sequence[Body]
    cluster: Callable[[str, bool], Body]
    web: Callable[[str, int], Body]
    kind: str
    named: Sequence[str]


def _member(name: str, fails: bool) -> Body:  # noqa: FBT001  # of an API
    status, labels = cluster_status(pods=PODS[name]), {"stage": IN_STAGES[name]}
    return cluster(
        name, labels=labels, status=status, taints=[taint(effect="NoExecute")] if fails else []
    )


def _managed(name: str, fails: bool) -> Body:  # noqa: FBT001  # of an API
    return managed(name, IN_STAGES[name], *([{"key": "x", "effect": "NoSelect"}] if fails else []))


KARMADA = StagedApi(
    around=(policy(placement=SPREAD_WIDELY),),
    cluster=_member,
    web=lambda image, replicas: version(image, replicas=replicas),
    kind="Deployment",
    named=("deployment/web",),
)
OCM = StagedApi(
    around=(worlds.cluster_set(), worlds.binding(), worlds.placement(numberOfClusters=3)),
    cluster=_managed,
    web=lambda image, replicas: worlds.replica_set(version(image, replicas=replicas)),
    kind="ManifestWorkReplicaSet",
    named=("manifestworkreplicaset/shop", "-n", "ns1"),
)
each_api = pytest.mark.parametrize(
    "api", [pytest.param(KARMADA, id="karmada"), pytest.param(OCM, id="ocm")]
)


@dataclass
class StagedFleet:
    """A real repository whose web is staged, as people and clusters commit to it."""

    fleet: Checkout
    api: StagedApi = KARMADA
    seconds: int = 0

    @classmethod
    def begun(cls, folder: Path, api: StagedApi = KARMADA) -> "StagedFleet":
        """Web in version 1 on three of the clusters, reported."""
        clusters = [api.cluster(name, False) for name in IN_STAGES]
        staging = strategy(*IN_THREE), staged_delivery(selector={"kind": api.kind})
        every = (*clusters, *api.around, *staging, api.web("1", 3), UNHEARD)
        told = cls(new_checkout(folder, files_of(*every)), api)
        told.run()
        told.report("a", "b", "c")
        return told

    def run(self, *bodies: Body, told: str = "Change") -> "StagedFleet":
        """Commit objects, if there are any, and run a pass a minute later."""
        if bodies:
            self.fleet.commit(files_of(*bodies), told)
        self.seconds += 60
        run_pass(self.fleet.folder, self.seconds)
        return self

    def delivered(self, name: str) -> Any:
        """What is in the folder of a cluster, `None` if nothing."""
        path = self.fleet.folder / f"delivery/{name}/default/deployments.apps/web.yaml"
        return read(path.read_bytes(), path.name).documents[0].body if path.exists() else None

    def report(self, *names: str, failure: str = "") -> "StagedFleet":
        """Have clusters report what they were given, and run a pass."""
        written = {}
        for name in names:
            body = self.delivered(name)
            count = body["spec"]["replicas"]
            status: dict[str, object] = {"observedGeneration": 1, "replicas": count}
            status |= {"updatedReplicas": count, "availableReplicas": 0 if failure else count}
            if failure:
                condition = {"type": "Progressing", "status": "False", "reason": failure}
                status["conditions"] = [condition]
            own = {**body["metadata"], "generation": 1}
            report = report_of({**body, "metadata": own, "status": status})
            written[f"feedback/{name}/web.yaml"] = text(report)
        self.fleet.commit(written, "Report")
        return self.run()

    @property
    def images(self) -> dict[str, str]:
        """The version in the folder of each cluster that has any."""
        found = {name: self.delivered(name) for name in IN_STAGES}
        return {
            name: body["spec"]["template"]["spec"]["containers"][0]["image"]
            for name, body in found.items()
            if body is not None
        }

    @property
    def replicas(self) -> int:
        """How many replicas the folders of clusters have."""
        found = (self.delivered(name) for name in IN_STAGES)
        return sum(body["spec"]["replicas"] for body in found if body is not None)

    def order(self, action: str, **more: object) -> Body:
        """An order of the present run."""
        path = self.fleet.folder / "status/stageddeliveries.reconciler.dev/web.yaml"
        body: Any = read(path.read_bytes(), path.name).documents[0].body
        order = {"run": body["status"]["run"]["id"], "generation": 1, "action": action, **more}
        return staged_delivery(selector={"kind": self.api.kind}, orders=[order])


@each_api
def test_a_change_goes_through_three_stages_while_a_cluster_fails(
    api: StagedApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Approved by merge; its work comes up elsewhere, on the version of that stage."""
    told = StagedFleet.begun(tmp_path / "fleet", api)
    told.run(api.web("2", 3), told="Release 2")
    assert {"a": "2", "b": "1", "c": "1"} == told.images

    assert 0 == run(["-C", str(told.fleet.folder), "why", *api.named])
    first = told.fleet.git("rev-list", "--max-parents=0", "HEAD")[:12]
    why = capsys.readouterr().out
    assert f"stage early of web; it has what {first} brought" in why
    assert f"Stage early: b to come.\n  Stage prod: c to come.\n  Held at {first}: b, c." in why

    assert 0 == run(["-C", str(told.fleet.folder), "tree", "stageddelivery/web"])
    shown = capsys.readouterr().out
    assert "waits for a in stage canary, stage canary: 0 of 1 updated" in shown
    assert "stage prod of web" in shown

    assert 0 == run(["-C", str(told.fleet.folder), "status"])
    assert " waits for a until 2026-11-20T12:13:00Z, then it stops " in capsys.readouterr().out

    told.run(api.web("2", 4), told="Scale to 4")
    assert ({"a": "2", "b": "1", "c": "1"}, 12) == (told.images, told.replicas)

    told.run(api.cluster("c", True), told="c fails")
    assert {"a": "2", "b": "1", "d": "1"}.items() <= told.images.items()

    told.report("a")
    assert 0 == run(["-C", str(told.fleet.folder), "status"])
    assert "approval before stage early" in capsys.readouterr().out

    told.run(told.order("Approve", stage="early", task="BeforeStage"), told="Approve early")
    assert {"a": "2", "b": "2", "d": "1"}.items() <= told.images.items()

    told.report("b").report("d")
    assert {"a": "2", "b": "2", "d": "2"}.items() <= told.images.items()
    hold_proof(told.fleet, tmp_path)


@each_api
def test_a_failing_canary_is_rolled_back_and_the_next_commit_is_another_run(
    api: StagedApi, tmp_path: Path
) -> None:
    """The other clusters never saw it."""
    told = StagedFleet.begun(tmp_path / "fleet", api)
    told.run(api.web("2", 3), told="Release 2")
    told.report("a", failure="ProgressDeadlineExceeded")
    assert {"a": "2", "b": "1", "c": "1"} == told.images

    told.run(told.order("Rollback"), told="Roll back")
    assert {"a": "1", "b": "1", "c": "1"} == told.images

    told.run(api.web("3", 3), told="Release 3")
    assert {"a": "3", "b": "1", "c": "1"} == told.images

    told.run(api.web("4", 3), told="Release 4")
    assert {"a": "4", "b": "1", "c": "1"} == told.images
    hold_proof(told.fleet, tmp_path)


def hold_proof(fleet: Checkout, folder: Path) -> None:
    """Hold that `verify` finds every commit of a fresh clone right."""
    fleet.git("clone", "-q", str(fleet.folder), str(folder / "clone"))

    assert 0 == run(["-C", str(folder / "clone"), "verify"])


def test_no_pass_runs_in_a_shallow_clone_that_lacks_a_version_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would hold what a whole clone delivers; `plan` and `status` say so, too."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3)).report("a")
    told.fleet.git(
        "clone", "-q", "--depth=2", f"file://{told.fleet.folder}", str(tmp_path / "shallow")
    )
    shallow = Checkout(tmp_path / "shallow")
    here = ["-C", str(shallow.folder)]
    lacks = "this clone is shallow and lacks a version of deployment/default/web.yaml that"

    assert 1 == run([*here, "verify", "HEAD~1..HEAD"])
    assert lacks in (said := capsys.readouterr().out)
    assert "different" not in said

    shallow.commit(files_of(told.order("Stop")))
    for verb, code in (("reconcile", 1), ("plan", 1), ("status", 0)):
        assert code == run([*here, verb])
        assert lacks in capsys.readouterr().err

    passes = new_passes(shallow.folder, Clock(NOW + timedelta(seconds=told.seconds + 60)))
    with pytest.raises(HistoryMissing, match="this clone is shallow"):
        passes.run()
    shallow.git("fetch", "-q", "--unshallow")

    assert [] == [one.rule for one in passes.run().outcome.faults if one.rule != "staged-stopped"]
    assert 0 == run([*here, "status"])
    assert "" == capsys.readouterr().err
    assert 0 == run([*here, "verify"])


def test_the_page_shows_how_far_a_run_is(tmp_path: Path) -> None:
    """Its stages, whom they wait for and how that is approved, and what is held."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3)).report("a")

    with served_page(told.fleet.folder) as page:
        shown = page.get("/object?group=apps&kind=Deployment&namespace=default&name=web").text

    rollout = shown.partition("Rollout<")[2].partition("</ul>")[0]
    itself, approve, canary, early, prod, held = re.findall(r"<li>(.*?)</li>", rollout)
    assert "begun at 2026-11-20T12:03:00Z, is Updating: waits for approval before" in itself
    assert approve == "To approve it: reconciler rollout approve web early --task before."
    assert canary.startswith("Stage canary: a has run it since 2026-11-20T12:04:00Z; over since ")
    assert ["Stage early: b to come.", "Stage prod: c to come."] == [early, prod]
    assert held.endswith(": b, c.")

    told.run(strategy(*IN_THREE[1:]))
    with served_page(told.fleet.folder) as page:
        shown = page.get("/object?group=apps&kind=Deployment&namespace=default&name=web").text

    assert "Stage canary, not in the strategy any more: a has run it since " in shown


def test_an_order_that_was_carried_out_is_not_undone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its line goes, what it brought about stays; before a pass nothing has come of it."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3)).report("a")
    told.fleet.commit(files_of(told.order("Approve", stage="early", task="BeforeStage")), "Approve")
    approved = told.fleet.git("rev-parse", "HEAD")
    undo = ["-C", str(told.fleet.folder), "undo", approved, "--dry-run"]

    assert 0 == run(undo)
    assert "stays" not in capsys.readouterr().out

    told.run()

    assert 0 == run(undo)
    assert "Approve of run 1-" in (said := capsys.readouterr().out)
    assert " stays: it was carried out; order a stop or a rollback by reconciler rollout" in said


@each_api
@pytest.mark.parametrize("action", ["Approve", "Rollback"])
def test_the_undo_of_an_order_hands_no_other_version_to_a_cluster(
    api: StagedApi, action: str, tmp_path: Path
) -> None:
    """Its line goes and nothing else: the pass after it has nothing to put right."""
    told = StagedFleet.begun(tmp_path / "fleet", api).run(api.web("2", 3)).report("a")
    more = {"stage": "early", "task": "BeforeStage"} if action == "Approve" else {}
    told.fleet.commit(files_of(told.order(action, **more)), action)
    ordered = told.fleet.git("rev-parse", "HEAD")
    images = told.run().images

    assert 0 == run(["-C", str(told.fleet.folder), "undo", ordered])
    assert len(told.fleet.git("status", "--porcelain").splitlines()) == 1

    told.fleet.git("commit", "--quiet", "--all", "--message", "Undo")
    undone = told.fleet.git("rev-parse", "HEAD")
    assert images == told.run().images
    assert undone == told.fleet.git("rev-parse", "HEAD")


def test_the_undo_of_what_let_a_run_go_on_keeps_what_it_gave(tmp_path: Path) -> None:
    """A report is taken back, and the stage that began with it is not."""
    told = StagedFleet.begun(tmp_path / "fleet")
    told.run(strategy(*map(stage, ("canary", "early", "prod")))).run(version("2", replicas=3))
    images = told.report("a").images
    assert {"a": "2", "b": "2", "c": "1"} == images

    assert 0 == run(["-C", str(told.fleet.folder), "undo", "HEAD~1"])
    assert images == told.images

    told.fleet.git("commit", "--quiet", "--all", "--message", "Undo")
    assert images == told.run().images


def test_what_a_run_has_delivered_is_not_undone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next pass would deliver it again: a run is stopped, or rolled back."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3))

    assert 2 == run(["-C", str(told.fleet.folder), "undo", "HEAD"])
    assert capsys.readouterr().err.endswith(" moved nothing, so there is nothing to undo\n")
