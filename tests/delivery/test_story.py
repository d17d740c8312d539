"""The whole way, over real commits: clusters fail, work moves and comes back, files follow."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.dialects.karmada.api.names import execution_namespace
from reconciler.manifests.text.reader import read
from tests.builders import (
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    groups,
    metadata,
    path_of,
    policy,
    rebalancer,
    selector,
    target,
    text,
)
from tests.cli.history import answer
from tests.delivery.story import (
    CONFIGURATION,
    DOWN,
    KARMADA,
    TOLERANT,
    DeliveryStory,
    Step,
    files_of,
    healthy,
)
from tests.delivery.test_kubefleet_folders import limited
from tests.delivery.test_transports import FOLDERS
from tests.dialects.karmada.api.test_work import work
from tests.dialects.kubefleet.fleet import EAST, GROUP, PLACEMENT, member, pick, placement
from tests.dialects.ocm.worlds import GROUP as WORLDS_GROUP
from tests.dialects.ocm.worlds import (
    SHOP,
    binding,
    cluster_set,
    progressive,
    replica_set,
    report_of,
    settings_map,
)
from tests.dialects.ocm.worlds import cluster as worlds_cluster
from tests.dialects.ocm.worlds import placement as worlds_placement
from tests.pages.run import missing_piece as missing
from tests.pages.run import told
from tests.shell.fleet import ROOT, Clock, decided_fleet, new_passes, run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

UNHEARD = configuration(delivery=FOLDERS, feedback={"assumeAfterSeconds": None})


def files(*bodies: Body) -> dict[str, str]:
    """Each object in a file of its own."""
    return {path_of(body): text(body) for body in bodies}


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("warm", [True, False], ids=["one-process", "always-a-new-one"])
def test_it_stays_and_is_proven(tmp_path: Path, limit: int, warm: bool) -> None:  # noqa: FBT001  # a table
    """By one process or by many, and `verify` finds every commit of a fresh clone right."""
    inputs = files(member("a"), member("b"), limited(limit, "a", "b"), deployment(), configmap())
    fleet = new_checkout(tmp_path / "fleet", {**inputs, **files(UNHEARD)})
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    passes.run()
    first = (fleet.folder / "delivery/b/default/configmaps/settings.yaml").read_bytes()
    fleet.git("rm", "-q", path_of(configmap()))
    fleet.git("commit", "-qm", "Drop the settings")
    for number in range(limit + 2):
        clock.moment = NOW + timedelta(seconds=10 * (number + 1))
        _ = passes.run() if warm else run_pass(fleet.folder, 10 * (number + 1))
        fleet.commit(files(deployment(labels={"tier": str(number)})), f"Edit {number}")
    clone = tmp_path / "clone"
    fleet.git("clone", "-q", str(fleet.folder), str(clone))

    assert not any("web-0-snapshot" in path for path in fleet.git("ls-files").splitlines())
    assert first == (clone / "delivery/b/default/configmaps/settings.yaml").read_bytes()
    assert 0 == run(["-C", str(clone), "verify"])


FAILOVER_CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec:
  feedback: {assumeAfterSeconds: null}
  delivery: {folders: {}}
  karmada: {failover: {statePreservation: true}}
"""
FAILOVER_PLACEMENT = groups(["member1"], ["backup1"])
OLD, NEW = (f"feedback/{name}/tally.yaml" for name in ("member1", "backup1"))

FLINK: Body = {"apiVersion": "flink.apache.org/v1beta1"}
JOB: Body = {
    **FLINK,
    "kind": "FlinkDeployment",
    "metadata": metadata("tally", "default"),
    "spec": {"flinkVersion": "v1_20", "job": {"parallelism": 1}},
}
TAKE_ALONG: Body = {
    "aliasLabelName": "example.org/continues",
    "jsonPath": "{.jobStatus.jobId}",
}


def failing(purge_mode: str, **more: object) -> dict[str, Any]:
    """Failover of an application that is unhealthy for more than a minute."""
    conditions = {"tolerationSeconds": 60}
    application = {"decisionConditions": conditions, "purgeMode": purge_mode, **more}
    return {"failover": {"application": application}, "propagateDeps": True}


def says(name: str, workload: Body, health: str, status: Body) -> Mapping[str, str]:
    """What the agent of a cluster says of its copy."""
    return {f"feedback/{name}/tally.yaml": text(work(name, workload, health, status=status))}


def runs(name: str, job: str, health: str = "Healthy") -> Mapping[str, str]:
    """What it says of the job."""
    return says(name, JOB, health, {"jobStatus": {"jobId": job, "state": "RUNNING"}})


def ready(name: str, health: str) -> Mapping[str, str]:
    """What it says of a Deployment."""
    return says(name, deployment("tally"), health, {"replicas": 2, "updatedReplicas": 2})


def two_clusters(workload: Body, **spec: Any) -> Mapping[str, str]:
    """Two clusters, and a workload that is on the first of them as long as it can be."""
    meant = [selector(str(workload["kind"]), name="tally", apiVersion=workload["apiVersion"])]
    bodies = policy("tally", selectors=meant, placement=FAILOVER_PLACEMENT, **spec)
    clusters = cluster("member1"), cluster("backup1")
    return {**files_of(*clusters, workload, bodies), "reconciler.yaml": FAILOVER_CONFIGURATION}


DIRECTLY = DeliveryStory(
    name="failover directly",
    column="the folders that have the job, with the job that it continues",
    files=two_clusters(JOB, **failing("Directly", statePreservation={"rules": [TAKE_ALONG]})),
    clusters=("member1", "backup1"),
    path="default/flinkdeployments.flink.apache.org/tally.yaml",
    fact=r"""(?s)\A.*?(?:\n    example\.org/continues: "?(\w+)"?|\Z)""",
    steps=(
        Step("the job is merged", 0, {}, "member1: none"),
        Step(
            "member1 reports that it runs, as job 7f3a",
            60,
            runs("member1", "7f3a"),
            "member1: none",
        ),
        Step(
            "member1 reports it unhealthy; that is tolerated for a minute",
            120,
            runs("member1", "7f3a", "Unhealthy"),
            "member1: none",
        ),
        Step("the minute is over: its copy on member1 goes at once", 181, {}, "nowhere"),
        Step(
            "member1 reports no copy any more: backup1 gets one",
            200,
            {},
            "backup1: 7f3a",
            gone=[OLD],
        ),
        Step(
            "backup1 reports that it runs: the eviction ends, and with it the label",
            260,
            runs("backup1", "c05e"),
            "backup1: none",
        ),
        Step(
            "a rebalancer is merged",
            320,
            files_of(
                rebalancer(
                    "back", {**target("FlinkDeployment", "tally"), "apiVersion": JOB["apiVersion"]}
                )
            ),
            "member1: none",
        ),
    ),
)
REPLICAS = r"^  replicas: (\d+)$"
DEPLOYMENT = "default/deployments.apps/tally.yaml"
GRACEFULLY = DeliveryStory(
    name="failover gracefully",
    column="the folders that have it, with its replicas",
    files=two_clusters(deployment("tally"), **failing("Gracefully", gracePeriodSeconds=120)),
    clusters=("member1", "backup1"),
    path=DEPLOYMENT,
    fact=REPLICAS,
    steps=(
        Step("it is merged", 0, {}, "member1: 2"),
        Step("member1 reports it unhealthy", 60, ready("member1", "Unhealthy"), "member1: 2"),
        Step("a minute is over: backup1 gets a copy", 121, {}, "member1: 2, backup1: 2"),
        Step("backup1 does not report yet", 241, {}, "member1: 2, backup1: 2"),
        Step("`gracePeriodSeconds`, 120 here, are over", 242, {}, "backup1: 2"),
    ),
)
BINDING = "status/resourcebindings.work.karmada.io/default/tally-deployment.yaml"
NEVER = DeliveryStory(
    name="failover never",
    column="the folders that have it, with its replicas",
    files=two_clusters(deployment("tally"), **failing("Never")),
    clusters=("member1", "backup1"),
    path=DEPLOYMENT,
    fact=REPLICAS,
    steps=(
        Step("it is merged", 0, {}, "member1: 2"),
        Step("member1 reports it unhealthy", 60, ready("member1", "Unhealthy"), "member1: 2"),
        Step("a minute is over: backup1 gets a copy", 121, {}, "member1: 2, backup1: 2"),
        Step(
            "backup1 reports that it runs",
            180,
            ready("backup1", "Healthy"),
            "member1: 2, backup1: 2",
        ),
        Step("an hour later", 3780, {}, "member1: 2, backup1: 2"),
        Step(
            "a person commits `suppressDeletion: false` in its binding",
            3840,
            {},
            "backup1: 2",
            edit=(BINDING, "suppressDeletion: true", "suppressDeletion: false"),
        ),
    ),
)


NAMES = ("east", "west")
TAINT: Body = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}
NEAR: Body = {
    "affinity": {
        "clusterAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "preference": {"labelSelector": {"matchLabels": EAST}}}
            ]
        }
    }
}
SURGE: Body = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1, "unavailablePeriodSeconds": 1}}


def demand(name: str) -> dict[str, str]:
    """A rebalancer of the placement."""
    wanted = {"apiVersion": f"{GROUP}/v1beta1", "kind": PLACEMENT, "name": "web"}
    return files_of(rebalancer(name, wanted))


def reported_healthy(name: str) -> dict[str, str]:
    """What a cluster says once web runs."""
    return {f"feedback/{name}/web.yaml": healthy("web")}


KUBEFLEET = DeliveryStory(
    name="kubefleet",
    column="the folders that have web, with its replicas",
    files={
        "reconciler.yaml": CONFIGURATION,
        **files_of(
            member("east", labels=EAST),
            member("west"),
            placement(pick(1, **NEAR), strategy=SURGE),
            deployment(replicas=2),
        ),
    },
    clusters=NAMES,
    path="default/deployments.apps/web.yaml",
    fact=r"^  replicas: (\d+)$",
    steps=(
        Step("the placement is merged", 0, {}, "east: 2"),
        Step("east reports that it runs", 60, reported_healthy("east"), "east: 2"),
        Step(
            "east gets a taint; that moves nothing",
            120,
            files_of(member("east", labels=EAST, taints=[TAINT])),
            "east: 2",
        ),
        Step("a rebalancer is merged", 180, demand("away"), "east: 2, west: 2"),
        Step("west reports that it runs: east is left", 240, reported_healthy("west"), "west: 2"),
        Step(
            "east is back; that moves nothing",
            300,
            files_of(member("east", labels=EAST)),
            "west: 2",
        ),
        Step("a rebalancer is merged", 360, demand("back"), "east: 2"),
    ),
)


OCM_NAMES = ("east", "north", "west")
OCM_TAINT: Body = {"key": "maintenance", "effect": "NoSelect"}


def wanted(version: str) -> Body:
    """The set, with one cluster at a time."""
    return replica_set(settings_map(version), strategy=progressive())


def reported_applied(name: str, version: str) -> dict[str, str]:
    """What the agent of a cluster says once it has the ManifestWork of a version."""
    fine = {"Applied": "True", "Available": "True", "Progressing": "False"}
    body = report_of(name, wanted(version), "2026-11-20T12:00:00Z", **fine)
    return {f"feedback/{name}/{SHOP.name}.yaml": text(body)}


REFERENCE = {
    "apiVersion": f"{WORLDS_GROUP}/v1beta1",
    "kind": "Placement",
    "name": "p",
    "namespace": "ns1",
}
OCM = DeliveryStory(
    name="ocm",
    column="the folders that have the settings, with their version",
    files={
        "reconciler.yaml": CONFIGURATION,
        **files_of(
            cluster_set(),
            binding(),
            worlds_placement(numberOfClusters=2),
            *map(worlds_cluster, OCM_NAMES),
        ),
    },
    clusters=OCM_NAMES,
    path="shop/configmaps/settings.yaml",
    fact=r'^  v: "?(\w+)"?$',
    steps=(
        Step(
            "the set is merged: one cluster at a time",
            0,
            files_of(wanted("v1")),
            "east: v1",
        ),
        Step(
            "east reports that it has it", 60, reported_applied("east", "v1"), "east: v1, north: v1"
        ),
        Step(
            "north reports that it has it",
            120,
            reported_applied("north", "v1"),
            "east: v1, north: v1",
        ),
        Step("a new version is merged", 180, files_of(wanted("v2")), "east: v2, north: v1"),
        Step(
            "north gets a taint: the decision moves to west, which waits for its turn",
            240,
            files_of(worlds_cluster("north", OCM_TAINT)),
            "east: v2",
        ),
        Step(
            "east reports that it has it", 300, reported_applied("east", "v2"), "east: v2, west: v2"
        ),
        Step(
            "west reports that it has it, and north is back; that moves nothing",
            360,
            {**reported_applied("west", "v2"), **files_of(worlds_cluster("north"))},
            "east: v2, west: v2",
        ),
        Step(
            "a rebalancer is merged",
            420,
            files_of(rebalancer("back", REFERENCE)),
            "east: v2, north: v2",
        ),
    ),
)


Capsys = pytest.CaptureFixture[str]
STORIES = {story.name: story for story in (KARMADA, DIRECTLY, GRACEFULLY, NEVER, OCM, KUBEFLEET)}
STEPS = [
    pytest.param(name, number, id=f"{name}-{number + 1}-{step.told}")
    for name, story in STORIES.items()
    for number, step in enumerate(story.steps)
]
PAGE = "docs/delivery.md"


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Checkout, list[str]]]:
    """By story: its repository after all steps, and what the folders held after each."""
    found = {}
    for name, story in STORIES.items():
        fleet = story.begin(tmp_path_factory.mktemp(name) / "fleet")
        found[name] = (fleet, list(story.tell(fleet)))
    return found


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_folders_follow_each_step(
    fleets: dict[str, tuple[Checkout, list[str]]], name: str, number: int
) -> None:
    """A cluster that is left keeps its copy until the next one is healthy."""
    assert STORIES[name].steps[number].where == fleets[name][1][number]


@pytest.mark.parametrize("name", STORIES)
def test_the_page_tells_the_story_as_it_went(
    fleets: dict[str, tuple[Checkout, list[str]]], name: str
) -> None:
    """docs/delivery.md has a row for each step."""
    story = STORIES[name]
    rows = zip(story.steps, fleets[name][1], strict=True)

    assert [
        f"| step | {story.column} |",
        "| --- | --- |",
        *(f"| {step.told} | {where} |" for step, where in rows),
    ] == table(story)


def table(story: DeliveryStory) -> list[str]:
    """The lines of the table that the page has of a story."""
    page = (ROOT / PAGE).read_text()
    found = re.search(rf"<!-- story of {story.name} -->\n(.*?)\n\n", page, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


@pytest.mark.parametrize("name", STORIES)
def test_every_step_is_proven(
    fleets: dict[str, tuple[Checkout, list[str]]], name: str, capsys: Capsys
) -> None:
    """Delivered files are computed again from decisions; edits of these are told."""
    edited = any(step.edit for step in STORIES[name].steps)

    assert int(edited) == verified(fleets[name][0])
    capsys.readouterr()


def test_a_forged_delivery_is_found(tmp_path: Path, capsys: Capsys) -> None:
    """Though the commit that has it says that a pass made it."""
    fleet = KARMADA.begin(tmp_path / "fleet")
    list(KARMADA.tell(fleet))
    path = f"delivery/member1/{KARMADA.path}"
    forged = (fleet.folder / path).read_text().replace("replicas: 2", "replicas: 3")
    fleet.commit({path: forged}, "Forge")
    fleet.git("reset", "--soft", "-q", "HEAD~2")
    fleet.git("commit", "-q", "-C", "HEAD@{1}~1")

    assert 1 == verified(fleet)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("position", "story"),
    [pytest.param(0, DIRECTLY, id="direct"), pytest.param(1, KARMADA, id="graceful")],
)
def test_the_page_shows_the_tree_while_the_eviction_lasts(
    position: int, story: DeliveryStory, tmp_path: Path, capsys: Capsys
) -> None:
    """To the letter."""
    fleet = story.begin(tmp_path / "fleet")
    list(story.tell(fleet, 4))
    words, pieces = told(PAGE)[position]

    assert "" == missing(pieces, answer(fleet, capsys, *words.split())[1])


def verified(fleet: Checkout) -> int:
    """The exit code of `verify`."""
    return run(["-C", str(fleet.folder), "--cache-dir", "off", "verify"])


WORKS_CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec:
  feedback: {assumeAfterSeconds: null}
  delivery: {works: {hubsWithoutControllers: true}}
"""
TALLY_BINDING = "resourcebindings.work.karmada.io/default/shop-deployment"
CLUSTERS = ("member1", "member2", "backup1")
WORK_STEPS = ((60, "member1 reports"), (121, "member1 fails"), (181, ""), (240, "backup1 reports"))


@dataclass(frozen=True)
class Stage:
    """What is so after a step.

    Attributes:
        delivered: The clusters that have a Work of the shop.
        aggregated: Cluster to the health that its binding knows.
        applied: Status and reason of FullyApplied.
    """

    delivered: tuple[str, ...]
    aggregated: dict[str, str]
    applied: tuple[str, str]


def body_of(fleet: Checkout, path: str) -> Body:
    """What a file holds."""
    return read((fleet.folder / path).read_bytes(), path).documents[0].body


def works(fleet: Checkout, cluster: str) -> list[str]:
    """The files of the Works of the shop that a cluster has."""
    found = (fleet.folder / "works" / cluster / TALLY_BINDING).glob("*.yaml")
    return sorted(path.relative_to(fleet.folder).as_posix() for path in found)


def reported(fleet: Checkout, cluster: str) -> dict[str, str]:
    """What kubectl exports of the Work of the shop once it runs in a cluster."""
    work = body_of(fleet, works(fleet, cluster)[0])
    spec = work["spec"]
    assert isinstance(spec, dict)
    replicas = spec["workload"]["manifests"][0]["spec"]["replicas"]
    identifier = {
        "ordinal": 0,
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "resource": "deployments",
        "namespace": "default",
        "name": "shop",
    }
    applied = {
        "type": "Applied",
        "status": "True",
        "reason": "AppliedSuccessful",
        "message": "Manifest has been successfully applied",
        "lastTransitionTime": "2026-11-20T12:00:30Z",
    }
    runs = {"replicas": replicas, "availableReplicas": replicas}
    manifest = {"identifier": identifier, "status": runs, "health": "Healthy"}
    status = {"conditions": [applied], "manifestStatuses": [manifest]}
    name = f"feedback/{cluster}/{execution_namespace(cluster)}/shop-work.yaml"
    return {name: text({**work, "status": status})}


def stage(fleet: Checkout) -> Stage:
    """How far the shop is."""
    status = body_of(fleet, f"status/{TALLY_BINDING}.yaml")["status"]
    assert isinstance(status, dict)
    conditions = {one["type"]: one for one in status["conditions"]}
    applied = conditions["FullyApplied"]
    return Stage(
        delivered=tuple(name for name in CLUSTERS if works(fleet, name)),
        aggregated={
            one["clusterName"]: one["health"] for one in status.get("aggregatedStatus", [])
        },
        applied=(applied["status"], applied["reason"]),
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, list[Stage]]:
    """A fleet in which member1 fails and the shop goes on elsewhere, and each stage of it."""
    files = {"reconciler.yaml": WORKS_CONFIGURATION, "policies/shop.yaml": TOLERANT}
    checkout = decided_fleet(tmp_path_factory.mktemp("works") / "fleet", files)
    stages = [stage(checkout)]
    for seconds, event in WORK_STEPS:
        match event.split():
            case [cluster, "reports"]:
                checkout.commit(reported(checkout, cluster), event)
            case [cluster, "fails"]:
                checkout.commit({f"clusters/{cluster}.yaml": DOWN}, event)
        run_pass(checkout.folder, seconds)
        stages.append(stage(checkout))
    return checkout, stages


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0, Stage(("member1",), {}, ("False", "AwaitingFeedback")), id="placed"),
        pytest.param(
            1,
            Stage(("member1",), {"member1": "Healthy"}, ("True", "FullyAppliedSuccess")),
            id="reported",
        ),
        pytest.param(
            2,
            Stage(("member1",), {"member1": "Healthy"}, ("True", "FullyAppliedSuccess")),
            id="tolerated",
        ),
        pytest.param(
            3,
            Stage(("member1", "backup1"), {}, ("False", "AwaitingFeedback")),
            id="evicted-gracefully",
        ),
        pytest.param(
            4,
            Stage(("backup1",), {"backup1": "Healthy"}, ("True", "FullyAppliedSuccess")),
            id="healthy-elsewhere",
        ),
    ],
)
def test_works_that_come_back_end_an_eviction(
    fleet: tuple[Checkout, list[Stage]], number: int, expected: Stage
) -> None:
    """The old cluster keeps its Work until that of the new one is reported as healthy."""
    assert expected == fleet[1][number]


def test_passes_over_reported_works_are_proven(
    fleet: tuple[Checkout, list[Stage]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What was decided on their word is computed again."""
    assert 0 == verified(fleet[0])
    capsys.readouterr()
