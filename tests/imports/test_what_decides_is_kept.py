"""What a predicate, a filter or a score can read of a live cluster is in the file of it."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from reconciler.core.dialects import CLUSTERS
from reconciler.dialects.importer import Importer
from reconciler.dialects.karmada.api import cluster as karmada
from reconciler.dialects.karmada.hub_import import IMPORTER as OF_KARMADA
from reconciler.dialects.kubefleet.api import member as kubefleet
from reconciler.dialects.kubefleet.hub_import import IMPORTER as OF_KUBEFLEET
from reconciler.dialects.ocm.api import cluster as ocm
from reconciler.dialects.ocm.cel.expression import cluster_object
from reconciler.dialects.ocm.hub_import import IMPORTER as OF_OCM
from reconciler.imports.importers import counted_fields
from reconciler.model.body import Body
from reconciler.model.fields import mapping, without
from tests.imports.hubs import THEN, condition, key_of
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.ocm_hub import ocm_hub

MADE_BY_SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "annotations")
"""Of the metadata in CEL: another repository, or the same one made again, has others."""


def imported(body: Body, importer: Importer) -> Body:
    """A live object as its file has it."""
    kind = importer.kinds[key_of(body)[:2]]
    return counted_fields(body, kind, importer.server_made)


@pytest.mark.parametrize(
    ("hub", "importer", "decode"),
    [
        pytest.param(karmada_hub, OF_KARMADA, karmada.decode_cluster, id="karmada"),
        pytest.param(kubefleet_hub, OF_KUBEFLEET, kubefleet.decode_member, id="kubefleet"),
        pytest.param(ocm_hub, OF_OCM, ocm.decode_cluster, id="ocm"),
    ],
)
def test_a_cluster_is_decoded_alike(
    hub: Callable[[int], list[Body]], importer: Importer, decode: Callable[[Body], object]
) -> None:
    """From the hub and from its file; clusters of a hub have all that agents report."""
    clusters = [one for one in hub(0) if key_of(one)[:2] in CLUSTERS]

    assert clusters
    for body in clusters:
        assert view_of(decode, body) == view_of(decode, imported(body, importer))


def view_of(decode: Callable[[Body], object], body: Body) -> dict[str, object]:
    """What is decoded, without the manifest that OCM keeps for CEL, and when agents were heard."""
    decoded: Any = decode(body)
    fields = {one.name: getattr(decoded, one.name) for one in dataclasses.fields(decoded)}
    fields.pop("body", None)
    if "conditions" in fields:
        told = (without(one, ("lastProbeTime",)) for one in fields["conditions"])
        fields["conditions"] = [dict(sorted(one.items())) for one in told]
    return fields


def test_cel_sees_of_a_file_what_it_sees_of_the_hub() -> None:
    """Every field of the Go type that is no server's; names of any prefix are people's labels."""
    live: Body = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": "member1",
            "labels": {"open-cluster-management/region": "eu", "env": "prod"},
            "uid": "4f5b",
            "resourceVersion": "7",
            "generation": 2,
            "creationTimestamp": THEN,
            "annotations": {"team": "shop"},
        },
        "spec": {
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": "https://member1", "caBundle": "Y2E="}],
            "taints": [{"key": "k", "value": "v", "effect": "NoSelect", "timeAdded": THEN}],
        },
        "status": {
            "conditions": [condition("ManagedClusterConditionAvailable")],
            "capacity": {"cpu": "64"},
            "allocatable": {"cpu": "60"},
            "version": {"kubernetes": "v1.31.2"},
            "clusterClaims": [{"name": "id.k8s.io", "value": "1"}],
            "managedNamespaces": [{"name": "shop", "clusterSet": "default"}],
        },
    }

    assert seen(live) == seen(imported(live, OF_OCM))
    assert {"spec", "status", "metadata"} == seen(live).keys()


def seen(body: Body) -> dict[str, object]:
    """What CEL sees of a cluster, but for what servers make."""
    found = cluster_object(body)
    metadata = mapping(found, "metadata")
    kept = {name: metadata[name] for name in metadata if name not in MADE_BY_SERVERS}
    return {**found, "metadata": kept}
