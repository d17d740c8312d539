"""KubeFleet's kinds that are judged only, as an API server stores them."""

from reconciler.model.body import Body
from reconciler.model.fields import mapping_or_none

GROUP = "placement.kubernetes-fleet.io"


def judged(kind: str, spec: Body, *, version: str = "v1beta1", name: str = "web") -> Body:
    """An object of a kind."""
    metadata = {"name": name}
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def override_filled(spec: Body) -> Body:
    """The spec of an override with the default that a rule looks at."""
    placement = mapping_or_none(spec, "placement")
    if placement is None:
        return spec
    return {**spec, "placement": {"scope": "Cluster", **placement}}


def run_filled(spec: Body) -> Body:
    """The spec of a run with the default that a rule looks at."""
    return {"state": "Initialize", **spec}
