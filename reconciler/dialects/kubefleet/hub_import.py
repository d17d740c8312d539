"""A KubeFleet hub taken over: the objects that become files, adopted state, and the switch.

The importer says what of each object counts, what is meant for clusters (what placements select,
and snapshots hold), and what of a Work is a report: of which snapshot it is, its conditions, what
is wrong. Live bindings and snapshots become state of ours, placement by placement; a binding keeps
its name, target and state, and when it was rolled out. The switch from the hub says what is not
done yet, as far as kubectl shows it.

Bindings that the hub's rollout has not reached need earlier resource snapshots. Our snapshots name
the git blob of each object. What an earlier one holds is otherwise in the repository by now, or not
at all, so an import writes it into a file of its own, below a folder that no pass reads: its blob
stays in the history, also when a person removes the file later.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

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
    Propagated,
    StepState,
    SwitchStep,
    counted_conditions,
    counted_metadata,
    running,
    settled,
    stopped,
)
from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    decode_binding,
    resource_snapshot_of,
    selected_kinds,
)
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    AVAILABLE,
    CLUSTER,
    CRP_GENERATION,
    IS_LATEST,
    NUMBER_OF_CLUSTERS,
    NUMBER_OF_ENVELOPES,
    NUMBER_OF_SNAPSHOTS,
    OWNED,
    PARENT,
    PLACEMENT_GROUP,
    PLACEMENTS,
    POLICY_INDEX,
    POLICY_SNAPSHOTS,
    PREVIOUS_STATE,
    RESOURCE_HASH,
    RESOURCE_INDEX,
    RESOURCE_SNAPSHOTS,
    SCHEDULER_FINALIZER,
    SCOPES,
    SUBINDEX,
    hash_of,
    kinds_in,
    named_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    Owner,
    annotations_of,
    decode_policy_status,
    encode_entry,
    encode_policy_status,
    encode_resources,
    is_latest,
    labels_of,
    readable_entries,
    resource_key,
)
from reconciler.dialects.kubefleet.eviction import BUDGET, EVICTION
from reconciler.dialects.kubefleet.plan import Fleets, KubeFleet
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT, ROLLED_OUT_AT
from reconciler.dialects.kubefleet.rollout.rollout import STAGES
from reconciler.dialects.kubefleet.rollout.works import (
    ENVELOPE_KIND,
    ENVELOPE_NAME,
    ENVELOPE_NAMESPACE,
    PARENT_NAMESPACE,
    PARENT_SNAPSHOT,
    WORK,
    placement_of,
)
from reconciler.dialects.kubefleet.rollout.works import details_without_secrets as without_secrets
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_resources
from reconciler.dialects.kubefleet.snapshots.selection import (
    ENVELOPES,
    RESERVED,
    content_of,
    kind_of,
)
from reconciler.dialects.kubefleet.view.files import binding_file, snapshot_file
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import blob_id, output_path
from reconciler.manifests.secrets import without_secrets as body_without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey, Origin, uid_of
from reconciler.model.moments import format_moment, is_moment, stamp
from reconciler.model.records import dataclass
from reconciler.model.settings import settings_in
from reconciler.model.world import World

Live = Mapping[ObjectKey, Body]


def adopt(world: World, live: Live, now: datetime) -> Adopted:
    """Return the state of the live placements that are in the repository.

    Names of bindings and snapshots stay. A snapshot of resources holds their identity and hash
    here, so the latest is written from the repository under its live name: equal resources are no
    new snapshot, and no rollout begins. Earlier ones that bindings are on come as they are on the
    hub, so that a rollout that has begun stays where it is.
    """
    fleets = KubeFleet().prepare(world, settings_in(world), now)
    parts: dict[ObjectKey, dict[ObjectKey, Body]] = {}
    rejected: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    for key, body in live.items():
        if key.group != PLACEMENT_GROUP or key.kind not in OWNED:
            continue
        owner = placement_key(key.namespace, labels_of(body).get(PARENT, ""))
        if mapping(body, "metadata").get("deletionTimestamp"):
            rejected[key] = "it is being deleted"
        elif not owner.name:
            rejected[key] = f"it has no label {PARENT}, which says whose it is"
        elif owner not in fleets.placements:
            lacking[key] = owner
        else:
            parts.setdefault(owner, {})[key] = body
    outputs: dict[ObjectKey, Body] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    for owner in sorted(parts):
        outputs |= _placement(fleets, owner, live.get(owner, {}), parts[owner], now)
        past = past_snapshots(world, _owner(owner, outputs[owner]), parts[owner])
        for key, body in past.snapshots.items():
            outputs[key] = snapshot_file(key, body, stamp(now))
        contents |= past.contents
        rejected |= past.left
    for found in parts.values():
        rejected |= {key: _why_no_state(key, found) for key in found if key not in outputs}
    missing = {
        resource: owner
        for owner, found in sorted(parts.items())
        for resource in _latest_resources(owner, found)
        if resource not in world.inputs
    }
    return Adopted(
        outputs=outputs, left=rejected, lacking=lacking, missing=missing, contents=contents
    )


def _latest_resources(owner: ObjectKey, parts: Live) -> Iterator[ObjectKey]:
    """Yield what the latest snapshots of a placement hold, which is what its clusters have."""
    kind = kinds_in(owner.namespace).resource_snapshot
    latest = _latest(parts, kind, RESOURCE_INDEX)
    index = None if latest is None else labels_of(parts[latest]).get(RESOURCE_INDEX)
    for key, body in parts.items():
        if key.kind == kind and index == labels_of(body).get(RESOURCE_INDEX):
            yield from map(resource_key, readable_entries(body))


def _why_no_state(key: ObjectKey, parts: Live) -> str:
    """Return why a live snapshot is not taken over.

    Args:
        key: The snapshot.
        parts: All that is live of its placement.
    """
    index = POLICY_INDEX if key.kind in POLICY_SNAPSHOTS else RESOURCE_INDEX
    latest = _latest(parts, key.kind, index)
    if latest is None:
        return "none of the snapshots of its placement is labelled as the latest"
    if labels_of(parts[latest]).get(index) == labels_of(parts[key]).get(index):
        return "what the repository has for its placement takes fewer snapshots"
    return "it is not the latest"


def _placement(
    fleets: Fleets, key: ObjectKey, placement: Body, parts: Live, now: datetime
) -> dict[ObjectKey, Body]:
    """Return the files of one placement."""
    kinds = kinds_in(key.namespace)
    status_file = _status_file(fleets, key, placement, now)
    owner = _owner(key, status_file)
    outputs: dict[ObjectKey, Body] = {key: status_file}
    policy = _latest(parts, kinds.policy_snapshot, POLICY_INDEX)
    if policy is not None:
        outputs[policy] = snapshot_file(policy, _policy(policy, parts[policy], owner), stamp(now))
    master = _latest(parts, kinds.resource_snapshot, RESOURCE_INDEX)
    if master is not None:
        index = labels_of(parts[master]).get(RESOURCE_INDEX, "0")
        outputs |= _resources(fleets, key, owner, index, now)
    for name, body in parts.items():
        if name.kind == kinds.binding:
            outputs[name] = adopted_binding(decode_binding(body), key.name, now)
    return outputs


def _owner(key: ObjectKey, status_file: Body) -> Owner:
    generation = number(mapping(status_file, "metadata"), "generation")
    return Owner(key.name, uid_of(key), generation, key.namespace)


def _status_file(fleets: Fleets, key: ObjectKey, placement: Body, now: datetime) -> Body:
    """Return the status file of a placement: its live generation counts on."""
    manifest = fleets.placements[key]
    _, metadata = admit(key, mapping(manifest.body, "spec"), None, now)
    written = mapping(placement, "metadata")
    created = text(written, "creationTimestamp")
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": key.kind,
        "metadata": {
            **metadata,
            **({"creationTimestamp": created} if created else {}),
            "generation": number(written, "generation") or 1,
        },
        "status": mapping(placement, "status"),
    }


def _latest(parts: Live, kind: str, index: str) -> ObjectKey | None:
    """Return the snapshot of a kind that is labelled latest, of several the one of highest index.

    Of a group of resource snapshots only the master has the label.
    """
    latest = [key for key, body in parts.items() if key.kind == kind and is_latest(body)]
    return max(latest, key=lambda key: int(labels_of(parts[key]).get(index, "0")), default=None)


def _policy(key: ObjectKey, body: Body, owner: Owner) -> Body:
    """Return a policy snapshot as a pass leaves it."""
    marks = annotations_of(body)
    marks_kept = {name: marks[name] for name in (NUMBER_OF_CLUSTERS,) if name in marks}
    labels = {PARENT: owner.name, IS_LATEST: "true", POLICY_INDEX: labels_of(body)[POLICY_INDEX]}
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            **_dated(key, body),
            "generation": 1,
            "labels": labels,
            "annotations": {CRP_GENERATION: str(owner.generation), **marks_kept},
            "ownerReferences": [owner.reference],
        },
        "spec": mapping(body, "spec"),
        "status": _of_generation_one(body, owner),
    }


def _of_generation_one(snapshot: Body, owner: Owner) -> Body:
    """Return the status of a snapshot, whose spec never changes, for the present placement."""
    status = decode_policy_status(snapshot)
    conditions = [{**item, "observedGeneration": 1} for item in status.conditions or ()]
    return encode_policy_status(
        status._replace(observed_generation=owner.generation, conditions=conditions)
    )


def _dated(key: ObjectKey, body: Body) -> dict[str, object]:
    """Return name, namespace and creation of a live object."""
    created = text(mapping(body, "metadata"), "creationTimestamp")
    return {
        **named_in(key.namespace, key.name),
        **({"creationTimestamp": created} if created else {}),
    }


def _resources(
    fleets: Fleets, key: ObjectKey, owner: Owner, index: str, now: datetime
) -> dict[ObjectKey, Body]:
    """Return the resource snapshots of what the repository holds, under a live index."""
    selection = fleets.selection(key)
    made = snapshot_resources(
        owner, selection.resources, (), limit=2, envelopes=selection.envelopes
    )
    outputs: dict[ObjectKey, Body] = {}
    for name, body in made.snapshots.items():
        _, part = name.removeprefix(f"{owner.name}-").split("-", 1)
        renamed = ObjectKey(
            PLACEMENT_GROUP,
            owner.kinds.resource_snapshot,
            key.namespace,
            f"{owner.name}-{index}-{part}",
        )
        metadata = {
            **mapping(body, "metadata"),
            **owner.identity(renamed.name),
            "labels": {**labels_of(body), RESOURCE_INDEX: index},
        }
        outputs[renamed] = snapshot_file(renamed, {**body, "metadata": metadata}, stamp(now))
    return outputs


def adopted_binding(live: Binding, placement: str, now: datetime) -> Body:
    """Return the file of a live binding.

    Availability is assumed from the moment at which the cluster said that it is available, so that
    nothing that runs counts as silent; from now on if it never did.
    """
    marks = {name: live.annotations[name] for name in (PREVIOUS_STATE,) if name in live.annotations}
    if live.resource_snapshot:
        marks |= {ROLLED_OUT: live.resource_snapshot, ROLLED_OUT_AT: _available_at(live, now)}
    created = text(mapping(live.body, "metadata"), "creationTimestamp")
    dated: Body = {"metadata": {"creationTimestamp": created}} if is_moment(created) else {}
    return binding_file(
        live._replace(
            labels={PARENT: placement},
            annotations=marks,
            finalizers=(SCHEDULER_FINALIZER,),
            conditions=tuple(item for item in live.conditions if item.get("type") in STAGES),
            generation=max(live.generation, 1),
            body=dated,
        ),
        stamp(now),
    )


def _available_at(live: Binding, now: datetime) -> str:
    """Return since when a binding's cluster says that everything is available."""
    for condition in live.conditions:
        if condition.get("type") == AVAILABLE and condition.get("status") == "True":
            since = text(condition, "lastTransitionTime")
            if is_moment(since):
                return since
    return format_moment(now)


def propagated_in(live: Mapping[ObjectKey, Body]) -> Propagated:
    """Return the kinds that placements name, or bring along with a namespace.

    Selectors seldom name more than namespaces; what is in these stands in the status of the
    placement, and whole in its snapshots.
    """
    kinds = set()
    for key, body in live.items():
        if key.group != PLACEMENT_GROUP:
            continue
        spec = mapping(body, "spec")
        if key.kind in PLACEMENTS:
            kinds |= {*map(kind_of, bodies(spec, "resourceSelectors")), *selected_kinds(body)}
        elif key.kind in RESOURCE_SNAPSHOTS:
            kinds |= {resource_key(one)[:2] for one in readable_entries(body)}
    return Propagated(kinds=frozenset(kinds))


def is_reserved(namespace: str) -> bool:
    """Return whether a namespace is never placed."""
    return namespace.startswith(RESERVED)


HOME = "fleet-system"
AGENT = "hub-agent"
TRANSPORT = "works"
SHOW = f"show the Deployments of {HOME}: --context, or as a file"
REPORT = "set strategy.applyStrategy to type: ReportDiff, whenToTakeOver: Never, in the placements"
ORPHAN = "in each member: stop member-agent, then delete its AppliedWorks with --cascade=orphan"


def steps(hub: LiveHub) -> tuple[SwitchStep, ...]:
    """Return the steps on the hub, in order.

    The scheduler, the rollout and what writes Works are one program. A member's agent that only
    reports leaves objects alone, but what it once applied has its AppliedWork for an owner, and
    goes with it; nothing on the hub shows that. `deleteStrategy` is no help: upstream defines
    `Abandon` and does not read it.
    """
    seen = hub.whole or hub.host or hub.has_namespace(HOME)
    agents = running(hub, lambda key: key.name.endswith(AGENT))
    applied = {} if hub.by_agents else hub.of_kind(PLACEMENT_GROUP, WORK)
    return (
        settled("agents", () if hub.by_agents else _applying(hub), REPORT),
        stopped("scheduler", agents, seen=seen, show=SHOW),
        settled("keep", applied, ORPHAN, state=StepState.MEMBERS),
    )


def _applying(hub: LiveHub) -> list[ObjectKey]:
    """Return the Works that agents apply; without any Work the placements that would make some."""
    works = hub.of_kind(PLACEMENT_GROUP, WORK)
    applied = works or hub.of_kind(PLACEMENT_GROUP, *PLACEMENTS)
    above = () if works else ("strategy",)
    return [key for key, body in applied.items() if not _reports(_strategy(body, above))]


def _strategy(body: Body, above: tuple[str, ...]) -> Body:
    """Return the strategy by which agents apply, of a Work or of a placement."""
    strategy = mapping(body, "spec")
    for field in (*above, "applyStrategy"):
        strategy = mapping(strategy, field)
    return strategy


def _reports(strategy: Body) -> bool:
    return (text(strategy, "type"), text(strategy, "whenToTakeOver")) == ("ReportDiff", "Never")


def brings(live: Mapping[ObjectKey, Body]) -> Iterator[ObjectKey]:
    """Yield what the latest snapshots of resources hold."""
    for key, body in live.items():
        if key.group == PLACEMENT_GROUP and key.kind in RESOURCE_SNAPSHOTS and is_latest(body):
            yield from map(resource_key, readable_entries(body))


SWITCH = HubSwitch(steps=steps, brings=brings, agents=TRANSPORT)


LABELS = (PARENT, PARENT_NAMESPACE, ENVELOPE_KIND, ENVELOPE_NAME, ENVELOPE_NAMESPACE)
DETAILS = ("diffDetails", "driftDetails")


def _counted(work: Body) -> Body:
    status = mapping(work, "status")
    found = map(_counted_manifest, bodies(status, "manifestConditions"))
    manifests = [one for one in found if one]
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": counted_metadata(work, labels=LABELS, annotations=(PARENT_SNAPSHOT,)),
        "status": {
            "conditions": counted_conditions(status),
            **({"manifestConditions": manifests} if manifests else {}),
        },
    }


def _counted_manifest(manifest: Body) -> Body:
    """Return what is wrong with a manifest, and which it is; empty if nothing is."""
    failed = [item for item in counted_conditions(manifest) if item.get("status") == "False"]
    found = {name: mapping(manifest, name) for name in DETAILS}
    details = {name: without_secrets(manifest, told) for name, told in found.items() if told}
    if not failed and not details:
        return {}
    return {"identifier": mapping(manifest, "identifier"), "conditions": failed, **details}


def _about(work: Body) -> Iterator[ObjectKey]:
    yield placement_of(work)


WORK_REPORT = AgentReport(
    counted=_counted,
    about=_about,
    heartbeats=tuple(f"status.manifestConditions.*.{name}.observationTime" for name in DETAILS),
)


ONCE = (EVICTION, *(kind for scope in SCOPES for kind in (scope.run, scope.approval_request)))
PROBED = ProbeRules(
    well=ProbeVerdict("True", "Healthy", "the API server is ready"),
    unhealthy=ProbeVerdict("False", "Unhealthy", "the API server is not ready"),
    failing=ProbeVerdict("False", "Unhealthy", "the API server answers with an error"),
    unreachable=ProbeVerdict("False", "Unreachable", "the API server does not answer"),
    silent=ProbeVerdict("Unknown", "HeartbeatStopped", "no heartbeat is received"),
)
"""The scheduler itself waits for five minutes before such a cluster is not eligible any more.

Source: ours; upstream the member's own agent says it, pkg/controllers/internalmembercluster.
"""

IMPORTER = Importer(
    probed=PROBED,
    kinds={
        CLUSTER: ImportedKind(
            folder="clusters",
            status=("agentStatus", "conditions", "namespaces", "properties", "resourceUsage"),
            heartbeats=(
                "status.agentStatus.*.lastReceivedHeartbeat",
                "status.properties.*.observationTime",
                "status.resourceUsage.observationTime",
            ),
            measured=(
                "status.properties.*",
                "status.resourceUsage.allocatable",
                "status.resourceUsage.available",
                "status.resourceUsage.capacity",
            ),
        ),
        **{
            (PLACEMENT_GROUP, kind): ImportedKind(folder="placements")
            for kind in ("ClusterResourcePlacement", "ResourcePlacement")
        },
        **{
            (PLACEMENT_GROUP, kind): ImportedKind(folder="policies")
            for kind in (
                BUDGET,
                "ClusterResourceOverride",
                "ResourceOverride",
                *(scope.update_strategy for scope in SCOPES),
            )
        },
        **{kind: ImportedKind(folder="workloads") for kind in ENVELOPES},
    },
    server_made=("kubernetes-fleet.io/",),
    adopt=adopt,
    once=frozenset((PLACEMENT_GROUP, kind) for kind in ONCE),
    reports={(PLACEMENT_GROUP, WORK): WORK_REPORT},
    propagated=propagated_in,
    is_reserved=is_reserved,
    live=tuple((PLACEMENT_GROUP, kind) for kind in sorted(OWNED)),
    switch=SWITCH,
)


KEPT = (RESOURCE_HASH, NUMBER_OF_SNAPSHOTS, NUMBER_OF_ENVELOPES, SUBINDEX)
STAYS = "so what {count} of its clusters have stays as it is until the rollout reaches them"


@dataclass(frozen=True, slots=True)
class PastSnapshots:
    """Earlier snapshots of a placement, with what they hold, and what of that is not here."""

    snapshots: Mapping[ObjectKey, Body]
    contents: Mapping[ObjectKey, tuple[str, str]]
    left: Mapping[ObjectKey, str]


def past_snapshots(world: World, owner: Owner, parts: Mapping[ObjectKey, Body]) -> PastSnapshots:
    """Return the snapshots that live bindings are on, but for the latest.

    Args:
        world: The repository, with everything that was imported.
        owner: The placement.
        parts: All that is live of it.
    """
    kinds = kinds_in(owner.namespace)
    if not any(key.kind == kinds.resource_snapshot and is_latest(b) for key, b in parts.items()):
        return PastSnapshots({}, {}, {})  # none is earlier than another
    bound = Counter(
        ObjectKey(PLACEMENT_GROUP, kinds.resource_snapshot, key.namespace, name)
        for key, body in parts.items()
        if key.kind == kinds.binding and (name := resource_snapshot_of(body))
    )
    snapshots: dict[ObjectKey, Body] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    rejected: dict[ObjectKey, str] = {}
    for master, count in sorted(bound.items()):
        if master not in parts:
            rejected[master] = f"the export has it not, {STAYS.format(count=count)}"
        elif not is_latest(parts[master]):
            for key in _group(master, parts):
                file = _ContentFile(world, output_path(FOLDER, key))
                snapshots[key] = _snapshot(key, parts[key], owner, file)
                if file.listed:
                    contents[key] = file.path, file.text
                rejected |= {one: _why(one, key, count) for one in file.secrets}
    return PastSnapshots(snapshots, contents, rejected)


def _group(master: ObjectKey, parts: Mapping[ObjectKey, Body]) -> Iterable[ObjectKey]:
    """Yield the live snapshots that belong together with a master, itself included."""
    index = labels_of(parts[master]).get(RESOURCE_INDEX)
    for key, body in parts.items():
        if key.kind == master.kind and labels_of(body).get(RESOURCE_INDEX) == index:
            yield key


def _why(secret: ObjectKey, snapshot: ObjectKey, count: int) -> str:
    return f"{snapshot.name} has this {secret.kind} in plain, {STAYS.format(count=count)}"


class _ContentFile:
    """A file of what is otherwise in the repository than a snapshot has it."""

    def __init__(self, world: World, path: str) -> None:
        self.world, self.path = world, path
        self.listed: list[Body] = []
        self.secrets: list[ObjectKey] = []

    @property
    def text(self) -> str:
        """What the file holds: one document an object."""
        return "---\n".join(map(encode, self.listed))

    def take(self, content: Body) -> Origin | None:
        """Return where an object stands: in the repository, else in this file.

        `None` of what must not come into Git as it is.
        """
        key = resource_key(content)
        manifest = self.world.inputs.get(key)
        if manifest is not None and content_of(manifest.body) == content_of(content):
            return manifest.origin
        if body_without_secrets(content) is not content:
            self.secrets.append(key)
            return None
        self.listed.append(content)
        return Origin(self.path, len(self.listed) - 1)

    def blob(self, place: Origin | None) -> str:
        """Return the git blob in which an object stands, `""` if there is none."""
        if place is None:
            return ""
        if place.path == self.path:
            return blob_id(self.text.encode(), like=self.world.revision)
        return self.world.blobs.get(place.path, "")


def _snapshot(key: ObjectKey, body: Body, owner: Owner, file: _ContentFile) -> Body:
    """Return a live snapshot as a pass leaves an earlier one."""
    live = readable_entries(body)
    places = [file.take(one) for one in live]
    marks, labels = annotations_of(body), labels_of(body)
    latest = {IS_LATEST: "false"} if RESOURCE_HASH in marks else {}
    created = text(mapping(body, "metadata"), "creationTimestamp")
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            **owner.identity(key.name),
            **({"creationTimestamp": created} if created else {}),
            "generation": 1,
            "labels": {
                PARENT: owner.name,
                RESOURCE_INDEX: labels.get(RESOURCE_INDEX, ""),
                **latest,
            },
            "annotations": {name: marks[name] for name in KEPT if name in marks},
            "ownerReferences": [owner.reference],
        },
        "spec": encode_resources(
            encode_entry(
                text(one, "apiVersion"),
                resource_key(one),
                content_hash=hash_of(content_of(one)),
                blob=file.blob(place),
                document=0 if place is None else place.index,
                pointer="" if place is None else place.pointer,
            )
            for one, place in zip(live, places, strict=True)
        ),
    }
