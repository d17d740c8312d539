"""The replicas of a cluster written into a manifest, by the kind."""

import pytest

from reconciler.dialects.karmada.api.workload import BUILT_IN, UPSTREAM_ONLY, CustomKinds
from reconciler.dialects.karmada.binding.replicas import revised
from reconciler.errors import UserError
from tests.builders import Body

CLONE_SET = ("apps.kruise.io/v1alpha1", "CloneSet")
BROADCAST_JOB = ("apps.kruise.io/v1alpha1", "BroadcastJob")
CONTROLLER = ("v1", "ReplicationController")
DEPLOYMENT = ("apps/v1", "Deployment")
PYTORCH_JOB = ("kubeflow.org/v1", "PyTorchJob")


def written(kind: tuple[str, str], spec: object) -> Body:
    """A manifest of a kind with this spec."""
    return {"apiVersion": kind[0], "kind": kind[1], "spec": spec}


@pytest.mark.parametrize(
    ("kind", "spec", "expected", "rows"),
    [
        pytest.param(DEPLOYMENT, {}, {}, BUILT_IN, id="absent-field-of-a-deployment-stays-absent"),
        pytest.param(DEPLOYMENT, {"replicas": 9}, {"replicas": 2}, BUILT_IN, id="deployment"),
        pytest.param(
            CLONE_SET, {}, {"replicas": 2}, BUILT_IN, id="absent-field-of-a-row-is-written"
        ),
        pytest.param(
            CLONE_SET, {"replicas": None}, {"replicas": 2}, BUILT_IN, id="null-of-a-row-is-replaced"
        ),
        pytest.param(
            BROADCAST_JOB,
            {"parallelism": "50%"},
            {"parallelism": 2},
            BUILT_IN,
            id="text-of-a-row-is-replaced",
        ),
        pytest.param(
            PYTORCH_JOB,
            {"pytorchReplicaSpecs": {}},
            {"pytorchReplicaSpecs": {}},
            BUILT_IN,
            id="what-would-hold-them-is-absent",
        ),
        pytest.param(CONTROLLER, {"replicas": 9}, {"replicas": 2}, BUILT_IN, id="row-of-ours"),
        pytest.param(
            CONTROLLER, {"replicas": 9}, {"replicas": 9}, UPSTREAM_ONLY, id="no-row-of-upstream"
        ),
    ],
)
def test_replicas_are_written(
    kind: tuple[str, str], spec: Body, expected: Body, rows: CustomKinds
) -> None:
    """Native kinds change a number that is there, rows write it."""
    assert written(kind, expected) == revised(written(kind, spec), 2, rows)


@pytest.mark.parametrize(
    ("kind", "spec", "told"),
    [
        pytest.param(DEPLOYMENT, {"replicas": "9"}, "`spec.replicas` must be a whole", id="text"),
        pytest.param(CLONE_SET, "none", "`spec` must be a mapping", id="spec-of-a-row"),
    ],
)
def test_other_types_are_refused(kind: tuple[str, str], spec: object, told: str) -> None:
    """The field is named."""
    with pytest.raises(UserError, match=told):
        revised(written(kind, spec), 2, BUILT_IN)
