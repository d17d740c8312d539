"""What a placement selects, what is stripped of it, and what never leaves its cluster."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.dialects import KINDS
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import strip
from reconciler.dialects.kubefleet.snapshots.selection import select_resources
from reconciler.errors import UserError
from tests.builders import Body, configmap, deployment, metadata
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, pick, placement, targets
from tests.stories import Story, story, world

NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace"}
DEFAULT = {**NAMESPACE, "name": "default"}
CHOSEN = {**DEFAULT, "selectionScope": "NamespaceWithResourceSelectors"}
DEPLOYMENTS = {"group": "apps", "version": "v1", "kind": "Deployment"}


def an(
    kind: str, name: str, *, api: str = "v1", namespace: str = "default", **more: object
) -> Body:
    """Any object."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": metadata(name, namespace="default"),
        **more,
    }


def namespace(name: str, **labels: str) -> Body:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, labels=labels)}


def selected(*bodies: Body, by: list[Body]) -> list[str]:
    """Kind and name of what is selected, in order."""
    found = select_resources(by, world(*bodies).inputs, {}, KINDS)
    metadatas = [(i.entry["kind"], i.entry["metadata"]) for i in found.resources]
    return [f"{kind} {item['name']}" for kind, item in metadatas]  # type: ignore[index]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param([DEFAULT], ["Namespace default", "ConfigMap settings", "Deployment web"]),
        pytest.param([{**DEFAULT, "selectionScope": "NamespaceOnly"}], ["Namespace default"]),
        pytest.param([CHOSEN, DEPLOYMENTS], ["Namespace default", "Deployment web"]),
        pytest.param(
            [{**NAMESPACE, "labelSelector": {"matchLabels": {"team": "a"}}}],
            ["Namespace other", "Deployment api"],
        ),
        pytest.param([{**DEPLOYMENTS, "name": "nothing"}], []),
    ],
)
def test_selectors(selectors: list[Body], expected: list[str]) -> None:
    """A namespace comes with its content, by itself, or with what other selectors name."""
    bodies = (
        namespace("default"),
        namespace("other", team="a"),
        deployment(),
        configmap(),
        deployment("api", namespace="other"),
    )

    assert expected == selected(*bodies, by=selectors)


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        pytest.param([DEFAULT, DEFAULT], "must be selected once", id="twice"),
        pytest.param([DEPLOYMENTS], "its namespace must be selected", id="without namespace"),
        pytest.param([{**NAMESPACE, "name": "kube-system"}], "reserved", id="of Kubernetes"),
        pytest.param([{**NAMESPACE, "name": "fleet-system"}], "reserved", id="of the fleet"),
        pytest.param(
            [{**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors"}],
            "there are 2",
            id="two namespaces",
        ),
        pytest.param(
            [{**CHOSEN, "name": "missing"}, DEPLOYMENTS],
            'the namespace "missing" must be in the repository',
            id="that is not there",
        ),
        pytest.param(
            [{**CHOSEN, "name": "going"}, DEPLOYMENTS], "and not be deleted", id="that goes"
        ),
    ],
)
def test_refused_selections(selectors: list[Body], message: str) -> None:
    """They are faults of the placement."""
    goes = {"name": "going", "deletionTimestamp": "2026-11-20T11:00:00Z"}
    going = {**namespace("going"), "metadata": goes}
    with pytest.raises(UserError, match=message):
        selected(namespace("default"), namespace("other"), going, deployment(), by=selectors)


def test_content_of_the_default_namespace_may_be_chosen_without_it() -> None:
    """Every cluster has it."""
    assert ["Deployment web"] == selected(deployment(), configmap(), by=[CHOSEN, DEPLOYMENTS])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(an("Pod", "p"), id="pod"),
        pytest.param(an("Event", "e", api="events.k8s.io/v1"), id="event"),
        pytest.param(an("Lease", "l", api="coordination.k8s.io/v1"), id="lease"),
        pytest.param(an("ConfigMap", "kube-root-ca.crt"), id="root-certificate"),
        pytest.param(an("ServiceAccount", "default"), id="default-account"),
        pytest.param(an("Secret", "s", type="kubernetes.io/service-account-token"), id="token"),
        pytest.param(an("Endpoints", "svc"), id="endpoints-of-a-service"),
    ],
)
def test_what_a_cluster_makes_itself_stays_there(body: Body) -> None:
    """It is neither selected nor a fault."""
    found = selected(an("Service", "svc"), body, by=[DEFAULT])

    assert ["Service svc"] == found


def test_envelopes_are_selected_and_counted() -> None:
    """They are the only objects of the scheduling APIs that are."""
    body = an("ResourceEnvelope", "e", api="placement.kubernetes-fleet.io/v1beta1", data={})
    found = select_resources([DEFAULT], world(body, member("a"), placement()).inputs, {}, KINDS)

    assert (1, ["ResourceEnvelope"]) == (
        found.envelopes,
        [item.entry["kind"] for item in found.resources],
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            an("Service", "s", spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}),
            {},
            id="address",
        ),
        pytest.param(
            an("Service", "s", spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            {"clusterIP": "None", "clusterIPs": ["None"]},
            id="headless",
        ),
        pytest.param(
            an(
                "Service",
                "s",
                spec={"healthCheckNodePort": 1, "ports": [{"nodePort": 2}]},
            ),
            {"ports": [{}]},
            id="ports",
        ),
        pytest.param(
            an(
                "Job",
                "j",
                api="batch/v1",
                spec={"selector": {"matchLabels": {"controller-uid": "1", "a": "b"}}},
            ),
            {"selector": {"matchLabels": {"a": "b"}}},
            id="job",
        ),
        pytest.param(
            an(
                "Job",
                "j",
                api="batch/v1",
                spec={"manualSelector": True, "selector": {"matchLabels": {"controller-uid": "1"}}},
            ),
            {"manualSelector": True, "selector": {"matchLabels": {"controller-uid": "1"}}},
            id="job-selected-by-hand",
        ),
    ],
)
def test_stripped_specs(body: Body, expected: Body) -> None:
    """What the cluster gave is left out."""
    assert expected == strip(body)["spec"]


def test_stripped_metadata() -> None:
    """Identity, labels and annotations of people stay."""
    given: Mapping[str, object] = {
        "name": "a",
        "uid": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"deployment.kubernetes.io/revision": "1"},
        "finalizers": ["x"],
    }

    assert {"kind": "A", "metadata": {"name": "a", "finalizers": ["x"]}} == strip(
        {"kind": "A", "metadata": given, "status": {}}
    )


def test_a_reserved_namespace_is_a_fault_of_its_placement() -> None:
    """Others go on."""
    body = placement(name="system")
    told = story(member("a"), placement(), deployment())
    told.put({**body, "spec": {"resourceSelectors": [{**NAMESPACE, "name": "kube-system"}]}})
    outcome = told.run(0)

    assert ["/spec/resourceSelectors"] == [fault.field for fault in outcome.faults]
    assert ["web"] == [decision.subject for decision in outcome.decisions]


def scheduled(told: Story, name: str = "web") -> tuple[object, object]:
    """Reason and message of the condition Scheduled of a placement."""
    status = cast(Body, told.output(f"status/{PLACEMENT.lower()}s.{GROUP}/{name}.yaml")["status"])
    conditions = cast(Sequence[Body], status["conditions"])
    found = next(one for one in conditions if one["type"] == f"{PLACEMENT}Scheduled")
    return found["reason"], found["message"]


def selecting(*selectors: Body) -> Body:
    """The placement `web` with these selectors."""
    return {**placement(pick(1)), "spec": {"policy": pick(1), "resourceSelectors": list(selectors)}}


def test_refused_selectors_are_told_in_the_status_and_make_no_snapshot() -> None:
    """As upstream does; whoever mends them gets the decision in the next pass."""
    told = story(member("a"), deployment()).put(selecting(DEFAULT, DEFAULT))
    outcome = told.run(0)

    assert ["kubefleet-unexpected"] == [fault.rule for fault in outcome.faults]
    reason, message = scheduled(told)
    assert "InvalidResourceSelectors" == reason
    assert str(message).startswith("The resource selectors are invalid: ")
    assert [] == [path for path in told.outputs if "snapshots" in path or "bindings" in path]

    told.put(selecting(DEFAULT)).run()
    assert "SchedulingPolicyFulfilled" == scheduled(told)[0]


def test_refused_selectors_leave_what_was_decided() -> None:
    """Bindings and snapshots stay, and a further pass has nothing to write."""
    told = story(member("a"), deployment()).put(selecting(DEFAULT))
    told.run(0)
    before = {path: data for path, data in told.outputs.items() if "bindings" in path}

    told.put(selecting(DEFAULT, DEFAULT)).run()

    assert "InvalidResourceSelectors" == scheduled(told)[0]
    assert before == {path: data for path, data in told.outputs.items() if "bindings" in path}
    assert () == told.run().changes


def test_a_namespace_is_selected_by_the_label_of_its_name() -> None:
    """Every API server gives it to every Namespace."""
    wanted = {"matchLabels": {"kubernetes.io/metadata.name": "other"}}
    by: list[Body] = [{**NAMESPACE, "labelSelector": wanted, "selectionScope": "NamespaceOnly"}]

    assert ["Namespace other"] == selected(namespace("other"), namespace("shop"), by=by)


def test_a_cluster_is_meant_by_the_label_of_its_name() -> None:
    """Its hub gives it to every MemberCluster; one that comes later counts at once."""
    wanted = {"matchExpressions": [named_one_of("a", "c")]}
    required = {"clusterSelectorTerms": [{"labelSelector": wanted}]}
    affinity = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    told = story(member("a"), member("b"), configmap())
    told.put(placement({"placementType": "PickAll", "affinity": affinity})).run(0)
    assert ["a"] == targets(told)
    told.put(member("c")).run()

    assert ["a", "c"] == targets(told)


def named_one_of(*names: str) -> Body:
    """A term of clusters by name."""
    return {"key": "kubernetes-fleet.io/member-name", "operator": "In", "values": list(names)}
