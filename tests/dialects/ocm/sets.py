"""Sets of ManifestWorks, and what agents report of their works; for tests."""

from collections.abc import Sequence
from typing import cast

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    KIND,
    TEMPLATE,
    WORKS,
    decode_record,
    template_id,
    work_name,
)
from reconciler.model.identity import ClusterName, ObjectKey
from tests.builders import Body, text, text_of
from tests.dialects.ocm.worlds import binding, cluster, cluster_set, placement
from tests.stories import Story, story

SHOP = ObjectKey(WORKS, KIND, "ns1", "shop")
STATUS = f"status/manifestworkreplicasets.{WORKS}/ns1/shop.yaml"


def settings_map(value: str = "1", name: str = "settings") -> Body:
    """A ConfigMap in the namespace shop."""
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"v": value}}


def replica_set(
    *manifests: Body, strategy: Body | None = None, placements: Sequence[str] = ("p",)
) -> Body:
    """The set shop in the namespace ns1, of one ConfigMap unless others are given."""
    rollout = {} if strategy is None else {"rolloutStrategy": strategy}
    return {
        "apiVersion": f"{WORKS}/v1alpha1",
        "kind": KIND,
        "metadata": {"name": "shop", "namespace": "ns1", "labels": {"team": "web"}},
        "spec": {
            "placementRefs": [{"name": name, **rollout} for name in placements],
            "manifestWorkTemplate": {
                "workload": {"manifests": list(manifests or (settings_map(),))}
            },
        },
    }


def progressive(**fields: object) -> Body:
    """A strategy of so many clusters at a time, one unless it says more."""
    return {"type": "Progressive", "progressive": {"maxConcurrency": 1, **fields}}


def fleet(*names: str) -> Story:
    """Clusters, a placement of all of them in ns1, and nothing else; no pass has run."""
    return story(cluster_set(), binding(), placement(), *map(cluster, names))


def templates(told: Story) -> dict[str, str]:
    """Cluster to the template that it has."""
    return {one.cluster: one.template for one in decode_record(told.output(STATUS)).works}


def condition(told: Story, kind: str) -> tuple[str, str]:
    """Status and reason of a condition of the set as it is at the moment of the story."""
    status = as_of(told.world(), told.now).outputs[SHOP].body["status"]
    assert isinstance(status, dict)
    found = next(one for one in status["conditions"] if one["type"] == kind)
    return found["status"], found["reason"]


def report(told: Story, name: str, **conditions: str) -> Story:
    """Let the agent of a cluster report its work, of the template that it has."""
    body = _report(name, templates(told)[name], text_of(told.now), **conditions)
    told.files[f"feedback/{name}/{_work_of(name)}.yaml"] = text(body)
    return told


def report_of(name: str, wanted: Body, at: str, **conditions: str) -> Body:
    """What the agent of a cluster reports of its work, of the template of a set."""
    template = cast(Body, cast(Body, wanted["spec"])["manifestWorkTemplate"])
    return _report(name, template_id(template), at, **conditions)


def _report(name: str, template: str, at: str, **conditions: str) -> Body:
    return {
        "apiVersion": f"{WORKS}/v1",
        "kind": "ManifestWork",
        "metadata": {
            "name": _work_of(name),
            "namespace": name,
            "generation": 1,
            "annotations": {TEMPLATE: template},
        },
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "reason": "Reported",
                    "message": "",
                    "observedGeneration": 1,
                    "lastTransitionTime": at,
                }
                for kind, status in conditions.items()
            ]
        },
    }


def _work_of(name: str) -> str:
    return work_name(SHOP, "p", ClusterName(name))


def succeed(told: Story, name: str) -> Story:
    """Let the agent of a cluster report that it has what it got."""
    return report(told, name, Applied="True", Available="True", Progressing="False")
