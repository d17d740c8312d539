"""What KubeFleet answers about the files of a world, in one place."""

from collections.abc import Callable, Iterable
from datetime import datetime

from reconciler.dialects.approval import Approval
from reconciler.dialects.copy_status import Copies
from reconciler.dialects.draining import Draining
from reconciler.dialects.kubefleet.api.kinds import SCOPES
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.view.categories import CATEGORIES
from reconciler.dialects.kubefleet.view.cluster import CORDON, TAINT_EFFECTS, report_of, unreachable
from reconciler.dialects.kubefleet.view.columns import COLUMNS
from reconciler.dialects.kubefleet.view.events import events_of
from reconciler.dialects.kubefleet.view.placed import (
    carriers,
    clusters_in,
    is_placed,
    may_carry,
    owner_of,
    placement_of,
)
from reconciler.dialects.kubefleet.view.references import dangling_in_kubefleet
from reconciler.dialects.kubefleet.view.tree import tree_of
from reconciler.dialects.placement_wishes import SpreadWishes
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.view import View
from reconciler.manifests.references import Brought, Known
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def _copies(world: World, now: datetime) -> Copies:
    from reconciler.dialects.kubefleet.view.copies import copies_in

    return copies_in(world, now)


def _bindings(world: World, now: datetime) -> Callable[[Manifest], Body]:
    from reconciler.dialects.kubefleet.view.assumed_status import assumed_bindings

    return assumed_bindings(world, now)


def _placements(world: World, now: datetime) -> Callable[[Manifest], Body]:
    from reconciler.dialects.kubefleet.view.assumed_status import assumed_placements

    return assumed_placements(world, now)


def _approvals(world: World, key: ObjectKey) -> tuple[Approval, ...]:
    from reconciler.dialects.kubefleet.view.approvals import approvals_of

    return approvals_of(world, key)


def _waiting(world: World) -> Iterable[tuple[ObjectKey, str]]:
    from reconciler.dialects.kubefleet.view.decision_record import waiting_for_room
    from reconciler.dialects.kubefleet.view.run_progress import waiting_in

    return *waiting_in(world), *waiting_for_room(world)


def _problem_of(body: Body) -> str:
    from reconciler.dialects.kubefleet.api.placement_status import decode_placement_status
    from reconciler.dialects.kubefleet.view.decision_record import known_problem

    return known_problem(decode_placement_status(body))


def _spread(world: World) -> SpreadWishes:
    from reconciler.dialects.kubefleet.scheduler.spread_wishes import spread_wishes

    return spread_wishes(world)


def _is_edited(body: Body) -> bool:
    from reconciler.dialects.kubefleet.view.binding_rendering import is_edited

    return is_edited(body)


def _draining() -> Draining:
    from reconciler.dialects.kubefleet.view.draining import DRAINING

    return DRAINING


def _instructed(known: Known) -> Iterable[Instructed]:
    from reconciler.dialects.kubefleet.view.asked import instructed_by_kubefleet

    return instructed_by_kubefleet(known)


def _brought(known: Known) -> Iterable[Brought]:
    from reconciler.dialects.kubefleet.view.brought import brought_by_placements

    return brought_by_placements(known)


VIEW = View(
    brought=_brought,
    instructed=_instructed,
    categories=CATEGORIES,
    columns=COLUMNS,
    is_placed=is_placed,
    owner_of=owner_of,
    placement_of=placement_of,
    clusters_in=clusters_in,
    problem_of=_problem_of,
    spread=_spread,
    carriers=carriers,
    may_carry=may_carry,
    tree=tree_of,
    copies=_copies,
    assumed={
        **{(GROUP, kinds.binding): _bindings for kinds in SCOPES},
        **{(GROUP, kinds.placement): _placements for kinds in SCOPES},
    },
    assumed_beside=frozenset((GROUP, kinds.placement) for kinds in SCOPES),
    report_of=report_of,
    cordon=CORDON,
    draining=_draining,
    taint_effects=TAINT_EFFECTS,
    unreachable=unreachable,
    approvals=_approvals,
    waiting=_waiting,
    references=dangling_in_kubefleet,
    events=events_of,
    is_edited=_is_edited,
)
