"""What an eviction asks for: that a placement leaves a cluster."""

from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import mapping, text


class EvictionRequest(NamedTuple):
    """Names of a placement without a namespace, and of the cluster that it is to leave."""

    placement: str
    cluster: str


def decode_request(eviction: Body) -> EvictionRequest:
    """Return what an eviction asks for; `""` for a name that is not there.

    Source: kubefleet@e160c1c apis/placement/v1beta1/eviction_types.go `PlacementEvictionSpec`.
    """
    spec = mapping(eviction, "spec")
    return EvictionRequest(text(spec, "placementName"), text(spec, "clusterName"))


def encode_request(request: EvictionRequest) -> Body:
    """Return the spec of an eviction."""
    return {"placementName": request.placement, "clusterName": request.cluster}
