"""A Cluster as its controllers leave it: taints dated, and added by conditions and by policies.

In the order of the flow: taints in the file are dated, the Ready condition adds taints that keep
new workloads away and, with failover, evict; then ClusterTaintPolicies add and remove taints by the
conditions of the cluster. What policies changed is kept in the status file of the cluster; the file
that people write is never touched.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from reconciler.dialects.inventory import AdmittedCluster
from reconciler.dialects.karmada.api.cluster import MemberCluster, decode_cluster, members_of
from reconciler.dialects.karmada.api.cluster_admission import mutated_cluster
from reconciler.dialects.karmada.api.names import POLICY_GROUP, decode_failover
from reconciler.dialects.karmada.api.placement import ClusterAffinity, decode_affinity
from reconciler.manifests.admission import (
    dated,
    first_seen,
    read_note,
    taint_id,
    taint_record,
    write_note,
)
from reconciler.model.body import Body, keep_present
from reconciler.model.fields import bodies, mapping, mapping_or_none, mappings_of, strings, text
from reconciler.model.moments import stamp
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest

NOT_READY = "cluster.karmada.io/not-ready"
UNREACHABLE = "cluster.karmada.io/unreachable"
NO_SCHEDULE = "NoSchedule"
READY = "Ready"


def taints_by_condition(
    taints: Sequence[Body], conditions: Sequence[Body], *, deleting: bool, added: Body
) -> tuple[Body, ...]:
    """Return the taints of a cluster once its Ready condition has been looked at.

    The first Ready condition counts. Taints are told apart by key and effect, whatever their value.

    Args:
        taints: That it has.
        conditions: Of its status.
        deleting: Whether it is being deleted: then it gets no taint.
        added: What a new taint has besides its key and effect.

    Source: karmada@f8fdd02 pkg/controllers/cluster/cluster_controller.go `taintClusterByCondition`.
    """
    ready = next((one for one in conditions if text(one, "type") == READY), None)
    if deleting:
        return tuple(taints)
    match None if ready is None else text(ready, "status"):
        case None:
            return _changed(taints, added, add=(NOT_READY,))
        case "True":
            return _changed(taints, added, drop=(NOT_READY, UNREACHABLE))
        case "False":
            return _changed(taints, added, add=(NOT_READY,), drop=(UNREACHABLE,))
        case "Unknown":
            return _changed(taints, added, add=(UNREACHABLE,), drop=(NOT_READY,))
        case _:
            return tuple(taints)


def _changed(
    taints: Sequence[Body], added: Body, *, add: Sequence[str] = (), drop: Sequence[str] = ()
) -> tuple[Body, ...]:
    """Return taints without some keys, and with others, all of them NoSchedule."""
    staying = [one for one in taints if not (_is_ours(one) and text(one, "key") in drop)]
    present = {text(one, "key") for one in staying if _is_ours(one)}
    came = ({"key": key, "effect": NO_SCHEDULE, **added} for key in add if key not in present)
    return (*staying, *came)


def _is_ours(taint: Body) -> bool:
    return text(taint, "effect") == NO_SCHEDULE


TAINT_POLICY = (POLICY_GROUP, "ClusterTaintPolicy")


@dataclass(frozen=True, slots=True)
class ConditionMatch:
    """Which statuses of a type of condition are meant."""

    type: str
    operator: str
    statuses: tuple[str, ...]

    def holds(self, conditions: Sequence[Body]) -> bool:
        """Return whether a cluster has a condition of the type in a status that is meant.

        Of several conditions of one type any will do for In, and for NotIn the last one decides.
        A type that the cluster lacks never matches, nor does an operator that there is not.
        """
        statuses = [text(one, "status") for one in conditions if text(one, "type") == self.type]
        if not statuses:
            return False
        if self.operator == "In":
            return any(status in self.statuses for status in statuses)
        return self.operator == "NotIn" and statuses[-1] not in self.statuses


@dataclass(frozen=True, slots=True)
class TaintPolicy:
    """A policy.

    Attributes:
        name: Of it.
        target: The clusters that it is for, `None` for all.
        taints: As written, without moments.
        add_on: All of these must hold for the taints to come; none means that they never do.
        remove_on: The same for them to go.
    """

    name: str
    target: ClusterAffinity | None
    taints: tuple[Body, ...]
    add_on: tuple[ConditionMatch, ...]
    remove_on: tuple[ConditionMatch, ...]


def decode_taint_policy(body: Body) -> TaintPolicy:
    """Return a policy.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/cluster_taint_policy_types.go.
    """
    spec = mapping(body, "spec")
    target = mapping_or_none(spec, "targetClusters")
    return TaintPolicy(
        name=text(mapping(body, "metadata"), "name"),
        target=None if target is None else decode_affinity(target),
        taints=tuple(map(_taint_of_policy, bodies(spec, "taints"))),
        add_on=tuple(map(_match, bodies(spec, "addOnConditions"))),
        remove_on=tuple(map(_match, bodies(spec, "removeOnConditions"))),
    )


def taints_by_policies(
    taints: Sequence[Body],
    conditions: Sequence[Body],
    policies: Sequence[TaintPolicy],
    targets: Callable[[TaintPolicy], bool],
    added: Body,
) -> tuple[Body, ...]:
    """Return the taints of a cluster once each policy had its say; later ones see those of earlier.

    One that is there already, by key and effect, stays as it is; one that goes may be anybody's.
    Nothing is undone when a condition ceases, or a policy changes or goes.

    Args:
        taints: That it has.
        conditions: Of its status.
        policies: In their order.
        targets: Whether a policy is for this cluster.
        added: What a new taint has besides what its policy says.

    Source: karmada@f8fdd02 pkg/controllers/taint/clustertaintpolicy_controller.go.
    """
    result = list(taints)
    for policy in filter(targets, policies):
        if _all_hold(policy.add_on, conditions):
            for taint in policy.taints:
                if all(_pair(one) != _pair(taint) for one in result):
                    result.append({**taint, **added})
        if _all_hold(policy.remove_on, conditions):
            for taint in policy.taints:
                gone = next((n for n, one in enumerate(result) if _pair(one) == _pair(taint)), None)
                if gone is not None:
                    del result[gone]
    return tuple(result)


def _all_hold(matches: Sequence[ConditionMatch], conditions: Sequence[Body]) -> bool:
    return bool(matches) and all(one.holds(conditions) for one in matches)


def _pair(taint: Body) -> tuple[str, str]:
    return text(taint, "key"), text(taint, "effect")


def _taint_of_policy(body: Body) -> Body:
    value = text(body, "value")
    named = {"key": text(body, "key"), "effect": text(body, "effect")}
    return {**named, **({"value": value} if value else {})}


def _match(body: Body) -> ConditionMatch:
    return ConditionMatch(
        text(body, "conditionType"), text(body, "operator"), strings(body, "statusValues")
    )


POLICY_TAINTS = "reconciler.dev/policy-taints"
"""Annotation: taints that policies have put there, and written ones that they have taken away."""


@dataclass(frozen=True, slots=True)
class KeptTaints:
    """What is kept: taints with their moments, and the ids of written ones that are gone."""

    added: tuple[Body, ...] = ()
    removed: frozenset[str] = frozenset()

    def applied_to(self, written: Iterable[Body]) -> tuple[Body, ...]:
        """Return the taints that people wrote as policies left them."""
        stay = [one for one in written if taint_id(one) not in self.removed]
        present = set(map(taint_id, stay))
        return (*stay, *(one for one in self.added if taint_id(one) not in present))

    def of(self, written: Iterable[Body]) -> "KeptTaints":
        """Return the same without what people took away by themselves."""
        return KeptTaints(self.added, self.removed & set(map(taint_id, written)))


def decode_kept(record: Body | None) -> KeptTaints:
    """Return what a status file keeps; what a person garbled is not there."""
    annotations = mapping(mapping(record or {}, "metadata"), "annotations")
    note = read_note(text(annotations, POLICY_TAINTS))
    removed = note.get("removed")
    return KeptTaints(
        added=tuple(_kept_taint(one) for one in mappings_of(note.get("added")) if _is_taint(one)),
        removed=frozenset(one for one in removed if isinstance(one, str))
        if isinstance(removed, list)
        else frozenset(),
    )


def encode_kept(kept: KeptTaints) -> dict[str, str]:
    """Return the annotation, none for nothing."""
    lists = {"added": list(kept.added), "removed": sorted(kept.removed)}
    annotations = {name: value for name, value in lists.items() if value}
    return {POLICY_TAINTS: write_note(annotations)} if annotations else {}


def after_policies(kept: KeptTaints, before: Sequence[Body], after: Sequence[Body]) -> KeptTaints:
    """Return what is kept once policies have changed the taints that there were."""
    ours = set(map(taint_id, kept.added))
    there, were = set(map(taint_id, after)), set(map(taint_id, before))
    came = tuple(one for one in after if taint_id(one) not in were)
    stay = tuple(one for one in kept.added if taint_id(one) in there)
    return KeptTaints((*stay, *came), kept.removed | (were - there - ours))


def _is_taint(one: Body) -> bool:
    return all(isinstance(one.get(name), str) for name in ("key", "effect", "timeAdded"))


def _kept_taint(one: Body) -> Body:
    return {name: value for name, value in one.items() if isinstance(value, str)}


KIND = "Cluster"


def admit_cluster(
    manifest: Manifest,
    output: Manifest | None,
    *,
    declared: bool,
    failover: bool,
    policies: Sequence[TaintPolicy] = (),
    now: datetime,
) -> AdmittedCluster[MemberCluster]:
    """Date the taints of one cluster, add those that follow from its conditions, ask policies.

    Args:
        manifest: The cluster.
        output: Its status file, `None` if there is none.
        declared: Whether a cluster without any status is ready.
        failover: Whether a failing cluster gets a NoExecute taint, too.
        policies: That put taints on clusters, in their order.
        now: Moment that dates taints first seen in this pass.
    """
    spec = mutated_cluster(mapping(manifest.body, "spec"))
    present = output.body if output is not None else None
    written = bodies(mapping(manifest.body, "spec"), "taints")
    added_at = first_seen(written, output, now)
    kept = decode_kept(present)
    applied = kept.applied_to(dated(written, added_at))
    before = _following(manifest.body, applied, failover)
    taints, kept = _by_policies(manifest.body, before, kept, policies, now, declared=declared)
    view = decode_cluster({**manifest.body, "spec": {**spec, "taints": taints}}, declared=declared)
    notes = encode_kept(kept.of(written))
    record = taint_record(manifest, added_at, notes) if added_at or notes else None
    return AdmittedCluster(view, None if record is None else keep_present(record, present))


def taints_of(body: Body, settings: Settings, record: Body | None) -> tuple[Body, ...]:
    """Return the taints of a cluster that scheduling uses: written, that follow, of policies."""
    written = decode_kept(record).applied_to(bodies(mapping(body, "spec"), "taints"))
    return _following(body, written, decode_failover(settings).enabled)


def _by_policies(
    body: Body,
    before: Sequence[Body],
    kept: KeptTaints,
    policies: Sequence[TaintPolicy],
    now: datetime,
    *,
    declared: bool,
) -> tuple[Sequence[Body], KeptTaints]:
    """Return the taints once policies had their say, and what is to be remembered of that.

    A cluster without a status is a declaration, and has no condition that a policy could mean.
    """
    conditions = bodies(mapping(body, "status"), "conditions")
    if not policies or not conditions:
        return before, kept
    alone = members_of((decode_cluster(body, declared=declared),))

    def targets(policy: TaintPolicy) -> bool:
        return policy.target is None or bool(alone.matching(policy.target))

    added: Body = {"timeAdded": str(stamp(now))}
    after = taints_by_policies(before, conditions, policies, targets, added)
    return after, after_policies(kept, before, after)


def _following(
    body: Body,
    taints: Sequence[Body],
    failover: bool,  # noqa: FBT001  # passed on by name
) -> tuple[Body, ...]:
    """Return the taints of a cluster with those that follow from its Ready condition.

    NoSchedule holds at once; NoExecute is dated by the condition's lastTransitionTime. A status
    without a Ready condition is not ready. A cluster without a status is a declaration, and ready.

    Unlike upstream: a taint that a person wrote stays when its condition is over.

    Source: karmada@f8fdd02 pkg/controllers/cluster/cluster_controller.go `taintClusterByCondition`,
    `processTaintBaseEviction`.
    """
    status = mapping(body, "status")
    if not status:
        return tuple(taints)
    conditions = bodies(status, "conditions")
    deleting = bool(text(mapping(body, "metadata"), "deletionTimestamp"))
    by_condition = taints_by_condition((), conditions, deleting=deleting, added={})
    since = next((text(one, "lastTransitionTime") for one in conditions if _is_ready(one)), "")
    evicting = ({**one, "effect": "NoExecute", "timeAdded": since} for one in by_condition)
    ids = set(map(taint_id, taints))
    derived = (*by_condition, *(evicting if failover and since else ()))
    return (*taints, *(one for one in derived if taint_id(one) not in ids))


def _is_ready(condition: Body) -> bool:
    return text(condition, "type") == READY


def decode_departed(name: str, *, declared: bool) -> MemberCluster:
    """Return a stand-in for a cluster whose file is gone while a binding still names it.

    It counts as a Cluster that is being deleted, so that the binding leaves it.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `doScheduleBinding`, the case of a
    terminating target cluster.
    """
    body: Body = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": KIND,
        "metadata": {"name": name, "deletionTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"syncMode": "Push"},
        "status": {},
    }
    return replace(decode_cluster(body, declared=declared), departed=True)
