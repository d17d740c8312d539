"""What a transport answers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from reconciler.delivery.settings import Destination
from reconciler.dialects.renderer import Rendered, Wraps
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName, ObjectKey

Files = Iterator[tuple[str, Body | Sequence[Body]]]
"""Path, and what the file holds: one object as YAML, or a list of them as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """One way to bring decisions to clusters.

    Attributes:
        name: By which the configuration calls it.
        files: Yields the files of a decision, given how objects of one API carry what any decides.
        places: Yields the files, or folders of files, that a decision has for a cluster, given
            what of it may be there; what it cannot render stays there.
        kustomized: Whether a folder of a cluster is one that kustomize builds.
    """

    name: str
    files: Callable[[ObjectKey, Rendered, Destination, Wraps], Files]
    places: Callable[[ObjectKey, ClusterName, Iterable[ObjectKey], Destination], Iterator[str]]
    kustomized: bool = False
