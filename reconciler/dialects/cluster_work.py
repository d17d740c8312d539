"""What a decision puts onto a cluster, as each API tells delivery of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWork:
    """The manifests of one decision for one cluster.

    Attributes:
        cluster: Where they belong.
        carrier: The object by which the API itself would bring them there, without them.
        manifests: What is to run there, in order; by the object of this repository that each
            stems from, whatever overrides have made of its name.
    """

    cluster: ClusterName
    carrier: Body
    manifests: Mapping[ObjectKey, Body]


@dataclass(frozen=True, slots=True)
class NotRendered:
    """Why a decision cannot be rendered for a cluster; what is there stays."""

    cluster: ClusterName
    message: str
