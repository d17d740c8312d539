"""Objects that policies and placements of two APIs put onto clusters: people rarely mean that."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from reconciler.audit.named_object import spelled
from reconciler.core.dialects import DIALECTS
from reconciler.manifests.references import Brought, Dangling, Known
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ObjectKey

RULE = "placed-by-two-apis"
NAMED = 3

Bringers = tuple[Brought, ...]
"""The first of each API, in the order in which a pass asks the APIs."""


def brought_twice(known: Known) -> Iterator[Dangling]:
    """Yield each meeting of policies of several APIs once, with the objects on which they meet."""
    met: dict[tuple[tuple[ObjectKey, str], ...], list[ObjectKey]] = defaultdict(list)
    for key, bringers in _bringers(known).items():
        if len(bringers) > 1:
            met[tuple((one.by, one.pointer) for one in bringers)].append(key)
    for meeting, objects in sorted(met.items()):
        yield _told(known, meeting, sorted(objects))


def _bringers(known: Known) -> Mapping[ObjectKey, Bringers]:
    """Return who brings each object; nobody where a single API places anything."""
    placing = [one for one in DIALECTS if any(known.by_kind.get(kind) for kind in one.placing)]
    found: dict[ObjectKey, Bringers] = {}
    for dialect in placing if len(placing) > 1 else ():
        first: dict[ObjectKey, Brought] = {}
        for one in sorted(dialect.view().brought(known)):
            first.setdefault(one.object, one)
        for key, one in first.items():
            found[key] = (*found.get(key, ()), one)
    return found


def _told(
    known: Known, meeting: Sequence[tuple[ObjectKey, str]], objects: Sequence[ObjectKey]
) -> Dangling:
    (first, pointer), *others = meeting
    named = enumerated(map(spelled, objects), NAMED)
    also = " and ".join(f"{spelled(one)} ({_place(known, one)})" for one, _ in others)
    verb = "puts" if len(others) == 1 else "put"
    return Dangling(
        first,
        pointer,
        RULE,
        f"{also} {verb} {named} onto clusters, too: where both do, each undoes the other",
        "one API for each object",
    )


def _place(known: Known, key: ObjectKey) -> str:
    """Return the file and the line at which an object is written."""
    origin = known.world.inputs[key].origin
    return f"{origin.path}:{origin.line}"
