"""What the golden stories end with says the same after it was decoded and encoded again."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from reconciler.dialects.karmada.api.binding import decode_metadata, decode_status, encode_manifest
from reconciler.dialects.karmada.api.binding_spec import decode_spec, encode_spec
from reconciler.dialects.kubefleet.api.binding import (
    decode_binding,
    decode_placement_status,
    encode_binding,
    encode_placement_status,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    decode_entry,
    decode_policy_spec,
    decode_policy_status,
    decode_resources,
    encode_entry,
    encode_policy_spec,
    encode_policy_status,
    encode_resources,
)
from reconciler.dialects.ocm.api.placement import decode_decision, encode_clusters
from reconciler.dialects.ocm.api.placement import decode_status as decode_hub_status
from reconciler.dialects.ocm.api.placement import encode_status as encode_hub_status
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.rebalance.rebalancer_files import decode_status as decode_rebalancer
from reconciler.rebalance.rebalancer_files import encode as encode_rebalancer
from reconciler.rebalance.schedule_trigger import decode_trigger_status, encode_trigger_status
from tests.golden import files_in, stories

KARMADA = "work.karmada.io"
KUBEFLEET = "placement.kubernetes-fleet.io"
HUB = "cluster.open-cluster-management.io"


def of_karmada(body: Body) -> Body:
    """A whole binding, but for who owns it."""
    metadata, status = decode_metadata(body), decode_status(body)
    owners = bodies(mapping(body, "metadata"), "ownerReferences")
    return encode_manifest(metadata, encode_spec(decode_spec(body)), status, list(owners))


def of_policy_snapshot(body: Body) -> Body:
    """A policy snapshot, its metadata left alone; the status from its parts alone."""
    spec, status = decode_policy_spec(body), decode_policy_status(body)._replace(body={})
    return {
        **body,
        "spec": encode_policy_spec(spec.policy, spec.policy_hash),
        **({"status": encode_policy_status(status)} if "status" in body else {}),
    }


def of_resource_snapshot(body: Body) -> Body:
    """A resource snapshot, each of its entries from its parts alone."""
    entries = [decode_entry(entry.body) for entry in decode_resources(body)]
    made = [
        encode_entry(
            text(entry.body, "apiVersion"),
            entry.key,
            content_hash=entry.hash,
            blob=entry.blob,
            document=entry.document,
            pointer=entry.pointer,
        )
        for entry in entries
    ]
    return {**body, "spec": encode_resources(made)}


def of_placement(body: Body) -> Body:
    """The status of a placement, from its parts alone."""
    status = decode_placement_status(body)._replace(body={})
    return {**body, "status": encode_placement_status(status)}


def of_rebalancer(body: Body) -> Body:
    """The status of a rebalancer; what its conditions say is not of it."""
    status = mapping(body, "status")
    made = encode_rebalancer(decode_rebalancer(status), stamped=False, limited="progress" in status)
    kept = {name: status[name] for name in ("conditions",) if name in status}
    return {**body, "status": {**made, **kept}}


def of_trigger(body: Body) -> Body:
    """The status of a trigger."""
    kept = {k: v for k, v in mapping(body, "status").items() if k == "conditions"}
    return {**body, "status": {**encode_trigger_status(decode_trigger_status(body)), **kept}}


def of_decision(body: Body) -> Body:
    """The status of a PlacementDecision."""
    return {**body, "status": encode_clusters(decode_decision(body).clusters)}


def of_hub_placement(body: Body) -> Body:
    """The status of a placement of Open Cluster Management."""
    return {**body, "status": encode_hub_status(decode_hub_status(body))}


CODECS: Mapping[tuple[str, str], Callable[[Body], Body]] = {
    (KARMADA, "ResourceBinding"): of_karmada,
    (KARMADA, "ClusterResourceBinding"): of_karmada,
    (KUBEFLEET, "ClusterResourceBinding"): lambda body: encode_binding(decode_binding(body)),
    (KUBEFLEET, "ResourceBinding"): lambda body: encode_binding(decode_binding(body)),
    (KUBEFLEET, "ClusterSchedulingPolicySnapshot"): of_policy_snapshot,
    (KUBEFLEET, "SchedulingPolicySnapshot"): of_policy_snapshot,
    (KUBEFLEET, "ClusterResourceSnapshot"): of_resource_snapshot,
    (KUBEFLEET, "ResourceSnapshot"): of_resource_snapshot,
    (KUBEFLEET, "ClusterResourcePlacement"): of_placement,
    (KUBEFLEET, "ResourcePlacement"): of_placement,
    (HUB, "PlacementDecision"): of_decision,
    (HUB, "Placement"): of_hub_placement,
    ("apps.karmada.io", "WorkloadRebalancer"): of_rebalancer,
    ("policy.karmada.io", "ScheduleTrigger"): of_trigger,
}


def written() -> Iterator[tuple[tuple[str, str], str, Body]]:
    """Every output that a golden story leaves, of these kinds, with its path."""
    for golden in stories():
        for after in sorted(golden.glob("*/after")):
            for path, data in files_in(after).items():
                for document in read(data.encode(), path).documents:
                    group = text(document.body, "apiVersion").partition("/")[0]
                    kind = group, text(document.body, "kind")
                    if kind in CODECS:
                        yield kind, f"{golden.name}/{after.parent.name}/{path}", document.body


WRITTEN = list(written())


@pytest.mark.parametrize("kind", CODECS, ids=".".join)
def test_a_file_says_the_same_after_a_round_trip(kind: tuple[str, str]) -> None:
    """What was left out by the decoder would be missing from the next pass's file."""
    bodies = {path: body for found, path, body in WRITTEN if found == kind}

    assert bodies == {path: CODECS[kind](body) for path, body in bodies.items()}


def test_the_stories_have_files_of_most_kinds() -> None:
    """A kind without a file is not tested above."""
    assert {found for found, _, _ in WRITTEN} >= set(CODECS) - {
        (KARMADA, "ClusterResourceBinding"),
    }
