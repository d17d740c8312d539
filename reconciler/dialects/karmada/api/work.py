"""Works of Karmada: what a binding wants of them, what it keeps of their hub, what they report.

A binding says whether its Works wait and what outlives them. For as long as it exists it also keeps
the marks of the hub that it came from, so that what is delivered stays as it was. A binding that
was never on a hub has no marks; what upstream draws at random then follows from identities.

In the other direction, a Work reports the object that it carries. The reports of one workload are
gathered over all clusters, and aggregatedStatus keeps of each status what its kind allows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.inventory import CopyReports
from reconciler.dialects.karmada.api.binding import (
    AggregatedStatusItem,
    BindingMetadata,
    reported_item,
)
from reconciler.dialects.karmada.api.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.names import INGRESS, WORK_GROUP, execution_namespace
from reconciler.dialects.renderer import Instruction
from reconciler.manifests.admission import read_note, write_note
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, flag_or_none, mapping, strings, text
from reconciler.model.health import Health, is_judged
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.kinds import CopyReport
from reconciler.model.labels import is_label_value
from reconciler.model.moments import is_moment, parse_moment
from reconciler.model.records import dataclass, field
from reconciler.rebalance.surge import STEP


def encode_dispatch(binding: BindingSpec, cluster: ClusterName) -> Body:
    """Return what the spec of a Work has beside its manifests."""
    return {
        "suspendDispatching": is_suspended_on(binding.suspension or {}, cluster),
        "preserveResourcesOnDeletion": bool(binding.preserve_resources_on_deletion),
    }


def is_suspended_on(suspension: Body, cluster: ClusterName) -> bool:
    """Return whether a cluster's agent is to pass over the Work.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `shouldSuspendDispatching`.
    """
    named = at(suspension, "dispatchingOnClusters").get("clusterNames") or ()
    return bool(flag_or_none(suspension, "dispatching")) or cluster in named  # type: ignore[operator]


def keeps_objects(body: Body) -> bool:
    """Return whether a Work, or a binding, leaves its objects in clusters when it goes."""
    return flag_or_none(mapping(body, "spec"), "preserveResourcesOnDeletion") is True


def is_passed_over(work: Body) -> bool:
    """Return whether who applies Works does not apply this one."""
    return flag_or_none(mapping(work, "spec"), "suspendDispatching") is True


def asked_by_policy(policy: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a policy asks as it is written, each with its JSON pointer.

    `conflictResolution: Abort` is the default of the CRD; only who writes it asks for it.
    """
    spec = mapping(policy, "spec")
    suspension = mapping(spec, "suspension")
    if flag_or_none(suspension, "dispatching"):
        yield "/spec/suspension/dispatching", Instruction.SUSPENDED
    elif strings(mapping(suspension, "dispatchingOnClusters"), "clusterNames"):
        yield "/spec/suspension/dispatchingOnClusters", Instruction.SUSPENDED
    if flag_or_none(spec, "preserveResourcesOnDeletion"):
        yield "/spec/preserveResourcesOnDeletion", Instruction.PRESERVED
    if text(spec, "conflictResolution") == "Abort":
        yield "/spec/conflictResolution", Instruction.ABORTS


BINDING_ID = "resourcebinding.karmada.io/permanent-id"
CLUSTER_BINDING_ID = "clusterresourcebinding.karmada.io/permanent-id"
BINDING_IDS = (BINDING_ID, CLUSTER_BINDING_ID)
"""Labels by which Works know their binding; one that has none is known by its uid."""
NOTED_GENERATION = "resourcetemplate.karmada.io/generation"
"""Annotation of what is delivered: the generation of the workload that it was made from."""
WORK_IDS = "reconciler.dev/work-ids"
"""Annotation: cluster to the permanent id of the Work there."""
TEMPLATE_GENERATION = "reconciler.dev/template-generation"
"""Annotation: the generation that a workload had on its hub, and the digest of it by then."""
REPLICA_COUNTING = frozenset(("apps", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet"))
"""The kinds that report how many of their replicas are available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubMarks:
    """What is kept.

    Attributes:
        work_ids: Cluster to the permanent id of the Work there.
        generation: Of the workload, 0 if it is not known.
        digest: Of the workload when it had that generation.
    """

    work_ids: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0
    digest: str = ""

    def work_id(self, cluster: ClusterName, name: str) -> str:
        """Return the permanent id of a Work; without one of a hub it follows from its identity.

        Source: karmada@f8fdd02 pkg/webhook/work/mutating.go, which draws it at random.
        """
        recorded = self.work_ids.get(cluster)
        return recorded or uid_of(ObjectKey(WORK_GROUP, "Work", execution_namespace(cluster), name))


NO_MARKS = HubMarks()


def decode_marks(metadata: BindingMetadata) -> HubMarks:
    """Return what a binding keeps; what a person garbled is not there."""
    ids, counted = metadata.note(WORK_IDS), metadata.note(TEMPLATE_GENERATION)
    if not ids and not counted:
        return NO_MARKS
    generations, recorded = read_note(counted), _ids_in(read_note(ids))
    generation, digest = generations.get("generation"), generations.get("digest")
    if isinstance(generation, int) and generation is not True and isinstance(digest, str):
        return HubMarks(work_ids=recorded, generation=generation, digest=digest)
    return HubMarks(work_ids=recorded)


def _ids_in(note: Mapping[str, object]) -> Mapping[str, str]:
    return {
        cluster: value
        for cluster, value in note.items()
        if isinstance(value, str) and value and is_label_value(value)
    }


def encode_marks(marks: HubMarks) -> dict[str, str]:
    """Return the annotations of what is kept, empty ones for nothing."""
    counted = {"digest": marks.digest, "generation": marks.generation}
    return {
        WORK_IDS: write_note(marks.work_ids) if marks.work_ids else "",
        TEMPLATE_GENERATION: write_note(counted) if marks.generation else "",
    }


def kept_marks(
    metadata: BindingMetadata, clusters: Callable[[], Collection[str]]
) -> dict[str, str]:
    """Return the annotations as they are carried on; a Work that goes takes its id along.

    Args:
        metadata: Of the binding as it stood.
        clusters: Returns where its Works are from now on; few bindings have to know.
    """
    ids = metadata.note(WORK_IDS)
    if ids:
        recorded, there = _ids_in(read_note(ids)), clusters()
        stay = {name: value for name, value in recorded.items() if name in there}
        ids = write_note(stay) if stay else ""
    return {WORK_IDS: ids, TEMPLATE_GENERATION: metadata.note(TEMPLATE_GENERATION)}


def permanent_id(metadata: BindingMetadata) -> str:
    """Return by what Works name a binding: the id of its hub, or else its uid."""
    return next(filter(None, map(metadata.label, BINDING_IDS)), metadata.uid)


def kept_ids(metadata: BindingMetadata) -> dict[str, str]:
    """Return the labels with the id of a hub."""
    labels = ((name, metadata.label(name)) for name in BINDING_IDS)
    return {name: value for name, value in labels if value and is_label_value(value)}


Versioned = tuple[str, str]
"""An apiVersion and a kind: as upstream, another version of a kind has no rule of its own."""

SERVICE: Versioned = ("v1", "Service")
COUNTED: frozenset[Versioned] = frozenset(
    (("apps/v1", "Deployment"), ("apps/v1", "DaemonSet"), ("apps/v1", "StatefulSet"))
)
"""Of these the generation of the copy is kept, and the one that its template had on a hub."""
FIELDS: Mapping[Versioned, frozenset[str]] = {
    ("apps/v1", "Deployment"): frozenset(
        (
            "availableReplicas",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "unavailableReplicas",
            "updatedReplicas",
        )
    ),
    ("apps/v1", "StatefulSet"): frozenset(
        ("availableReplicas", "currentReplicas", "readyReplicas", "replicas", "updatedReplicas")
    ),
    ("apps/v1", "DaemonSet"): frozenset(
        (
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberAvailable",
            "numberMisscheduled",
            "numberReady",
            "numberUnavailable",
            "observedGeneration",
            "updatedNumberScheduled",
        )
    ),
    ("batch/v1", "Job"): frozenset(
        ("active", "completionTime", "conditions", "failed", "startTime", "succeeded")
    ),
    SERVICE: frozenset(("loadBalancer",)),
    ("policy/v1", "PodDisruptionBudget"): frozenset(
        ("currentHealthy", "desiredHealthy", "disruptedPods", "disruptionsAllowed", "expectedPods")
    ),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): frozenset(
        ("currentReplicas", "desiredReplicas")
    ),
}
"""The fields that are kept. Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/
reflectstatus.go `getAllDefaultReflectStatusInterpreter`."""
WHOLE: frozenset[Versioned] = frozenset(
    (
        ("apps/v1", "ReplicaSet"),
        ("batch/v1", "CronJob"),
        INGRESS,
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Pod"),
    )
)
"""Kinds of Kubernetes that are kept whole. Source: the same file, `reflectWholeStatus`."""
GENERATION = "generation"
REFLECTED_GENERATION = "resourceTemplateGeneration"


def reflected_status(report: Body) -> Body:
    """Return what is kept of the status of a report: the object as its cluster holds it.

    Agents that report through a Work have reflected it already; that stays as it is.

    Unlike upstream: of kinds that Kubernetes does not have, conditions are left out. Their moments
    may change without news, which would make commits without interest.
    """
    status = at(report, "status")
    kind = (str(report.get("apiVersion")), str(report.get("kind")))
    if kind == SERVICE and not _is_balanced(report):
        return {}
    if kind in FIELDS:
        own = FIELDS[kind] | {GENERATION, REFLECTED_GENERATION} if kind in COUNTED else FIELDS[kind]
        fields = {name: value for name, value in status.items() if name in own}
        return {**(_generations(report) if kind in COUNTED and fields else {}), **fields}
    return {name: one for name, one in status.items() if name != "conditions" or kind in WHOLE}


def keeps_conditions(kind: Versioned) -> bool:
    """Return whether conditions of a kind are kept."""
    return kind in WHOLE or "conditions" in FIELDS.get(kind, ())


def _is_balanced(service: Body) -> bool:
    """Return whether a Service has a load balancer; where its type is not told, one must be there.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/reflectstatus.go
    `reflectServiceStatus`.
    """
    service_type = at(service, "spec").get("type")
    return (
        bool(at(service, "status", "loadBalancer"))
        if service_type is None
        else service_type == "LoadBalancer"
    )


def _generations(report: Body) -> Body:
    """Return the generations of a copy and of its template, as far as they are told."""
    metadata = at(report, "metadata")
    noted = at(metadata, "annotations").get(NOTED_GENERATION)
    generations: dict[str, object] = {}
    if isinstance(metadata.get(GENERATION), int):
        generations[GENERATION] = metadata[GENERATION]
    if isinstance(noted, str) and noted.isascii() and noted.isdecimal():
        generations[REFLECTED_GENERATION] = int(noted[:18])
    return generations


APPLIED = "Applied"


def reports_in(work: Body) -> Iterator[tuple[ObjectKey, CopyReport]]:
    """Yield what a Work says of each of its manifests; one that is being deleted says nothing.

    A manifest without a status, such as a ConfigMap, is told of by the Work alone.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `assembleWorkStatus`.
    """
    if mapping(work, "metadata").get("deletionTimestamp") is not None:
        return
    status = mapping(work, "status")
    conditions = bodies(status, "conditions")
    condition = next((report for report in conditions if text(report, "type") == APPLIED), {})
    applied = text(condition, "status") == "True"
    message = "" if applied else text(condition, "message")
    manifests = bodies(mapping(mapping(work, "spec"), "workload"), "manifests")
    silent: list[Body] = [{"identifier": _identifier(report)} for report in manifests]
    for report in (*silent, *bodies(status, "manifestStatuses")):
        yield _report(report, applied=applied, message=message)


def _identifier(manifest: Body) -> Body:
    """Return by what a manifest is known; its content is not checked anywhere before."""
    group, _, version = _word(manifest, "apiVersion").rpartition("/")
    metadata = at(manifest, "metadata")
    own = {field: _word(metadata, field) for field in ("namespace", "name")}
    return {"group": group, "version": version, "kind": _word(manifest, "kind"), **own}


def _word(body: Body, field: str) -> str:
    value = body.get(field)
    return value if isinstance(value, str) else ""


def _report(manifest: Body, *, applied: bool, message: str) -> tuple[ObjectKey, CopyReport]:
    named = mapping(manifest, "identifier")
    group, version = text(named, "group"), text(named, "version")
    kind, namespace, name = (text(named, field) for field in ("kind", "namespace", "name"))
    body = {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name} if namespace else {"name": name},
        "status": mapping(manifest, "status") if applied else {},
    }
    judged = Health(text(manifest, "health") or Health.UNKNOWN)
    report = CopyReport(body=body, applied=applied, message=message, judged=judged)
    return ObjectKey(group, kind, namespace, name), report


class BindingReports(NamedTuple):
    """The reports of one workload's copies.

    Attributes:
        workload: Its key.
        copies: Of all workloads.
    """

    workload: ObjectKey
    copies: CopyReports

    def of(self, cluster: str) -> CopyReport | None:
        """Return what a cluster reports, `None` if it reports nothing."""
        return self.copies.of(self.workload, cluster)

    def health(self, cluster: str) -> Health | None:
        """Return the health that a cluster reports, `None` if it reports nothing."""
        report = self.of(cluster)
        return None if report is None else report.health

    def covers(self, cluster: str, replicas: int) -> bool:
        """Return whether a cluster reports as many available replicas, and health."""
        report = self.of(cluster)
        if report is None or report.health is not Health.HEALTHY:
            return False
        available = at(report.body, "status").get("availableReplicas")
        return isinstance(available, int) and available >= replicas

    def has_made(self, cluster: str, replicas: int, step: str) -> bool:
        """Return whether a cluster reports so many replicas of a step, all of them available.

        Args:
            cluster: Its name.
            replicas: What was delivered there.
            step: What its copy bears.
        """
        report = self.of(cluster)
        if report is None or not step:
            return False
        reported = at(report.body, "metadata", "annotations").get(STEP)
        wanted = at(report.body, "spec").get("replicas")
        return (reported, wanted) == (step, replicas) and self.covers(cluster, replicas)

    def lacks_step(self, cluster: str) -> bool:
        """Return whether a cluster reports a copy that bears no mark of any step.

        Whoever reports it leaves annotations out: such a report is never one of a step.
        """
        report = self.of(cluster)
        return report is not None and STEP not in at(report.body, "metadata", "annotations")

    @property
    def counts_replicas(self) -> bool:
        """Whether clusters report how many replicas of a workload of its kind are available."""
        return self.workload[:2] in REPLICA_COUNTING

    def has_applied(self, cluster: str, step: str) -> bool:
        """Return whether a cluster reports the copy of a step, and health if its kind has any."""
        report = self.of(cluster)
        if report is None or not step or not report.applied:
            return False
        reported = at(report.body, "metadata", "annotations").get(STEP)
        judged = is_judged(*self.workload[:2]) or report.judged is not None
        return reported == step and (report.health is Health.HEALTHY or not judged)

    def unschedulable(self, cluster: str, before: datetime) -> int | None:
        """Return how many replicas a cluster reports that could not be scheduled since a moment.

        `None` if it does not say.
        """
        report = self.of(cluster)
        listed = None if report is None else report.body.get("unschedulable")
        if not isinstance(listed, list | tuple):
            return None
        count = 0
        for entry in listed:
            since = entry.get("since") if isinstance(entry, Mapping) else None
            replicas = entry.get("replicas") if isinstance(entry, Mapping) else None
            if not is_moment(since) or type(replicas) is not int or replicas < 0:
                return None
            count += replicas if parse_moment(str(since)) <= before else 0
        return count

    def items(self, clusters: Iterable[str]) -> dict[str, AggregatedStatusItem]:
        """Return the entries of aggregatedStatus of the clusters that report."""
        if not self.copies:
            return {}
        items = ((name, self.item(name)) for name in clusters)
        return {name: item for name, item in items if item is not None}

    def item(self, cluster: str) -> AggregatedStatusItem | None:
        """Return a cluster's entry of aggregatedStatus, `None` if it reports nothing."""
        report = self.of(cluster)
        if report is None:
            return None
        return reported_item(
            cluster,
            reflected_status(report.body),
            message=report.message,
            applied=report.applied,
            health=str(report.health),
        )
