"""Writes `schemas/kubernetes.json` from what kubernetes-validate ships: `make kubernetes`.

One file has every version: of each definition what it is from which version on, `null` where it is
there no more. One definition stands on one line, so that a new version is read as a diff. Left out
are descriptions, `status`, and kinds that nobody keeps in a file: lists, reviews and events.

What OpenAPI does not say is added: the values of the commonest enumerations, and which lists an API
server refuses if two of their items have the same keys. Of the others it takes the last one.
"""

import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "schemas/kubernetes.json"
FOLDER = "kubernetes_validate/kubernetes-json-schema/"
PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.")
NOT_KEPT = ("List", "Review")
NOT_WRITTEN = frozenset(
    {"APIGroup", "APIVersions", "Binding", "Event", "Eviction", "Scale", "Status", "TokenRequest"}
)
SHIPPED = "#/$defs/"
REFERENCE = "../definitions/workloads.json#/$defs/"  # from a file of any kind, and from itself

PROTOCOLS = ("TCP", "UDP", "SCTP")
ENUMS: Mapping[str, tuple[str, ...]] = {
    "apps.v1.DaemonSetUpdateStrategy.type": ("OnDelete", "RollingUpdate"),
    "apps.v1.DeploymentStrategy.type": ("Recreate", "RollingUpdate"),
    "apps.v1.StatefulSetSpec.podManagementPolicy": ("OrderedReady", "Parallel"),
    "apps.v1.StatefulSetUpdateStrategy.type": ("OnDelete", "RollingUpdate"),
    "autoscaling.v2.MetricTarget.type": ("AverageValue", "Utilization", "Value"),
    "batch.v1.CronJobSpec.concurrencyPolicy": ("Allow", "Forbid", "Replace"),
    "batch.v1.JobSpec.completionMode": ("Indexed", "NonIndexed"),
    "core.v1.Container.imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "core.v1.Container.terminationMessagePolicy": ("FallbackToLogsOnError", "File"),
    "core.v1.ContainerPort.protocol": PROTOCOLS,
    "core.v1.HTTPGetAction.scheme": ("HTTP", "HTTPS"),
    "core.v1.NodeSelectorRequirement.operator": (
        "DoesNotExist",
        "Exists",
        "Gt",
        "In",
        "Lt",
        "NotIn",
    ),
    "core.v1.PersistentVolumeClaimSpec.volumeMode": ("Block", "Filesystem"),
    "core.v1.PodSpec.dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "core.v1.PodSpec.preemptionPolicy": ("Never", "PreemptLowerPriority"),
    "core.v1.PodSpec.restartPolicy": ("Always", "Never", "OnFailure"),
    "core.v1.SeccompProfile.type": ("Localhost", "RuntimeDefault", "Unconfined"),
    "core.v1.ServicePort.protocol": PROTOCOLS,
    "core.v1.ServiceSpec.externalTrafficPolicy": ("Cluster", "Local"),
    "core.v1.ServiceSpec.internalTrafficPolicy": ("Cluster", "Local"),
    "core.v1.ServiceSpec.sessionAffinity": ("ClientIP", "None"),
    "core.v1.ServiceSpec.type": ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    "core.v1.Toleration.effect": ("NoExecute", "NoSchedule", "PreferNoSchedule"),
    "core.v1.TopologySpreadConstraint.whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "meta.v1.LabelSelectorRequirement.operator": ("DoesNotExist", "Exists", "In", "NotIn"),
    "networking.v1.HTTPIngressPath.pathType": ("Exact", "ImplementationSpecific", "Prefix"),
    "networking.v1.NetworkPolicyPort.protocol": PROTOCOLS,
    "rbac.v1.RoleRef.kind": ("ClusterRole", "Role"),
    "rbac.v1.Subject.kind": ("Group", "ServiceAccount", "User"),
}
"""Definition and field to the values that an API server takes.

Source: kubernetes/kubernetes, the constants beside each field in staging/src/k8s.io/api.
"""

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "apps.v1.DaemonSet": ("spec",),
    "apps.v1.Deployment": ("spec",),
    "apps.v1.StatefulSet": ("spec",),
    "batch.v1.CronJob": ("spec",),
    "batch.v1.Job": ("spec",),
    "core.v1.Container": ("image",),
    "core.v1.PodTemplateSpec": ("spec",),
}
"""Definition to the fields that an API server requires beside those that OpenAPI says.

Source: kubernetes/kubernetes pkg/apis/core/validation/validation.go `validateContainerCommon`.
"""

UNIQUE = frozenset(
    {"containers", "initContainers", "volumes", "volumeMounts", "topologySpreadConstraints"}
)
"""Lists of a pod whose keys must differ.

Source: kubernetes/kubernetes pkg/apis/core/validation/validation.go `ValidatePodSpec`.
"""

PORTS = frozenset({"containerPort", "port"})
"""Fields that hold the number of a port where they hold a whole number."""


def short(name: str) -> str:
    """Return a definition's name without what all have in common.

    >>> short("io.k8s.api.apps.v1.Deployment")
    'apps.v1.Deployment'
    """
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name


def definitions_of(version: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definitions of one version that kinds of files lead to, as they are written.

    Args:
        version: `$defs` of a `_definitions.json`.
    """
    written = {short(name): _definition(short(name), one) for name, one in version.items()}
    kept: dict[str, Any] = {}
    left = [name for name, one in written.items() if _is_kept_in_files(one)]
    while left:
        name = left.pop()
        if name not in kept:
            kept[name] = written[name]
            left += _references(written[name])
    return kept


def _is_kept_in_files(definition: Mapping[str, Any]) -> bool:
    kind = definition.get("properties", {}).get("kind", {}).get("const", "")
    return bool(kind) and not kind.endswith(NOT_KEPT) and kind not in NOT_WRITTEN


def _definition(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition; a kind's has `const` where its file must say which kind it is."""
    written: dict[str, Any] = _written(schema, name)
    if name in REQUIRED:
        written["required"] = [*written.get("required", ()), *REQUIRED[name]]
    kinds = schema.get("x-kubernetes-group-version-kind", ())
    fields = written.get("properties", {})
    if len(kinds) == 1 and {"apiVersion", "kind"} <= fields.keys():
        group, version, kind = (kinds[0][part] for part in ("group", "version", "kind"))
        fields["apiVersion"] = {"const": f"{group}/{version}" if group else version}
        fields["kind"] = {"const": kind}
        if "status" in fields:
            fields["status"] = {}  # written by the cluster, and ignored in a file
    return written


def _written(schema: Any, place: str) -> Any:
    """Return a part of a schema without what is not asked of a file."""
    if "oneOf" in schema:  # a quantity, or a number or a name
        return {"type": [_plain(one["type"]) for one in schema["oneOf"]]}
    written: dict[str, Any] = {}
    for key in ("type", "format", "required", "additionalProperties", "items", "properties"):
        if key not in schema:
            continue
        value = schema[key]
        if key == "properties":
            written[key] = {name: _field(place, name, one) for name, one in value.items()}
        elif isinstance(value, Mapping):
            written[key] = _written(value, place)
        else:
            written[key] = _plain(value) if key == "type" else value
    if "$ref" in schema:
        return {"$ref": REFERENCE + short(schema["$ref"].removeprefix(SHIPPED))}
    if written.get("format") == "byte":
        written["format"] = "base64"  # with line breaks, which Go's decoder skips
    elif written.get("format") != "date-time":
        written.pop("format", None)
    return written


def _field(place: str, name: str, schema: Mapping[str, Any]) -> Any:
    """Return what a field's schema is, with what OpenAPI leaves unsaid."""
    written = _written(schema, place)
    values = ENUMS.get(f"{place}.{name}")
    if values is not None:  # an empty text is a field that is not set
        written |= {"if": {"minLength": 1}, "then": {"enum": list(values)}}
    if name in PORTS and written.get("type") == "integer":
        written |= {"minimum": 1, "maximum": 65535}
    if name in UNIQUE and "x-kubernetes-list-map-keys" in schema:
        written["x-kubernetes-list-map-keys"] = schema["x-kubernetes-list-map-keys"]
    return written


def _plain(kinds: Any) -> Any:
    """Return the types but for null: what is null is taken out before a file is judged."""
    named = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    return named[0] if len(named) == 1 else named


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):  # a CRD has a field of this name
            yield schema["$ref"].removeprefix(REFERENCE)
        for inner in schema.values():
            yield from _references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner)


def joined(versions: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return of each definition what it is since which version.

    >>> joined({"1.1": {"a": 1}, "1.2": {"a": 1, "b": 2}, "1.3": {"b": 2}})
    {'a': {'1.1': 1, '1.3': None}, 'b': {'1.2': 2}}
    """
    found: dict[str, dict[str, Any]] = {}
    for name in sorted({name for one in versions.values() for name in one}):
        before = None
        for version, definitions in versions.items():
            now = definitions.get(name)
            if now != before:
                found.setdefault(name, {})[version] = before = now
    return found


def main(wheel: str) -> int:
    """Write the file from a wheel of kubernetes-validate."""
    with zipfile.ZipFile(wheel) as archive:
        files = [name for name in archive.namelist() if name.endswith("-strict/_definitions.json")]
        minors = {name: int(name.removeprefix(f"{FOLDER}v1.").partition(".")[0]) for name in files}
        versions = {
            f"1.{minors[name]}": definitions_of(json.loads(archive.read(name))["$defs"])
            for name in sorted(files, key=minors.__getitem__)
        }
    lines = (
        f"{json.dumps(name)}:{json.dumps(one, separators=(',', ':'), sort_keys=True)}"
        for name, one in joined(versions).items()
    )
    body = ",\n".join(lines)
    head = f'{{"versions":{json.dumps(list(versions))},"definitions":{{\n'
    TARGET.write_text(f"{head}{body}\n}}}}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
