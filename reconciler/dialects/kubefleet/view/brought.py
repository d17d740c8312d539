"""What placements select, as it is written."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.resource_snapshot import resource_key
from reconciler.dialects.kubefleet.snapshots.resource_selection import select_resources
from reconciler.dialects.kubefleet.view.references import SELECTORS
from reconciler.errors import UserError
from reconciler.manifests.references import Brought, Known
from reconciler.model.fields import bodies, mapping


def brought_by_placements(known: Known) -> Iterator[Brought]:
    """Yield what placements select; one whose selectors cannot be used selects nothing."""
    world = known.world
    for kind in sorted(PLACEMENTS):
        for manifest in known.of_kind(GROUP, kind):
            selectors = bodies(mapping(manifest.body, "spec"), "resourceSelectors")
            space = manifest.key.namespace
            try:
                found = select_resources(selectors, world.inputs, {}, world.known, space)
            except UserError:
                continue
            for resource in found.resources:
                key = resource_key(resource.entry)
                if key in world.inputs:
                    yield Brought(manifest.key, SELECTORS, key)
