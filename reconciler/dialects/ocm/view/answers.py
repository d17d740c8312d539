"""What Open Cluster Management answers about the files of a world, in one place."""

from collections.abc import Callable, Iterable
from datetime import datetime

from reconciler.dialects.copy_status import Copies
from reconciler.dialects.draining import Draining
from reconciler.dialects.ocm.api.condition_taints import taints_of
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP, KIND
from reconciler.dialects.ocm.view.cluster import CORDON, TAINT_EFFECTS, report_of, unreachable
from reconciler.dialects.ocm.view.columns import COLUMNS
from reconciler.dialects.ocm.view.events import events_of
from reconciler.dialects.ocm.view.placed import carriers, clusters_in, is_placed, owner_of
from reconciler.dialects.ocm.view.references import dangling_in_ocm
from reconciler.dialects.ocm.view.tree import tree_of
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.scoring import Scoring
from reconciler.dialects.view import View
from reconciler.manifests.references import Brought, Known
from reconciler.model.body import Body
from reconciler.model.world import Manifest, World


def _copies(world: World, now: datetime) -> Copies:
    from reconciler.dialects.ocm.view.copies import copies_in

    return copies_in(world, now)


def _assumed(world: World, now: datetime) -> Callable[[Manifest], Body]:
    from reconciler.dialects.ocm.view.assumed_status import assumed_sets

    return assumed_sets(world, now)


def _problem_of(body: Body) -> str:
    from reconciler.dialects.ocm.view.decision_record import known_problem

    return known_problem(body)


def _is_edited(body: Body) -> bool:
    from reconciler.dialects.ocm.decisions.placement_record import is_edited

    return is_edited(body)


def _draining() -> Draining:
    from reconciler.dialects.ocm.view.draining import DRAINING

    return DRAINING


def _scoring() -> Scoring:
    from reconciler.dialects.ocm.api.placement_score import SCORING

    return SCORING


def _instructed(known: Known) -> Iterable[Instructed]:
    from reconciler.dialects.ocm.view.asked import instructed_by_sets

    return instructed_by_sets(known)


def _brought(known: Known) -> Iterable[Brought]:
    from reconciler.dialects.ocm.view.brought import brought_by_sets

    return brought_by_sets(known)


VIEW = View(
    brought=_brought,
    instructed=_instructed,
    columns=COLUMNS,
    is_placed=is_placed,
    owner_of=owner_of,
    clusters_in=clusters_in,
    carriers=carriers,
    problem_of=_problem_of,
    tree=tree_of,
    copies=_copies,
    assumed={(GROUP, KIND): _assumed},
    assumed_beside=frozenset({(GROUP, KIND)}),
    report_of=report_of,
    taints_of=taints_of,
    cordon=CORDON,
    draining=_draining,
    taint_effects=TAINT_EFFECTS,
    scoring=_scoring,
    unreachable=unreachable,
    references=dangling_in_ocm,
    events=events_of,
    is_edited=_is_edited,
)
