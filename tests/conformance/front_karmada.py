"""Karmada's schedules through the front door: one pass over a binding and its clusters."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.clusters import decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.quantity import parse_quantity
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.front_door import LeftOut, Passed, configuration, field, items, walk_in
from tests.conformance.front_karmada_files import cluster_of, last_binding, policy_of, workload_of

APPLIED = "policy.karmada.io/applied-placement"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def check_schedule(case: Body) -> str | None:
    """Compare clusters, affinity, condition and annotation of the binding after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    binding = field(given, "binding")
    needs = field(binding, "spec").get("replicaRequirements")
    modelled = any("resourceModels" in field(c, "spec") for c in items(given, "clusters"))
    if needs == {} and modelled:
        raise LeftOut("requirements that ask for nothing of a model")
    if given.get("enableEmptyWorkloadPropagation"):
        raise LeftOut("a flag of upstream that no configuration has")
    _refuse_gone(given, binding)
    _refuse_defaulted(field(binding, "spec", "placement"))
    now = _later(binding)
    _refuse_unsettled(given, binding, expected, now)
    off = configuration(karmada={"failover": {"enabled": False}})
    workload = workload_of(binding)
    inputs = [off, *map(cluster_of, items(given, "clusters")), policy_of(binding), workload]
    present = _lasting(last_binding(binding, workload))
    passed = walk_in(inputs, [present] if binding.get("status") else [], now)
    found = binding_after(passed, workload)
    scheduled = field(found, "status").get("lastScheduledTime") == format_moment(now)
    kept = not passed.outcome.decisions and not scheduled  # stamps alone change nothing
    told = expected["lastScheduledTimeUpdated"]
    return (
        _same_demand(binding, found)
        or first_difference(_wanted(binding, expected), _actual(expected, found))
        or first_difference(told, True if kept and told is True else scheduled, ".scheduled")
    )


def _refuse_unsettled(given: Body, binding: Body, expected: Body, now: datetime) -> None:
    """Leave out what upstream would schedule otherwise once it sees its own write.

    A pass goes on until nothing moves, a vector is one step; the step is what the other way holds.
    """
    clusters = cast(Sequence[Body], expected["clusters"])
    if "order" in expected:
        order = cast(Sequence[object], expected["order"])
        clusters = sorted(clusters, key=lambda item: order.index(item["name"]))
    written = {
        **binding,
        "metadata": {
            **field(binding, "metadata"),
            "annotations": {
                APPLIED: json.dumps(without_empty(field(binding, "spec", "placement")))
            },
        },
        "spec": {**field(binding, "spec"), "clusters": clusters},
        "status": {
            **field(binding, "status"),
            "lastScheduledTime": format_moment(now),
            "schedulerObservingAffinityName": expected["observedAffinityName"],
        },
    }
    members = members_of(decode_cluster(c, declared=False) for c in items(given, "clusters"))
    again = schedule(decode_binding(written), members, now)
    names = [(item["name"], item["replicas"]) for item in clusters]
    moved = again.clusters is not None and names != [tuple(target) for target in again.clusters]
    failed = again.error is not None and again.error.message not in _messages(expected)
    if moved or (failed and not clusters):
        raise LeftOut("upstream schedules otherwise once it sees its own write")


def _messages(expected: Body) -> Sequence[object]:
    """The sentences that an error may have."""
    error = field(expected, "error")
    return cast(Sequence[object], error.get("messageAnyOf") or [error.get("message")])


def _refuse_defaulted(placement: Body) -> None:
    division = placement.get("replicaScheduling")
    constraints = items(placement, "spreadConstraints")
    if division is not None:
        kind = field(placement, "replicaScheduling").get("replicaSchedulingType")
        preference = field(placement, "replicaScheduling").get("replicaDivisionPreference")
        if not kind or (kind == "Divided" and not preference):
            raise LeftOut("a placement that admission changes")
    if any(not item.get("minGroups") for item in constraints):
        raise LeftOut("a placement that admission changes")
    if placement.get("clusterAffinities") == []:
        raise LeftOut("a placement that admission changes")


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
        raise LeftOut("a target without a Cluster, which counts as one that is leaving")


def _lasting(binding: Body) -> Body:
    """A binding whose evictions do not end in the pass: only their clusters count here."""
    spec = field(binding, "spec")
    if "gracefulEvictionTasks" not in spec:
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


def without_empty(value: object) -> object:
    """Return what Go writes of a value whose empty fields are left out."""
    if isinstance(value, Mapping):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ("", 0, None, [], False)}
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value
