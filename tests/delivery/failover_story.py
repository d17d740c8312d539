"""Karmada: an application fails over; how its old copy goes, and what its new copy gets of it."""

from collections.abc import Mapping
from typing import Any

from tests.builders import (
    Body,
    cluster,
    deployment,
    groups,
    metadata,
    policy,
    rebalancer,
    selector,
    target,
    text,
)
from tests.delivery.story import DeliveryStory, Step, files_of
from tests.dialects.karmada.test_work_reports import work

CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec:
  feedback: {assumeAfterSeconds: null}
  delivery: {folders: {}}
  karmada: {failover: {statePreservation: true}}
"""
PLACEMENT = groups(["member1"], ["backup1"])
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


def fleet(workload: Body, **spec: Any) -> Mapping[str, str]:
    """Two clusters, and a workload that is on the first of them as long as it can be."""
    meant = [selector(str(workload["kind"]), name="tally", apiVersion=workload["apiVersion"])]
    bodies = policy("tally", selectors=meant, placement=PLACEMENT, **spec)
    clusters = cluster("member1"), cluster("backup1")
    return {**files_of(*clusters, workload, bodies), "reconciler.yaml": CONFIGURATION}


DIRECTLY = DeliveryStory(
    name="failover directly",
    column="the folders that have the job, with the job that it continues",
    files=fleet(JOB, **failing("Directly", statePreservation={"rules": [TAKE_ALONG]})),
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
    files=fleet(deployment("tally"), **failing("Gracefully", gracePeriodSeconds=120)),
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
    files=fleet(deployment("tally"), **failing("Never")),
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
