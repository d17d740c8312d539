"""Karmada's schedules through the front door: one pass over a binding and its clusters."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import cast

from reconciler.imports.adoption import adopt
from reconciler.manifests.admission import SUSPEND
from reconciler.model.fields import number
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.quantity import parse_quantity
from tests.builders import Body, cluster, deployment, manifest, policy
from tests.conformance.door.door import (
    LeftOut,
    Passed,
    Refused,
    configuration,
    field,
    items,
    not_later,
    walk_in,
)
from tests.conformance.judgements import changed_later, first_difference, forgives
from tests.imports.imported import OUTPUT_RULES
from tests.stories import Story


def check_admission(case: Body) -> str | None:
    """Compare whether a repository with the object has faults; what is stored, no file shows.

    An edit is one after a pass, which something beside gives a reason to commit.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["operation"] == "DELETE":
        raise LeftOut("deletion")
    if given.get("allowNoExecuteTaintPolicy") is True:
        raise LeftOut("option")
    answer = cast(Body, expected.get("withCRD", expected))
    repository = Story()
    if "oldObject" in given:
        beside = (cluster("beside"), policy("beside"), deployment("beside"))
        repository.put(cast(Body, given["oldObject"]), path="object.yaml").put(*beside).run(0)
    repository.put(cast(Body, given["object"]), path="object.yaml")
    faults = repository.world().faults
    why = "; ".join(f"{one.field} {one.rule}" for one in faults)
    difference = first_difference(answer["accepted"], not faults, ".accepted")
    return f"{difference} {why}".rstrip() if difference else None


CLAIM = {
    "propagationpolicy.karmada.io/namespace": "default",
    "propagationpolicy.karmada.io/name": "p",
}
ID = "propagationpolicy.karmada.io/permanent-id"
POLICY = ObjectKey("policy.karmada.io", "PropagationPolicy", "default", "p")
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "ClusterReady",
    "message": "cluster is healthy and ready to accept workloads",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
FNV_BASIS, FNV_PRIME, WORD = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
MILLI = 1000
SUFFIXES = {"": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
SUFFIXES |= {name: Decimal(1000) ** power for power, name in enumerate("kMGTPE", 1)}
SUFFIXES |= {f"{name}i": Decimal(1024) ** power for power, name in enumerate("KMGTPE", 1)}


def cluster_of(cluster: Body) -> Body:
    """A cluster as people write it: what reports anything is ready, its controller would say.

    `zone` goes: no stored cluster has it, and the scheduler does not read it.

    Raises:
        LeftOut: Its smallest nodes have a least amount, which is stored as 0.
    """
    models = sorted(items(cluster, "spec", "resourceModels"), key=lambda one: number(one, "grade"))
    if any(str(one["min"]) != "0" for model in models[:1] for one in items(model, "ranges")):
        raise LeftOut("defaulted-cluster")
    status = field(cluster, "status")
    conditions = items(cluster, "status", "conditions")
    ready = [item for item in conditions if item.get("type") == "Ready"]
    full = [{**READY, **item} for item in conditions]
    more = [] if ready else [READY]
    spec = {name: value for name, value in field(cluster, "spec").items() if name != "zone"}
    return {**cluster, "spec": spec, "status": {**status, "conditions": [*full, *more]}}


def policy_of(binding: Body, **spec: object) -> Body:
    """The policy that claims every workload, with a binding's placement."""
    resource = field(binding, "spec", "resource")
    named = {key: resource[key] for key in ("apiVersion", "kind")}
    copied = {
        key: value
        for key, value in field(binding, "spec").items()
        if key in ("failover", "schedulerName", "suspension", "placement")
    }
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": POLICY.name, "namespace": POLICY.namespace},
        "spec": {"resourceSelectors": [named], **copied, **spec},
    }


def workload_of(binding: Body) -> Body:
    """The workload of a binding, by a name that breaks ties as the uid of the vector does.

    Raises:
        LeftOut: No workload asks for what the binding asks for.
    """
    spec, resource = field(binding, "spec"), field(binding, "spec", "resource")
    if field(binding, "metadata").get("deletionTimestamp"):
        raise LeftOut("deleting-binding")
    if "components" in spec:
        raise LeftOut("components")
    body: dict[str, object] = {key: resource[key] for key in ("apiVersion", "kind")}
    body["metadata"] = {"name": _name(resource), "namespace": resource["namespace"]}
    if body["kind"] != "Deployment":
        return body
    container: dict[str, object] = {"name": "main", "image": "example.org/main"}
    pod: dict[str, object] = {"containers": [container]}
    if "replicaRequirements" in spec:
        needs = field(spec, "replicaRequirements")
        if field(needs, "resourceRequest") or not spec.get("replicas"):
            container["resources"] = {"requests": _requests(needs)}
    body["spec"] = {"replicas": spec.get("replicas", 0), "template": {"spec": pod}}
    return body


def _requests(needs: Body) -> Body:
    requests = field(needs, "resourceRequest")
    for name, amount in requests.items():
        units = _units(str(amount)) * (MILLI if name == "cpu" else 1)
        if not units or units % 1:
            raise LeftOut("fractional-request")
    return requests


def _units(amount: str) -> Decimal:
    """The number that a quantity is, read without the product."""
    suffix = amount.lstrip("0123456789.+-")
    if suffix in SUFFIXES:
        return Decimal(amount.removesuffix(suffix)) * SUFFIXES[suffix]
    return Decimal(amount)


def _name(resource: Body) -> str:
    """The first name whose uid breaks ties in the direction of a vector's uid."""
    uid, name = str(resource.get("uid", "")), str(resource["name"])
    group = str(resource["apiVersion"]).rpartition("/")[0]
    names = (f"{name}-{number}" if number else name for number in count())
    keys = (ObjectKey(group, str(resource["kind"]), str(resource["namespace"]), n) for n in names)
    return next(key.name for key in keys if _is_odd(uid_of(key)) == _is_odd(uid))


def _is_odd(uid: str) -> bool:
    """Whether ties go to the greater name: FNV-1a of the uid is odd."""
    value = FNV_BASIS
    for byte in uid.encode():
        value = (value ^ byte) * FNV_PRIME & WORD
    return bool(uid) and value % 2 == 1


def claim_of(template: Body) -> Body:
    """What upstream notes of a claim on a template, which stands on the binding here."""
    metadata = field(template, "metadata")
    found: dict[str, Body] = {}
    for part in ("annotations", "labels"):
        noted = field(metadata, part)
        found[part] = {name: noted[name] for name in noted if "policy.karmada.io/" in name}
    return found


def last_binding(binding: Body, workload: Body, *, claim: Body | None = None) -> Body:
    """The binding as the last pass left it: the vector's, under the workload's name.

    `claim` are the annotations and labels of the policy that it belongs to, if not the only one.
    """
    claim = {"annotations": CLAIM, "labels": {ID: uid_of(POLICY)}} if claim is None else claim
    metadata, spec = field(binding, "metadata"), field(binding, "spec")
    plain = str(field(workload, "metadata")["name"]).replace(":", ".")
    name = f"{plain}-{workload['kind']}".lower()
    resource = {**field(spec, "resource"), "name": field(workload, "metadata")["name"]}
    return {
        **binding,
        "metadata": {
            **metadata,
            "name": name,
            "annotations": {**field(metadata, "annotations"), **field(claim, "annotations")},
            "labels": field(claim, "labels"),
        },
        "spec": {**spec, "resource": resource},
    }


APPLIED = "policy.karmada.io/applied-placement"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Past:
    """How a binding came to be where a vector has it.

    Attributes:
        workload: Returns the workload of a binding.
        outputs: Returns what stands there, given what people wrote, the binding under the name of
            its workload, and the moment of the pass that is to come.
    """

    workload: Callable[[Body], Body]
    outputs: Callable[[Sequence[Body], Body, datetime], Iterable[Body]]


def _by_last_pass(_inputs: Sequence[Body], binding: Body, _now: datetime) -> list[Body]:
    return [binding] if binding.get("status") else []


LAST_PASS = Past(workload_of, _by_last_pass)
"""The last pass has written it."""


def check_schedule(case: Body, past: Past = LAST_PASS) -> str | None:
    """Compare clusters, affinity, condition and annotation of the binding after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = field(given, "binding")
    needs = field(binding, "spec").get("replicaRequirements")
    modelled = any("resourceModels" in field(c, "spec") for c in items(given, "clusters"))
    if needs == {} and modelled:
        raise LeftOut("empty-requirements")
    _refuse_gone(given, binding)
    _refuse_defaulted(field(binding, "spec", "placement"))
    now = _later(binding)
    found, kept = _after(given, binding, now, past)
    later = changed_later(str(case["name"]))
    wanted, actual = _wanted(binding, expected), _actual(expected, found)
    scheduled = field(found, "status").get("lastScheduledTime") == format_moment(now)
    told = expected["lastScheduledTimeUpdated"]
    return (
        _same_demand(binding, found)
        or _later_step(later, wanted, actual)
        or first_difference(without(wanted, later), without(actual, later))
        or first_difference(told, True if kept and told is True else scheduled, ".scheduled")
    ) or (_next_step(given, expected, found, now, past) if later else None)


def _after(given: Body, binding: Body, now: datetime, past: Past) -> tuple[Body, bool]:
    """The binding after one pass, and whether the pass left it as it was."""
    propagate = bool(given.get("enableEmptyWorkloadPropagation"))
    settings = {"failover": {"enabled": False}, "emptyWorkloadPropagation": propagate}
    workload = past.workload(binding)
    inputs = [
        configuration(karmada=settings),
        *map(cluster_of, items(given, "clusters")),
        policy_of(binding),
        workload,
    ]
    present = _lasting(last_binding(binding, workload))
    passed = walk_in(inputs, past.outputs(inputs, present, now), now)
    found = binding_after(passed, workload)
    scheduled = field(found, "status").get("lastScheduledTime") == format_moment(now)
    return found, not passed.outcome.decisions and not scheduled  # stamps alone change nothing


def _later_step(later: Sequence[str], wanted: Body, actual: Body) -> str | None:
    """Return which part of a vector need not be listed as one that a later step changes."""
    same = [name for name in later if wanted[name] == actual[name]]
    return f".{same[0]}: it is upstream's, so exceptions.json need not name it" if same else None


def _next_step(given: Body, expected: Body, found: Body, now: datetime, past: Past) -> str | None:
    """Compare with where a pass ends that begins after upstream's step.

    A pass goes on until nothing moves and a vector is one step, so both must end in one place.
    """
    written = _written(field(given, "binding"), expected, now)
    again, _ = _after(given, written, now + timedelta(seconds=1), past)
    return first_difference(_actual(expected, again), _actual(expected, found), ".later")


def _written(binding: Body, expected: Body, now: datetime) -> Body:
    """The binding as one step of upstream leaves it, and as its next step finds it."""
    spec, status = field(binding, "spec"), field(binding, "status")
    chosen = {str(item["name"]): item for item in items(expected, "clusters")}
    order = cast(Sequence[str], expected.get("order") or list(chosen))
    annotations = dict(field(binding, "metadata", "annotations"))
    if expected.get("appliedPlacementUpdated") or "appliedPlacement" in expected:
        placement = expected.get("appliedPlacement", spec["placement"])
        annotations[APPLIED] = json.dumps(without_empty(placement))
    moment = {"lastScheduledTime": format_moment(now)} if expected["error"] is None else {}
    return {
        **binding,
        "metadata": {**field(binding, "metadata"), "annotations": annotations},
        "spec": {**spec, "clusters": [chosen[name] for name in order]},
        "status": {
            **status,
            **moment,
            "schedulerObservingAffinityName": expected["observedAffinityName"],
        },
    }


def _messages(expected: Body) -> Sequence[object]:
    """The sentences that an error may have."""
    error = field(expected, "error")
    if forgives("karmada/schedule", "messageAnyOf") and "messageAnyOf" in error:
        return cast(Sequence[object], error["messageAnyOf"])
    return [error.get("message")]


def _refuse_defaulted(placement: Body) -> None:
    division = placement.get("replicaScheduling")
    constraints = items(placement, "spreadConstraints")
    if division is not None:
        kind = field(placement, "replicaScheduling").get("replicaSchedulingType")
        preference = field(placement, "replicaScheduling").get("replicaDivisionPreference")
        if not kind or (kind == "Divided" and not preference):
            raise LeftOut("defaulted-placement")
    if any(not item.get("minGroups") for item in constraints):
        raise LeftOut("defaulted-placement")
    if placement.get("clusterAffinities") == []:
        raise LeftOut("defaulted-placement")


def _later(binding: Body) -> datetime:
    """A moment after all those of a binding."""
    texts = (
        field(binding, "spec").get("rescheduleTriggeredAt"),
        field(binding, "status").get("lastScheduledTime"),
    )
    return max(
        NOW, *(parse_moment(str(text)) + timedelta(seconds=1) for text in texts if text), NOW
    )


def _refuse_gone(given: Body, binding: Body) -> None:
    names = {field(cluster, "metadata")["name"] for cluster in items(given, "clusters")}
    if any(target["name"] not in names for target in items(binding, "spec", "clusters")):
        raise LeftOut("target-without-cluster")


def _lasting(binding: Body) -> Body:
    """A binding whose evictions do not end in the pass: only their clusters count here."""
    spec = field(binding, "spec")
    forgiven = forgives("karmada/schedule", "graceful evictions")
    if "gracefulEvictionTasks" not in spec or not forgiven:
        return binding
    tasks = [{**task, "suppressDeletion": True} for task in items(spec, "gracefulEvictionTasks")]
    return {**binding, "spec": {**spec, "gracefulEvictionTasks": tasks}}


def binding_after(passed: Passed, workload: Body) -> Body:
    """The binding of a workload after the pass, empty if there is none."""
    metadata = field(workload, "metadata")
    name = f"{metadata['name']}-{workload['kind']}".lower()
    return passed.of_kind("ResourceBinding", str(metadata["namespace"])).get(name, {})


def _same_demand(binding: Body, found: Body) -> str | None:
    """Compare what the workload asks for with what the vector's binding asks for."""
    return first_difference(_demand(binding), _demand(found), ".spec")


def _demand(binding: Body) -> Body:
    spec = field(binding, "spec")
    requests = field(spec, "replicaRequirements", "resourceRequest")
    return {
        "placement": without_empty(spec.get("placement")),
        "replicas": spec.get("replicas", 0),
        "requests": {name: parse_quantity(str(value)) for name, value in requests.items()},
    }


def _targets(clusters: Sequence[Body]) -> list[object]:
    pairs = sorted((str(item["name"]), int(str(item.get("replicas", 0)))) for item in clusters)
    return [{"name": name, "replicas": replicas} for name, replicas in pairs]


def _wanted(binding: Body, expected: Body) -> Mapping[str, object]:
    wanted = {
        "clusters": expected["clusters"],
        "observedAffinityName": expected["observedAffinityName"],
        "condition": expected.get("condition"),
        "observed": expected["error"] is None,
    }
    if "order" in expected:
        wanted["order"] = expected["order"]
    if expected.get("appliedPlacementUpdated") or "appliedPlacement" in expected:
        placement = field(binding, "spec", "placement")
        wanted["applied"] = without_empty(expected.get("appliedPlacement", placement))
    else:
        wanted["appliedText"] = field(binding, "metadata", "annotations").get(APPLIED)
    condition = cast(Mapping[str, object], wanted["condition"] or {})
    if condition and "message" not in condition:
        wanted["condition"] = {**condition, "message": _messages(expected)}
    return wanted


def _actual(expected: Body, found: Body) -> Mapping[str, object]:
    status = field(found, "status")
    applied = field(found, "metadata", "annotations").get(APPLIED)
    actual: dict[str, object] = {
        "clusters": _targets(items(found, "spec", "clusters")),
        "observedAffinityName": status.get("schedulerObservingAffinityName", ""),
        "condition": _condition(status, expected),
        "observed": expected["error"] is None
        and status.get("schedulerObservedGeneration") == field(found, "metadata").get("generation"),
    }
    if "order" in expected:
        actual["order"] = [item["name"] for item in items(found, "spec", "clusters")]
    if expected.get("appliedPlacementUpdated") or "appliedPlacement" in expected:
        actual["applied"] = without_empty(json.loads(str(applied or "{}")))
    else:
        actual["appliedText"] = applied
    return actual


def _condition(status: Body, expected: Body) -> Body | None:
    """The Scheduled condition; where upstream's message varies, all that it may be."""
    found = [item for item in items(status, "conditions") if item["type"] == "Scheduled"]
    if not found:
        return None
    condition = {key: found[0][key] for key in ("type", "status", "reason", "message")}
    varies = "messageAnyOf" in field(expected, "error")
    choices = _messages(expected)
    told = condition["message"] in choices
    return {**condition, "message": choices} if varies and told else condition


def without(body: Body, names: Sequence[str]) -> Body:
    """Return a body without some of its keys."""
    return {name: value for name, value in body.items() if name not in names}


def without_empty(value: object) -> object:
    """Return what Go writes of a value whose empty fields are left out."""
    if isinstance(value, Mapping):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ("", 0, None, [], False)}
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value


THEN = "2026-01-01T00:00:00Z"


def check_adopted_schedule(case: Body) -> str | None:
    """Compare the binding after the first pass that follows its adoption."""
    return check_schedule(case, Past(_own_workload, _adopted))


def _own_workload(binding: Body) -> Body:
    """The workload under its own name: the uid that breaks ties is the binding's."""
    made, resource = workload_of(binding), field(binding, "spec", "resource")
    return {**made, "metadata": {**field(made, "metadata"), "name": resource["name"]}}


def _adopted(inputs: Sequence[Body], binding: Body, now: datetime) -> Iterable[Body]:
    """The state that adopting a live binding leaves.

    Raises:
        LeftOut: It is not adopted, for this reason.
    """
    live = {**binding, "metadata": {"creationTimestamp": THEN, **field(binding, "metadata")}}
    world = Story().put(*inputs).world()
    if world.faults:
        raise Refused(world.faults[0].rule)
    key = manifest(live).key
    found = adopt(world, {key: live}, now - timedelta(seconds=1), OUTPUT_RULES)
    if found.left:
        raise LeftOut(found.left[key])
    return found.outputs.values()


SUSPENDED = {"scheduling": True}
UPDATED = 3
LONG = 10**8  # seconds, so that no eviction ends while it is compared


def check_taints(case: Body) -> str | None:
    """Compare the clusters that stay, the tasks and the next look."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = field(given, "binding")
    clusters = [cluster_of(cluster) for cluster in items(given, "clusters")]
    applied = str(field(binding, "metadata", "annotations").get(APPLIED, ""))
    _refuse_undated(clusters, applied)
    failover: dict[str, object] = {
        "defaultTolerationSeconds": None,
        "gracefulEvictionTimeoutSeconds": LONG,
    }
    failover["enabled"] = given.get("enableNoExecuteTaintEviction") is not False
    if given.get("noExecuteTaintEvictionPurgeMode"):
        failover["purgeMode"] = given["noExecuteTaintEvictionPurgeMode"]
    workload = workload_of(binding)
    passed = walk_in(
        [configuration(karmada={"failover": failover}), *clusters, _held(binding), workload],
        [_suspended(last_binding(binding, workload))],
        parse_moment(str(given["now"])),
    )
    found = binding_after(passed, workload)
    decisions = cast(dict[str, dict[str, int]], expected["decisions"]).values()
    waits = [item["seconds"] for item in decisions if "seconds" in item]
    actual = {
        "clusters": [_target(item) for item in items(found, "spec", "clusters")],
        "gracefulEvictionTasks": _undated(items(found, "spec", "gracefulEvictionTasks")),
    }
    wanted = {
        "clusters": expected["clusters"],
        "gracefulEvictionTasks": _undated(items(expected, "gracefulEvictionTasks")),
    }
    return first_difference(wanted, actual) or not_later(
        "karmada/taints", min(waits, default=None), passed.seconds
    )


def _target(item: Body) -> Body:
    return {"name": item["name"], "replicas": item.get("replicas", 0)}


def _undated(tasks: Iterable[Body]) -> list[object]:
    """The tasks before graceful eviction dates them, which a pass does, too."""
    return [
        {key: value for key, value in task.items() if key != "creationTimestamp"} for task in tasks
    ]


def _refuse_undated(clusters: Iterable[Body], applied: str) -> None:
    taints = [taint for cluster in clusters for taint in items(cluster, "spec", "taints")]
    undated = any(t["effect"] == "NoExecute" and "timeAdded" not in t for t in taints)
    if undated and "tolerationSeconds" in applied:
        raise LeftOut("undated-taint")


def _held(binding: Body) -> Body:
    policy = policy_of(binding)
    metadata = {**field(policy, "metadata"), "annotations": {SUSPEND: "true"}}
    return {**policy, "metadata": metadata}


def _suspended(binding: Body) -> Body:
    return {**binding, "spec": {**field(binding, "spec"), "suspension": SUSPENDED}}


def check_graceful(case: Body) -> str | None:
    """Compare the tasks that stay, and the next look."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = field(given, "binding")
    workload = workload_of(binding)
    targets = [str(item["name"]) for item in items(binding, "spec", "clusters")]
    tasks = items(binding, "spec", "gracefulEvictionTasks")
    names = {*targets, *(str(task["fromCluster"]) for task in tasks)}
    timeout = {"gracefulEvictionTimeoutSeconds": given["gracefulEvictionTimeoutSeconds"]}
    passed = walk_in(
        [
            configuration(karmada={"failover": timeout}),
            *(cluster_of(_cluster(name)) for name in sorted(names)),
            _held(binding),
            workload,
        ],
        [_suspended(last_binding(binding, workload))],
        parse_moment(str(given["now"])),
        reports={
            str(item["clusterName"]): _report(workload, str(item["health"]))
            for item in items(binding, "status", "aggregatedStatus")
        },
    )
    found = binding_after(passed, workload)
    actual = list(items(found, "spec", "gracefulEvictionTasks"))
    wait = int(str(expected["requeueAfterSeconds"]))
    spare = 1 if forgives("karmada/gracefuleviction", "the last second") else 0
    end = wait + spare if wait else None
    return first_difference(
        expected["gracefulEvictionTasks"], actual, ".gracefulEvictionTasks"
    ) or not_later("karmada/gracefuleviction", end, passed.seconds)


def _cluster(name: str) -> Body:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
    }


def _report(workload: Body, health: str) -> Body:
    available = UPDATED if health == "Healthy" else 0
    status = {
        "observedGeneration": 1,
        "updatedReplicas": UPDATED,
        "availableReplicas": available,
    }
    metadata = {**field(workload, "metadata"), "generation": 1}
    return {**workload, "metadata": metadata, "spec": {"replicas": UPDATED}, "status": status}
