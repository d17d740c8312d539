"""Clusters that two APIs declare by one name, and those whose room nobody reports."""

from collections.abc import Iterator

from reconciler.core.dialects import CLUSTERS, DIALECTS
from reconciler.errors import UserError
from reconciler.manifests.places import input_place
from reconciler.manifests.references import Dangling, Known
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.schedule.capacity.settings import protects

MOST_NAMED = 5


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


def rooms_without_report(known: Known) -> Iterator[Dangling]:
    """Yield, where room is protected, the clusters with capacity from which no report comes.

    What is left there is what their files say less what is placed; pods of others do not count.
    """
    world = known.world
    settings = settings_in(world)
    configuration = next(iter(world.of_kind(*CONFIGURATION)), None)
    if configuration is None or not protects(settings):
        return
    reporting = {key.reporter for key in world.feedback}
    silent = sorted(_limited(known) - reporting)
    if silent:
        yield Dangling(
            configuration.key,
            "/spec/capacity/protect",
            "room-not-reported",
            f"nothing reports from {enumerated(silent, MOST_NAMED)}: what is left there is what "
            "the cluster's file says less what is placed, whatever else runs there",
            "reports below feedback/, such as from `reconciler import`",
        )


def _limited(known: Known) -> set[str]:
    """Return the names of the clusters whose files say what is left."""
    rules = ((one.cluster, found) for one in DIALECTS if (found := one.capacity()) is not None)
    names: set[str] = set()
    for kind, found in rules:
        for manifest in known.world.written_of_kind(*kind):
            try:
                limited = found.reported(manifest.body) is not None
            except UserError:
                continue  # a fault of its own
            if limited:
                names.add(manifest.key.name)
    return names
