"""What every dialect asks of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.model.identity import ClusterName
from reconciler.model.taints import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What every dialect asks of a cluster. All else is in the view that the dialect decodes."""

    name: ClusterName
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    deleting: bool = False
