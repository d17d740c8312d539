"""The dialects of this build, in the order in which a pass asks them; no other file names them."""

from collections.abc import Iterable

from reconciler.core.ledger_file import LEDGER_KIND
from reconciler.core.record import CLUSTER_REPORT_KIND
from reconciler.dialects.contract import Dialect
from reconciler.dialects.karmada.dialect import KARMADA
from reconciler.dialects.kubefleet.dialect import KUBEFLEET
from reconciler.dialects.ocm.dialect import OCM
from reconciler.dialects.renderer import Wraps
from reconciler.manifests.identity import OURS, known_kinds
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Manifest, World
from reconciler.multicluster.cluster_profile import CLUSTER_PROFILE, CLUSTER_PROFILE_KIND
from reconciler.multicluster.placement_decision import PLACEMENT_DECISION_KIND
from reconciler.rebalance.target import REBALANCE_KINDS
from reconciler.staging.staged_delivery import STAGED_DELIVERY, STAGED_DELIVERY_KIND

DIALECTS: tuple[Dialect, ...] = (KARMADA, OCM, KUBEFLEET)

_APIS = (
    CLUSTER_REPORT_KIND,
    LEDGER_KIND,
    *REBALANCE_KINDS,
    STAGED_DELIVERY_KIND,
    *(kind for dialect in DIALECTS for kind in dialect.kinds),
    CLUSTER_PROFILE_KIND,
    PLACEMENT_DECISION_KIND,
)

KINDS = known_kinds(_APIS)
"""Every kind that is known before a file is read."""

API_KINDS = (*OURS, *_APIS)
"""Those of them that are the APIs' and ours, with who writes them."""

READ = frozenset(kind.id for kind in API_KINDS if kind.read)
"""Kinds that control something here."""

CLUSTERS = (*(dialect.cluster for dialect in DIALECTS), CLUSTER_PROFILE)
"""Kinds of clusters, the neutral one last: what an API has to say of its own counts first."""

PLACED = frozenset(kind for dialect in DIALECTS for kind in dialect.placed)
"""Kinds of the outputs that decisions are about."""

ROOTS = frozenset(kind for dialect in DIALECTS for kind in dialect.roots)
"""Kinds beside these that placements hang on, such as policies."""

STRATEGIES = tuple(one.strategy for one in DIALECTS if one.strategy is not None)
"""The kinds of strategies, by name of which staged deliveries have their stages."""

STAGED = frozenset(kind for dialect in DIALECTS for kind in dialect.staged)
"""Kinds of the APIs that staged deliveries may name, since their objects have content."""

RUNS = frozenset((STAGED_DELIVERY, *(kind for one in DIALECTS for kind in one.approvable)))
"""Kinds whose objects update clusters stage by stage; commits and previews tell their events."""

SURROUNDINGS = (
    frozenset(kind.id for kind in API_KINDS if kind.read and not kind.removable) - PLACED - ROOTS
)
"""Kinds of what decisions depend on beside workloads, their policies and who asks."""

TAKEN_BACK = SURROUNDINGS | PLACED
"""Kinds of inputs that are read as they were at the last pass, to tell what caused a move."""

PLACES_BY = {kind: paths for one in DIALECTS for kind, paths in one.places_by.items()}
"""Kinds of inputs by which people place, and the fields that say where."""

READ_AS_BEFORE = TAKEN_BACK | PLACES_BY.keys()
"""Kinds of inputs that are read as they were at the last pass."""

_BY_GROUP = {group: dialect for dialect in DIALECTS for group in dialect.groups}


def dialect_of(group: str) -> Dialect | None:
    """Return the dialect that an API group belongs to, `None` if to none."""
    return _BY_GROUP.get(group)


def decision_on(key: ObjectKey) -> ObjectKey | None:
    """Return what decisions about an object bear: of a workload its binding, else itself.

    It is `None` of what no decision is about, such as a policy.
    """
    if key[:2] in PLACED:
        return key
    if key.group in KINDS.groups:
        return None
    candidates = (dialect.view().outputs.decision_on(key) for dialect in DIALECTS)
    return next((one for one in candidates if one is not None), None)


def clusters_in(parts: Iterable[Manifest]) -> Placed:
    """Return the clusters that some outputs of one object name, with their replicas, by name."""
    counts = dict[str, int]()
    for part in parts:
        dialect = dialect_of(part.key.group)
        if dialect is not None:
            counts.update(dialect.view().outputs.clusters_in(part.body))
    return tuple((ClusterName(name), counts[name]) for name in sorted(counts))


def find_strategy(world: World, name: str) -> Manifest | None:
    """Return the strategy of a name, `None` if there is none."""
    keys = (ObjectKey(*kind, "", name) for kind in STRATEGIES)
    return next(filter(None, map(world.inputs.get, keys)), None)


def wraps() -> Wraps:
    """Return how objects of one API carry what any API decides, by transport."""
    return {name: wrap for dialect in DIALECTS for name, wrap in dialect.wraps().items()}
