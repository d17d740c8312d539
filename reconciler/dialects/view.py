"""What a dialect answers about the files of a world, beside deciding."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.approval import Approval
from reconciler.dialects.cluster_report import ClusterPlace, ClusterReport, labelled_place
from reconciler.dialects.copy_status import Copies, no_copies
from reconciler.dialects.draining import Draining
from reconciler.dialects.merge_warning import MergeEffects, Warned
from reconciler.dialects.placement_wishes import SpreadWishes, no_spread
from reconciler.dialects.quota_usage import QuotaUsage
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.scoring import Scoring
from reconciler.dialects.tree_node import TreeNode
from reconciler.manifests.columns import ColumnTable
from reconciler.manifests.references import Brought, Dangling, Known
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.resources import Resources
from reconciler.model.settings import Settings
from reconciler.model.upstream_event import ObjectEvent, OutputChange
from reconciler.model.world import Manifest, World
from reconciler.rebalance.target import AffinityPlace, Reference


def _none(*_: object) -> None:
    return None


def _nothing(*_: object) -> tuple[()]:
    return ()


def _never(*_: object) -> bool:
    return False


def _written_taints(cluster: Body, *_: object) -> tuple[Body, ...]:
    return bodies(mapping(cluster, "spec"), "taints")


def _always(*_: object) -> bool:
    return True


def _no_affinity(_: Body) -> AffinityPlace | None:
    return None


def _no_problem(_: Body) -> str:
    return ""


def _no_resources(_: Body) -> Resources:
    return {}


AssumedIn = Callable[[World, datetime], Callable[[Manifest], Body]]
"""Returns what says how outputs of a kind are at a moment, with what is assumed by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The answers of one API.

    Attributes:
        is_placed: Whether an output that a decision is about names a cluster.
        owner_of: Returns the placement that an output is a part of, `None` if it is of none.
        placement_of: Returns the placement that an object is about which is no part of it, `None`
            if it is about none.
        clusters_in: Yields the clusters that a decision is written for in an output, with the
            replicas there, 0 where there are none to count.
        follows: Returns the outputs whose clusters what such an output places is on, too.
        requested_by: Returns what one replica of what such an output places asks for.
        decision_on: Returns the output that decisions on a workload are about, `None` if it
            decides on no workloads of their own.
        workload_of: Returns the workload that an output is about, as a rebalancer names it, `None`
            if it is about none.
        problem_of: Returns why what such an output places lacks clusters, as the last pass wrote it
            there; `""` if it lacks none.
        affinity_of: Returns the affinity group that placed it, of those that are tried in order,
            `None` if it has none.
        spread: Returns what says how objects want to be spread in a world.
        may_wait: Whether a copy of what such an output places may wait; `copies` says for what.
        policy_of: Returns the policy that what such an output places belongs to, `None` if to none.
        carriers: Returns the placements that carry an object along, sorted.
        may_carry: Whether one of its placements may select a namespace with all that is in it.
        tree: Returns what hangs on an object, each level sorted.
        copies: Returns what knows of copies in clusters at a moment, of a world as it is by then.
        assumed: By kind of output, what says how one is at a moment: what passes wrote, and what
            is assumed since of clusters that never reported. Passes write nothing of that.
        assumed_beside: The kinds of these for which that is told from other objects, too.
        report_of: Returns what the status of a cluster says.
        place_of: Returns where a cluster stands.
        taints_of: Returns the taints of a cluster that scheduling uses: those that are written,
            and those that follow from what it reports.
        cordon: The taint by which its own tool keeps a cluster from taking anything new.
        draining: Returns how a cluster is emptied.
        taint_effects: The effects that a taint of its clusters may have, the mildest first.
        scoring: Returns how scores of its clusters are written, `None` if it has none.
        unreachable: Returns a cluster that cannot be reached since a moment in RFC 3339.
        approvals: Returns what an object asks a person to approve, in the order in which it does.
        waiting: Yields what waits for a person to act, with a clause that says for what.
        warnings: Yields what to look at before a merge.
        quotas: Yields what is used of each quota, by key.
        categories: Words that mean several of its kinds at once, as kubectl has them.
        columns: By kind, what tables of its objects show.
        references: Yields what its objects refer to and is not there.
        brought: Yields what its policies and placements put onto clusters, by what is written.
        instructed: Yields what its manifests ask not to happen on clusters, by what is written.
        events: Yields upstream's events of a change of an output, in order.
        is_edited: Whether the decision in an output is another one than the pass wrote there.
        may_hide_eviction: Whether an eviction may have begun and ended between two states of an
            output, so that neither has it.
        asks_beside: Whether the events of a change of an output are told from the other outputs of
            its commit, too.
    """

    is_placed: Callable[[Manifest], bool]
    owner_of: Callable[[ObjectKey, Body], ObjectKey | None] = _none
    placement_of: Callable[[World, ObjectKey], ObjectKey | None] = _none
    clusters_in: Callable[[Body], Iterable[tuple[str, int]]]
    follows: Callable[[Body], tuple[ObjectKey, ...]] = _nothing
    requested_by: Callable[[Body], Resources] = _no_resources
    decision_on: Callable[[ObjectKey], ObjectKey | None] = _none
    workload_of: Callable[[Body], Reference | None] = _none
    problem_of: Callable[[Body], str] = _no_problem
    affinity_of: Callable[[Body], AffinityPlace | None] = _no_affinity
    spread: Callable[[World], SpreadWishes] = no_spread
    may_wait: Callable[[Body], bool] = _always
    policy_of: Callable[[Body], ObjectKey | None] = _none
    carriers: Callable[[World, ObjectKey], tuple[ObjectKey, ...]] = _nothing
    may_carry: Callable[[World, str], bool] = _never
    tree: Callable[[World, ObjectKey], TreeNode]
    report_of: Callable[[Body], ClusterReport]
    copies: Callable[[World, datetime], Copies] = no_copies
    assumed: Mapping[Kind, AssumedIn] = field(default_factory=dict)
    assumed_beside: frozenset[Kind] = frozenset()
    place_of: Callable[[Body], ClusterPlace] = labelled_place
    taints_of: Callable[[Body, Settings, Body | None], tuple[Body, ...]] = _written_taints
    cordon: Body
    draining: Callable[[], Draining]
    taint_effects: tuple[str, ...]
    scoring: Callable[[], Scoring | None] = _none
    unreachable: Callable[[Body, str], Body]
    approvals: Callable[[World, ObjectKey], tuple[Approval, ...]] = _nothing
    waiting: Callable[[World], Iterable[tuple[ObjectKey, str]]] = _nothing
    warnings: Callable[[MergeEffects], Iterable[Warned]] = _nothing
    quotas: Callable[[World], Iterable[QuotaUsage]] = _nothing
    categories: Mapping[str, frozenset[Kind]] = field(default_factory=dict)
    columns: ColumnTable = field(default_factory=dict)
    references: Callable[[Known], Iterable[Dangling]] = _nothing
    brought: Callable[[Known], Iterable[Brought]] = _nothing
    instructed: Callable[[Known], Iterable[Instructed]] = _nothing
    events: Callable[[OutputChange], Iterable[ObjectEvent]] = _nothing
    is_edited: Callable[[Body], bool] = _never
    may_hide_eviction: Callable[[Body, Body], bool] = _never
    asks_beside: Callable[[Body, Body], bool] = _never
