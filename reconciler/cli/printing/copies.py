"""What clusters have of an object, as verbs print it."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.audit.printable import printable

if TYPE_CHECKING:
    from reconciler.audit.fleet.delivered_copies import DeliveredCopy, Elsewhere
    from reconciler.model.identity import ObjectKey
    from reconciler.model.known_kinds import Kind
    from reconciler.model.world import World

MOST_ROWS = 30  # -o json has all


def copies_lines(copies: "Sequence[DeliveredCopy]", cluster: str | None) -> list[str]:
    """Return what each cluster has, a row each; with `cluster` that one only.

    Where nothing is delivered, that is said once, of all clusters.
    """
    from reconciler.audit.fleet.copy_wording import NO_TRANSPORT, files_text, report_text
    from reconciler.cli.printing.table import table_lines

    found = [one for one in copies if cluster in (None, one.status.cluster)]
    if not found:
        return []
    if not any(one.files for one in found):
        return [] if cluster else [NO_TRANSPORT]
    rows = [
        [
            str(one.status.cluster),
            f"{each.transport}: {files_text(each)}",
            report_text(one.status),
            one.status.waits_for or "-",
        ]
        for one in found[:MOST_ROWS]
        for each in one.files
    ]
    rest = len(found) - MOST_ROWS
    more = [f"and {rest} more; -o json has all"] if rest > 0 else []
    titles = ["CLUSTER", "DELIVERED", "REPORTED", "WAITS FOR"]
    rows = [[printable(cell) for cell in row] for row in rows]
    return ["What runs there:", *table_lines(titles, rows), *more]


def may_have_copies(kind: "Kind") -> bool:
    """Return whether objects of a kind, or decisions about them, may be on clusters."""
    from reconciler.core.dialects import KINDS, PLACED, dialect_of
    from reconciler.dialects.copy_status import no_copies

    dialect = dialect_of(kind[0])
    if dialect is None:
        return kind[0] not in KINDS.groups
    return kind in PLACED and dialect.view().copies is not no_copies


def copies_cells(
    world: "World", keys: "Sequence[ObjectKey]", elsewhere: "Elsewhere", now: datetime
) -> "dict[ObjectKey, tuple[str, str]]":
    """Return of how many of its clusters an object is delivered to, and healthy in by now."""
    from reconciler.audit.fleet.delivered_copies import CopiesOf
    from reconciler.audit.fleet.placed import decision_on
    from reconciler.core.dialects import PLACED

    copies_of = CopiesOf(world, now, elsewhere)
    found = {}
    for key in keys:
        decided = key if key[:2] in PLACED else decision_on(key)
        copies = () if decided is None else copies_of(decided)
        stay = [one for one in copies if not one.status.leaving]
        if stay:
            delivered = sum(one.is_delivered for one in stay)
            healthy = sum(one.is_fine for one in stay)
            found[key] = (f"{delivered}/{len(stay)}", f"{healthy}/{len(stay)}")
    return found
