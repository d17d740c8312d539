"""What placements ask not to happen to objects on clusters, as it is written."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.asked import asked_by_placement
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.renderer import Instructed
from reconciler.manifests.references import Known


def instructed_by_kubefleet(known: Known) -> Iterator[Instructed]:
    """Yield what placements ask."""
    for kind in sorted(PLACEMENTS):
        for manifest in known.of_kind(GROUP, kind):
            for pointer, instruction in asked_by_placement(manifest.body):
                yield Instructed(manifest.key, pointer, instruction)
