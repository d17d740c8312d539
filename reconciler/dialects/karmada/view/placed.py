"""Where workloads are, by the bindings that passes wrote."""

from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest


def is_placed(output: Manifest) -> bool:
    """Return whether an output is a binding that names a cluster."""
    return bool(bodies(mapping(output.body, "spec"), "clusters"))


def owner_of(key: ObjectKey, body: Body) -> None:
    """Return `None`: a binding is not a part of anything."""
    del key, body
