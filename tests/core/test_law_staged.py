"""Staged deliveries over drawn histories: whatever happens, a cluster has one of two versions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.identity import ClusterName
from reconciler.model.world import World
from reconciler.staging.staged_delivery import (
    CONTENT,
    RunState,
    StagedRecord,
    decode_staged_record,
)
from tests.builders import (
    DYNAMIC,
    Body,
    cluster_status,
    configmap,
    configuration,
    policy,
    taint,
)
from tests.core.test_laws import LAW
from tests.core.test_staged_deliveries import (
    OPTIONS,
    RECORD,
    delivered,
    hear,
    in_stage,
    managed,
    overriding,
    staged_delivery,
    version,
)
from tests.dialects.kubefleet.fleet import APPROVAL, stage, strategy, waits
from tests.dialects.ocm import worlds
from tests.stories import Story, applied, linked, story

pytestmark = pytest.mark.cpu_seconds(120)  # many examples of whole passes

CLUSTERS = ("a", "b", "c", "d")
HAPPENS = (
    "look",
    "look",
    "look",
    "hear",
    "hear",
    "edit",
    "override",
    "scale",
    "move",
    "order",
    "order",
)
STATUS = cluster_status(pods=100)
STRATEGIES: Sequence[Sequence[Body]] = (
    (stage("canary"), stage("prod", maxConcurrency=2)),
    (stage("canary", afterStageTasks=[APPROVAL, waits("1m")]), stage("prod")),
    (stage("canary", beforeStageTasks=[APPROVAL]), stage("prod", maxConcurrency="50%")),
    (stage("prod"),),
)


@dataclass(frozen=True)
class StagedApi:
    """How one API places web, and what a staged delivery selects of it.

    Attributes:
        around: What is there beside clusters and web.
        cluster: A cluster of a stage, and whether what is there must leave it.
        web: Web in a version, with replicas.
        selector: Of the staged delivery.
        placed: The replicas that each cluster is to have, given those that are written.
    """

    around: Sequence[Body]
    cluster: Callable[[str, str, bool], Body]
    web: Callable[[str, int], Body]
    selector: Body
    placed: Callable[[Story, int], Mapping[str, int]]


def _member(name: str, where: str, left: bool) -> Body:  # noqa: FBT001  # of an API
    taints = [taint(effect="NoExecute")] if left else []
    return in_stage(name, where, status=STATUS, **({"taints": taints} if left else {}))


def _managed(name: str, where: str, left: bool) -> Body:  # noqa: FBT001  # of an API
    return managed(name, where, *([{"key": "down", "effect": "NoSelect"}] if left else []))


KARMADA = StagedApi(
    around=(policy(placement={"replicaScheduling": DYNAMIC}),),
    cluster=_member,
    web=lambda image, replicas: version(image, replicas=replicas),
    selector={"kind": "Deployment"},
    placed=lambda told, _: told.placed(),
)
OCM = StagedApi(
    around=(worlds.cluster_set(), worlds.binding(), worlds.placement()),
    cluster=_managed,
    web=lambda image, replicas: worlds.replica_set(version(image, replicas=replicas), configmap()),
    selector={"kind": "ManifestWorkReplicaSet"},
    placed=lambda told, replicas: dict.fromkeys(worlds.templates(told), replicas),
)


@dataclass
class StagedPlay:
    """A repository whose web is staged, and what people and clusters do."""

    chance: Random
    api: StagedApi
    told: Story = field(default_factory=story)
    image: int = 1
    replicas: int = 4
    places: dict[str, str] = field(default_factory=dict)
    orders: list[Body] = field(default_factory=list)
    spec: dict[str, Any] = field(default_factory=dict)
    memo: Memo = field(default_factory=Memo)
    before: World | None = None

    def begin(self) -> None:
        """Web in its first version, on clusters of which some are in a stage."""
        self.told.put(configuration(**OPTIONS), *self.api.around)
        for name in CLUSTERS:
            self.places[name] = self.chance.choice(("canary", "prod", "prod"))
            self.told.put(self.api.cluster(name, self.places[name], False))
        self.spec = {
            "selector": self.api.selector,
            "failureThreshold": self.chance.choice((1, 2)),
            "stageDeadlineSeconds": self.chance.choice((60, 300)),
            "onChange": self.chance.choice(("template", "overrides")),
        }
        self.write()
        self.told.put(strategy(*self.chance.choice(STRATEGIES)))
        self.told.put(staged_delivery(**self.spec))
        self.look()

    def write(self) -> None:
        """The workload as people wrote it last."""
        self.told.put(self.api.web(str(self.image), self.replicas))

    @property
    def record(self) -> StagedRecord:
        """The record, an empty one where there is none."""
        return decode_staged_record(self.told.output(RECORD) if RECORD in self.told.files else {})

    def look(self) -> None:
        """Run a pass, of a process that may have started just now, and hold what it leaves."""
        self.told.now += timedelta(seconds=self.chance.randint(1, 40))
        if self.chance.random() < 0.2:
            self.memo, self.before = Memo(), None
        self.before = linked(self.told.world(), self.before)
        outcome = reconcile(self.before, self.told.now, memo=self.memo)
        assert outcome.changes == reconcile(self.told.world(), self.told.now).changes
        assert not outcome.traces
        assert outcome.recheck_at is None or outcome.recheck_at > self.told.now
        self.told.files = applied(self.told.files, outcome)
        settled = reconcile(self.told.world(), self.told.now)
        assert () == settled.changes
        until = settled.recheck_at or self.told.now + timedelta(days=1)
        before = self.told.now + (until - self.told.now) * self.chance.random()
        assert () == reconcile(self.told.world(), before.replace(microsecond=0)).changes
        self.hold()

    def hold(self) -> None:
        """Hold that each cluster has one of two versions, with its share of now."""
        placed = self.api.placed(self.told, self.replicas)
        for record in (self.record,):
            for key, found in record.objects.items():
                for name in placed:
                    cluster = ClusterName(name)
                    body: Any = delivered(self.told, name)
                    digest = body["metadata"]["annotations"][CONTENT]
                    allowed = {found.version.mark}
                    if cluster in found.before:
                        allowed.add(found.before[cluster].mark)
                    assert digest in allowed
                    assert digest == record.version_on(key, cluster).mark
        for name, count in placed.items():
            body = delivered(self.told, name)
            assert count == body["spec"]["replicas"]
        run = self.record.run
        assert run is None or run.is_over or run.reason

    def go_on(self) -> None:
        """Let one thing happen."""
        name = self.chance.choice(CLUSTERS)
        match self.chance.choice(HAPPENS):
            case "look":
                self.look()
            case "hear" if delivered(self.told, name):
                failure = "ProgressDeadlineExceeded" if self.chance.random() < 0.1 else ""
                hear(self.told, name, ready=self.chance.random() < 0.8, failure=failure)
            case "edit" if self.chance.random() < 0.4:
                self.image = self.chance.choice((self.image + 1, max(1, self.image - 1)))
                self.write()
            case "scale" if self.chance.random() < 0.2:
                self.told.put(strategy(*self.chance.choice(STRATEGIES)))
            case "scale":
                self.replicas = self.chance.randint(2, 6)
                self.write()
            case "override":
                self.told.put(overriding(str(self.chance.randint(1, 2))))
            case "move":
                self.move(name)
            case "order":
                self.order()
            case _:
                pass

    def move(self, name: str) -> None:
        """Evict what is on a cluster, let it return, or put the cluster into another stage."""
        left = self.chance.random() < 0.3 and name != "a"
        if self.chance.random() < 0.3:
            self.places[name] = self.chance.choice(("canary", "prod", "none"))
        self.told.put(self.api.cluster(name, self.places[name], left))

    def order(self) -> None:
        """Order something of the run, or take the staged delivery away, or back."""
        run = self.record.run
        if self.chance.random() < 0.25 and "stageddelivery/web.yaml" in self.told.files:
            del self.told.files["stageddelivery/web.yaml"]
            self.orders = []
            return
        if run is not None:
            action = self.chance.choice(("Approve", "Approve", "Stop", "Resume", "Rollback"))
            approved = {
                "stage": self.chance.choice(("canary", "prod")),
                "task": self.chance.choice(("BeforeStage", "AfterStage")),
            }
            more = approved if action == "Approve" else {}
            self.orders.append({"run": run.id, "generation": 1, "action": action, **more})
        self.told.put(staged_delivery(**self.spec, orders=self.orders))

    def calm(self) -> None:
        """Let everything be as it should, and hold that the run ends."""
        for name in CLUSTERS:
            self.places[name] = "canary" if name == "a" else "prod"
            self.told.put(self.api.cluster(name, self.places[name], False))
        self.told.put(strategy(stage("canary"), stage("prod")), staged_delivery(**self.spec))
        self.image += 100  # no version that was there before
        self.write()
        for _ in range(2 * len(CLUSTERS) + 2):
            self.look()
            for name in self.api.placed(self.told, self.replicas):
                hear(self.told, name)
        self.look()
        run = self.record.run
        assert run is None or run.state is RunState.FINISHED


@pytest.mark.parametrize("api", [pytest.param(KARMADA, id="karmada"), pytest.param(OCM, id="ocm")])
@settings(LAW)
@given(seed=st.integers(0, 2**32))
def test_each_cluster_has_one_of_two_versions(api: StagedApi, seed: int) -> None:
    """With the replicas that were decided; a run ends, or says what it waits for."""
    play = StagedPlay(Random(seed), api)  # noqa: S311  # drawn by hypothesis
    play.begin()
    for _ in range(50):
        play.go_on()
    play.calm()
