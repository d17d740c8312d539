"""Policies and placements of all APIs in one table: where each has put something."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reconciler.audit.fleet.clusters_by_policy import clusters_by_policy
from reconciler.audit.fleet.suspensions import Suspensions
from reconciler.cli.objects.object_tables import typed_name
from reconciler.cli.printing.table import print_table
from reconciler.manifests.columns import NONE
from reconciler.model.enumeration import enumerated
from reconciler.model.labels import labels_of

if TYPE_CHECKING:
    from reconciler.cli.objects.query import Query
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World

NAMED = 5  # clusters; all of them in a wide table


def print_placements(world: "World", keys: "Sequence[ObjectKey]", query: "Query") -> None:
    """Print the table, in the order given.

    Args:
        world: That has them.
        keys: Policies and placements.
        query: Which columns there are beside.
    """
    found, suspensions = clusters_by_policy(world), Suspensions(world)
    suspended = {key: suspensions.cell(key) for key in keys}
    labels = [label for listed in query.label_columns for label in listed.split(",")]
    titles = [*(["NAMESPACE"] if query.all_namespaces else []), "NAME", "CLUSTERS", "ON"]
    titles += ["SUSPENDED"] if any(suspended.values()) else []
    titles += [label.rpartition("/")[2].upper() for label in labels]
    titles += ["LABELS"] if query.show_labels else []
    rows = []
    for key in keys:
        names = sorted(found.get(key, ()))
        shown = enumerated(names, len(names) if query.output == "wide" else NAMED)
        cells = [*([key.namespace] if query.all_namespaces else []), typed_name(key)]
        cells += [str(len(names)), shown or NONE]
        cells += [suspended[key] or NONE] if any(suspended.values()) else []
        written = labels_of((world.inputs.get(key) or world.outputs[key]).body)
        cells += [written.get(label, NONE) for label in labels]
        every = ",".join(f"{name}={value}" for name, value in sorted(written.items()))
        rows.append([*cells, *([every or NONE] if query.show_labels else [])])
    print_table(titles, rows, headers=not query.no_headers)
