"""Staged update runs for tests: the dullest defaults."""

from collections.abc import Mapping, Sequence
from typing import cast

from tests.builders import Body, deployment, metadata
from tests.dialects.kubefleet.fleet import GROUP, files, member, placement
from tests.stories import Story, story

EXTERNAL: Body = {"type": "External"}
RUN = "ClusterStagedUpdateRun"
REQUEST = "ClusterApprovalRequest"
APPROVAL: Body = {"type": "Approval"}


def waits(time: str) -> Body:
    """A task that waits."""
    return {"type": "TimedWait", "waitTime": time}


def stage(name: str, **more: object) -> Body:
    """A stage of the clusters that have its name in the label `stage`."""
    return {"name": name, "labelSelector": {"matchLabels": {"stage": name}}, **more}


def strategy(*stages: Body, name: str = "careful") -> Body:
    """A strategy."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ClusterStagedUpdateStrategy",
        "metadata": metadata(name),
        "spec": {"stages": list(stages)},
    }


def run(state: str = "Run", *, name: str = "first", **spec: object) -> Body:
    """A run of web."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": RUN,
        "metadata": metadata(name),
        "spec": {
            "placementName": "web",
            "stagedRolloutStrategyName": "careful",
            "state": state,
            **spec,
        },
    }


def staged(*stages: Body, **clusters: str) -> Story:
    """A repository with a placement that waits for runs; clusters with their stages."""
    members = [member(name, labels={"stage": where}) for name, where in clusters.items()]
    return story(*members, placement(strategy=EXTERNAL), deployment(), strategy(*stages))


def status(told: Story, name: str = "first") -> Mapping[str, object]:
    """The status of a run."""
    path = f"status/clusterstagedupdateruns.{GROUP}/{name}.yaml"
    return cast(Mapping[str, object], told.output(path)["status"])


def uid(told: Story, name: str = "first") -> str:
    """The uid of a run."""
    body = told.output(f"status/clusterstagedupdateruns.{GROUP}/{name}.yaml")
    return str(cast(Body, body["metadata"])["uid"])


def conditions(told: Story, name: str = "first") -> dict[str, tuple[str, str]]:
    """Type to status and reason of the conditions of a run."""
    found = cast(Sequence[Mapping[str, str]], status(told, name)["conditions"])
    return {one["type"]: (one["status"], one["reason"]) for one in found}


def requests(told: Story) -> dict[str, list[str]]:
    """Name of each request to the types of its conditions."""
    found: dict[str, list[str]] = {}
    for body in files(told, "clusterapprovalrequests"):
        told_of = cast(Sequence[Mapping[str, str]], cast(Body, body["status"])["conditions"])
        found[str(cast(Body, body["metadata"])["name"])] = [one["type"] for one in told_of]
    return found


def approval(told: Story, request: str, where: str, *, of: str = "", generation: int = 1) -> Body:
    """What a person merges to approve a request; `of` is the uid of the run that it names."""
    owner = {"apiVersion": f"{GROUP}/v1beta1", "kind": RUN, "name": "first"}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": REQUEST,
        "metadata": {
            **metadata(request),
            "ownerReferences": [{**owner, "uid": of or uid(told)}],
        },
        "spec": {"parentStageRollout": "first", "targetStage": where},
        "status": {
            "conditions": [
                {
                    "type": "Approved",
                    "status": "True",
                    "reason": "Approved",
                    "message": "looks good",
                    "observedGeneration": generation,
                    "lastTransitionTime": "2026-11-20T12:00:00Z",
                }
            ]
        },
    }
