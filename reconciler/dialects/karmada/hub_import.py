"""Import of a Karmada control plane: which objects become files, and which live state is adopted.

The importer takes the objects that policies and bindings name, since only those are meant for
clusters. The room of a cluster is counted from its nodes and pods, as its status controller does,
and a Work counts as a report. Live bindings are adopted with their clusters, what they were
scheduled by, and when.

Ids that a hub drew at random, and the generation that its API server counted, stand in what it
delivered: they are kept from the live Works, so that the switch touches no object for them alone.
What is left of the switch is listed as far as kubectl shows it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from reconciler.dialects.importer import (
    Adopted,
    AgentReport,
    HubSwitch,
    ImportedKind,
    Importer,
    LiveHub,
    ProbeRules,
    ProbeVerdict,
    Propagated,
    StepState,
    SwitchStep,
    counted_conditions,
    counted_manifests,
    counted_metadata,
    running,
    settled,
    stopped,
)
from reconciler.dialects.karmada.api.binding import (
    BINDING,
    CLUSTER_BINDING,
    BindingMetadata,
    BindingStatus,
    decode_metadata,
    decode_status,
    encode_manifest,
    workload_key,
)
from reconciler.dialects.karmada.api.binding_spec import BindingSpec, decode_spec, encode_spec
from reconciler.dialects.karmada.api.cluster import decode_model
from reconciler.dialects.karmada.api.cluster_admission import standardised
from reconciler.dialects.karmada.api.names import (
    CLUSTER,
    EXECUTION,
    POLICY_GROUP,
    SCHEDULING_GROUP,
    WORK_GROUP,
    unschedulable_after,
)
from reconciler.dialects.karmada.api.placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.policy import (
    CLUSTER_WIDE,
    NAMESPACED,
    Template,
    priority_class_of,
    template_of,
)
from reconciler.dialects.karmada.api.work import (
    NOTED_GENERATION,
    HubMarks,
    encode_marks,
    is_passed_over,
    keeps_conditions,
    keeps_objects,
    kept_ids,
    reports_in,
)
from reconciler.dialects.karmada.binding.works import WORK_ID, kept_clusters
from reconciler.dialects.karmada.detector.binding_draft import (
    CLUSTER_POLICY_ID,
    CLUSTER_POLICY_NAME,
    POLICY_ID,
    POLICY_NAME,
    POLICY_NAMESPACE,
    claimant_of,
)
from reconciler.dialects.karmada.detector.propagation import BY_DEFAULT
from reconciler.dialects.karmada.view.aggregated_status import PLACED_AT
from reconciler.dialects.karmada.view.binding_file import DECISION_DIGEST, digest_of
from reconciler.manifests.admission import write_note
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey, group_of, uid_of
from reconciler.model.labels import is_label_value
from reconciler.model.moments import is_moment
from reconciler.model.quantity import NANOS, Quantity
from reconciler.model.settings import Settings
from reconciler.model.world import World
from reconciler.schedule.capacity import PODS
from reconciler.schedule.pods import amounts_of, canonical_amount, pod_request

KEPT_ANNOTATIONS = (APPLIED_PLACEMENT, POLICY_NAMESPACE, POLICY_NAME, CLUSTER_POLICY_NAME)


def adopt(world: World, live: Mapping[ObjectKey, Body], _now: datetime) -> Adopted:
    """Return the state of the live bindings whose workload is in the repository.

    A pass schedules a binding whose applied placement or observed generation is another than it
    wants, so both are kept, as is the moment of the last scheduling, which rebalancers are compared
    with, and the uid of the workload, by which ties go. The ids of bindings and policies are kept,
    too, and where the export has its Works, theirs and the generation that they were made from.
    """
    works = works_by_binding(live)
    outputs: dict[ObjectKey, Body] = {}
    refused: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    for key, body in live.items():
        if key.group != WORK_GROUP or key.kind not in (BINDING, CLUSTER_BINDING):
            continue
        workload = workload_key(body)
        if decode_metadata(body).deleting:
            refused[key] = "it is being deleted"
        elif workload not in world.inputs:
            lacking[key] = workload
        else:
            template = template_of(world.inputs[workload])
            marks = marks_of(works.get(key, ()), template, decode_spec(body))
            outputs[key] = _binding(key, body, workload, marks)
    return Adopted(outputs=outputs, left=refused, lacking=lacking)


def _healthy_since(status: BindingStatus) -> dict[str, str]:
    """Return the clusters that run it well, as chosen at the last scheduling.

    So they are not awaited; of the others nothing is assumed before its time.
    """
    at = status.last_scheduled_time or ""
    items = status.aggregated if is_moment(at) else ()
    return {item.cluster: at for item in items if item.applied and item.health == "Healthy"}


def _binding(key: ObjectKey, body: Body, workload: ObjectKey, marks: HubMarks) -> Body:
    """Return the file of a live binding."""
    metadata, spec, status = decode_metadata(body), decode_spec(body), decode_status(body)
    written = metadata.annotations
    annotations = {name: written[name] for name in KEPT_ANNOTATIONS if name in written}
    resource = spec.resource._replace(
        uid=spec.resource.uid or uid_of(workload), resource_version=""
    )
    annotations[DECISION_DIGEST] = digest_of(spec.placed, resource)
    healthy_since = _healthy_since(status)
    if healthy_since:
        annotations[PLACED_AT] = write_note(healthy_since)
    annotations |= {name: value for name, value in encode_marks(marks).items() if value}
    kept = BindingMetadata(
        namespace=key.namespace,
        name=key.name,
        uid=uid_of(key),
        generation=metadata.generation,
        creation_timestamp=metadata.creation_timestamp,
        annotations=annotations,
        labels={**_claim(metadata), **kept_ids(metadata)},
    )
    return encode_manifest(kept, encode_spec(spec._replace(resource=resource)), status)


def _claim(metadata: BindingMetadata) -> Mapping[str, str]:
    """Return the label of the claim: the id that the hub has, or ours where that is no label."""
    policy = claimant_of(metadata)
    if policy is None:
        return {}
    label = POLICY_ID if policy.namespace else CLUSTER_POLICY_ID
    recorded = metadata.label(label)
    return {label: recorded if is_label_value(recorded) else uid_of(policy)}


WORK = (WORK_GROUP, "Work")


def works_by_binding(live: Mapping[ObjectKey, Body]) -> Mapping[ObjectKey, list[Body]]:
    """Return the live Works by the binding that they name; those that are going are left out."""
    works: dict[ObjectKey, list[Body]] = {}
    for key, body in live.items():
        if key[:2] == WORK and at(body, "metadata").get("deletionTimestamp") is None:
            binding = _binding_of(body)
            if binding is not None:
                works.setdefault(binding, []).append(body)
    return works


def _binding_of(work: Body) -> ObjectKey | None:
    """Return the binding that a Work names, `None` if it names none, as one of a Namespace.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeAnnotations`.
    """
    annotations = at(work, "metadata", "annotations")
    namespace = annotations.get("resourcebinding.karmada.io/namespace")
    name = annotations.get("resourcebinding.karmada.io/name")
    if isinstance(namespace, str) and isinstance(name, str):
        return ObjectKey(WORK_GROUP, BINDING, namespace, name)
    name = annotations.get("clusterresourcebinding.karmada.io/name")
    return ObjectKey(WORK_GROUP, CLUSTER_BINDING, "", name) if isinstance(name, str) else None


def marks_of(works: Iterable[Body], template: Template, binding: BindingSpec) -> HubMarks:
    """Return what a binding keeps of its live Works.

    Args:
        works: Of the binding.
        template: Its workload, as it is in the repository: the generation is that of this content.
        binding: Says on which clusters it is.
    """
    listed, clusters = list(works), kept_clusters(binding)
    ids = {
        cluster: value
        for cluster, value in map(_id_of, listed)
        if value and is_label_value(value) and cluster in clusters
    }
    generation = max(chain.from_iterable(map(_generations, listed)), default=0)
    return HubMarks(
        work_ids=dict(sorted(ids.items())),
        generation=generation,
        digest=template.digest if generation else "",
    )


def _id_of(work: Body) -> tuple[str, str]:
    """Return the cluster of a Work, and its id."""
    metadata = at(work, "metadata")
    namespace, value = metadata.get("namespace"), at(metadata, "labels").get(WORK_ID)
    return str(namespace).removeprefix(EXECUTION), value if isinstance(value, str) else ""


def _generations(work: Body) -> Iterator[int]:
    """Yield the generations that a Work's manifests were made from."""
    manifests = at(work, "spec", "workload").get("manifests")
    for manifest in manifests if isinstance(manifests, list | tuple) else ():
        if isinstance(manifest, Mapping):
            text = at(manifest, "metadata", "annotations").get(NOTED_GENERATION)
            if isinstance(text, str) and text.isascii() and text.isdecimal():
                yield int(text[:18])


ENDED = ("Failed", "Succeeded")


def with_nodes(cluster: Body, nodes: Sequence[Body], pods: Sequence[Body]) -> Body | None:
    """Return a cluster with the resource summary of its nodes and pods.

    Unlike upstream: a node that takes no pods, and what runs there, does not count, since nothing
    new finds room there. Without any pods what is allocated stays as it was.

    Args:
        cluster: The manifest. Without a status it is declared, and has room for everything: a
            status with nothing but its room would say that it is not ready.
        nodes: Of the cluster, all of them.
        pods: Of the cluster, all of them; empty if they are not known.

    Source: karmada@f8fdd02 pkg/controllers/status/cluster_status_controller.go
    `getResourceSummary`.
    """
    status = mapping(cluster, "status")
    if not status:
        return None
    open_nodes = [node for node in nodes if not mapping(node, "spec").get("unschedulable")]
    names = {text(mapping(node, "metadata"), "name") for node in open_nodes}
    room = _total(amounts_of(mapping(mapping(n, "status"), "allocatable")) for n in open_nodes)
    summary = {**mapping(status, "resourceSummary"), "allocatable": _written(room)}
    if pods:
        running = [pod for pod in pods if text(mapping(pod, "status"), "phase") not in ENDED]
        summary["allocated"] = _requested(
            pod for pod in running if text(mapping(pod, "spec"), "nodeName") in names
        )
        summary["allocating"] = _requested(
            pod for pod in running if not text(mapping(pod, "spec"), "nodeName")
        )
        models = standardised(bodies(mapping(cluster, "spec"), "resourceModels"))
        if models:
            summary["allocatableModelings"] = _nodes_by_model(models, open_nodes, running)
    return {**cluster, "status": {**status, "resourceSummary": summary}}


MODELLED = ("cpu", "ephemeral-storage", "memory", "storage")


def _nodes_by_model(
    models: Sequence[Body], nodes: Iterable[Body], running: Iterable[Body]
) -> list[Body]:
    """Return how many nodes have room for as much as each resource model asks for, and no more.

    Unlike upstream: a node that takes no more pods, or lacks a resource, counts nowhere; upstream
    counts none that it lists after it, or fails.

    Source: karmada@f8fdd02 pkg/controllers/status/cluster_status_controller.go
    `getAllocatableModelings`, `getNodeAvailable`; pkg/modeling/modeling.go `getIndex`.
    """
    least = [decode_model(model) for model in models]
    taken: dict[str, list[Body]] = defaultdict(list)
    for pod in running:
        taken[text(mapping(pod, "spec"), "nodeName")].append(pod)
    counts = [0] * len(least)
    for node in nodes:
        room = amounts_of(mapping(mapping(node, "status"), "allocatable"))
        there = taken[text(mapping(node, "metadata"), "name")]
        if room.get(PODS, 0) <= len(there) * NANOS:
            continue
        used = _total(pod_request(mapping(pod, "spec")) for pod in there)
        left = {name: room[name] - used.get(name, 0) for name in MODELLED if name in room}
        fitting = [
            all(left.get(name, 0) >= amount for name, amount in amounts.items())
            for _, amounts in least
        ]
        if any(fitting):
            counts[len(fitting) - 1 - fitting[::-1].index(True)] += 1
    return [
        {"grade": grade, "count": count} for (grade, _), count in zip(least, counts, strict=True)
    ]


def _requested(pods: Iterable[Body]) -> dict[str, str]:
    """Return what pods ask for together, and how many they are."""
    listed = list(pods)
    total = _total(pod_request(mapping(pod, "spec")) for pod in listed)
    return _written({**total, PODS: Quantity(len(listed) * NANOS)} if listed else total)


def _total(amounts: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for one in amounts:
        for name, amount in one.items():
            total[name] = Quantity(total.get(name, 0) + amount)
    return total


def _written(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: canonical_amount(name, amounts[name]) for name in sorted(amounts)}


def propagated_in(live: Mapping[ObjectKey, Body]) -> Propagated:
    """Return the kinds that policies select and bindings are of, and the PriorityClasses named.

    Bindings are asked, too, since one of a dependency is of a kind that no policy need name.
    """
    kinds, objects = set(), set()
    for key, body in live.items():
        if key[:2] in ((WORK_GROUP, BINDING), (WORK_GROUP, CLUSTER_BINDING)):
            kinds.add(workload_key(body)[:2])
        elif key[:2] in ((POLICY_GROUP, NAMESPACED), (POLICY_GROUP, CLUSTER_WIDE)):
            spec = mapping(body, "spec")
            for selector in bodies(spec, "resourceSelectors"):
                kinds.add((group_of(text(selector, "apiVersion")), text(selector, "kind")))
            name = priority_class_of(spec)
            if name:
                objects.add(ObjectKey(SCHEDULING_GROUP, "PriorityClass", "", name))
    return Propagated(kinds=frozenset(kinds), objects=frozenset(objects))


def is_reserved(namespace: str) -> bool:
    """Return whether nothing of a namespace is ever propagated, as Karmada is set by default."""
    return not BY_DEFAULT.has_namespace(namespace)


IDENTIFIER = ("group", "kind", "name", "namespace", "ordinal", "resource", "version")


def _counted(work: Body) -> Body:
    status = mapping(work, "status")
    fields = {
        "conditions": counted_conditions(status),
        "manifestStatuses": [_manifest(one) for one in bodies(status, "manifestStatuses")],
    }
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": counted_metadata(work, labels=(), annotations=()),
        "spec": {"workload": {"manifests": counted_manifests(work)}},
        "status": {name: one for name, one in fields.items() if one},
    }


def _manifest(one: Body) -> Body:
    named, status = mapping(one, "identifier"), mapping(one, "status")
    fields = {name: status[name] for name in sorted(status) if name != "conditions"}
    conditions = counted_conditions(status) if keeps_conditions(_versioned(named)) else ()
    if conditions:
        fields["conditions"] = conditions
    return {
        **({"health": one["health"]} if "health" in one else {}),
        "identifier": {name: named[name] for name in IDENTIFIER if name in named},
        **({"status": fields} if fields else {}),
    }


def _versioned(named: Body) -> tuple[str, str]:
    """Return the apiVersion and the kind of an identifier."""
    group, version = text(named, "group"), text(named, "version")
    return (f"{group}/{version}" if group else version, text(named, "kind"))


def _about(work: Body) -> Iterator[ObjectKey]:
    return (key for key, _ in reports_in(work))


WORK_REPORT = AgentReport(counted=_counted, about=_about)


WORK_KIND = "Work"
WORKS_OF = "karmada-es-{}"
HOME = "karmada-system"
TRANSPORT = "works"
CONTROLLERS = "--controllers="
WRITE_WORKS = ("binding", "namespace")
"""The controllers that write Works; the one that applies them to Push clusters is `execution`."""

SHOW = "show the cluster that runs Karmada: --host-context, or its Deployments as a file"
PRESERVE = "set preserveResourcesOnDeletion: true in the policies, while the controllers run"
PRESERVE_WORKS = "set spec.preserveResourcesOnDeletion: true in these Works"
SUSPEND = (
    "stop karmada-agent in these Pull clusters, and set spec.suspendDispatching: true in Works"
)


def steps(hub: LiveHub) -> tuple[SwitchStep, ...]:
    """Return the steps on the hub, in order.

    Whether Works go on without an object of theirs they say themselves, so what counts is what they
    say and not the policy. The scheduler goes first, since it would move what is compared; the
    descheduler asks it to.
    """
    seen = hub.host or hub.has_namespace(HOME)
    schedulers = running(hub, lambda key: _is(key, "scheduler"))
    deschedulers = running(hub, lambda key: _is(key, "descheduler"))
    off = (*WRITE_WORKS, *(() if hub.by_agents else ("execution",)))
    controllers = running(hub, _is_controller_manager, lambda body: _runs_any(body, off))
    return (
        _kept(hub),
        stopped("scheduler", (*schedulers, *deschedulers), seen=seen, show=SHOW),
        stopped("controllers", controllers, seen=seen, show=SHOW),
        settled("agents", _dispatched(hub), SUSPEND),
    )


def _is(key: ObjectKey, part: str) -> bool:
    """Return whether a Deployment is a part of Karmada, whoever installed it, under which name."""
    return "karmada" in key.name and key.name.endswith(f"-{part}")


def _is_controller_manager(key: ObjectKey) -> bool:
    """Return whether a Deployment is Karmada's own; Kubernetes' collects garbage, and stays."""
    return _is(key, "controller-manager") and not _is(key, "kube-controller-manager")


def _runs_any(body: Body, names: tuple[str, ...]) -> bool:
    """Return whether a karmada-controller-manager runs one of some controllers."""
    template = mapping(mapping(mapping(body, "spec"), "template"), "spec")
    for container in bodies(template, "containers"):
        for word in (*strings(container, "command"), *strings(container, "args")):
            if word.startswith(CONTROLLERS):
                listed = word.removeprefix(CONTROLLERS).split(",")
                return any(_is_enabled(name, listed) for name in names)
    return True


def _is_enabled(name: str, listed: Sequence[str]) -> bool:
    """Return whether a controller runs; the first word that names it decides.

    Source: karmada@f8fdd02 pkg/controllers/context/context.go `IsControllerEnabled`.
    """
    entry = next((word for word in listed if word in (name, f"-{name}")), None)
    return "*" in listed if entry is None else entry == name


def _kept(hub: LiveHub) -> SwitchStep:
    """Return whether objects stay in clusters when their Work or binding goes."""
    if hub.by_agents:
        return SwitchStep(name="keep", state=StepState.DONE)
    objects = hub.of_kind(WORK_GROUP, BINDING, CLUSTER_BINDING, WORK_KIND)
    unkept = [key for key, body in objects.items() if not keeps_objects(body)]
    by_policy = any(key.kind != WORK_KIND for key in unkept)
    return settled("keep", unkept, PRESERVE if by_policy else PRESERVE_WORKS)


def _dispatched(hub: LiveHub) -> Iterator[ObjectKey]:
    """Yield the Works that the agent of a Pull cluster applies."""
    if hub.by_agents:
        return
    pulling = {
        WORKS_OF.format(key.name)
        for key, body in hub.of_kind(*CLUSTER).items()
        if text(mapping(body, "spec"), "syncMode") == "Pull"
    }
    for key, body in hub.of_kind(WORK_GROUP, WORK_KIND).items():
        if key.namespace in pulling and not is_passed_over(body):
            yield key


def brings(live: Mapping[ObjectKey, Body]) -> Iterator[ObjectKey]:
    """Yield the workloads of the live bindings."""
    for key, body in live.items():
        if key.group == WORK_GROUP and key.kind in (BINDING, CLUSTER_BINDING):
            yield workload_key(body)


SWITCH = HubSwitch(steps=steps, brings=brings, agents=TRANSPORT)


SUMMARY = "status.resourceSummary"


def asks_for_scheduling(settings: Settings) -> bool:
    """Return whether rebalancers may ask that what runs is kept."""
    return unschedulable_after(settings) is not None


THRESHOLD_SECONDS = 30  # cmd/controller-manager/app/options --cluster-failure-threshold, -success-
GRACE_SECONDS = 40  # cmd/controller-manager/app/options --cluster-monitor-grace-period
NOT_REACHABLE = ProbeVerdict(
    "False", "ClusterNotReachable", "cluster is not reachable", lambda _: THRESHOLD_SECONDS
)
PROBED = ProbeRules(
    well=ProbeVerdict(
        "True",
        "ClusterReady",
        "cluster is healthy and ready to accept workloads",
        lambda _: THRESHOLD_SECONDS,
    ),
    unhealthy=ProbeVerdict(
        "False",
        "ClusterNotReady",
        "cluster is reachable but health endpoint responded without ok",
        lambda _: THRESHOLD_SECONDS,
    ),
    failing=NOT_REACHABLE,
    unreachable=NOT_REACHABLE,
    silent=ProbeVerdict(
        "Unknown",
        "ClusterStatusUnknown",
        "Cluster status controller stopped posting cluster status.",
        lambda _: GRACE_SECONDS,
    ),
)
"""Source: karmada@f8fdd02 pkg/controllers/status/cluster_status_controller.go
`getClusterHealthStatus`, `generateReadyCondition`; cluster_condition_cache.go; of silence
pkg/controllers/cluster/cluster_controller.go `tryUpdateClusterHealth`.
"""

IMPORTER = Importer(
    probed=PROBED,
    asks_for_scheduling=asks_for_scheduling,
    kinds={
        CLUSTER: ImportedKind(
            folder="clusters",
            status=("apiEnablements", "conditions", "resourceSummary"),
            # How its own control plane reaches a cluster; nothing is decided by it.
            dropped=tuple(
                f"spec.{field}"
                for field in (
                    "id",
                    "impersonatorSecretRef",
                    "insecureSkipTLSVerification",
                    "proxyHeader",
                    "proxyURL",
                    "secretRef",
                )
            ),
            measured=tuple(
                f"{SUMMARY}.{field}"
                for field in ("allocatable", "allocatableModelings", "allocated", "allocating")
            ),
        ),
        **{
            (POLICY_GROUP, kind): ImportedKind(folder="policies")
            for kind in (
                "ClusterOverridePolicy",
                "ClusterPropagationPolicy",
                "FederatedResourceQuota",
                "OverridePolicy",
                "PropagationPolicy",
            )
        },
    },
    server_made=(
        "propagationpolicy.karmada.io/",
        "clusterpropagationpolicy.karmada.io/",
        "work.karmada.io/",
        "resourcebinding.karmada.io/",
        "resourcetemplate.karmada.io/",
    ),
    adopt=adopt,
    live=((WORK_GROUP, "ClusterResourceBinding"), (WORK_GROUP, "ResourceBinding")),
    reports={(WORK_GROUP, "Work"): WORK_REPORT},
    propagated=propagated_in,
    is_reserved=is_reserved,
    with_nodes=with_nodes,
    switch=SWITCH,
)
