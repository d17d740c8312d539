"""The families of Karmada: scheduling, NoExecute taints, graceful eviction."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.binding_spec import decode_spec
from reconciler.dialects.karmada.api.cluster import (
    Members,
    TargetCluster,
    decode_cluster,
    members_of,
)
from reconciler.dialects.karmada.api.cluster_taints import (
    TaintPolicy,
    decode_taint_policy,
    taints_by_condition,
    taints_by_policies,
)
from reconciler.dialects.karmada.api.policy import CLAIMED_BY
from reconciler.dialects.karmada.api.workload import UPSTREAM_ONLY
from reconciler.dialects.karmada.binding.works import (
    RenderedBinding,
    Rendering,
    kept_clusters,
    merged_targets,
    name_of,
    render_binding,
    render_namespace,
)
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.karmada.detector.propagation import (
    NAMESPACES,
    Propagation,
    is_synced,
    skipped_apis,
)
from reconciler.dialects.karmada.eviction import Action, Leaving, assess_tasks, evict
from reconciler.dialects.karmada.overridemanager.overrides import (
    OverridePolicies,
    decode_override_policy,
    index_overrides,
)
from reconciler.dialects.karmada.scheduler.plugins import Failure
from reconciler.dialects.karmada.scheduler.room import estimates
from reconciler.dialects.karmada.scheduler.schedule import Attempt, ScheduleVerdict, schedule
from reconciler.dialects.renderer import ClusterWork, NotRendered
from reconciler.errors import UserError
from reconciler.manifests.admission import Admitted
from reconciler.model.fields import at, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, Origin, group_of
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.world import Manifest
from reconciler.rebalance.rebalancer_files import decode_rebalancer
from reconciler.rebalance.target import MetDemand, Reference, Target
from reconciler.rebalance.workload_rebalancer import RebalancerStep, advance
from tests.builders import Body, FoundBy, manifest
from tests.conformance.door.door import field, items
from tests.conformance.judgements import NOT_COMPARED, first_difference, forgives

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def check_schedule(case: Body) -> str | None:
    """Compare everything that a `schedule` vector expects."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    members = _members(given)
    body = cast(Body, given["binding"])
    binding = decode_binding(body)
    propagate = bool(given.get("enableEmptyWorkloadPropagation"))
    verdict = schedule(binding, members, NOW, propagate_empty=propagate)
    actual: dict[str, object] = {
        **_described(verdict),
        **_written(verdict, binding.clusters),
        "schedulerObservedGeneration": binding.observed_generation
        if verdict.observed_generation is None
        else verdict.observed_generation,
        "appliedPlacementUpdated": verdict.applied is not None,
    }
    if verdict.applied is not None:
        actual["appliedPlacement"] = json.loads(verdict.applied)
    if "estimates" in expected:
        column = estimates(members, binding.requirements).column
        actual["estimates"] = {
            view.cluster.name: room for view, room in zip(members.views, column, strict=True)
        }
    if "condition" not in expected:
        expected["condition"] = None
    for key in NOT_COMPARED["karmada/schedule"]:
        expected.pop(key, None)
    if "appliedPlacement" not in expected and "appliedPlacementUpdated" not in expected:
        expected["appliedPlacementUpdated"] = False
    _settle_messages(expected, actual)
    return first_difference(expected, {key: actual.get(key) for key in expected})


def _members(given: Body) -> Members:
    clusters = cast(Sequence[Body], given["clusters"])
    return members_of(decode_cluster(cluster, declared=False) for cluster in clusters)


def _described(verdict: ScheduleVerdict) -> dict[str, object]:
    condition = verdict.condition
    return {
        "triggered": verdict.triggered,
        "triggerReason": verdict.trigger.value,
        "algorithmCalls": len(verdict.attempts),
        "attempts": [_attempt(attempt) for attempt in verdict.attempts],
        "observedAffinityName": verdict.observed_affinity,
        "error": None if verdict.error is None else _error(verdict.error),
        "condition": None
        if condition is None
        else {
            "type": condition.type,
            "status": condition.status,
            "reason": str(condition.reason),
            "message": condition.message,
        },
        "lastScheduledTimeUpdated": verdict.scheduled,
    }


def _written(verdict: ScheduleVerdict, present: tuple[TargetCluster, ...]) -> dict[str, object]:
    clusters = present if verdict.clusters is None else verdict.clusters
    return {"clusters": _targets(clusters), "order": [name for name, _ in clusters]}


def _targets(clusters: Sequence[TargetCluster]) -> list[object]:
    return [{"name": name, "replicas": replicas} for name, replicas in sorted(clusters)]


def _attempt(attempt: Attempt) -> Body:
    if isinstance(attempt.result, Failure):
        return {"affinityName": attempt.affinity_name, "error": _error(attempt.result)}
    clusters = {"clusters": _targets(attempt.result)} if attempt.result else {}
    return {"affinityName": attempt.affinity_name, **clusters}


def _error(failure: Failure) -> Body:
    return {"kind": failure.kind.value, "message": failure.message}


def _settle_messages(expected: dict[str, object], actual: dict[str, object]) -> None:
    """Where upstream's message depends on its random plugin order, accept any of its messages."""
    expected["error"] = _settled(expected.get("error"), actual["error"])
    attempts = cast(list[dict[str, object]], actual["attempts"])
    wanted = cast(list[dict[str, object]], expected.get("attempts") or [])
    for one, other in zip(wanted, attempts, strict=False):
        if "error" in one:
            one["error"] = _settled(one["error"], other.get("error"))
    condition, found = expected["condition"], actual["condition"]
    if isinstance(condition, dict) and isinstance(found, dict) and "message" not in condition:
        error = cast(Body, expected["error"])
        expected["condition"] = {**condition, "message": error["message"]}


def _settled(expected: object, actual: object) -> object:
    if not isinstance(expected, Mapping) or "messageAnyOf" not in expected:
        return expected
    if not forgives("karmada/schedule", "messageAnyOf"):
        return expected
    choices = cast(list[object], expected["messageAnyOf"])
    found = actual.get("message") if isinstance(actual, Mapping) else None
    return {"kind": expected["kind"], "message": found if found in choices else choices[0]}


def check_taints(case: Body) -> str | None:
    """Compare decisions, remaining clusters, tasks and errors of a `taints` vector."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    clusters = cast(Sequence[Body], given["clusters"])
    binding = decode_binding(cast(Body, given["binding"]))
    now = parse_moment(str(given["now"]))
    views = [decode_cluster(cluster, declared=False) for cluster in clusters]
    purge_mode = str(given.get("noExecuteTaintEvictionPurgeMode") or "Gracefully")
    if given.get("enableNoExecuteTaintEviction") is False:
        views = []
    eviction = evict(binding, views, now, purge_mode=purge_mode)
    errors = [item.error for item in eviction.decisions if item.error]
    actual: dict[str, object] = {
        "clusters": [{"name": name, "replicas": count} for name, count in eviction.clusters],
        "decisions": {item.cluster: _decision(item, now) for item in eviction.decisions},
        "gracefulEvictionTasks": [task.body for task in eviction.tasks],
        **({"errors": errors} if errors else {}),
    }
    return first_difference(expected, actual)


def _decision(leaving: Leaving, now: datetime) -> Body:
    if leaving.action is Action.AFTER and leaving.until is not None:
        return {"action": "after", "seconds": int((leaving.until - now).total_seconds())}
    return {"action": leaving.action.value}


def check_graceful(case: Body) -> str | None:
    """Compare the tasks that stay and the next look of a `gracefuleviction` vector."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = decode_binding(cast(Body, given["binding"]))
    now = parse_moment(str(given["now"]))
    seconds = int(str(given.get("gracefulEvictionTimeoutSeconds", 600)))
    found = assess_tasks(binding, now, timeout=timedelta(seconds=seconds))
    left = timedelta() if found.expires_at is None else found.expires_at - now
    actual: Body = {
        "gracefulEvictionTasks": [task.body for task in found.tasks],
        "requeueAfterSeconds": int(left.total_seconds()),
    }
    return first_difference(expected, actual)


def check_rebalancer(case: Body) -> str | None:
    """Compare triggers, status, removal and the next look of a `rebalancer` vector.

    The vectors' creationTimestamp stands for the admission record. A case whose reads of bindings
    fail has no counterpart: a pass has read everything before it begins. What is demanded happens.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    bodies = (
        *cast(Sequence[Body], given["bindings"]),
        *cast(Sequence[Body], given["clusterBindings"]),
    )
    bindings = {manifest(body).key: cast(Body, body["spec"]) for body in bodies}
    now = parse_moment(str(given["now"]))

    def target_of(reference: Reference) -> Target | None:
        key = binding_key(reference.key)
        if key not in bindings:
            return None
        triggered = bindings[key].get("rescheduleTriggeredAt")
        return Target(key, None if triggered is None else parse_moment(str(triggered)))

    body = cast(Mapping[str, Mapping[str, object]], given["rebalancer"])
    step = advance(
        decode_rebalancer(body["spec"], body.get("status", {}), _admitted(body, now)),
        FoundBy(target_of),
        now,
    )
    progress = step.close(dict.fromkeys(step.triggers, MetDemand()))
    left = 0 if progress.until is None else int((progress.until - now).total_seconds())
    actual = {
        "deleted": progress.expired,
        "requeueAfterSeconds": left,
        "rescheduleTriggeredAt": _triggered(bindings, step),
        **({} if progress.expired else {"status": _compared(progress.status)}),
    }
    wanted = {key: expected[key] for key in actual.keys() & expected.keys()}
    if "status" in wanted:
        wanted["status"] = _compared(cast(Body, wanted["status"]))
    return first_difference(wanted, actual)


def _admitted(body: Mapping[str, Body], now: datetime) -> Admitted:
    """The admission record: a later generation that no status knows of is seen in this pass."""
    metadata, status = body["metadata"], body.get("status", {})
    created = parse_moment(str(metadata["creationTimestamp"]))
    generation = int(str(metadata.get("generation", 0)))
    renewed = generation > 1 and generation != status.get("observedGeneration")
    return Admitted(
        created_at=created, generation=generation, generation_seen_at=now if renewed else created
    )


def _triggered(bindings: Mapping[ObjectKey, Body], step: RebalancerStep) -> dict[str, object]:
    """Binding to the text of its trigger afterwards, as the vectors name them."""
    moments: dict[str, object] = {}
    for key, spec in bindings.items():
        name = f"{key.namespace}/{key.name}" if key.namespace else key.name
        present = spec.get("rescheduleTriggeredAt")
        if key in step.triggers:
            moments[name] = format_moment(step.triggers[key].at)
        else:
            moments[name] = None if present is None else format_moment(parse_moment(str(present)))
    return moments


def _compared(status: Body) -> Body:
    """The status, where an empty list is as good as none."""
    return {key: value for key, value in status.items() if value != []}


ADDED_NOW: Body = {"timeAdded": "NOW"}
ROUNDS = 3
Taints = Mapping[str, Sequence[Body]]


def check_taintpolicy(case: Body) -> str | None:
    """Compare the taints of each cluster after a look by either controller, or by both in turn."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    clusters = {
        str(field(one, "metadata")["name"]): (one, items(one, "spec", "taints"))
        for one in items(given, "clusters")
    }
    start = {name: taints for name, (_, taints) in clusters.items()}
    if given["check"] == "conditions":
        return _differs(expected, "clusters", start, by_condition(given, start))
    if given["check"] == "policies":
        return _differs(expected, "clusters", start, by_policies(given, start))
    conditions = by_condition(given, start)
    policies = by_policies(given, conditions)
    found, settled = policies, False
    for _ in range(ROUNDS):
        after = by_policies(given, by_condition(given, found))
        settled = all(_same(found[name], after[name]) for name in found)
        found = after
    return (
        _differs(expected, "afterConditions", start, conditions)
        or _differs(expected, "afterPolicies", conditions, policies)
        or first_difference(expected["final"], {n: [*t] for n, t in found.items()}, ".final")
        or first_difference(expected["settled"], settled, ".settled")
    )


def by_condition(given: Body, taints: Taints) -> Taints:
    """What the cluster controller leaves."""
    return {
        str(field(one, "metadata")["name"]): taints_by_condition(
            taints[str(field(one, "metadata")["name"])],
            items(one, "status", "conditions"),
            deleting=bool(field(one, "metadata").get("deletionTimestamp")),
            added=ADDED_NOW,
        )
        for one in items(given, "clusters")
    }


def by_policies(given: Body, taints: Taints) -> Taints:
    """What the policy controller leaves; the oldest policy comes first."""
    written = sorted(
        items(given, "policies"), key=lambda one: str(field(one, "metadata")["creationTimestamp"])
    )
    policies = [decode_taint_policy(one) for one in written]
    members = members_of(map(decode_cluster, items(given, "clusters")))
    found: dict[str, Sequence[Body]] = {}
    for one in items(given, "clusters"):
        name = str(field(one, "metadata")["name"])
        bit = (
            1
            << members.fleet.position[
                next(v.cluster.name for v in members.views if v.cluster.name == name)
            ]
        )

        def targets(policy: TaintPolicy, bit: int = bit) -> bool:
            return policy.target is None or bool(members.matching(policy.target) & bit)

        conditions = items(one, "status", "conditions")
        found[name] = taints_by_policies(taints[name], conditions, policies, targets, ADDED_NOW)
    return found


def _differs(expected: Body, part: str, before: Taints, after: Taints) -> str | None:
    wanted = {
        name: {key: one[key] for key in ("taints", "added", "removed")}
        for name, one in cast(Mapping[str, Body], expected[part]).items()
    }
    return first_difference(wanted, {name: _told(before[name], after[name]) for name in after})


def _told(before: Sequence[Body], after: Sequence[Body]) -> Body:
    return {
        "taints": [*after],
        "added": [one for one in after if one not in before],
        "removed": [one for one in before if one not in after],
    }


def _same(one: Sequence[Body], other: Sequence[Body]) -> bool:
    return [*one] == [*other]


PREFIXES = ("resourcebinding.karmada.io", "clusterresourcebinding.karmada.io")


def check_render(case: Body) -> str | None:
    """Compare targets, the Work's name, and of each cluster the Work and its manifest.

    Of errors only that there is one: their words are those of Go's libraries.
    """
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    binding, template = cast(Body, given["binding"]), cast(Body, given["template"])
    gates = cast(Mapping[str, bool], given.get("featureGates", {}))
    rendering = rendering_of(given, keeps_state=gates.get("StatefulFailoverInjection", False))
    key = key_of(template)
    metadata, spec = mapping(binding, "metadata"), decode_spec(binding)
    names = text(metadata, "namespace"), text(metadata, "name")
    named = RenderedBinding(*names, spec, key, _permanent_id(binding))
    rendered = tuple(render_binding(named, merged_targets(spec), template, rendering))
    answer: dict[str, object] = {
        "targets": [_target(target.name, target.replicas) for target in merged_targets(spec)],
        "workName": name_of(template),
        "clusters": told(rendered),
    }
    if "works" in given:
        kept = kept_clusters(spec)
        works = cast(list[Body], given["works"])
        orphans = [work for work in works if _is_orphan(work, binding, kept)]
        stay: dict[str, object] = {
            _cluster(work): _work(work) for work in works if work not in orphans
        }
        answer["removedWorks"] = [_path(work) for work in orphans]
        answer["clusters"] = {**stay, **told(rendered)}
    if any(isinstance(one, NotRendered) for one in rendered):
        answer["error"] = expected.get("error")
    return first_difference(in_brief(expected), answer)


def in_brief(expected: Body) -> Body:
    """Return what is expected with each error as a mere `True`."""
    clusters = {
        name: {"error": True} if "error" in one else one
        for name, one in cast(Mapping[str, Body], expected.get("clusters", {})).items()
    }
    return {**expected, "clusters": clusters}


def rendering_of(given: Body, *, keeps_state: bool = False) -> Rendering:
    """Return the fleet and the overrides of a vector."""
    policies = cast(list[Body], given.get("overridePolicies", []))
    manifests = [Manifest(key_of(body), Origin(""), body) for body in policies]
    overrides = (
        index_overrides(map(decode_override_policy, manifests)) if manifests else OverridePolicies()
    )
    members = members_of(map(decode_cluster, cast(list[Body], given["clusters"])))
    return Rendering(
        members=members,
        overrides=overrides,
        custom_kinds=UPSTREAM_ONLY,
        identified=False,  # by the webhook of Works, which is asked later
        keeps_state=keeps_state,
    )


def told(rendered: tuple[ClusterWork | NotRendered, ...]) -> dict[str, object]:
    """Return what each cluster gets, in the words of the vectors."""
    clusters: dict[str, object] = {}
    for one in rendered:
        if isinstance(one, NotRendered):
            clusters[one.cluster] = {"error": True}
            continue
        metadata = cast(Body, one.carrier["metadata"])
        (manifest,) = one.manifests.values()
        work = {**metadata, **cast(Body, one.carrier["spec"])}
        clusters[one.cluster] = {"work": work, "manifest": manifest}
    return clusters


def key_of(body: Body) -> ObjectKey:
    """Return the identity of an object."""
    metadata = mapping(body, "metadata")
    group = group_of(text(body, "apiVersion"))
    named = text(metadata, "namespace"), text(metadata, "name")
    return ObjectKey(group, text(body, "kind"), *named)


def _permanent_id(binding: Body) -> str:
    labels = mapping(mapping(binding, "metadata"), "labels")
    return next(
        (
            text(labels, f"{one}/permanent-id")
            for one in PREFIXES
            if f"{one}/permanent-id" in labels
        ),
        "",
    )


def _target(name: ClusterName, replicas: int) -> Body:
    return {"name": name, "replicas": replicas} if replicas else {"name": name}


def _is_orphan(work: Body, binding: Body, kept: frozenset[ClusterName]) -> bool:
    labels = mapping(mapping(work, "metadata"), "labels").values()
    return _permanent_id(binding) in labels and _cluster(work) not in kept


def _cluster(work: Body) -> ClusterName:
    namespace = text(mapping(work, "metadata"), "namespace")
    return ClusterName(namespace.removeprefix("karmada-es-"))


def _work(work: Body) -> Body:
    """Return a Work that stays as it was, in the words of the vectors."""
    (manifest,) = cast(list[Body], at(work, "spec", "workload")["manifests"])
    metadata = dict(mapping(work, "metadata"))
    metadata["annotations"] = metadata.get("annotations") or None
    metadata["finalizers"] = metadata.get("finalizers") or None
    return {"work": metadata, "manifest": manifest}


def _path(work: Body) -> str:
    metadata = mapping(work, "metadata")
    return f"{text(metadata, 'namespace')}/{text(metadata, 'name')}"


def check_detector(case: Body) -> str | None:
    """Compare every answer about an object, or where a Namespace goes by itself and as what."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    if given["check"] == "namespaceSync":
        expected.pop("error", None)  # that of one cluster, in the words of Go's libraries
        return first_difference(expected, _synced(given))
    return first_difference(expected, _answers(given))


def _synced(given: Body) -> dict[str, object]:
    """Where a Namespace goes, in the words of the vectors."""
    namespaces = cast(list[str], given.get("skippedPropagatingNamespaces", NAMESPACES))
    body = cast(Body, given["object"])
    if not is_synced(body, Propagation(namespaces=tuple(namespaces))):
        return {"propagatedTo": [], "clusters": {}}
    rendered = tuple(render_namespace(body, key_of(body), rendering_of(given)))
    reached = [one for one in rendered if isinstance(one, ClusterWork)]
    clusters = told(tuple(reached))
    return {"propagatedTo": [one.cluster for one in reached], "clusters": clusters}


def _answers(given: Body) -> dict[str, object]:
    """What we say of an object, in the words of the vectors."""
    body = cast(Body, given["object"])
    metadata = mapping(body, "metadata")
    try:
        apis = skipped_apis(text(given, "skippedPropagatingAPIs"))
    except UserError as error:
        entry = error.message.split("`")[1]
        return {"flagError": f"parse --skipped-propagating-apis invalid parameter: {entry}"}
    namespaces = cast(list[str], given.get("skippedPropagatingNamespaces", NAMESPACES))
    found = Propagation(apis, tuple(namespaces))
    version, kind = text(body, "apiVersion"), text(body, "kind")
    watched = not apis.skips(version, kind)
    passes = found.passes(version, kind, text(metadata, "namespace"), text(metadata, "name"))
    claimed = bool(mapping(metadata, "labels").get(CLAIMED_BY))
    answers: dict[str, object] = {
        "apiWatched": watched,
        "eventPasses": passes,
        "propagated": watched and passes and not claimed,
    }
    if watched and passes:
        answers["claimedElsewhere"] = claimed
    return answers
