"""What sets of ManifestWorks carry, as it is written in them."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.work_admission import TEMPLATE
from reconciler.dialects.ocm.view.placed import SET, carried
from reconciler.manifests.references import Brought, Known


def brought_by_sets(known: Known) -> Iterator[Brought]:
    """Yield the objects in the templates of sets, by the names that they have there."""
    for manifest in known.of_kind(*SET):
        for key, position in carried(manifest, known.world.known).items():
            yield Brought(manifest.key, f"{TEMPLATE}/workload/manifests/{position}", key)
