"""What a person wants of an export."""

from dataclasses import dataclass

from reconciler.dialects.importer import Propagated
from reconciler.model.known_kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person wants of an export.

    Attributes:
        cluster: The cluster that it is an export of, `""` for that of a control plane.
        workloads: Kinds and resources of workloads that become files, in lower case.
        propagated: What becomes a file since it is meant for clusters, `None` if that is no reason.
        reserved: The namespaces that a control plane has for itself.
        tolerance_percent: How little a change of an amount does not count.
        adopt: Whether decisions become state.
        listed: Kinds of which the export has every object that there is.
    """

    cluster: str = ""
    workloads: frozenset[str] = frozenset()
    propagated: Propagated | None = None
    reserved: frozenset[str] = frozenset()
    tolerance_percent: int = 5
    adopt: bool = False
    listed: frozenset[Kind] = frozenset()
