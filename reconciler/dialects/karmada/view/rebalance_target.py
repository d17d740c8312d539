"""A binding as rebalancers see it: whether it can be scheduled, how many replicas would move."""

from functools import partial

from reconciler.dialects.inventory import ClusterInventory
from reconciler.dialects.karmada.api.binding import Binding, binding_of
from reconciler.dialects.karmada.api.binding_spec import placed_on, reschedule_asked_at
from reconciler.dialects.karmada.api.cluster import MemberCluster
from reconciler.dialects.karmada.api.cluster_taints import NOT_READY, UNREACHABLE
from reconciler.dialects.karmada.api.placement import placement_changed
from reconciler.dialects.karmada.api.policy import DEFAULT_SCHEDULER
from reconciler.dialects.karmada.api.work import BindingReports
from reconciler.dialects.karmada.binding.works import RETAIN
from reconciler.dialects.karmada.decide import Surroundings, stuck_replicas
from reconciler.dialects.karmada.detector.binding_draft import Draft, claimant
from reconciler.dialects.karmada.detector.detect import Claims
from reconciler.dialects.karmada.scheduler.divide import DivisionStrategy, strategy_of
from reconciler.dialects.karmada.scheduler.reschedule import (
    asked_afresh,
    is_divisible,
    is_reschedulable,
    keep_what_runs,
    known_problem,
    moves_afresh,
    moves_left,
    read_goal,
    scheduler_of,
)
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.dialects.karmada.view.answers import PRESERVES_OFF, affinity_place
from reconciler.errors import UserError
from reconciler.manifests.admission import SUSPEND, is_suspended
from reconciler.manifests.paths import doubt_about, fault_place, is_frozen, output_path, with_place
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from reconciler.rebalance.target import (
    LAST_MOVE,
    NOT_KEPT,
    FreshPlace,
    PresentPlace,
    Standing,
    Target,
    TargetState,
    read_last_move,
)


def held_since(
    workload: ObjectKey,
    key: ObjectKey,
    world: World,
    claims: Claims,
    inventory: ClusterInventory[MemberCluster],
) -> str:
    """Return why a binding stays as it is whatever happens, with file and line; `""` if nothing.

    Args:
        workload: Whose binding it is.
        key: Of the binding.
        world: Where they stand.
        claims: What policies made of the workloads.
        inventory: The clusters.
    """
    if str(workload) in claims.waiting:
        return doubt_about(world, workload)
    if key in claims.kept:
        return _kept(workload, key, world, claims)
    if is_frozen(world, key):
        return f"its binding cannot be read ({output_path(world.output_root, key)})"
    draft = claims.drafts.get(key)
    lost = () if draft is None else sorted(inventory.failed.keys() & draft.spec.named)
    if lost:
        name = lost[0]
        return f"the cluster {name} cannot be read ({fault_place(inventory.failed[name].fault)})"
    if (draft is None or not is_reschedulable(draft)) and _is_carried(workload, draft, claims):
        why = "no policy claims it: it is where the workloads are that need it"
        return with_place(world, workload, why) if workload in world.inputs else ""
    return ""


def _is_carried(workload: ObjectKey, draft: Draft | None, claims: Claims) -> bool:
    """Return whether an object goes along with others only, by a binding that may be yet to come.

    Unlike upstream: there its binding comes a moment later, and a rebalancer that looks before has
    failed for good.
    """
    if draft is not None and draft.policy is not None:
        return False
    return any(workload in needs for needs in claims.needs.values())


def _kept(workload: ObjectKey, key: ObjectKey, world: World, claims: Claims) -> str:
    """Return why a binding is kept: its workload or policy could not be dealt with."""
    policy = claimant(claims.kept[key])
    subjects = {str(workload)} | ({str(policy)} if policy is not None else set())
    faults = (*(one.fault for one in claims.failed), *claims.faults, *world.faults)
    fault = next((one for one in faults if one.subject in subjects), None)
    if fault is not None:
        return f"its policy cannot be applied ({fault_place(fault)})"
    why = "its policy cannot be applied"
    return why if policy is None else with_place(world, policy, why)


def target_of(draft: Draft, around: Surroundings, world: World, workload: ObjectKey) -> Target:
    """Return a binding as a target.

    It waits where nothing would schedule it: it is suspended, another scheduler's, without policy
    and placement, or cannot be read.
    """
    why, surge = _unscheduled(draft, world, workload), draft.stood.surge
    if why and surge is None:
        return Target(draft.key, waits_for=why)
    try:
        binding = binding_of(draft.metadata, draft.spec, draft.status(), draft.placement())
    except UserError:
        path = output_path(world.output_root, draft.key)
        return Target(draft.key, waits_for=f"its binding cannot be read ({path})")
    now = around.now
    moments = (binding.reschedule_triggered_at, reschedule_asked_at(draft.spec))
    triggered = max(filter(None, moments), default=None)
    goal = read_goal(draft.metadata)
    is_asked = triggered is not None and triggered <= now
    return Target(
        draft.key,
        # One in the future is a person's, and does not outlive this pass.
        triggered_at=triggered if is_asked else None,
        waits_for=why,
        divisible=is_divisible(binding),
        moves=partial(moves_afresh, binding, around.members, now),
        afresh=partial(_fresh_place, draft, binding, around),
        present=partial(_present_place, draft, binding, around),
        left=partial(moves_left, binding, goal, around.members, now, in_step=surge is not None),
        arrived=surge is None and _has_arrived(draft, binding, around),
        evicting=tuple(sorted({str(task.from_cluster) for task in binding.tasks})),
        surge=surge,
        last_move=read_last_move(draft.metadata.note(LAST_MOVE)),
        unmakeable=partial(_why_not_beside, draft, binding, around),
        unkept=partial(_why_not_kept, draft, binding, around),
        kept=partial(_kept_place, draft, binding, around),
        steady=surge is not None and is_asked and not why,
    )


DYNAMIC = (DivisionStrategy.AGGREGATED, DivisionStrategy.DYNAMIC_WEIGHT)


def _why_not_kept(draft: Draft, binding: Binding, around: Surroundings) -> str:
    """Return why what runs of a binding cannot be kept, `""` if it can.

    Source: karmada pull request 7662, proposal of `preserveAvailableReplicas`.
    """
    if around.unschedulable_after is None:
        return PRESERVES_OFF
    placement = binding.placement
    if not binding.namespace or binding.components > 1 or placement is None:
        return NOT_KEPT
    if strategy_of(placement) not in DYNAMIC or not binding.replicas:
        return "preserveAvailableReplicas is for replicas that are divided by what is available"
    if binding.last_scheduled_time is None or not binding.clusters:
        return "it was not scheduled before"
    if sum(count for _, count in binding.clusters) != binding.replicas:
        return "its replicas are not all placed"
    if binding.tasks:
        return "it is still being evicted from a cluster"
    if placement_changed(placement, binding.applied, observed_affinity=binding.observed_affinity):
        return "its placement changed since it was scheduled"
    return _why_not_known(draft, binding, around)


def _kept_place(draft: Draft, binding: Binding, around: Surroundings) -> FreshPlace | None:
    """Return where a binding would be if only what cannot be scheduled moved, `None` if all can."""
    reports = BindingReports(draft.spec.resource.key, around.copies)
    stuck = stuck_replicas(binding, reports, around)
    if not any(stuck.values()):
        return None
    before = draft.stood.placed
    verdict, why = keep_what_runs(binding, stuck, around.members, around.now)
    clusters = binding.clusters if verdict.clusters is None else verdict.clusters
    return FreshPlace(before=before, after=placed_on(clusters), problem=why)


def _why_not_known(draft: Draft, binding: Binding, around: Surroundings) -> str:
    """Return which cluster does not say how many of its replicas cannot be scheduled."""
    reports = BindingReports(draft.spec.resource.key, around.copies)
    stuck = stuck_replicas(binding, reports, around)
    position = around.members.fleet.position
    for name, count in binding.clusters:
        there = name in position
        taints = around.members.views[position[name]].cluster.taints if there else ()
        if not there or any(one.key in (NOT_READY, UNREACHABLE) for one in taints):
            return f"{name} is not ready"
        if not 0 <= stuck.get(name, -1) <= count:
            return f"{name} does not report how many of its replicas cannot be scheduled"
    return ""


def _why_not_beside(draft: Draft, binding: Binding, around: Surroundings) -> str:
    """Return why no replicas of a binding can run beside others before they replace them."""
    resource, divided = draft.resource.key, is_divisible(binding)
    reports = BindingReports(resource, around.copies)
    if divided and not reports.counts_replicas:
        return f"makeBeforeBreak is not available for a {resource.kind}, which reports no readiness"
    if reports.counts_replicas and draft.workload_labels.get(RETAIN) == "true":
        return f"its clusters keep their own number of replicas ({RETAIN})"
    if binding.clusters and all(reports.of(name) is None for name, _ in binding.clusters):
        return "no cluster reports it, so nothing could be seen to be ready"
    return ""


def _present_place(draft: Draft, binding: Binding, around: Surroundings) -> PresentPlace:
    """Return where a binding is; of replicas that are divided there are never more than wanted."""
    placed = draft.stood.placed
    is_counted = is_divisible(binding) and not around.propagate_empty
    return PresentPlace(
        placed=placed,
        group=affinity_place(draft.spec.placement, binding.observed_affinity),
        whole=is_counted and sum([replicas for _, replicas in placed]) >= binding.replicas,
    )


def _fresh_place(draft: Draft, binding: Binding, around: Surroundings) -> FreshPlace:
    """Return where the scheduler would put a binding afresh, whatever quotas say."""
    afresh, now = asked_afresh(binding, around.now), around.now
    verdict = schedule(afresh, around.members, now, propagate_empty=around.propagate_empty)
    clusters = binding.clusters if verdict.clusters is None else verdict.clusters
    placement = draft.spec.placement
    return FreshPlace(
        before=draft.stood.placed,
        after=placed_on(clusters),
        problem="" if verdict.error is None else verdict.error.message,
        groups=(
            affinity_place(placement, binding.observed_affinity),
            affinity_place(placement, verdict.observed_affinity),
        ),
    )


def standing_of(draft: Draft) -> Standing:
    """Return where a binding is, as the last pass left it.

    It is away from its first affinity group if it was placed by another one.
    """
    if draft.present is None:
        return Standing()
    status, clusters = draft.status(), draft.stood.named
    group = affinity_place(draft.spec.placement, status.observed_affinity)
    states = set()
    if known_problem(status):
        states.add(TargetState.UNSCHEDULABLE)
    if clusters and group is not None and group.place:
        states.add(TargetState.AWAY_FROM_FIRST_AFFINITY)
    return Standing(clusters=clusters, states=frozenset(states))


def _unscheduled(draft: Draft, world: World, workload: ObjectKey) -> str:
    """Return why our scheduler leaves a binding alone even if a rebalancer asks, `""` if not."""
    if is_reschedulable(draft):
        return ""
    policy = None if draft.policy is None else draft.policy.key
    if scheduler_of(draft) != DEFAULT_SCHEDULER:
        why = f"it is for the scheduler {scheduler_of(draft)}"
        return why if policy is None else with_place(world, policy, why)
    own = world.inputs.get(workload)
    if own is not None and is_suspended(own.body):
        return with_place(world, workload, f"it is suspended by {SUSPEND}")
    if policy is not None:
        return with_place(world, policy, f"{policy.kind} {policy.name} suspends its scheduling")
    why = "no policy claims it, and its binding has no placement"
    return with_place(world, workload, why)


def _has_arrived(draft: Draft, binding: Binding, around: Surroundings) -> bool:
    """Return whether every cluster reports all replicas that a binding gives it, and healthy."""
    reports = BindingReports(draft.spec.resource.key, around.copies)
    return all(reports.covers(name, count) for name, count in binding.clusters)
