"""What a dialect answers about the files of a world, beside deciding.

`View` has the answers of one API. The other types are what it answers with: approvals by a merge,
warnings before one, the use of a quota as the last pass left it, the trees of what hangs on an
object, wishes to spread over domains of clusters, how scores are written, how clusters are emptied
and why something stays on one nevertheless, what is known of copies, and what a cluster reports of
itself: health, capacity, what is free.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.dialects.renderer import Instructed
from reconciler.manifests.columns import ColumnTable
from reconciler.manifests.edits.fields import Step
from reconciler.manifests.references import Brought, Dangling, Known, OverrideResult
from reconciler.model.body import Body
from reconciler.model.cluster import Taint, TaintEffect, Toleration, tolerates
from reconciler.model.decision import Decision, ObjectEvent, OutputChange
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.health import ASSUMED
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.quantity import Quantity, Resources, canonical_like
from reconciler.model.records import dataclass, field
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.multicluster.placement_decision import ChosenCluster
from reconciler.rebalance.target import REBALANCER, AffinityPlace, Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One thing that an object asks a person for, now or later.

    Attributes:
        key: Of what is approved, and of the manifest that approves it.
        stage: Which part of the object it is about.
        is_asked: Whether the object waits for it now.
        is_done: Whether it was approved already.
        manifest: Returns the manifest that approves it, given why in words, and the text of a
            moment.
    """

    key: ObjectKey
    stage: str
    is_asked: bool
    is_done: bool
    manifest: Callable[[str, str], Body]


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: a stable id, the object as people call it (`""` for none), and a sentence."""

    rule: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeEffects:
    """Both worlds and what a pass writes in each.

    Attributes:
        base: The world without the change.
        merged: The world with it.
        known: Path to text of what a pass writes without the change.
        written: Path to text of what it writes with it.
        caused: The decisions that it takes with the change and not without it.
        is_carried: Whether a placement of any API may select a namespace with all that is in it.
    """

    base: World
    merged: World
    known: Mapping[str, str]
    written: Mapping[str, str]
    caused: Sequence[Decision]
    is_carried: Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedResource:
    """One resource that a quota limits; `written` is its limit as a text.

    Amounts are told in the format of the limit.
    """

    name: str
    used: Quantity
    limit: Quantity
    written: str

    @property
    def free(self) -> Quantity:
        """What is left, never below 0."""
        return Quantity(max(0, self.limit - self.used))

    def told(self, amount: Quantity) -> str:
        """Return an amount as people write it."""
        return canonical_like(amount, self.written)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUsage:
    """One quota.

    Attributes:
        key: Of its manifest.
        refuses: Whether a decision that exceeds it is refused.
        resources: What it limits, by name.
    """

    key: ObjectKey
    refuses: bool
    resources: tuple[LimitedResource, ...]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """An object or a cluster, what is known of it, what is below it.

    Attributes:
        key: Of the object, `None` for a cluster.
        name: Of either.
        replicas: How many a cluster has, 0 where there are none to count.
        facts: What is known of it, by name.
        children: What hangs on it.
    """

    key: ObjectKey | None
    name: str
    replicas: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)
    children: tuple["TreeNode", ...] = ()


def node_of(
    key: ObjectKey, facts: Mapping[str, str] | None = None, children: tuple[TreeNode, ...] = ()
) -> TreeNode:
    """Return the node of an object."""
    return TreeNode(key, key.name, facts=facts or {}, children=children)


def status_in(world: World, key: ObjectKey) -> Body:
    """Return the status that passes wrote for an object, an empty one if there is none."""
    manifest = world.outputs.get(key)
    return {} if manifest is None else mapping(manifest.body, "status")


def condition_facts(status: Body, *, prefix: str = "", good: Mapping[str, str]) -> dict[str, str]:
    """Return each condition, with its reason where it is not as it should be, or only assumed.

    Args:
        status: That has the conditions.
        prefix: What their types begin with, left out.
        good: Type to the value that it should have, if that is not `True`.
    """
    facts = {}
    for condition in bodies(status, "conditions"):
        kind, value = text(condition, "type"), text(condition, "status")
        reason = text(condition, "reason")
        fine = value == good.get(kind, "True") and ASSUMED not in reason
        facts[kind.removeprefix(prefix)] = value if fine else f"{value} ({reason})"
    return facts


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadWish:
    """How clusters are to lie over domains, the values of a field or label.

    Attributes:
        name: What the domains are values of, such as `region`.
        domain_of: Cluster to its domain; one that is missing is in none.
        least: How many domains there have to be at least, 0 for any number.
        most: How many at most, `None` for any number.
        skew: How many clusters a domain may have more than another one, `None` for any number.
    """

    name: str
    domain_of: Mapping[str, str]
    least: int = 0
    most: int | None = None
    skew: int | None = None

    def domains(self, clusters: Collection[str]) -> int:
        """Return how many domains some clusters lie in."""
        return len(self._counts(clusters))

    def skew_of(self, clusters: Collection[str]) -> int:
        """Return how many clusters the fullest domain has more than the emptiest."""
        counts = self._counts(clusters)
        every = [counts[domain] for domain in {*self.domain_of.values()}]
        return max(every, default=0) - min(every, default=0)

    def gap(self, clusters: Collection[str]) -> int:
        """Return how far clusters are from what is wished: domains, or clusters of skew.

        >>> zones = {"a": "x", "b": "x", "c": "y"}
        >>> wish = SpreadWish(name="zone", domain_of=zones, least=2, skew=1)
        >>> wish.gap(["a", "b"]), wish.gap(["a", "c"])
        (2, 0)
        """
        domains = self.domains(clusters)
        lacking = max(0, self.least - domains)
        beyond = 0 if self.most is None else max(0, domains - self.most)
        uneven = 0 if self.skew is None else max(0, self.skew_of(clusters) - self.skew)
        return lacking + beyond + uneven

    def _counts(self, clusters: Collection[str]) -> Counter[str]:
        return Counter(self.domain_of[name] for name in clusters if name in self.domain_of)


SpreadWishes = Callable[[ObjectKey], tuple[SpreadWish, ...]]
"""Returns the wishes of an object by what decisions about it bear."""


def no_spread(_: World) -> SpreadWishes:
    """Return that no object wishes anything."""
    return lambda _: ()


Scores = Mapping[str, int]
"""Name of a score to its value, in the order in which they are written."""

LEAST, MOST = -100, 100
"""Between these a score is.

Source: open-cluster-management.io/api cluster/v1alpha1 types_addonplacementscore.go
`AddOnPlacementScoreItem.Value`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """One API's way.

    Attributes:
        key_of: Returns the object that has the scores of a cluster, given the names of both.
        manifest: Returns that object, new; the last argument is until when it counts in RFC 3339,
            `None` for ever.
        steps: Returns how one that is there changes; scores of other names stay.
    """

    key_of: Callable[[str, str], ObjectKey]
    manifest: Callable[[ObjectKey, Scores, str | None], Body]
    steps: Callable[[Body, Scores, str | None], tuple[Step, ...]]


DRAINED = "reconciler.dev/drained"
"""Key of the taint of a drained cluster, where the API has an effect by which things leave."""

DRAINS = "reconciler.dev/drains"
"""Annotation of what a drain wrote beside the taint: the name of the cluster."""


def _no_requests(_world: World, _cluster: ClusterName, /) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draining:
    """One API's way.

    Attributes:
        taint: What a drained cluster has.
        stays: Returns why a placement does not leave a drained cluster by itself, a clause; `""`
            if nothing is known that keeps it.
        requests: Yields the objects that ask placements to leave a cluster, as far as nothing asks
            them yet.
        request_kind: Kind of these, `None` if there are none.
    """

    taint: Body
    stays: Callable[[World, ObjectKey, ClusterName], str]
    requests: Callable[[World, ClusterName], Iterable[tuple[ObjectKey, Body]]] = _no_requests
    request_kind: Kind | None = None


def is_drained(cluster: Body, draining: Draining) -> bool:
    """Return whether the manifest of a cluster has the taint of a drained one."""
    return any(
        all(text(one, name) == text(draining.taint, name) for name in ("key", "effect"))
        for one in bodies(mapping(cluster, "spec"), "taints")
    )


def drained_by(world: World, cluster: ObjectKey, draining: Draining) -> list[ObjectKey]:
    """Return what a drain of a cluster wrote beside its taint, sorted by kind."""
    kinds = [draining.request_kind] if draining.request_kind is not None else []
    written = (one for kind in (*kinds, REBALANCER) for one in world.of_kind(*kind))
    return [one.key for one in written if _drains(one.body) == cluster.name]


def _drains(request: Body) -> str:
    return text(mapping(mapping(request, "metadata"), "annotations"), DRAINS)


def tolerated_for_ever(tolerations: Iterable[Toleration], taint: Body) -> str:
    """Return the clause for a taint that is tolerated without an end, `""` if it is not."""
    known = Taint(text(taint, "key"), text(taint, "value"), TaintEffect(text(taint, "effect")))
    endless = any(one.toleration_seconds is None and tolerates(one, known) for one in tolerations)
    return f"it tolerates {known} without an end" if endless else ""


class Report(StrEnum):
    """What a cluster says of its copy; `REPORTED` where its kind has no notion of health.

    `AT_RISK` is a copy of which nothing bad is known, on a cluster that is down.
    """

    NONE = "none"
    AT_RISK = "at-risk"
    ASSUMED = "assumed"
    REPORTED = "reported"
    UNHEALTHY = "unhealthy"
    HEALTHY = "healthy"


FINE = frozenset({Report.ASSUMED, Report.HEALTHY})
"""What counts as healthy where something waits for health."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStatus:
    """What is known of one copy.

    Attributes:
        cluster: Where it is, or is to be.
        replicas: How many a decision wants there, 0 where there are none to count.
        leaving: Whether the object leaves that cluster, and the copy stays for now.
        report: What the cluster says of it, or what is assumed of its silence.
        note: More of the report: how much of it is ready, or why it counts as unhealthy.
        waits_for: What has to happen before its cluster gets what is new, or is left; a clause.
    """

    cluster: ClusterName
    replicas: int = 0
    leaving: bool = False
    report: Report = Report.NONE
    note: str = ""
    waits_for: str = ""


Copies = Callable[[ObjectKey], tuple[CopyStatus, ...]]
"""Returns the copies of what a decision is about, by cluster; none if it is about no content."""


def no_copies(_world: World, _now: datetime, /) -> Copies:
    """Return what knows of no copy: for an API whose decisions bring no content anywhere."""
    return lambda _: ()


def ready(status: Mapping[str, object], replicas: int) -> str:
    """Return how many replicas of a reported status are ready, `""` if it does not count them.

    >>> ready({"readyReplicas": 1}, 2)
    '1 of 2 ready'
    """
    count = status.get("readyReplicas")
    return f"{count} of {replicas} ready" if isinstance(count, int) and replicas else ""


def waits_for_health(clusters: Iterable[str], state: str = "healthy") -> str:
    """Return that something waits for an object to run elsewhere; without any, for a pass."""
    names = ", ".join(sorted(clusters))
    return f"it to be {state} on {names}" if names else "the next pass"


PLACE = ("region", "zone")
UNREACHED = "the cluster cannot be reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """The report of one cluster.

    Attributes:
        ready: `True`, `False` or `Unknown`.
        capacity: What it can give away, `None` where it does not say.
        free: What is left, `None` where it does not say.
        down: What is wrong with it, a clause; `""` if it is well, or says nothing of it.
    """

    ready: str
    capacity: Resources | None
    free: Resources | None = None
    down: str = ""


class ClusterPlace(NamedTuple):
    """Where a cluster stands; `""` where it does not say."""

    region: str
    zone: str


def labelled_place(cluster: Body) -> ClusterPlace:
    """Return where a cluster stands by the labels that Kubernetes has for it."""
    labels = mapping(mapping(cluster, "metadata"), "labels")
    return ClusterPlace(*(text(labels, f"topology.kubernetes.io/{part}") for part in PLACE))


def reported_trouble(conditions: Sequence[Body], kind: str) -> str:
    """Return what is wrong by a condition that should be True, `""` if nothing is.

    >>> reported_trouble([{"type": "Ready", "status": "False", "reason": "PowerLost"}], "Ready")
    'is not ready (PowerLost)'
    """
    condition: Body = next((item for item in conditions if text(item, "type") == kind), {})
    trouble = {"False": "is not ready", "Unknown": "cannot be reached"}.get(
        text(condition, "status")
    )
    if trouble is None:
        return ""
    words = ": ".join(filter(None, (text(condition, "reason"), text(condition, "message"))))
    return f"{trouble} ({words})" if words else trouble


def reported_status(conditions: Sequence[Body], kind: str) -> str:
    """Return the status of a condition, `Unknown` if there is none."""
    statuses = (text(item, "status") for item in conditions if text(item, "type") == kind)
    return next(statuses, "Unknown")


def simulated_condition(kind: str, status: str, message: str, moment: str) -> Body:
    """Return a condition as an agent would report it."""
    return {
        "type": kind,
        "status": status,
        "reason": "Simulated",
        "message": message,
        "lastTransitionTime": moment,
    }


def unknown_since(status: Body, conditions: Sequence[Body], kind: str, moment: str) -> Body:
    """Return the status of a cluster of which it is not known any more whether it is well.

    Args:
        status: As it was.
        conditions: Those in it.
        kind: Type of the condition that says whether it is well.
        moment: Since when, RFC 3339.
    """
    others = [one for one in conditions if text(one, "type") != kind]
    condition = simulated_condition(kind, "Unknown", UNREACHED, moment)
    return {**status, "conditions": [condition, *others]}


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


def _no_problem(_: Body) -> str:
    return ""


def _no_resources(_: Body) -> Resources:
    return {}


AssumedIn = Callable[[World, datetime], Callable[[Manifest], Body]]
"""Returns what says how outputs of a kind are at a moment, with what is assumed by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputAnswers:
    """What one output says by itself.

    Attributes:
        is_placed: Whether an output that a decision is about names a cluster.
        owner_of: Returns the placement that an output is a part of, `None` if it is of none.
        clusters_in: Yields the clusters that a decision is written for in an output, with the
            replicas there, 0 where there are none to count.
        follows: Returns the outputs whose clusters what such an output places is on, too.
        requested_by: Returns what one replica of what such an output places asks for.
        decision_on: Returns the output that decisions on a workload are about, `None` if it
            decides on no workloads of their own.
        workload_of: Returns the workload that an output is about, as a rebalancer names it, `None`
            if it is about none.
        policy_of: Returns the policy that what such an output places belongs to, `None` if to none.
        problem_of: Returns why what such an output places lacks clusters, as the last pass wrote it
            there; `""` if it lacks none.
        affinity_of: Returns the affinity group that placed it, of those that are tried in order,
            `None` if it has none.
        may_wait: Whether a copy of what such an output places may wait; `copies` says for what.
        surely_waits: Whether one does, whatever clusters report; `False` where only `copies` tells.
    """

    is_placed: Callable[[Manifest], bool]
    owner_of: Callable[[ObjectKey, Body], ObjectKey | None] = _none
    clusters_in: Callable[[Body], Iterable[tuple[str, int]]]
    follows: Callable[[Body], tuple[ObjectKey, ...]] = _nothing
    requested_by: Callable[[Body], Resources] = _no_resources
    decision_on: Callable[[ObjectKey], ObjectKey | None] = _none
    workload_of: Callable[[Body], Reference | None] = _none
    policy_of: Callable[[Body], ObjectKey | None] = _none
    problem_of: Callable[[Body], str] = _no_problem
    affinity_of: Callable[[Body], AffinityPlace | None] = _none
    may_wait: Callable[[Body], bool] = _always
    surely_waits: Callable[[Body], bool] = _never


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeAnswers:
    """What a change of an output was.

    Attributes:
        events: Yields upstream's events of it, in order.
        is_edited: Whether the decision in an output is another one than the pass wrote there.
        may_hide_eviction: Whether an eviction may have begun and ended between two states of an
            output, so that neither has it.
        asks_beside: Whether the events of a change of an output are told from the other outputs of
            its commit, too.
    """

    events: Callable[[OutputChange], Iterable[ObjectEvent]] = _nothing
    is_edited: Callable[[Body], bool] = _never
    may_hide_eviction: Callable[[Body, Body], bool] = _never
    asks_beside: Callable[[Body, Body], bool] = _never


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswers:
    """What the clusters of an API say, and how people change them.

    Attributes:
        report_of: Returns what the status of a cluster says.
        place_of: Returns where a cluster stands.
        taints_of: Returns the taints of a cluster that scheduling uses: those that are written,
            and those that follow from what it reports.
        cordon: The taint by which its own tool keeps a cluster from taking anything new.
        draining: How a cluster is emptied.
        taint_effects: The effects that a taint of its clusters may have, the mildest first.
        scoring: How scores of its clusters are written, `None` if it has none.
        unreachable: Returns a cluster that cannot be reached since a moment in RFC 3339.
    """

    report_of: Callable[[Body], ClusterReport]
    place_of: Callable[[Body], ClusterPlace] = labelled_place
    taints_of: Callable[[Body, Settings, Body | None], tuple[Body, ...]] = _written_taints
    cordon: Body
    draining: Draining
    taint_effects: tuple[str, ...]
    scoring: Scoring | None = None
    unreachable: Callable[[Body, str], Body]


CHOSEN, LEAVING = "chosen", "leaving"
"""How the reason begins of a cluster that is chosen, and of one that keeps its copy for now."""
STARTING = f"{CHOSEN} (it starts before another copy goes)"
"""Of one whose copy is made before another one goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAnswers:
    """What is known of the objects of a world, beside what one output says.

    Attributes:
        tree: Returns what hangs on an object, each level sorted.
        placement_of: Returns the placement that an object is about which is no part of it, `None`
            if it is about none.
        chosen: Returns the clusters on which a decision keeps what it is about, those that are
            being left for as long as delivery keeps them included; `None` where nothing is decided
            by itself, as for what follows others.
        carriers: Returns the placements that carry an object along, sorted.
        may_carry: Whether one of its placements may select a namespace with all that is in it.
        spread: Returns what says how objects want to be spread in a world.
        copies: Returns what knows of copies in clusters at a moment, of a world as it is by then.
        assumed: By kind of output, what says how one is at a moment: what passes wrote, and what
            is assumed since of clusters that never reported. Passes write nothing of that.
        assumed_beside: The kinds of these for which that is told from other objects, too.
        approvals: Returns what an object asks a person to approve, in the order in which it does.
        waiting: Yields what waits for a person to act, with a clause that says for what.
        quotas: Yields what is used of each quota, by key.
        categories: Words that mean several of its kinds at once, as kubectl has them.
        columns: By kind, what tables of its objects show.
    """

    tree: Callable[[World, ObjectKey], TreeNode]
    placement_of: Callable[[World, ObjectKey], ObjectKey | None] = _none
    chosen: Callable[[World, ObjectKey], tuple[ChosenCluster, ...] | None] = _none
    carriers: Callable[[World, ObjectKey], tuple[ObjectKey, ...]] = _nothing
    may_carry: Callable[[World, str], bool] = _never
    spread: Callable[[World], SpreadWishes] = no_spread
    copies: Callable[[World, datetime], Copies] = no_copies
    assumed: Mapping[Kind, AssumedIn] = field(default_factory=dict)
    assumed_beside: frozenset[Kind] = frozenset()
    approvals: Callable[[World, ObjectKey], tuple[Approval, ...]] = _nothing
    waiting: Callable[[World], Iterable[tuple[ObjectKey, str]]] = _nothing
    quotas: Callable[[World], Iterable[QuotaUsage]] = _nothing
    categories: Mapping[str, frozenset[Kind]] = field(default_factory=dict)
    columns: ColumnTable = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswers:
    """What people wrote, before anything is decided of it.

    Attributes:
        references: Yields what its objects refer to and is not there.
        brought: Yields what its policies and placements put onto clusters, by what is written.
        rolled_out: Yields objects that it rolls out by itself, each with what does so.
        unmakeable: Returns why a placement of its, as it is written, cannot be made before it
            breaks, `""` if it may be; it is asked of every placement and workload.
        unkept: Returns why a rebalance cannot keep what runs of an object, as it is written in a
            world, `""` if it may.
        instructed: Yields what its manifests ask not to happen on clusters, by what is written.
        overridden: Yields what its overrides make of objects, of each change the first few.
        warnings: Yields what to look at before a merge.
    """

    references: Callable[[Known], Iterable[Dangling]] = _nothing
    brought: Callable[[Known], Iterable[Brought]] = _nothing
    rolled_out: Callable[[Known], Iterable[tuple[ObjectKey, ObjectKey]]] = _nothing
    unmakeable: Callable[[Manifest], str] = lambda _: ""
    unkept: Callable[[World, Manifest], str] = lambda *_: ""
    instructed: Callable[[Known], Iterable[Instructed]] = _nothing
    overridden: Callable[[Known], Iterable[OverrideResult]] = _nothing
    warnings: Callable[[MergeEffects], Iterable[Warned]] = _nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The answers of one API, by what is asked about."""

    outputs: OutputAnswers
    changes: ChangeAnswers = ChangeAnswers()
    clusters: ClusterAnswers
    world: WorldAnswers
    written: WrittenAnswers = WrittenAnswers()
