"""Clusters that two APIs declare by one name, where an API sees those of the others."""

from collections.abc import Iterator

from reconciler.core.dialects import CLUSTERS, DIALECTS
from reconciler.manifests.places import input_place
from reconciler.manifests.references import Dangling, Known
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ObjectKey


def declared_twice(known: Known) -> Iterator[Dangling]:
    """Yield each cluster that an API declares after another one did, if a third sees only one."""
    world = known.world
    if not world.projected:
        return
    seeing = [one for one in DIALECTS if one.cluster in world.projected]
    first: dict[str, ObjectKey] = {}
    for kind in CLUSTERS:
        for manifest in world.written_of_kind(*kind):
            taken = first.setdefault(manifest.key.name, manifest.key)
            others = [one.title or one.name for one in seeing if one.cluster != kind]
            if taken == manifest.key or not others:
                continue
            yield Dangling(
                manifest.key,
                "/metadata/name",
                "cluster-declared-twice",
                f"the cluster is declared as {taken.kind} in {input_place(world, taken)}, too; "
                f"{enumerated(others, len(others))} takes that one",
                "one declaration, or all that is to be known of it in both",
            )
