"""Import of an OCM hub: which objects become files, and which live decisions are adopted.

Placements are adopted with the record of a run. Sets are adopted with their ManifestWorks, each
under the name that it has; a ManifestWork also counts as a report. What is left of the switch from
the hub is listed as far as kubectl shows it.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.importer import (
    FOLDER,
    Adopted,
    AgentReport,
    HubSwitch,
    ImportedKind,
    Importer,
    LiveHub,
    ProbeRules,
    ProbeVerdict,
    SwitchStep,
    counted_conditions,
    counted_manifests,
    counted_metadata,
    running,
    settled,
    stopped,
)
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT_LABEL,
    WORK_GROUP,
    DecisionObject,
    decode_decision,
    live_status,
)
from reconciler.dialects.ocm.decide import fingerprint_of
from reconciler.dialects.ocm.hub import placement_key
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    SET_LABEL,
    SET_PLACEMENT_LABEL,
    TEMPLATE,
    WORK,
    ManifestWork,
    SetRecord,
    WorkRecord,
    decode_replica_set,
    decode_work,
    manifests_of,
    record_annotations,
    set_of,
    sources_of,
    standing_set,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.reports import plain_reports
from reconciler.dialects.ocm.placement_files import (
    DECIDED_AT,
    DECISION,
    SCHEDULING_DIGEST,
    Draft,
    render_decision,
)
from reconciler.dialects.ocm.plan import Ocm
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub, decided_by, judge
from reconciler.dialects.ocm.workstatus.work_status import reports_in
from reconciler.dialects.scores import SCORES
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import blob_id, output_path
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, number_or_none, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.moments import format_moment, is_moment, parse_moment
from reconciler.model.quantity import NANOS, parse_quantity
from reconciler.model.records import replace
from reconciler.model.settings import settings_in
from reconciler.model.world import World


def adopt(world: World, live: Mapping[ObjectKey, Body], now: datetime) -> Adopted:
    """Return the state of the live decisions whose placement is in the repository.

    A pass runs a placement when the digest of what it decides from differs from the recorded one.
    So the digest is recorded as if the live decisions had just been made from what the repository
    holds; then they stay, and scores alone wait for the next period.
    """
    prepared = Ocm().prepare(world, settings_in(world), now)
    decisions: dict[ObjectKey, DecisionObject] = {
        key: decode_decision(body)
        for key, body in live.items()
        if (key.group, key.kind) == (CLUSTER_GROUP, DECISION)
    }
    decided = decided_by(decisions.values())
    owners = {(key.namespace, key.name): draft for key, draft in prepared.drafts.drawn.items()}
    outputs: dict[ObjectKey, Body] = {}
    rejected: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    placements: set[tuple[str, str]] = set()
    for key, decision in decisions.items():
        owner = decision.owner
        if owner is None:
            rejected[key] = f"it has no label {PLACEMENT_LABEL}, which says whose it is"
            continue
        if owner not in owners:
            lacking[key] = placement_key(owner)
            continue
        placements.add(owner)
        placement = owners[owner].manifest.key
        outputs[key] = render_decision(decision, placement, live[key], {}, now)
    for owner in sorted(placements):
        draft = owners[owner]
        key = draft.manifest.key
        outputs[key] = _placement_record(draft, live.get(key, {}), decided, prepared.hub, now)
    sets = adopt_sets(world, live, now)
    return Adopted(
        outputs={**outputs, **sets.outputs},
        left={**rejected, **sets.left},
        lacking={**lacking, **sets.lacking},
        contents=sets.contents,
    )


def _placement_record(
    draft: Draft, placement: Body, decided: DecisionsSoFar, hub: Hub, now: datetime
) -> Body:
    """Return the status file of a placement, with the record of a run at this moment."""
    key, body = draft.manifest.key, draft.manifest.body
    _, metadata = admit(key, mapping(body, "spec"), None, now)
    created = text(mapping(placement, "metadata"), "creationTimestamp")
    annotations = {**mapping(metadata, "annotations"), DECIDED_AT: format_moment(now)}
    try:
        verdict = judge(draft.placement, hub, decided, now)
    except UserError:
        verdict = None  # a pass leaves it as it is until that is mended
    if verdict is not None:
        own = decided.own(draft.placement)
        annotations[SCHEDULING_DIGEST] = fingerprint_of(draft, verdict, own, hub)
    return {
        "apiVersion": body["apiVersion"],
        "kind": key.kind,
        "metadata": {
            **metadata,
            **({"creationTimestamp": created} if created else {}),
            "annotations": dict(sorted(annotations.items())),
        },
        "status": live_status(placement),
    }


Live = Mapping[ObjectKey, Body]

OVER = (
    "its placement has left that cluster, so no pass would write it, and none takes it away: "
    "delete it on the hub"
)
PLAIN = (
    "it has a Secret in plain and an earlier template, so its cluster gets nothing new until the "
    "rollout of its set reaches it"
)


def adopt_sets(world: World, live: Live, now: datetime) -> Adopted:
    """Return the state of the live sets that are in the repository.

    A pass gives a cluster a work if its record has none, under a name that we draw. So each live
    work is recorded with its template and its name: delivered under another one, two works of one
    set would stand on a cluster.
    """
    decided = _decided(live)
    works: dict[ObjectKey, dict[ObjectKey, ManifestWork]] = {}
    rejected: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    for key in sorted(live):
        owner = set_of(live[key]) if key[:2] == (WORK_GROUP, WORK) else None
        if owner is None:
            continue
        work = decode_work(live[key])
        if owner not in world.inputs:
            lacking[key] = owner
        elif work.deleting:
            rejected[key] = "it is being deleted"
        elif not work.placement:
            rejected[key] = (
                f"it has no label {SET_PLACEMENT_LABEL}, which says for which placement it is"
            )
        elif work.cluster not in decided.get((owner.namespace, work.placement), (work.cluster,)):
            rejected[key] = OVER
        else:
            works.setdefault(owner, {})[key] = work
    outputs: dict[ObjectKey, Body] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    for owner in sorted(
        {*works, *(one.key for one in world.of_kind(WORK_GROUP, REPLICA_SET)) & live.keys()}
    ):
        record, others = _set_record(owner, works.get(owner, {}), world, live, now)
        rejected |= others
        try:
            earlier = _earlier(owner, works.get(owner, {}), world)
            rejected |= earlier.left
            record = replace(record, contents=earlier.blobs)
            outputs[owner] = _state(owner, record, world, live.get(owner, {}), now)
            if earlier.text:
                contents[owner] = earlier.path, earlier.text
        except UserError as error:
            rejected[owner] = f"no pass can read it: {error.message}"
    return Adopted(outputs=outputs, left=rejected, lacking=lacking, contents=contents)


def _decided(live: Live) -> dict[tuple[str, str], set[ClusterName]]:
    """Return the clusters that live placements have decided for, by namespace and name."""
    clusters: dict[tuple[str, str], set[ClusterName]] = {}
    for key, body in live.items():
        if (key.group, key.kind) == (CLUSTER_GROUP, DECISION):
            decision = decode_decision(body)
            if decision.owner is not None:
                clusters.setdefault(decision.owner, set()).update(decision.clusters)
    return clusters


def _set_record(
    owner: ObjectKey,
    works: Mapping[ObjectKey, ManifestWork],
    world: World,
    live: Live,
    now: datetime,
) -> tuple[SetRecord, dict[ObjectKey, str]]:
    """Return the record of a set, and which works have no place in it: one a cluster has."""
    records: dict[tuple[ClusterName, str], WorkRecord] = {}
    templates: dict[str, tuple[ObjectKey, ...]] = {}
    others: dict[ObjectKey, str] = {}
    for key, work in works.items():
        place, template = (work.cluster, work.placement), template_id(work.spec)
        if place in records:
            others[key] = f"its cluster has another work of its set: {records[place].name(owner)}"
            continue
        objects = templates.setdefault(template, sources_of(work.spec, world.known.scopes))
        seen = plain_reports(work.cluster, objects, world.feedback).token
        since = _since(live[key], now)
        records[place] = WorkRecord(*place, template, since, seen, adopted_name=work.name)
    return SetRecord(tuple(sorted(records.values())), templates), others


class _EarlierTemplates(NamedTuple):
    """Templates that clusters have and the repository has not: a file of them, by their tokens."""

    path: str
    text: str
    blobs: Mapping[str, str]
    left: Mapping[ObjectKey, str]


def _earlier(
    owner: ObjectKey, works: Mapping[ObjectKey, ManifestWork], world: World
) -> _EarlierTemplates:
    """Return the templates of live works that are not the present one.

    Raises:
        UserError: The set cannot be decoded.
    """
    present = template_id(decode_replica_set(world.inputs[owner].body).template)
    specs: dict[str, Body] = {}
    rejected: dict[ObjectKey, str] = {}
    for key, work in works.items():
        template = template_id(work.spec)
        if template == present:
            continue
        if any(without_secrets(one) is not one for one in manifests_of(work.spec)):
            rejected[key] = PLAIN
        else:
            specs[template] = work.spec
    listed = [_document(owner, *one) for one in sorted(specs.items())]
    text = "---\n".join(map(encode, listed))
    blob = blob_id(text.encode(), like=world.revision)
    return _EarlierTemplates(output_path(FOLDER, owner), text, dict.fromkeys(specs, blob), rejected)


def _document(owner: ObjectKey, template: str, spec: Body) -> Body:
    named = {"name": f"{owner.name}-{template}", "namespace": owner.namespace}
    return {"apiVersion": f"{WORK_GROUP}/v1", "kind": WORK, "metadata": named, "spec": spec}


def _since(work: Body, now: datetime) -> datetime:
    """Return since when a cluster has a work: no later than now, and now if that is not known."""
    created = text(mapping(work, "metadata"), "creationTimestamp")
    return min(parse_moment(created), now) if is_moment(created) else now


def _state(owner: ObjectKey, record: SetRecord, world: World, live: Body, now: datetime) -> Body:
    """Return the status file of a set.

    Raises:
        UserError: The set cannot be decoded.
    """
    manifest = world.inputs[owner]
    standing_set(manifest)
    _, metadata = admit(owner, mapping(manifest.body, "spec"), None, now)
    created = text(mapping(live, "metadata"), "creationTimestamp")
    annotations = {**mapping(metadata, "annotations"), **record_annotations(record)}
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": owner.kind,
        "metadata": {
            **metadata,
            **({"creationTimestamp": created} if created else {}),
            "annotations": dict(sorted(annotations.items())),
        },
        "status": mapping(live, "status"),
    }


OPERATOR = ("open-cluster-management", "cluster-manager")
HUB = "open-cluster-management-hub"
TRANSPORT = "manifestworks"
ORPHAN = "Orphan"
SHOW = f"show the Deployments of {HUB}: --context, or as a file"
SET_ORPHAN = "set deleteOption.propagationPolicy: Orphan in the template of their sets"
DELETE = "once Flux or Argo CD has applied them, delete these ManifestWorks"


def steps(hub: LiveHub) -> tuple[SwitchStep, ...]:
    """Return the steps on the hub, in order.

    The operator goes first: it starts what is stopped. An agent applies a ManifestWork again and
    again as long as it is there; with `Orphan` it takes its owner off the objects, which then stay
    when the ManifestWork goes. ManifestWorks of no set are nobody's decision, and not looked at.
    """
    seen = hub.whole or hub.host or hub.has_namespace(HUB, OPERATOR[0])
    operators = running(hub, lambda key: (key.namespace, key.name) == OPERATOR)
    placing = running(hub, lambda key: _is_of_hub(key, "placement-controller"))
    working = running(hub, lambda key: _is_of_hub(key, "work-controller"))
    works = {} if hub.by_agents else _works_of_sets(hub)
    owned = [key for key, body in works.items() if _deletion(body) != ORPHAN]
    return (
        settled("keep", owned, SET_ORPHAN),
        stopped("scheduler", (*operators, *placing), seen=seen, show=SHOW),
        stopped("controllers", working, seen=seen, show=SHOW),
        settled("agents", works, DELETE, last=True),
    )


def _is_of_hub(key: ObjectKey, part: str) -> bool:
    """Return whether a Deployment is a part of a hub, a hosted one in its namespace included."""
    return key.name.endswith(f"-{part}") and (
        key.namespace == HUB or key.name == f"{key.namespace}-{part}"
    )


def _works_of_sets(hub: LiveHub) -> dict[ObjectKey, Body]:
    works = hub.of_kind(WORK_GROUP, WORK)
    return {key: body for key, body in works.items() if labels_of(body).get(SET_LABEL)}


def _deletion(body: Body) -> str:
    return text(mapping(mapping(body, "spec"), "deleteOption"), "propagationPolicy")


def brings(live: Mapping[ObjectKey, Body]) -> Iterator[ObjectKey]:
    """Yield the live sets, and those whose ManifestWorks are there."""
    for key, body in live.items():
        if (key.group, key.kind) == (WORK_GROUP, REPLICA_SET):
            yield key
        elif (key.group, key.kind) == (WORK_GROUP, WORK) and (owner := set_of(body)):
            yield owner


SWITCH = HubSwitch(
    steps=steps, brings=brings, agents=TRANSPORT, following=frozenset({(WORK_GROUP, REPLICA_SET)})
)


META = ("group", "kind", "name", "namespace", "ordinal", "resource", "version")


def _counted(work: Body) -> Body:
    """Return a report; that of a set names its template, so it needs no manifests.

    One that its set made on a hub does not name it, so it is told from what is in it.
    """
    status, in_set = mapping(work, "status"), labels_of(work).get(SET_LABEL)
    metadata = counted_metadata(
        work, labels=(SET_LABEL, SET_PLACEMENT_LABEL), annotations=(TEMPLATE,)
    )
    if in_set and "annotations" not in metadata and mapping(work, "spec"):
        metadata = {**metadata, "annotations": {TEMPLATE: template_id(decode_work(work).spec)}}
    manifests = [] if in_set else counted_manifests(work)
    listed = [_manifest(one) for one in bodies(at(status, "resourceStatus"), "manifests")]
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": metadata,
        **({"spec": {"workload": {"manifests": manifests}}} if manifests else {}),
        "status": {
            "conditions": counted_conditions(status),
            **({"resourceStatus": {"manifests": listed}} if listed else {}),
        },
    }


def _manifest(manifest: Body) -> Body:
    meta, values = (
        mapping(manifest, "resourceMeta"),
        bodies(mapping(manifest, "statusFeedback"), "values"),
    )
    return {
        "conditions": counted_conditions(manifest),
        "resourceMeta": {name: meta[name] for name in META if name in meta},
        **({"statusFeedback": {"values": list(values)}} if values else {}),
    }


def _is_of_a_set(work: Body) -> bool:
    """Return whether a rollout goes by a work, so that it waits for one that nobody applied yet."""
    return SET_LABEL in labels_of(work)


def _about(work: Body) -> Iterator[ObjectKey]:
    if owner := set_of(work):
        yield owner
    for key, _ in reports_in(work):
        yield key


WORK_REPORT = AgentReport(counted=_counted, about=_about, tells_without_status=_is_of_a_set)


OWN_NAMESPACES = "open-cluster-management"


def is_reserved(namespace: str) -> bool:
    """Return whether a namespace is the hub's own, as its installers call them.

    Source: ours; `clusteradm init` and `join` make that name, and with `-hub` and `-agent`.
    """
    return namespace.startswith(OWN_NAMESPACES)


LEASE_SECONDS = 60  # of a ManagedCluster that does not say
LEASES = 5  # pkg/registration/hub/lease/controller.go leaseDurationTimes
NOT_OK = ProbeVerdict(
    "False", "ManagedClusterKubeAPIServerUnavailable", "The kube-apiserver is not ok"
)


def silence_seconds(cluster: Body) -> int:
    """Return for how long a cluster may be silent."""
    written = number_or_none(mapping(cluster, "spec"), "leaseDurationSeconds")
    return LEASES * (written or LEASE_SECONDS)


STOPPED = ProbeVerdict(
    "Unknown",
    "ManagedClusterLeaseUpdateStopped",
    "Registration agent stopped updating its lease.",
    silence_seconds,
)
PROBED = ProbeRules(
    well=ProbeVerdict("True", "ManagedClusterAvailable", "Managed cluster is available"),
    unhealthy=NOT_OK,
    failing=NOT_OK,
    unreachable=STOPPED,
    silent=STOPPED,
)
"""Whoever cannot be reached from outside counts as one whose agent is silent.

Source: ocm@00f84c3 pkg/registration/hub/lease/controller.go `sync`, and the reconciler of resources
below pkg/registration/spoke/managedcluster.
"""

USAGE_SCORE = "resource-usage-score"
MOST_LEFT = {"cpuAvailable": ("cpu", 100), "memAvailable": ("memory", 1 << 40)}
"""Score to the resource, and how much of it has to be left for the highest one."""
HIGHEST = 100


def usage_score(cluster: str, left: Mapping[str, str]) -> tuple[ObjectKey, Body]:
    """Return the scores of what a cluster has left of processors and memory, from -100 to 100.

    Unlike upstream: what is left is what no pod of a node that takes pods asks for; the add-on
    counts pods that have ended, too, and the requests of all containers before those that begin.

    Args:
        cluster: Its name.
        left: Resource to quantity; one that is not told counts as used up.

    Source: addon-contrib@0de2af0 resource-usage-collect-addon/pkg/addon/agent/calculate.go
    `normalizeScore`, agent.go `sync`.
    """
    scores = [
        {"name": name, "value": _score_of(parse_quantity(left.get(resource, "0")), most * NANOS)}
        for name, (resource, most) in MOST_LEFT.items()
    ]
    key = ObjectKey(*SCORES, cluster, USAGE_SCORE)
    return key, {
        "apiVersion": f"{CLUSTER_GROUP}/v1alpha1",
        "kind": key.kind,
        "metadata": {"name": USAGE_SCORE, "namespace": cluster},
        "status": {"scores": scores},
    }


def _score_of(left: int, most: int) -> int:
    """Return where an amount is between nothing and the most that counts; Go cuts to zero.

    >>> [_score_of(left, 100) for left in (-1, 0, 30, 50, 100, 101)]
    [-100, -100, -40, 0, 100, 100]
    """
    scaled = 2 * HIGHEST * min(max(left, 0), most) - HIGHEST * most
    return scaled // most if scaled >= 0 else -(-scaled // most)


IMPORTER = Importer(
    probed=PROBED,
    scored=usage_score,
    kinds={
        CLUSTER: ImportedKind(
            folder="clusters",
            status=(
                "allocatable",
                "capacity",
                "clusterClaims",
                "conditions",
                "managedNamespaces",
                "version",
            ),
            measured=("status.allocatable", "status.capacity"),
        ),
        (CLUSTER_GROUP, "ManagedClusterSet"): ImportedKind(folder="clusters"),
        (CLUSTER_GROUP, "ManagedClusterSetBinding"): ImportedKind(folder="placements"),
        (CLUSTER_GROUP, "Placement"): ImportedKind(folder="placements"),
        (CLUSTER_GROUP, "AddOnPlacementScore"): ImportedKind(
            folder="scores", status=("scores", "validUntil")
        ),
        (WORK_GROUP, REPLICA_SET): ImportedKind(folder="workloads"),
    },
    adopt=adopt,
    reports={(WORK_GROUP, WORK): WORK_REPORT},
    is_reserved=is_reserved,
    live=((CLUSTER_GROUP, "PlacementDecision"), (WORK_GROUP, REPLICA_SET)),
    switch=SWITCH,
)
