"""What somebody wants to begin a fleet with, and what there is to choose from."""

from collections.abc import Mapping

from reconciler.core.dialects import DIALECTS
from reconciler.model.records import dataclass

APIS: Mapping[str, str] = {dialect.name: dialect.title or dialect.name for dialect in DIALECTS}
"""The APIs by the names that settings call them by, with what people call them."""

FORGES: Mapping[str, str] = {"github": "a pull request", "gitlab": "a merge request"}
"""The forges that the example has a pipeline for, with what they call a change.

The names of a pipeline's files begin with a dot and that of its forge.
"""

BOTH = "both"
CI = (*FORGES, BOTH, "none")
"""Whose pipelines may be asked for."""

DELIVERIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "none": ("Nothing is delivered before reconciler.yaml names a way.", ()),
    "folders": ("Each cluster has a folder below delivery/.", ("folders",)),
    "flux": ("The Flux of each cluster syncs its folder below delivery/.", ("folders",)),
    "argocd": ("Argo CD syncs each cluster with its folder below delivery/.", ("folders",)),
    "decisions": ("Each decision is a list of clusters below decisions/.", ("decisions",)),
    "manifestworks": (
        "The agents of a hub apply what each cluster has below manifestworks/.",
        ("manifestworks",),
    ),
}
"""A way to bring decisions to clusters, to what is said of it and the transports that it takes.

`works` is none of them: it wants a promise about the hubs that only a person can give.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChoice:
    """What somebody wants to begin with.

    Attributes:
        apis: Names of `APIS`, at least one.
        examples: Whether there are clusters, policies and workloads to play with.
        folders: Whether folders are made, with a README each; of no use beside manifests that
            have folders of their own.
        forges: Those of `FORGES` whose pipeline is written.
        delivery: A name of `DELIVERIES`.
    """

    apis: tuple[str, ...] = tuple(APIS)
    examples: bool = True
    folders: bool = True
    forges: tuple[str, ...] = tuple(FORGES)
    delivery: str = "none"

    @property
    def is_tutorial(self) -> bool:
        """Whether the tutorial of the example's README is true: it is about all of its files."""
        whole = self.examples and self.folders and set(self.apis) == set(APIS)
        return whole and self.delivery == "none"

    @property
    def transports(self) -> tuple[str, ...]:
        """What the configuration names below `delivery`."""
        return DELIVERIES[self.delivery][1]
