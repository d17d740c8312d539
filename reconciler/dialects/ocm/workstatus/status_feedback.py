"""What an agent reports of the state of a resource, as feedback rules ask for it.

Source: ocm@00f84c3 pkg/work/spoke/statusfeedback/reader.go and rules/rule.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.ocm.workstatus.go_values import go_json, go_type, stored
from reconciler.dialects.ocm.workstatus.kubernetes_path import PathMeter, find
from reconciler.dialects.ocm.workstatus.path_syntax import parse_path
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import bodies, text
from reconciler.model.identity import group_of

LONGEST_RAW = 1024  # bytes
LONGEST_SHOWN = 1024  # characters of a path or an error in a message
CHARACTERS_OF_VALUE = 8  # of JSON, that count as one value

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
            value = _value(name, path, version, resource, meter, raw=raw)
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


def _value(
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
    found = results[0] if results else ()
    if not found or found[0] is None:
        return None
    several = len(results) > 1 or len(found) > 1
    return _field_value(name, list(found) if raw and several else found[0], meter, raw=raw)


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
