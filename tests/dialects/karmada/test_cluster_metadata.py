"""What a hub refuses of the metadata of a Cluster."""

import pytest

from reconciler.dialects.karmada.api.admission import refuse_cluster
from reconciler.model.body import Body
from tests.builders import cluster

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
MUCH = "x" * (256 * 1024 - 1)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"labels": {"example.com/a": "b.c", "d": ""}}, [], id="labels"),
        pytest.param({"labels": {"a b": "c"}}, ["/labels/a b"], id="label-key"),
        pytest.param({"labels": {"x/y/z": "c"}}, ["/labels/x~1y~1z"], id="label-prefix"),
        pytest.param({"labels": {"a": "b c"}}, ["/labels/a"], id="label-value"),
        pytest.param({"annotations": {"Example.com/A": "any text"}}, [], id="annotations"),
        pytest.param({"annotations": {"a b": "c"}}, ["/annotations/a b"], id="annotation-key"),
        pytest.param({"annotations": {"a": MUCH}}, [], id="as-many-annotations-as-may-be"),
        pytest.param({"annotations": {"a": MUCH + "x"}}, ["/annotations"], id="too-many"),
        pytest.param({"finalizers": ["karmada.io/x", "y"]}, [], id="finalizers"),
        pytest.param({"finalizers": ["x", "not so!"]}, ["/finalizers/1"], id="finalizer"),
        pytest.param({"ownerReferences": [OWNER]}, [], id="owner"),
        pytest.param(
            {"ownerReferences": [OWNER, {**OWNER, "kind": "", "uid": ""}]},
            ["/ownerReferences/1/kind", "/ownerReferences/1/uid"],
            id="owner-without-fields",
        ),
        pytest.param(
            {"ownerReferences": [OWNER, *2 * [{**OWNER, "controller": True}]]},
            ["/ownerReferences/2/controller"],
            id="two-controllers",
        ),
    ],
)
def test_metadata_of_clusters(metadata: Body, expected: list[str]) -> None:
    """Where each violation is, below the metadata."""
    body = {**cluster(), "metadata": {"name": "a", **metadata}}
    body = {**body, "spec": {"syncMode": "Push"}}
    found = refuse_cluster(body)

    assert [f"/metadata{one}" for one in expected] == [one.pointer for one in found]
    assert {"cluster-metadata"} >= {one.rule for one in found}
