"""All references of a world, checked; what leads nowhere is a finding with its place."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from reconciler.audit.findings import Finding, finding_of
from reconciler.audit.references.amounts import unreadable_amounts
from reconciler.audit.references.apis import brought_twice
from reconciler.audit.references.clusters import declared_twice, rooms_without_report
from reconciler.audit.references.delivery import not_carried_by_delivery
from reconciler.audit.references.feedback import dangling_in_feedback
from reconciler.audit.references.kinds import idle_kinds
from reconciler.audit.references.scores import scores_without_cluster
from reconciler.core.dialects import DIALECTS, KINDS, PLACED
from reconciler.manifests.references import Dangling, known_in
from reconciler.manifests.text.positions import Spot, locate_all
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.references import dangling_in_rebalances


def is_complete(world: World) -> bool:
    """Return whether it is known of every document whose it is.

    If it is not, the object that a reference misses may be the one that cannot be read, and a list
    of consequences would only hide the cause.
    """
    return all(fault.subject for fault in world.faults)


def check_references(world: World, texts: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Return what leads nowhere among all that manifests say of one another, sorted.

    Args:
        world: All manifests of a repository; `outputs` may hold the records of rebalancers, whose
            finished targets need not be there any longer.
        texts: Path to content, for line and column; without it a finding has its path only.
    """
    known = known_in(world, PLACED - KINDS.owned)
    checks = (
        *(dialect.view().references for dialect in DIALECTS),
        dangling_in_rebalances,
        dangling_in_feedback,
        declared_twice,
        rooms_without_report,
        unreadable_amounts,
        scores_without_cluster,
        brought_twice,
        not_carried_by_delivery,
    )
    found = (one for check in checks for one in check(known))
    manifests = {**world.inputs, **world.feedback}
    return tuple(sorted(map(finding_of, _placed(found, manifests, texts))))


def check_kinds(
    manifests: Mapping[ObjectKey, Manifest], texts: Mapping[str, bytes]
) -> tuple[Finding, ...]:
    """Return what is to be said of kinds that control nothing; each document tells by itself."""
    found = idle_kinds(manifests)
    return tuple(sorted(map(finding_of, _placed(found, manifests, texts))))


def _placed(
    found: Iterable[Dangling], manifests: Mapping[ObjectKey, Manifest], texts: Mapping[str, bytes]
) -> Iterator[Fault]:
    """Yield what leads nowhere as faults at their places; each file is read once."""
    by_path: defaultdict[str, list[tuple[Dangling, Spot]]] = defaultdict(list)
    for one in found:
        origin = manifests[one.key].origin
        spot = Spot(origin.index, f"{origin.pointer}{one.pointer}")
        by_path[origin.path].append((one, spot))
    for path, spots in by_path.items():
        data = texts.get(path)
        places = {} if data is None else locate_all(data, (spot for _, spot in spots))
        for one, spot in spots:
            line, column = places.get(spot, (0, 0))
            yield Fault(
                path=path,
                line=line,
                column=column,
                field=spot.pointer,
                rule=one.rule,
                message=one.message,
                expected=one.expected,
                subject=str(one.key),
            )
