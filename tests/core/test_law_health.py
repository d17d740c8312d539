"""A report is healthy only where all that its judge reads is told."""

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.imports.importers import report_of
from reconciler.model.body import Body
from reconciler.model.fields import at, without
from reconciler.model.health import Health, has_health, health_of
from tests.bounded import examples

COUNT = st.integers(0, 3)
GENERATION = st.integers(1, 2)
LONG_STATUS = ("collisionCount", "terminatingReplicas", "fullyLabeledReplicas")


def statuses(*names: str, always: tuple[str, ...] = ()) -> st.SearchStrategy[Body]:
    """Statuses as Kubernetes writes them: what is 0 may be left out, but for some fields."""
    fields = dict.fromkeys((*names, *LONG_STATUS), COUNT)
    return st.fixed_dictionaries(dict.fromkeys(always, COUNT), optional=fields)


REPLICAS = statuses("observedGeneration", "replicas", "updatedReplicas", "availableReplicas")
PARTITIONS = st.one_of(
    st.just({"type": "OnDelete"}),
    st.builds(lambda n: {"type": "RollingUpdate", "rollingUpdate": {"partition": n}}, COUNT),
)
SCALED = st.fixed_dictionaries({"replicas": COUNT, "minReadySeconds": COUNT})
PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Bound", "Lost"])
READY = st.lists(st.sampled_from([{"type": "Ready", "status": s} for s in ("True", "False")]))
BALANCED = st.sampled_from([[], [{}], [{"ip": "10.0.0.1"}], [{"hostname": "a.example.com"}]])
INGRESS = st.builds(lambda entries: {"loadBalancer": {"ingress": entries}}, BALANCED)
LIVE: Mapping[tuple[str, str], tuple[st.SearchStrategy[Body], st.SearchStrategy[Body]]] = {
    ("apps/v1", "Deployment"): (SCALED, REPLICAS),
    ("apps/v1", "StatefulSet"): (
        st.builds(lambda spec, how: {**spec, "updateStrategy": how}, SCALED, PARTITIONS),
        REPLICAS,
    ),
    ("apps/v1", "ReplicaSet"): (SCALED, REPLICAS),
    ("apps/v1", "DaemonSet"): (
        st.just({"revisionHistoryLimit": 10}),
        statuses(
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            always=("desiredNumberScheduled", "currentNumberScheduled"),
        ),
    ),
    ("v1", "Service"): (
        st.builds(
            lambda kind: {"type": kind, "clusterIP": "10.0.0.7"},
            st.sampled_from(["ClusterIP", "LoadBalancer"]),
        ),
        INGRESS,
    ),
    ("networking.k8s.io/v1", "Ingress"): (st.just({"rules": []}), INGRESS),
    ("v1", "PersistentVolumeClaim"): (
        st.just({"volumeName": "v"}),
        st.fixed_dictionaries({}, optional={"phase": PHASES}),
    ),
    ("v1", "Pod"): (
        st.just({"nodeName": "n"}),
        st.fixed_dictionaries({"conditions": READY}, optional={"phase": PHASES}),
    ),
    ("policy/v1", "PodDisruptionBudget"): (
        st.just({"minAvailable": 1}),
        statuses("observedGeneration", always=("currentHealthy", "desiredHealthy")),
    ),
    ("batch/v1", "Job"): (st.just({"parallelism": 1}), statuses("active", "succeeded")),
}
"""Live objects of each kind: a spec, and a status."""


def objects(kind: tuple[str, str]) -> st.SearchStrategy[Body]:
    """Objects of a kind, as an API server answers."""
    spec, status = LIVE[kind]
    metadata = st.fixed_dictionaries(
        {
            "name": st.just("web"),
            "namespace": st.just("default"),
            "uid": st.just("7d3a"),
            "generation": GENERATION,
            "managedFields": st.just([]),
        }
    )
    known = {"apiVersion": st.just(kind[0]), "kind": st.just(kind[1])}
    return st.fixed_dictionaries({**known, "metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize("kind", LIVE, ids=lambda kind: kind[1])
def test_a_live_object_and_its_report_are_judged_alike(kind: tuple[str, str]) -> None:
    """So whatever a judge reads is in the report."""

    @given(objects(kind))
    @settings(max_examples=examples(300))
    def law(body: Body) -> None:
        report = report_of(body)

        assert health_of(body) is health_of(report)
        assert health_of(report) is not Health.UNKNOWN or not has_health(body)
        assert ("7d3a", body["status"]) == (at(report, "metadata").get("uid"), report["status"])

    law()


@pytest.mark.parametrize("kind", LIVE, ids=lambda kind: kind[1])
def test_nothing_is_healthy_by_what_is_missing(kind: tuple[str, str]) -> None:
    """A report that lacks a field may be known to be unhealthy; healthy it was before or is not."""

    @given(objects(kind), st.data())
    @settings(max_examples=examples(300))
    def law(body: Body, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from([one for one in _paths(body) if one[0] != "kind"]))

        if health_of(body) is not Health.HEALTHY:
            assert health_of(without(body, path)) is not Health.HEALTHY or _is_excess(path)

    law()


def _paths(body: Body) -> Iterator[tuple[str, ...]]:
    """Yield the paths of fields of which none is a list."""
    for name, value in body.items():
        yield (name,)
        if isinstance(value, Mapping):
            yield from ((name, *below) for below in _paths(value))


def _is_excess(path: tuple[str, ...]) -> bool:
    """Whether a count is too high for health: of what is updated, but not available, yet."""
    return path[-1] in ("updatedReplicas", "updatedNumberScheduled")
