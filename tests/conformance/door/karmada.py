"""Karmada's schedules through the front door: one pass over a binding and its clusters."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.quantity import parse_quantity
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut, Passed, configuration, field, items, walk_in
from tests.conformance.door.karmada_files import cluster_of, last_binding, policy_of, workload_of
from tests.conformance.judgements import changed_later, forgives

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
