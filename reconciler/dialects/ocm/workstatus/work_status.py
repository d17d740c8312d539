"""The status of a ManifestWork as its agent reports it, given the resources of the cluster.

Feedback rules ask for values of a resource, and rules in CEL draw conditions of its manifest from
its state; the conditions of the whole ManifestWork are aggregated from those. Read the other way
round, a ManifestWork reports the objects that it carries, whichever API decided on them.

Source: ocm@00f84c3 pkg/work/spoke/controllers/statuscontroller/availablestatus_controller.go,
pkg/work/spoke/objectreader, pkg/work/spoke/conditions (`AggregateManifestConditions`), and
pkg/work/spoke/statusfeedback/reader.go and rules/rule.go.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.expression import FAILED as NOT_COMPILED
from reconciler.dialects.ocm.cel.expression import compiled
from reconciler.dialects.ocm.cel.library import STANDARD, Functions, overload
from reconciler.dialects.ocm.cel.types import BOOL, DYN
from reconciler.dialects.ocm.cel.values import NAMES, CelError, Meter, to_cel, unwrapped
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import defaulted_spec
from reconciler.dialects.ocm.workstatus.jsonpath import (
    PathMeter,
    find,
    go_json,
    go_type,
    parse_path,
    stored,
)
from reconciler.errors import Misconfigured, UserError
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS, is_secret, without_secrets
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import at, bodies, mapping, number, strings, text
from reconciler.model.health import Health
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.kinds import CopyReport
from reconciler.model.records import dataclass

FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup"
SYNCED = "StatusFeedbackSynced"

Lookup = Callable[[Body], Body | UserError | None]
"""From a resourceMeta to the resource, `None` if there is none, or why it cannot be read."""


def status_of_work(work: Body, lookup: Lookup, *, raw: bool, at: str) -> Body:
    """Return the status of a ManifestWork after one look at its resources.

    Args:
        work: With the status so far.
        lookup: Finds resources in the cluster.
        raw: Whether feedback may be JSON.
        at: Text of the present moment.
    """
    status, metadata = mapping(work, "status"), mapping(work, "metadata")
    conditions = list(bodies(status, "conditions"))
    applied = any(text(one, "type") == "Applied" for one in conditions)
    if FINALIZER not in strings(metadata, "finalizers") or not applied:
        return status
    generation = number(metadata, "generation")
    resources = dict(mapping(status, "resourceStatus"))
    listed = bodies(resources, "manifests")
    configs = bodies(defaulted_spec(mapping(work, "spec")), "manifestConfigs")
    manifests = [_manifest(one, configs, lookup, generation, raw=raw, at=at) for one in listed]
    found = [*aggregate(manifests, frozenset({"Applied", "Available"}))]
    types = {one.type for one in found}
    conditions = [
        one
        for one in conditions
        if text(one, "reason") != AGGREGATED
        or text(one, "type") in types
        or number(one, "observedGeneration") == generation
    ]
    for condition in (_available(manifests), *found):
        observed = Condition(
            condition.type, condition.status, condition.reason, condition.message, generation
        )
        conditions = set_condition(conditions, observed, at=at)
    if manifests:
        resources["manifests"] = manifests
    else:
        resources.pop("manifests", None)
    return {**status, "conditions": conditions, "resourceStatus": resources}


def _manifest(
    manifest: Body,
    configs: Sequence[Body],
    lookup: Lookup,
    generation: int,
    *,
    raw: bool,
    at: str,
) -> Body:
    """Return the status of one manifest."""
    meta = mapping(manifest, "resourceMeta")
    complete = all(text(meta, name) for name in ("resource", "version", "name"))
    live = lookup(meta) if complete else None
    conditions = list(bodies(manifest, "conditions"))
    conditions = _set(conditions, _existence(live, complete=complete), at=at)
    if not isinstance(live, Mapping):
        return {**manifest, "conditions": conditions}
    rules = _rules(configs, meta, "feedbackRules")
    values, conditions = _fed_back(manifest, rules, live, conditions, raw=raw, at=at)
    conditions = [
        one
        for one in conditions
        if not text(one, "reason").startswith("ConditionRule")
        or number(one, "observedGeneration") == generation
    ]
    for condition in evaluate_rules(_rules(configs, meta, "conditionRules"), live, generation):
        conditions = set_condition(conditions, condition, at=at)
    feedback = {"values": values} if values else {}
    return {**manifest, "conditions": conditions, "statusFeedback": feedback}


def _existence(live: Body | UserError | None, *, complete: bool) -> Condition:
    if not complete:
        why = "Resource meta is incomplete"
        return Condition("Available", "Unknown", "IncompleteResourceMeta", why)
    if isinstance(live, UserError):
        why = f"Failed to fetch resource: {live.message}"
        return Condition("Available", "Unknown", "FetchingResourceFailed", why)
    if live is None:
        return Condition("Available", "False", "ResourceNotAvailable", "Resource is not available")
    return Condition("Available", "True", "ResourceAvailable", "Resource is available")


def _fed_back(
    manifest: Body,
    rules: Sequence[Body],
    resource: Body,
    conditions: list[Body],
    *,
    raw: bool,
    at: str,
) -> tuple[list[Body], list[Body]]:
    """Return the values that are reported, and the conditions with that of reporting."""
    # Unlike upstream: what a Secret holds is no feedback.
    read = read_feedback(rules, without_secrets(resource, HIDDEN_IN_CONDITIONS), raw=raw)
    known = list(bodies(mapping(manifest, "statusFeedback"), "values"))
    values = list(read.values)
    if values != known:
        conditions = [one for one in conditions if text(one, "type") != SYNCED]
    if not rules:
        condition = Condition(SYNCED, "True", "NoStatusFeedbackSynced", "")
    elif read.errors:
        shown = read.errors[0] if len(read.errors) == 1 else f"[{', '.join(read.errors)}]"
        why = f"Sync status feedback failed with error {shown}"
        condition = Condition(SYNCED, "False", "StatusFeedbackSyncFailed", why)
    else:
        condition = Condition(SYNCED, "True", "StatusFeedbackSynced", "")
    return values, _set(conditions, condition, at=at)


def _set(conditions: Sequence[Body], condition: Condition, *, at: str) -> list[Body]:
    """Return the conditions with one set that is of no generation."""
    undated = (
        {name: one for name, one in present.items() if name != "observedGeneration"}
        if present.get("type") == condition.type
        else present
        for present in conditions
    )
    return set_condition([*undated], condition, at=at)


def _rules(configs: Sequence[Body], meta: Body, field: str) -> Sequence[Body]:
    """Return the rules of the first entry for a resource that has any.

    Source: ocm@00f84c3 pkg/work/helper/helpers.go `FindManifestConfiguration`.
    """
    fitting = (bodies(one, field) for one in configs if _fits(one, meta))
    return next((found for found in fitting if found), ())


def _fits(config: Body, meta: Body) -> bool:
    wanted = mapping(config, "resourceIdentifier")
    same = all(text(wanted, name) == text(meta, name) for name in ("group", "resource"))
    return same and all(
        fnmatchcase(text(meta, name), text(wanted, name).replace("[", "[[]").replace("?", "[?]"))
        for name in ("namespace", "name")
    )


def _available(manifests: Sequence[Body]) -> Condition:
    """Return the condition that tells whether all resources are there."""
    statuses = [*_statuses(manifests)]
    every = len(manifests)
    if (missing := statuses.count("False")) > 0:
        message = f"{missing} of {every} resources are not available"
        return Condition("Available", "False", "ResourcesNotAvailable", message)
    unknown = statuses.count("Unknown")
    if unknown:
        message = f"{unknown} of {every} resources have unknown status"
        return Condition("Available", "Unknown", "ResourcesStatusUnknown", message)
    if "True" not in statuses:
        message = "cannot get any available resource "
        return Condition("Available", "Unknown", "ResourcesStatusUnknown", message)
    return Condition("Available", "True", "ResourcesAvailable", "All resources are available")


def _statuses(manifests: Sequence[Body]) -> Iterator[str]:
    for manifest in manifests:
        for condition in bodies(manifest, "conditions"):
            if text(condition, "type") == "Available":
                yield text(condition, "status")


EVALUATED, FAILED, INVALID = (
    f"ConditionRule{word}" for word in ("Evaluated", "ExpressionError", "Invalid")
)
AGGREGATED = "ConditionRulesAggregated"
STEPS = 100_000  # of one expression, enough for thousands of items
JOB = (
    "object.status.conditions.exists(c, (c.type == 'Complete' || c.type == 'Failed') "
    "&& c.status == 'True')"
)
POD = "object.status.phase in ['Succeeded', 'Failed']"
WELL_KNOWN_CONDITIONS: Mapping[tuple[str, str, str], Body] = {
    ("batch/v1", "Job", "Complete"): {
        "celExpressions": [JOB],
        "messageExpression": "result ? 'Job is finished' : 'Job is not finished'",
    },
    ("v1", "Pod", "Complete"): {
        "celExpressions": [POD],
        "messageExpression": "'Pod is in phase ' + object.status.phase",
    },
}


def evaluate_rules(rules: Sequence[Body], resource: Body, generation: int) -> Iterator[Condition]:
    """Yield the conditions that rules make of a resource.

    Args:
        rules: Those of its manifest, in order.
        resource: As it is in the cluster.
        generation: Of the ManifestWork.
    """
    for rule in rules:
        condition = _evaluated(rule, resource)
        if condition is not None:
            yield condition._replace(observed_generation=generation)


def _evaluated(rule: Body, resource: Body) -> Condition | None:
    kind, condition = text(rule, "type"), text(rule, "condition")
    if kind == "WellKnownConditions":
        of = text(resource, "apiVersion"), text(resource, "kind"), condition
        if of not in WELL_KNOWN_CONDITIONS:
            return None
        message = text(rule, "messageExpression")
        own = {"messageExpression": message} if message else {}
        rule = {"condition": condition, **WELL_KNOWN_CONDITIONS[of], **own}
    elif kind != "CEL":
        return Condition(condition, "Unknown", INVALID, f"unrecognized condition rule type {kind}")
    try:
        result = all(_boolean(one, resource) for one in strings(rule, "celExpressions"))
    except UserError as error:
        return Condition(condition, "False", FAILED, error.message)
    status = "True" if result else "False"
    return Condition(
        condition, status, EVALUATED, _message(rule, condition, resource, result=result)
    )


def _message(rule: Body, condition: str, resource: Body, *, result: bool) -> str:
    expression = text(rule, "messageExpression")
    written = text(rule, "message") or f"Manifest is {'' if result else 'not '}{condition}"
    if not expression:
        return written
    try:
        # Unlike upstream: what a Secret holds reaches no message.
        seen = without_secrets(resource, HIDDEN_IN_CONDITIONS)
        value = _value_of(expression, {"object": seen, "result": result})
    except UserError as error:
        return error.message
    if isinstance(value, str) and not value:
        return written
    if isinstance(value, str):
        return str(value)
    kind = _type_of(value)
    return f"expected message expression to have a string result, got {kind}"


def _boolean(expression: str, resource: Body) -> bool:
    value = _value_of(expression, {"object": resource})
    if isinstance(value, bool):
        return value
    raise UserError(f"expected bool result, got {_type_of(value)}")


def _type_of(value: object) -> str:
    """Return what Go calls the type of a value."""
    name = NAMES[type(value)]
    return {"int": "int64", "uint": "uint64", "double": "float64"}.get(name, name)


def _value_of(expression: str, variables: Mapping[str, object]) -> object:
    """Return the value of an expression.

    Raises:
        UserError: It has none; the message is as cel-go has it, and holds no value.
    """
    types = {name: BOOL if name == "result" else DYN for name in variables}
    try:
        tree = compiled(expression, types, FUNCTIONS)
        bindings = {name: to_cel(value) for name, value in variables.items()}
        return unwrapped(evaluate(tree, FUNCTIONS, bindings, Meter(STEPS)))
    except Misconfigured as error:
        raise UserError(error.message.removeprefix(NOT_COMPILED)) from None
    except CelError as error:
        said, colon, _ = str(error).partition(": ")
        # Unlike upstream: of a Secret no key is told, since one may be a value.
        hidden = colon and is_secret(cast("Body", variables["object"]))
        raise UserError(f"{said}: {HIDDEN_IN_CONDITIONS}" if hidden else str(error)) from None


def _has_conditions(status: object) -> bool:
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    return bool(listed)


FUNCTIONS: Functions = {
    **STANDARD,
    "hasConditions": (overload("(dyn) -> bool", _has_conditions),),
}


def aggregate(manifests: Sequence[Body], kinds: frozenset[str]) -> Iterator[Condition]:
    """Yield the conditions of a ManifestWork that follow from those of its manifests, by type.

    Args:
        manifests: Their statuses.
        kinds: Types that have owners of their own.
    """
    conditions: dict[str, list[Body]] = {}
    for manifest in manifests:
        for condition in bodies(manifest, "conditions"):
            if (
                text(condition, "reason").startswith("ConditionRule")
                and text(condition, "type") not in kinds
            ):
                conditions.setdefault(text(condition, "type"), []).append(condition)
    for kind in sorted(conditions):
        statuses = {text(one, "status") for one in conditions[kind]}
        # of what progresses one is enough, of all else every one is asked
        order = (
            ("True", "Unknown", "False")
            if kind == "Progressing"
            else (
                "False",
                "Unknown",
                "True",
            )
        )
        status = next(one for one in order if one in statuses)
        count = len(conditions[kind])
        several = f"Aggregated from {count} manifest conditions"
        message = text(conditions[kind][0], "message") if count == 1 else several
        yield Condition(kind, status, AGGREGATED, message)


LONGEST_RAW = 1024  # bytes
LONGEST_SHOWN = 1024  # characters of a path or an error in a message
CHARACTERS_OF_VALUE = 8  # of JSON, that count as one value

WELL_KNOWN_PATHS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("apps/v1", "Deployment"): {
        "ReadyReplicas": ".status.readyReplicas",
        "Replicas": ".status.replicas",
        "AvailableReplicas": ".status.availableReplicas",
    },
    ("apps/v1", "DaemonSet"): {
        "NumberReady": ".status.numberReady",
        "DesiredNumberScheduled": ".status.desiredNumberScheduled",
        "NumberAvailable": ".status.numberAvailable",
    },
    ("batch/v1", "Job"): {
        "JobComplete": '.status.conditions[?(@.type=="Complete")].status',
        "JobSucceeded": ".status.succeeded",
    },
    ("v1", "Pod"): {
        "PodReady": '.status.conditions[?(@.type=="Ready")].status',
        "PodPhase": ".status.phase",
    },
}


@dataclass(frozen=True, slots=True)
class FeedbackValues:
    """Values in order, and what stopped others, no two alike."""

    values: tuple[Body, ...] = ()
    errors: tuple[str, ...] = ()


def read_feedback(rules: Sequence[Body], resource: Body, *, raw: bool) -> FeedbackValues:
    """Return what rules ask of a resource.

    Args:
        rules: Those of the manifest, in order.
        resource: As it is in the cluster.
        raw: Whether what is neither text nor a number is reported as JSON.
    """
    values: list[Body] = []
    errors: list[str] = []
    meter = PathMeter()
    for name, path, version in _paths(rules, resource, errors):
        try:
            value = _value_at(name, path, version, resource, meter, raw=raw)
        except UserError as error:
            errors.append(error.message)
        else:
            if value is not None:
                values.append({"name": name, "fieldValue": value})
    return FeedbackValues(tuple(values), tuple(dict.fromkeys(errors)))


def _paths(
    rules: Sequence[Body], resource: Body, errors: list[str]
) -> Iterator[tuple[str, str, str]]:
    api_version, kind = text(resource, "apiVersion"), text(resource, "kind")
    for rule in rules:
        if text(rule, "type") != "WellKnownStatus":
            for entry in bodies(rule, "jsonPaths"):
                yield text(entry, "name"), text(entry, "path"), text(entry, "version")
        elif (api_version, kind) in WELL_KNOWN_PATHS:
            for name, path in WELL_KNOWN_PATHS[api_version, kind].items():
                yield name, path, ""
        else:
            shown = api_version if "/" in api_version else f"/{api_version}"
            why = "cannot find the wellknown statuses for resource with gvk"
            errors.append(f"{why} {shown}, Kind={kind}")


def _value_at(
    name: str, path: str, version: str, resource: Body, meter: PathMeter, *, raw: bool
) -> Body | None:
    """Return one value, `None` if there is none."""
    if version and version != text(resource, "apiVersion").removeprefix(
        f"{group_of(text(resource, 'apiVersion'))}/"
    ):
        raise UserError(f"version set in the path {name} is not matched for the related resource")
    try:
        actions = parse_path(path)
    except UserError as error:
        why = f"failed to parse json path {_shortened(path)} of {name} with error"
        raise UserError(f"{why}: {_shortened(error.message)}") from None
    try:
        results = find(resource, actions, meter)
    except UserError as error:
        why = f"failed to find value for {name} with error"
        raise UserError(f"{why}: {_shortened(error.message)}") from None
    values = results[0] if results else ()
    if not values or values[0] is None:
        return None
    several = len(results) > 1 or len(values) > 1
    return _field_value(name, list(values) if raw and several else values[0], meter, raw=raw)


def _field_value(name: str, value: object, meter: PathMeter, *, raw: bool) -> Body:
    match stored(value):
        case bool() as flag:
            return {"type": "Boolean", "boolean": flag}
        case int() as number if type(number) is int:
            return {"type": "Integer", "integer": number}
        case str() as written:
            return {"type": "String", "string": written}
    if not raw:
        raise UserError(f"the type {go_type(value)} of the value for {name} is not found")
    shown = go_json(value)
    meter.charge(len(shown) // CHARACTERS_OF_VALUE)
    if len(shown.encode()) > LONGEST_RAW:
        raise UserError(
            f"the length of returned json raw string for name {name} "
            f"is larger than the maximum length {LONGEST_RAW}"
        )
    return {"type": "JsonRaw", "jsonRaw": shown}


def _shortened(shown: str) -> str:
    # Unlike upstream: what is longer is cut, since an API server refuses the whole condition.
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}..."


JUDGED = frozenset((("apps", "Deployment"), ("apps", "DaemonSet"), ("", "Pod")))
"""Of which kinds the agent's feedback says how healthy they are."""
EARLIER = "The agent has not applied the present generation yet"


def reports_in(work: Body) -> Iterator[tuple[ObjectKey, CopyReport]]:
    """Yield what a ManifestWork says of each of its manifests.

    That an object is available says that it is there; its health follows from the values that
    well-known feedback rules ask for, and is unknown without them.

    Source: ours, of what ocm@00f84c3 pkg/work/spoke reports; nothing upstream reads it this way.
    """
    metadata = mapping(work, "metadata")
    if metadata.get("deletionTimestamp") is not None:
        return
    wanted = _wanted_replicas(work)
    for manifest in bodies(at(work, "status", "resourceStatus"), "manifests"):
        meta = mapping(manifest, "resourceMeta")
        kind, namespace, name = (text(meta, field) for field in ("kind", "namespace", "name"))
        key = ObjectKey(text(meta, "group"), kind, namespace, name)
        conditions = {text(c, "type"): c for c in bodies(manifest, "conditions")}
        told = conditions.get("Applied", {})
        applied = text(told, "status") == "True" and _is_current(told, metadata)
        failed = text(told, "message") if text(told, "status") == "False" else EARLIER
        values = _values(manifest)
        available = text(conditions.get("Available", {}), "status")
        judged = (
            Health.UNHEALTHY if available == "False" else _health(meta, values, wanted.get(key))
        )
        body = _body(meta, values)
        report = CopyReport(
            body=body,
            applied=applied,
            message="" if applied else failed,
            judged=judged,
            is_judge=(text(meta, "group"), kind) in JUDGED,
        )
        yield key, report


def _is_current(condition: Body, metadata: Body) -> bool:
    """Return whether a condition is about the present generation, as far as that is known."""
    counted = "generation" in metadata and "observedGeneration" in condition
    return not counted or number(condition, "observedGeneration") == number(metadata, "generation")


def _values(manifest: Body) -> dict[str, object]:
    """Return the values of feedback by name."""
    values = {}
    for entry in bodies(mapping(manifest, "statusFeedback"), "values"):
        value = mapping(entry, "fieldValue")
        values[text(entry, "name")] = value.get("integer", value.get("string"))
    return values


def _body(meta: Body, values: Mapping[str, object]) -> Body:
    """Return an object as far as its feedback tells it: numbers, each at upstream's path."""
    group, version = text(meta, "group"), text(meta, "version")
    api_version = f"{group}/{version}" if group else version
    paths = WELL_KNOWN_PATHS.get((api_version, text(meta, "kind")), {})
    status = {
        path.removeprefix(".status."): values[name]
        for name, path in paths.items()
        if isinstance(values.get(name), int)
    }
    own = {field: meta[field] for field in ("namespace", "name") if meta.get(field)}
    return {
        "apiVersion": api_version,
        "kind": text(meta, "kind"),
        "metadata": own,
        "status": status,
    }


def _health(meta: Body, values: Mapping[str, object], replicas: int | None) -> Health:
    """Return what well-known feedback says of health; a number that is missing is 0, as in Go.

    How many replicas there are says nothing of how many there should be: that the manifest says.
    """
    match text(meta, "group"), text(meta, "kind"):
        case "apps", "Deployment" if "Replicas" in values:
            available = _count(values, "AvailableReplicas")
            healthy = available >= max(_count(values, "Replicas"), replicas or 0)
            if healthy and replicas is None:
                return Health.UNKNOWN
        case "apps", "DaemonSet" if "DesiredNumberScheduled" in values:
            wanted = _count(values, "DesiredNumberScheduled")
            healthy = _count(values, "NumberAvailable") >= wanted
        case "", "Pod" if "PodPhase" in values:
            running = values["PodPhase"] == "Running" and values.get("PodReady") == "True"
            healthy = running or values["PodPhase"] == "Succeeded"
        case _:
            return Health.UNKNOWN
    return Health.HEALTHY if healthy else Health.UNHEALTHY


def _count(values: Mapping[str, object], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _wanted_replicas(work: Body) -> dict[ObjectKey, int]:
    """Return how many replicas the manifests of a work want, by object; 1 where none says."""
    wanted = {}
    for manifest in bodies(at(work, "spec", "workload"), "manifests"):
        group, _, _ = str(manifest.get("apiVersion", "")).rpartition("/")
        metadata, replicas = at(manifest, "metadata"), at(manifest, "spec").get("replicas", 1)
        if isinstance(replicas, int):
            namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
            wanted[ObjectKey(group, str(manifest.get("kind", "")), namespace, name)] = replicas
    return wanted
