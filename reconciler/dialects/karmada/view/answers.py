"""What Karmada answers about the files of a world, in one place."""

from collections.abc import Callable, Iterable
from datetime import datetime

from reconciler.dialects.copy_status import Copies
from reconciler.dialects.draining import Draining
from reconciler.dialects.karmada.api.work.binding_metadata import BINDINGS, decode_metadata
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.api.work.binding_status import decode_status
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.karmada.detector.claim_marks import claimant
from reconciler.dialects.karmada.view.categories import CATEGORIES
from reconciler.dialects.karmada.view.cluster import (
    CORDON,
    TAINT_EFFECTS,
    place_of,
    report_of,
    unreachable,
)
from reconciler.dialects.karmada.view.columns import COLUMNS
from reconciler.dialects.karmada.view.events import asks_beside, events_of, may_hide_eviction
from reconciler.dialects.karmada.view.placed import (
    affinity_place,
    follows,
    held_in,
    is_placed,
    owner_of,
    requested_by,
    workload_of,
)
from reconciler.dialects.merge_warning import MergeEffects, Warned
from reconciler.dialects.placement_wishes import SpreadWishes
from reconciler.dialects.quota_usage import QuotaUsage
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.tree_node import TreeNode
from reconciler.dialects.view import View
from reconciler.manifests.references import Brought, Dangling, Known
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.rebalance.target import AffinityPlace


def _taints(cluster: Body, settings: Settings, record: Body | None) -> tuple[Body, ...]:
    from reconciler.dialects.karmada.api.admitted_cluster import taints_of

    return taints_of(cluster, settings, record)


def _tree(world: World, key: ObjectKey) -> TreeNode:
    from reconciler.dialects.karmada.view.tree import tree_of

    return tree_of(world, key)


def _references(known: Known) -> Iterable[Dangling]:
    from reconciler.dialects.karmada.view.references import dangling_in_karmada

    return dangling_in_karmada(known)


def _warnings(effects: MergeEffects) -> Iterable[Warned]:
    from reconciler.dialects.karmada.view.warnings import warnings_of  # asks the scheduler

    return warnings_of(effects)


def _quotas(world: World) -> Iterable[QuotaUsage]:
    from reconciler.dialects.karmada.view.quotas import quotas_in

    return quotas_in(world)


def _copies(world: World, now: datetime) -> Copies:
    from reconciler.dialects.karmada.view.copies import copies_in

    return copies_in(world, now)


def _assumed(world: World, now: datetime) -> Callable[[Manifest], Body]:
    from reconciler.dialects.karmada.view.assumed_status import assumed_in

    return assumed_in(world, now)


def _problem_of(body: Body) -> str:
    from reconciler.dialects.karmada.scheduler.reschedule_requests import known_problem

    return known_problem(decode_status(body))


def _affinity_of(body: Body) -> AffinityPlace | None:
    return affinity_place(decode_spec(body).placement, decode_status(body).observed_affinity)


def _spread(world: World) -> SpreadWishes:
    from reconciler.dialects.karmada.scheduler.spread_wishes import spread_wishes

    return spread_wishes(world)


def _may_wait(body: Body) -> bool:
    return bool(decode_spec(body).tasks)


def _is_edited(body: Body) -> bool:
    from reconciler.dialects.karmada.view.binding_rendering import is_edited

    spec = decode_spec(body)
    return is_edited(decode_metadata(body), spec.placed, spec.resource)


def _draining() -> Draining:
    from reconciler.dialects.karmada.view.draining import DRAINING

    return DRAINING


def _instructed(known: Known) -> Iterable[Instructed]:
    from reconciler.dialects.karmada.view.references import instructed_by_karmada

    return instructed_by_karmada(known)


def _brought(known: Known) -> Iterable[Brought]:
    from reconciler.dialects.karmada.view.policy_overlap import brought_by_policies

    return brought_by_policies(known)


VIEW = View(
    brought=_brought,
    instructed=_instructed,
    categories=CATEGORIES,
    columns=COLUMNS,
    is_placed=is_placed,
    owner_of=owner_of,
    clusters_in=held_in,
    follows=follows,
    requested_by=requested_by,
    decision_on=binding_key,
    workload_of=workload_of,
    problem_of=_problem_of,
    affinity_of=_affinity_of,
    spread=_spread,
    may_wait=_may_wait,
    policy_of=claimant,
    tree=_tree,
    copies=_copies,
    assumed=dict.fromkeys(BINDINGS, _assumed),
    report_of=report_of,
    place_of=place_of,
    taints_of=_taints,
    cordon=CORDON,
    draining=_draining,
    taint_effects=TAINT_EFFECTS,
    unreachable=unreachable,
    quotas=_quotas,
    warnings=_warnings,
    references=_references,
    events=events_of,
    is_edited=_is_edited,
    may_hide_eviction=may_hide_eviction,
    asks_beside=asks_beside,
)
