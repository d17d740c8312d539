"""What an agent reports of the state of a resource, as feedback rules ask for it.

Source: ocm@00f84c3 pkg/work/spoke/statusfeedback/reader.go and rules/rule.go.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.ocm.workstatus.kubernetes_path import find
from reconciler.errors import UserError
from reconciler.model.fields import bodies, text
from reconciler.model.identity import group_of
from reconciler.model.world import Body

LONGEST_RAW = 1024  # bytes

WELL_KNOWN: Mapping[tuple[str, str], Mapping[str, str]] = {
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
GO_TYPES = {float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}


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
    for name, path, version in _paths(rules, resource, errors):
        try:
            value = _value(name, path, version, resource, raw=raw)
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
            for one in bodies(rule, "jsonPaths"):
                yield text(one, "name"), text(one, "path"), text(one, "version")
        elif (api_version, kind) in WELL_KNOWN:
            for name, path in WELL_KNOWN[api_version, kind].items():
                yield name, path, ""
        else:
            shown = api_version if "/" in api_version else f"/{api_version}"
            why = "cannot find the wellknown statuses for resource with gvk"
            errors.append(f"{why} {shown}, Kind={kind}")


def _value(name: str, path: str, version: str, resource: Body, *, raw: bool) -> Body | None:
    """Return one value, `None` if there is none."""
    if version and version != text(resource, "apiVersion").removeprefix(
        f"{group_of(text(resource, 'apiVersion'))}/"
    ):
        raise UserError(f"version set in the path {name} is not matched for the related resource")
    try:
        found, more = find(resource, path)
    except UserError as error:
        at_run_time = error.message.startswith("array index")
        failed = f"find value for {name}" if at_run_time else f"parse json path {path} of {name}"
        raise UserError(f"failed to {failed} with error: {error.message}") from None
    if not found or found[0] is None:
        return None
    several = more or len(found) > 1
    return _field_value(name, list(found) if raw and several else found[0], raw=raw)


def _field_value(name: str, value: object, *, raw: bool) -> Body:
    match value:
        case bool():
            return {"type": "Boolean", "boolean": value}
        case int():
            return {"type": "Integer", "integer": value}
        case str():
            return {"type": "String", "string": value}
    if not raw:
        kind = GO_TYPES.get(type(value), "")
        raise UserError(f"the type {kind} of the value for {name} is not found")
    shown = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&":
        shown = shown.replace(sign, f"\\u{ord(sign):04x}")
    if len(shown.encode()) > LONGEST_RAW:
        raise UserError(f"the length of the value for {name} is more than {LONGEST_RAW} bytes")
    return {"type": "JsonRaw", "jsonRaw": shown}
