"""What is taken of a hub if nobody names types: what its policies and decisions name."""

import pytest

from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.imports.hubs import live, workload
from tests.imports.imported import import_into, propagated
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.ocm_hub import ocm_hub

RBAC = "rbac.authorization.k8s.io/v1"
NOT_NAMED = "no policy, placement or decision names its kind; --workloads takes it"
BUILT_IN = "every API server has it by itself"
RESERVED = "its namespace is the control plane's own"


def config_map(name: str, namespace: str = "default") -> Body:
    """Return a ConfigMap."""
    return live("v1", "ConfigMap", name, namespace=namespace, data={"a": "1"})


def namespace(name: str) -> Body:
    """Return a Namespace."""
    return live("v1", "Namespace", name, spec={"finalizers": ["kubernetes"]})


def with_policy(spec: Body) -> list[Body]:
    """Return a hub of Karmada whose policy says something else, too."""
    return [
        {**one, "spec": {**mapping(one, "spec"), **spec}}
        if one["kind"] == "PropagationPolicy"
        else one
        for one in karmada_hub(1)
    ]


def became(hub: list[Body], *others: Body) -> dict[str, str]:
    """Return what becomes of objects beside those of a hub: its file, or why it has none."""
    keys = {(one["kind"], mapping(one, "metadata")["name"]) for one in others}
    plan = import_into({}, [*hub, *others], propagated([*hub, *others]))
    return {
        one.key.name: one.path or one.why
        for one in plan.objects
        if (one.key.kind, one.key.name) in keys
    }


SELECTS_ROLES = with_policy({"resourceSelectors": [{"apiVersion": RBAC, "kind": "ClusterRole"}]})


@pytest.mark.parametrize(
    ("hub", "other", "expected"),
    [
        pytest.param(
            karmada_hub(1),
            workload("other", 1),
            "workloads/default/other-deployment.yaml",
            id="of-the-kind-of-a-policy",
        ),
        pytest.param(
            SELECTS_ROLES,
            live(RBAC, "ClusterRole", "reader"),
            "workloads/reader-clusterrole.yaml",
            id="cluster-scoped",
        ),
        pytest.param(
            SELECTS_ROLES,
            workload("other", 1),
            "workloads/default/other-deployment.yaml",
            id="of-the-kind-of-a-binding",
        ),
        pytest.param(SELECTS_ROLES, live(RBAC, "ClusterRole", "system:node"), BUILT_IN, id="role"),
        pytest.param(karmada_hub(1), config_map("settings"), NOT_NAMED, id="of-no-named-kind"),
        pytest.param(karmada_hub(1), namespace("shop"), NOT_NAMED, id="namespace-of-nothing"),
        pytest.param(karmada_hub(1), namespace("karmada-es-member1"), RESERVED, id="execution"),
        pytest.param(karmada_hub(1), namespace("kube-system"), BUILT_IN, id="kube-system"),
        pytest.param(
            kubefleet_hub(1),
            namespace("shop"),
            "workloads/shop-namespace.yaml",
            id="of-the-kind-of-a-placement",
        ),
        pytest.param(kubefleet_hub(1), namespace("fleet-member-member1"), RESERVED, id="member"),
        pytest.param(
            kubefleet_hub(1),
            workload("other", 1),
            "workloads/default/other-deployment.yaml",
            id="of-a-kind-in-a-snapshot",
        ),
        pytest.param(
            karmada_hub(1),
            {**workload("other", 1), "metadata": {"name": "other", "namespace": "fleet-shop"}},
            "workloads/fleet-shop/other-deployment.yaml",
            id="reserved-by-another-api",
        ),
        pytest.param(ocm_hub(1), workload("other", 1), NOT_NAMED, id="beside-placements-of-ocm"),
    ],
)
def test_what_becomes_of_an_object_beside_a_hub(
    hub: list[Body], other: Body, expected: str
) -> None:
    """Its file, or why it has none."""
    assert [expected] == list(became(hub, other).values())


def test_what_every_server_has_is_left_out_of_the_kinds_that_are_taken() -> None:
    """Each namespace has its own of these."""
    hub = with_policy({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]})
    found = became(hub, config_map("kube-root-ca.crt"), config_map("settings"))

    assert {
        "kube-root-ca.crt": BUILT_IN,
        "settings": "workloads/default/settings-configmap.yaml",
    } == found


def test_what_is_taken_brings_its_namespace() -> None:
    """Others stay on the hub."""
    shop = {**workload("other", 1), "metadata": {"name": "other", "namespace": "shop"}}
    found = became(karmada_hub(1), shop, namespace("shop"), namespace("pay"))

    assert ("workloads/shop-namespace.yaml", NOT_NAMED) == (found["shop"], found["pay"])


def test_a_policy_brings_its_priority_class() -> None:
    """Without it the policy could not be applied."""
    named = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "urgent"}
    classes = (
        live("scheduling.k8s.io/v1", "PriorityClass", name, value=7) for name in ("urgent", "slow")
    )
    found = became(with_policy({"schedulePriority": named}), *classes)

    assert {"urgent": "workloads/urgent-priorityclass.yaml", "slow": NOT_NAMED} == found


def test_what_a_placement_selected_is_taken_though_no_snapshot_holds_it() -> None:
    """Its status lists that."""
    *clusters, _ = kubefleet_hub(0)
    placement = live(
        "placement.kubernetes-fleet.io/v1beta1",
        "ClusterResourcePlacement",
        "roles",
        spec={"resourceSelectors": [{"group": "", "kind": "Namespace", "version": "v1"}]},
        status={"selectedResources": [{"group": "batch", "version": "v1", "kind": "CronJob"}]},
    )
    job = live("batch/v1", "CronJob", "nightly", namespace="default", spec={})

    assert ["workloads/default/nightly-cronjob.yaml"] == list(
        became([*clusters, placement], job).values()
    )


def test_a_placement_brings_its_envelopes() -> None:
    """They are content, though of an API that is read here."""
    envelope = live(
        "placement.kubernetes-fleet.io/v1beta1",
        "ResourceEnvelope",
        "settings",
        namespace="default",
        data={"a.yaml": config_map("settings")},
    )

    assert {"settings": "workloads/default/settings.yaml"} == became(kubefleet_hub(1), envelope)


def test_a_secret_in_plain_is_refused_wherever_it_stands() -> None:
    """Here in a set of ManifestWorks, which becomes a file otherwise."""
    named = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    secret = {**named, "data": {"a": "YQ=="}}
    carrier = live(
        "work.open-cluster-management.io/v1alpha1",
        "ManifestWorkReplicaSet",
        "shop",
        namespace="default",
        spec={
            "placementRefs": [{"name": "apps-0000"}],
            "manifestWorkTemplate": {"workload": {"manifests": [secret]}},
        },
    )

    assert {"shop": "a Secret in plain must not come into Git; encrypt it first"} == became(
        ocm_hub(1), carrier
    )
