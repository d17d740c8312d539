"""What clusters would refuse of workloads, and what these say of each other in vain.

A pass places and delivers a workload whatever it holds. Here each is held against the schema of its
kind, Kubernetes' own or that of a CRD of the repository, and against what an API server checks of
pods beside the schema. Findings are errors where an API server refuses, warnings where a cluster
takes something that does not do what it seems to.

Text such as `${PORT}` is a variable that Flux replaces when it applies a file. Here nothing
replaces it, so where a number must stand it is a warning. A document that SOPS encrypted is left
alone: its values are not what they will be.

Names and labels that nothing of the repository has are taken by a cluster, and then nothing works:
a Service without pods, a pod that waits for a ConfigMap. But what is missing here may come by other
ways: an operator makes Secrets and pods, a chart is installed elsewhere. So a name is reported
where the others of its kind in its namespace are here and nothing in it is of a kind that may make
more; elsewhere, and for Secrets, claims and accounts, only where it is a slip of a name that is
here. An amount is reported that no cluster has, if every cluster says how much it has.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

from reconciler.audit.findings import Finding, finding_of
from reconciler.audit.references import located, referable_in
from reconciler.core.dialects import DIALECTS, KINDS
from reconciler.core.inputs.world import clusters_in
from reconciler.errors import UserError
from reconciler.manifests.identity import CRD, KUBERNETES, is_built_in
from reconciler.manifests.json_patch import escaped
from reconciler.manifests.references import Dangling, Known, OverrideResult, is_slip, proposal
from reconciler.manifests.schemas.kubernetes import KubernetesKinds
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import at, mapping_of, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.labels import (
    LabelSelector,
    Requirement,
    decode_label_selector,
    holds,
    is_wellformed,
    labels_of,
)
from reconciler.model.quantity import NANOS, Quantity, parse_quantity
from reconciler.model.records import dataclass
from reconciler.model.text import enumerated, shown
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity import written_amounts
from reconciler.schedule.pods import pod_request

_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(?:[:=-][^}]*)?\}")
"""A variable as Flux substitutes it.

Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md `postBuild.substitute`.
"""

_BY_VALUE = frozenset({"schema-type", "schema-enum", "schema-range", "schema-format"})
"""Rules that a text in the place of a value breaks."""


class _Pods(NamedTuple):
    """Where a workload describes its pods: JSON pointer of the template, it, and its pod's spec."""

    at: str
    template: Body
    pod: Body


_POD_TEMPLATES = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))


def _pods_of(key: ObjectKey, body: Body) -> _Pods | None:
    """Return where a workload describes its pods, `None` if it has none."""
    if key[:2] == ("", "Pod"):
        return _Pods("", body, at(body, "spec"))
    for path in _POD_TEMPLATES:
        template = at(body, *path)
        if pod := at(template, "spec"):
            return _Pods(f"/{'/'.join(path)}", template, pod)
    return None


def check_workloads(
    manifests: Mapping[ObjectKey, Manifest],
    texts: Mapping[str, bytes],
    kinds: KubernetesKinds,
    world: World | None = None,
) -> tuple[Finding, ...]:
    """Return what clusters would refuse of workloads, sorted.

    Args:
        manifests: What is written in the repository.
        texts: Path to content, for line and column; without it a finding has its path only.
        kinds: What the clusters' version of Kubernetes serves.
        world: The same as a world, if all of it is there: then also what workloads say of each
            other and ask of clusters in vain, and what overrides make of them.
    """
    dangling: Iterator[Dangling] = _refused(manifests, kinds)
    if world is not None:
        referable = referable_in(world)
        dangling = chain(dangling, _dangling(referable), _overridden(referable, kinds))
    return tuple(sorted(map(finding_of, located(dangling, manifests, texts))))


def _refused(manifests: Mapping[ObjectKey, Manifest], kinds: KubernetesKinds) -> Iterator[Dangling]:
    """Yield what clusters would refuse of each workload by itself."""
    crds = (one.body for key, one in manifests.items() if key[:2] == CRD and not key.reporter)
    kinds = kinds.with_custom(crds)
    for key, manifest in manifests.items():
        if not key.reporter and key.group not in KINDS.groups:
            yield from _refused_of(key, manifest.body, kinds)


def _refused_of(key: ObjectKey, body: Body, kinds: KubernetesKinds) -> Iterator[Dangling]:
    """Yield what clusters would refuse of one workload."""
    if "sops" in body:
        return
    violations = kinds.violations_of(body)
    for violation in violations or ():
        yield _with_variables(key, body, violation)
    if violations is None and key.group in kinds.groups:
        yield from _not_served(key, str(body.get("apiVersion")), kinds)
    pods = _pods_of(key, body)
    if pods is not None:
        for check in (_selector, _restart, _mounts, _images, _resources, _probes):
            yield from check(key, body, pods)
    yield from _schedule(key, body)


def _overridden(referable: Known, kinds: KubernetesKinds) -> Iterator[Dangling]:
    """Yield the first workload of each override that no cluster takes as it leaves it."""
    said: set[tuple[ObjectKey, str]] = set()
    results = (dialect.view().written.overridden(referable) for dialect in DIALECTS)
    for rendered in chain.from_iterable(results):
        place = rendered.by, rendered.pointer
        why = "" if place in said else _made_wrong(rendered, referable.world, kinds)
        if why:
            said.add(place)
            message = (
                f"{rendered.object.kind} {shown(rendered.object.name)} cannot be changed so: {why}"
            )
            expected = "a change after which each cluster takes the object"
            yield Dangling(rendered.by, rendered.pointer, "override-result", message, expected)


def _made_wrong(override: OverrideResult, world: World, kinds: KubernetesKinds) -> str:
    """Return what an override makes wrong of an object, `""` if nothing."""
    if isinstance(override.result, str):
        return override.result
    wrong = kinds.violations_of(override.result) or ()
    manifest = world.find(override.object) if wrong else None
    before = () if manifest is None else kinds.violations_of(manifest.body) or ()
    return next((one.message for one in wrong if one not in before), "")


def _with_variables(key: ObjectKey, body: Body, violation: Violation) -> Dangling:
    """Return a violation as a finding: a warning where Flux may still make it right."""
    value = _value_at(body, violation.pointer)
    variable = _VARIABLE.search(value) if isinstance(value, str) else None
    if variable is None or violation.rule not in _BY_VALUE:
        expected = violation.expected
        if violation.rule == "schema-type" and isinstance(value, str) and value.isdecimal():
            expected = f"Write {value} without quotes."
        return Dangling(key, violation.pointer, violation.rule, violation.message, expected)
    where = violation.message.partition(" must be ")[0]
    return Dangling(
        key,
        violation.pointer,
        "workload-variable",
        f"{where} is {shown(value)}: Flux replaces {variable[0]} when it applies the file, "
        "nothing does before",
        "the value itself, or a Flux Kustomization with postBuild.substitute on each cluster",
    )


def _value_at(body: object, pointer: str) -> object:
    """Return the value at a JSON pointer, `None` if there is none.

    >>> _value_at({"a": [{"b/c": 1}]}, "/a/0/b~1c")
    1
    """
    for part in pointer.split("/")[1:]:
        if isinstance(body, list):
            body = body[int(part)] if part.isdecimal() and int(part) < len(body) else None
        else:
            body = mapping_of(body).get(part.replace("~1", "/").replace("~0", "~"))
    return body


def _not_served(key: ObjectKey, api_version: str, kinds: KubernetesKinds) -> Iterator[Dangling]:
    """Yield a kind that this version of Kubernetes serves otherwise, if at all."""
    served = kinds.served.get((api_version, key.kind), ())
    others = kinds.instead_of(api_version, key.kind)
    if served or others:
        since = f"{served[0]} to {served[-1]} do" if len(served) > 1 else f"{''.join(served)} does"
        yield Dangling(
            key,
            "/apiVersion",
            "workload-version",
            f"Kubernetes {kinds.version} does not serve {key.kind} as {api_version}"
            f"{f', {since}' if served else ''}",
            " or ".join(others) or "a kind that it serves",
        )


_SELECTING = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def _selector(key: ObjectKey, body: Body, pods: _Pods) -> Iterator[Dangling]:
    """Yield what a selector asks for that the template's labels are not.

    Source: kubernetes/kubernetes pkg/apis/apps/validation/validation.go `ValidateDeploymentSpec`.
    """
    if key.group != "apps" or key.kind not in _SELECTING:
        return
    labels = labels_of(pods.template)
    try:
        selector = decode_label_selector(at(body, "spec", "selector"))
    except UserError:
        return  # its schema says so
    for requirement in selector.requirements:
        if not is_wellformed(requirement) or holds(requirement, labels):
            continue
        yield Dangling(
            key,
            "/spec/selector",
            "workload-selector",
            f"the selector asks for {_asked(requirement)}, which its own pods are not: they have "
            f"{_said(labels)}",
            f"the same labels in selector and {pods.at[1:].replace('/', '.')}.metadata.labels",
        )


def _asked(requirement: Requirement) -> str:
    """Return a requirement as people say it.

    >>> _asked(Requirement("app", "In", ("web",))), _asked(Requirement("app", "Exists"))
    ('app=web', 'app Exists')
    """
    values = requirement.values or ()
    if requirement.operator == "In" and len(values) == 1:
        return f"{requirement.key}={values[0]}"
    return " ".join(filter(None, (requirement.key, requirement.operator, ", ".join(values))))


def _said(labels: Mapping[str, str]) -> str:
    """Return labels as people say them."""
    return enumerated((f"{name}={value}" for name, value in labels.items()), _NAMED) or "no label"


_NAMED = 3
_RESTARTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((*_SELECTING, "ReplicationController"), ("Always",)),
    **dict.fromkeys(("Job", "CronJob"), ("OnFailure", "Never")),
}
"""Kind to what an API server takes as `restartPolicy` of its pods.

Source: kubernetes/kubernetes pkg/apis/apps/validation, pkg/apis/batch/validation.
"""


def _restart(key: ObjectKey, _body: Body, pods: _Pods) -> Iterator[Dangling]:
    """Yield a restart policy that the kind cannot have; pods have Always where none is written."""
    allowed = _RESTARTS.get(key.kind) if key.group in ("", "apps", "batch") else None
    policy = pods.pod.get("restartPolicy") or "Always"
    if allowed is not None and policy not in allowed:
        yield Dangling(
            key,
            f"{pods.at}/spec/restartPolicy",
            "workload-restart",
            f"pods of a {key.kind} must not have restartPolicy {policy}"
            f"{'' if 'restartPolicy' in pods.pod else ', which they have without one'}",
            " or ".join(allowed),
        )


def _containers_of(pods: _Pods) -> Iterator[tuple[str, Body]]:
    """Yield the containers of a pod, each with its JSON pointer."""
    for field in ("initContainers", "containers"):
        listed = pods.pod.get(field)
        for position, container in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(container, Mapping):
                yield f"{pods.at}/spec/{field}/{position}", container


def _mounts(key: ObjectKey, body: Body, pods: _Pods) -> Iterator[Dangling]:
    """Yield the mounts of volumes that the pod does not have.

    Source: kubernetes/kubernetes pkg/apis/core/validation/validation.go `ValidateVolumeMounts`.
    """
    volumes = mappings_of(pods.pod.get("volumes"))
    claims = mappings_of(at(body, "spec").get("volumeClaimTemplates"))
    written = (*volumes, *(at(claim, "metadata") for claim in claims))
    names = [name for one in written if isinstance(name := one.get("name"), str)]
    for place, container in _containers_of(pods):
        for position, mount in enumerate(mappings_of(container.get("volumeMounts"))):
            name = mount.get("name")
            if isinstance(name, str) and name not in names:
                yield Dangling(
                    key,
                    f"{place}/volumeMounts/{position}/name",
                    "workload-volume",
                    f"the pod has no volume {shown(name)} to be mounted",
                    proposal(name, names, "volume"),
                )


_IMAGE = re.compile(
    r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z0-9]+)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
"""The reference of an image.

Source: distribution/reference regexp.go `ReferenceRegexp`.
"""


def _images(key: ObjectKey, _body: Body, pods: _Pods) -> Iterator[Dangling]:
    """Yield the images that no cluster can pull by their names."""
    for place, container in _containers_of(pods):
        image = container.get("image")
        if not isinstance(image, str) or not image or _IMAGE.fullmatch(_VARIABLE.sub("x", image)):
            continue
        yield Dangling(
            key,
            f"{place}/image",
            "workload-image",
            f"{shown(image)} is no name of an image{_odd(image)}",
            "REGISTRY/NAME:TAG in lower case, without blanks or quotes in it",
        )


def _odd(text: str) -> str:
    """Return which character a name must not have, where one is that nobody expects."""
    odd = next((one for one in text if one.isspace() or not one.isascii()), None)
    return "" if odd is None else f": it holds {shown(odd)} (U+{ord(odd):04X})"


def _resources(key: ObjectKey, _body: Body, pods: _Pods) -> Iterator[Dangling]:
    """Yield requests and limits that an API server refuses, or that nobody means."""
    for place, container in _containers_of(pods):
        resources = mapping_of(container.get("resources"))
        for part in ("requests", "limits"):
            for name, value in mapping_of(resources.get(part)).items():
                spot = f"{place}/resources/{part}/{escaped(name)}"
                yield from _resource(key, spot, name, value)
        yield from _lopsided(key, place, mapping_of(resources.get("requests")))
        limits = mapping_of(resources.get("limits"))
        for name, value in mapping_of(resources.get("requests")).items():
            most, amount = _amount(limits.get(name)), _amount(value)
            if most is not None and amount is not None and amount > most:
                yield Dangling(
                    key,
                    f"{place}/resources/requests/{escaped(name)}",
                    "workload-limit",
                    f"the request of {name}, {value}, is above its limit, {limits[name]}",
                    f"{limits[name]} at most, or a higher limit",
                )


_STANDARD = ("cpu", "memory", "ephemeral-storage")
_LEAST_BYTES = 2**20  # ours: no container starts with less, so nobody means it
_THOUSANDTHS = re.compile(r"([0-9]+)m")


def _resource(key: ObjectKey, spot: str, name: str, value: object) -> Iterator[Dangling]:
    """Yield a resource that containers do not have, and so few bytes that a unit was forgotten.

    Source: kubernetes/kubernetes pkg/apis/core/validation/validation.go
    `validateContainerResourceName`.
    """
    if name not in _STANDARD and not name.startswith("hugepages-") and "/" not in name:
        yield Dangling(
            key,
            spot,
            "workload-resource",
            f"{shown(name)} is no resource that a container can ask for",
            proposal(name, _STANDARD, "standard resource"),
        )
    amount = _amount(value)
    if name == "cpu" or name not in _STANDARD or not amount or amount >= _LEAST_BYTES * NANOS:
        return
    thousandths = _THOUSANDTHS.fullmatch(str(value))
    why = ", since m is a thousandth" if thousandths else ""
    size = thousandths[1] if thousandths else value
    yield Dangling(
        key,
        spot,
        "workload-amount",
        f"{shown(value)} of {name} is {_bytes(amount)}{why}",
        f"did you mean {size}Mi?" if str(size).isdecimal() else "an amount such as 256Mi",
    )


_MANY_CORES = 32
_LEAST_PER_CORE = 2**25  # ours: bytes; machines have a hundred times as much


def _lopsided(key: ObjectKey, place: str, requests: Body) -> Iterator[Dangling]:
    """Yield many whole processors beside so little memory that thousandths were meant."""
    cpu, memory = _amount(requests.get("cpu")), _amount(requests.get("memory"))
    if cpu is None or memory is None or cpu < _MANY_CORES * NANOS:
        return
    if _LEAST_BYTES * NANOS <= memory < cpu * _LEAST_PER_CORE:
        yield Dangling(
            key,
            f"{place}/resources/requests/cpu",
            "workload-amount",
            f"{requests['cpu']} of cpu are whole processors, beside {requests['memory']} of memory",
            f"did you mean {requests['cpu']}m?",
        )


def _bytes(nanos: int) -> str:
    """Return a small amount of memory in words.

    >>> _bytes(512_000_000), _bytes(2_000_000_000)
    ('less than a byte', '2 bytes')
    """
    count = nanos // NANOS
    return f"{count} byte{'s' if count != 1 else ''}" if count else "less than a byte"


def _amount(value: object) -> int | None:
    """Return an amount in nano units, `None` if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(str(value))
    except ValueError:
        return None


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def _probes(key: ObjectKey, _body: Body, pods: _Pods) -> Iterator[Dangling]:
    """Yield the probes of ports that their container does not name, which fail on each cluster."""
    for place, container in _containers_of(pods):
        ports = mappings_of(container.get("ports"))
        names = [name for one in ports if isinstance(name := one.get("name"), str)]
        for probe, action in product(_PROBES, ("httpGet", "tcpSocket")):
            port = at(container, probe, action).get("port")
            if not isinstance(port, str) or port.isdecimal() or _VARIABLE.search(port):
                continue
            if port not in names:
                yield Dangling(
                    key,
                    f"{place}/{probe}/{action}/port",
                    "workload-port",
                    f"the container has no port that is named {shown(port)}",
                    proposal(port, names, "port"),
                )


def _schedule(key: ObjectKey, body: Body) -> Iterator[Dangling]:
    """Yield the schedule of a CronJob that is no cron expression.

    Source: robfig/cron parser.go `ParseStandard`.
    """
    schedule = at(body, "spec").get("schedule")
    if key[:2] != ("batch", "CronJob") or not isinstance(schedule, str):
        return
    text = _VARIABLE.sub("*", schedule)
    fields = text.split()
    if not text.startswith("@") and (len(fields) != 5 or not all(map(_FIELD.fullmatch, fields))):
        yield Dangling(
            key,
            "/spec/schedule",
            "workload-schedule",
            f"{shown(schedule)} is no cron expression",
            "five fields (minute, hour, day, month, weekday) such as 0 3 * * 1-5, or @daily",
        )


_FIELD = re.compile(r"[0-9A-Za-z*?/,-]+")


_CONFIG_MAP, _SECRET, _SERVICE = ("", "ConfigMap"), ("", "Secret"), ("", "Service")
_MADE_ELSEWHERE = frozenset(
    {_SECRET, ("", "PersistentVolumeClaim"), ("", "ServiceAccount"), ("", "Namespace")}
)
"""Kinds whose objects come by other ways than files more often than not."""


@dataclass(frozen=True, slots=True)
class _Workloads:
    """The workloads of a repository.

    Attributes:
        known: What may be referred to.
        pods: Namespace to what describes pods there, each with the object that does.
        open: Namespaces with an object of a kind that may make others, or that cannot be read.
    """

    known: Known
    pods: Mapping[str, Sequence[tuple[ObjectKey, _Pods]]]
    open: Collection[str]


def _dangling(referable: Known) -> Iterator[Dangling]:
    """Yield what workloads say of each other, and ask of clusters, in vain."""
    workloads = _workloads_in(referable)
    yield from _requests_of_no_cluster(workloads)
    for key, manifest in referable.world.inputs.items():
        if key.group in referable.world.known.groups:
            continue
        yield from _namespace(key, workloads)
        match key[:2]:
            case ("", "Service"):
                yield from _service(key, manifest.body, workloads)
            case ("policy", "PodDisruptionBudget"):
                yield from _selects_nothing(key, manifest.body, workloads)
            case ("autoscaling", "HorizontalPodAutoscaler"):
                yield from _scaled(key, manifest.body, workloads)
            case ("networking.k8s.io", "Ingress"):
                yield from _ingress(key, manifest.body, workloads)
    for key, pods in (one for listed in workloads.pods.values() for one in listed):
        yield from _used_by(key, pods, workloads)


def _workloads_in(referable: Known) -> _Workloads:
    """Return the workloads of a repository, by namespace where it matters."""
    pods: dict[str, list[tuple[ObjectKey, _Pods]]] = defaultdict(list)
    open_ = {key.namespace for key in referable.keys - referable.world.inputs.keys()}
    for key, manifest in referable.world.inputs.items():
        if key.group in referable.world.known.groups:
            continue
        if key[:2] not in KUBERNETES:
            open_.add(key.namespace)
        found = _pods_of(key, manifest.body)
        if found is not None:
            pods[key.namespace].append((key, found))
    return _Workloads(referable, pods, open_)


def _unknown(
    key: ObjectKey, pointer: str, kind: Kind, name: object, workloads: _Workloads
) -> Iterator[Dangling]:
    """Yield a name that nothing has, where that is most likely a mistake."""
    wanted = ObjectKey(*kind, key.namespace, str(name))
    names = workloads.known.names(*kind, key.namespace)
    if not isinstance(name, str) or not name or name in names or _VARIABLE.search(name):
        return
    slips = sorted(one for one in names if is_slip(name, one))
    made = kind in _MADE_ELSEWHERE or key.namespace in workloads.open
    if is_built_in(wanted) or not names or (made and not slips):
        return
    place = f" in namespace {key.namespace}" if key.namespace else ""
    yield Dangling(
        key,
        pointer,
        "workload-reference-unknown",
        f"no {kind[1]} is named {shown(name)}{place}",
        f'did you mean "{slips[0]}"?' if slips else proposal(name, names, kind[1]),
    )


def _namespace(key: ObjectKey, workloads: _Workloads) -> Iterator[Dangling]:
    """Yield a namespace that is a slip of one that is here, or of the one that is everywhere."""
    declared = workloads.known.names("", "Namespace") | {"default"}
    if not key.namespace or key.namespace in declared:
        return
    slips = sorted(one for one in declared if is_slip(key.namespace, one))
    if slips:
        yield Dangling(
            key,
            "/metadata/namespace",
            "workload-reference-unknown",
            f"no Namespace is named {shown(key.namespace)}",
            f'did you mean "{slips[0]}"?',
        )


def _service(key: ObjectKey, body: Body, workloads: _Workloads) -> Iterator[Dangling]:
    """Yield a Service that has no pods, and the ports by names that its pods do not have."""
    selector = at(body, "spec", "selector")
    if not selector or at(body, "spec").get("type") == "ExternalName":
        return
    labels = tuple((name, value) for name, value in selector.items() if isinstance(value, str))
    requirements = LabelSelector(match_labels=labels).requirements
    selected = _selected(requirements, key.namespace, workloads)
    if not selected:
        yield from _without_pods(key, requirements, workloads)
        return
    names = [
        name
        for pods in selected
        for _, container in _containers_of(pods)
        for port in mappings_of(container.get("ports"))
        if isinstance(name := port.get("name"), str)
    ]
    for position, port in enumerate(mappings_of(at(body, "spec").get("ports"))):
        target = port.get("targetPort")
        if isinstance(target, str) and not target.isdecimal() and target not in names:
            yield Dangling(
                key,
                f"/spec/ports/{position}/targetPort",
                "workload-port",
                f"no pod of the Service has a port that is named {shown(target)}",
                proposal(target, names, "port"),
            )


def _selects_nothing(key: ObjectKey, body: Body, workloads: _Workloads) -> Iterator[Dangling]:
    """Yield a selector that no pod meets."""
    try:
        requirements = decode_label_selector(at(body, "spec", "selector")).requirements
    except UserError:
        return  # its schema says so
    if requirements and not _selected(requirements, key.namespace, workloads):
        yield from _without_pods(key, requirements, workloads)


def _selected(
    requirements: Sequence[Requirement], namespace: str, workloads: _Workloads
) -> list[_Pods]:
    """Return the pods of a namespace that meet all requirements."""
    if not all(map(is_wellformed, requirements)):
        return []
    return [
        pods
        for _, pods in workloads.pods.get(namespace, ())
        if all(holds(one, labels_of(pods.template)) for one in requirements)
    ]


def _without_pods(
    key: ObjectKey, requirements: Sequence[Requirement], workloads: _Workloads
) -> Iterator[Dangling]:
    """Yield that no pods are selected, with the ones that were most likely meant."""
    here = workloads.pods.get(key.namespace, ())
    near = [
        (owner, labels)
        for owner, pods in here
        if _is_nearly(requirements, labels := labels_of(pods.template))
    ]
    if not here or (key.namespace in workloads.open and not near):
        return
    expected = "labels that the pods of a workload here have"
    if near:
        owner, labels = near[0]
        expected = f"did you mean {owner.kind} {owner.name}, whose pods have {_said(labels)}?"
    yield Dangling(
        key,
        "/spec/selector",
        "workload-selects-nothing",
        f"no pod in namespace {key.namespace} has {', '.join(map(_asked, requirements))}",
        expected,
    )


def _is_nearly(requirements: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    """Return whether one requirement is not met, and by a slip."""
    unmet = [one for one in requirements if not holds(one, labels)]
    if len(unmet) != 1 or not unmet[0].values:
        return False
    wanted, value = unmet[0].values[0], labels.get(unmet[0].key)
    if value is None:
        return any(is_slip(unmet[0].key, name) for name in labels)
    return is_slip(wanted, value)


def _scaled(key: ObjectKey, body: Body, workloads: _Workloads) -> Iterator[Dangling]:
    """Yield the target of an autoscaler, if there is none."""
    target = at(body, "spec", "scaleTargetRef")
    if str(target.get("apiVersion")).startswith("apps/"):
        kind = ("apps", str(target.get("kind")))
        yield from _unknown(key, "/spec/scaleTargetRef/name", kind, target.get("name"), workloads)


def _ingress(key: ObjectKey, body: Body, workloads: _Workloads) -> Iterator[Dangling]:
    """Yield the Services of an Ingress that are not there."""
    places = ["/spec/defaultBackend/service/name"]
    for number, rule in enumerate(mappings_of(at(body, "spec").get("rules"))):
        for position, _ in enumerate(mappings_of(at(rule, "http").get("paths"))):
            places.append(f"/spec/rules/{number}/http/paths/{position}/backend/service/name")
    for place in places:
        yield from _unknown(key, place, _SERVICE, _value_at(body, place), workloads)


def _used_by(key: ObjectKey, pods: _Pods, workloads: _Workloads) -> Iterator[Dangling]:
    """Yield what pods need by name and do not find: objects, and keys of objects."""
    account = pods.pod.get("serviceAccountName")
    place = f"{pods.at}/spec/serviceAccountName"
    yield from _unknown(key, place, ("", "ServiceAccount"), account, workloads)
    for position, volume in enumerate(mappings_of(pods.pod.get("volumes"))):
        for field, named, kind in _VOLUMES:
            source = at(volume, field)
            if source.get("optional") is not True:
                place = f"{pods.at}/spec/volumes/{position}/{field}/{named}"
                yield from _unknown(key, place, kind, source.get(named), workloads)
    for place, container in _containers_of(pods):
        yield from _environment(key, place, container, workloads)


def _environment(
    key: ObjectKey, place: str, container: Body, workloads: _Workloads
) -> Iterator[Dangling]:
    """Yield what the variables of a container are taken from in vain."""
    for position, source in enumerate(mappings_of(container.get("envFrom"))):
        for field, kind in (("configMapRef", _CONFIG_MAP), ("secretRef", _SECRET)):
            if at(source, field).get("optional") is not True:
                spot = f"{place}/envFrom/{position}/{field}/name"
                yield from _unknown(key, spot, kind, at(source, field).get("name"), workloads)
    for position, source in enumerate(mappings_of(container.get("env"))):
        for field, kind in (("configMapKeyRef", _CONFIG_MAP), ("secretKeyRef", _SECRET)):
            reference = at(source, "valueFrom", field)
            if reference and reference.get("optional") is not True:
                spot = f"{place}/env/{position}/valueFrom/{field}"
                yield from _key(key, spot, kind, reference, workloads)


_VOLUMES = (
    ("configMap", "name", _CONFIG_MAP),
    ("secret", "secretName", _SECRET),
    ("persistentVolumeClaim", "claimName", ("", "PersistentVolumeClaim")),
)


def _key(
    key: ObjectKey, spot: str, kind: Kind, reference: Body, workloads: _Workloads
) -> Iterator[Dangling]:
    """Yield the key of an object that it does not have, or the object that is not there."""
    name, wanted = reference.get("name"), reference.get("key")
    source = workloads.known.world.find(ObjectKey(*kind, key.namespace, str(name)))
    if source is None or not isinstance(wanted, str):
        yield from _unknown(key, f"{spot}/name", kind, name, workloads)
        return
    parts = (mapping_of(source.body.get(part)) for part in ("data", "binaryData", "stringData"))
    keys = [one for part in parts for one in part]
    if keys and wanted not in keys and not _VARIABLE.search(wanted):
        yield Dangling(
            key,
            f"{spot}/key",
            "workload-reference-unknown",
            f"{kind[1]} {shown(name)} has no key {shown(wanted)}",
            proposal(wanted, keys, "key"),
        )


def _requests_of_no_cluster(workloads: _Workloads) -> Iterator[Dangling]:
    """Yield the pods that ask for more than any cluster has as a whole."""
    most = _most_of_a_cluster(workloads.known)
    for key, pods in (one for listed in workloads.pods.values() for one in listed):
        request = pod_request(pods.pod)
        for name in sorted(request.keys() & most.keys()):
            if request[name] > most[name]:
                yield Dangling(
                    key,
                    f"{pods.at}/spec/containers/0/resources/requests/{name}",
                    "workload-room",
                    f"a pod asks for {written_amounts({name: request[name]})}, and no cluster has "
                    f"more than {written_amounts({name: most[name]})} in all",
                    "an amount such as 250m" if name == "cpu" else "an amount that a cluster has",
                )


def _most_of_a_cluster(referable: Known) -> Mapping[str, Quantity]:
    """Return the most that any cluster has of each resource that all of them tell the amount of."""
    wholes: list[dict[str, Quantity]] = []
    rules = {dialect.cluster: dialect.capacity() for dialect in DIALECTS}
    for _, cluster in clusters_in(referable.world):
        rule = rules[cluster.key[:2]]
        try:
            room = None if rule is None else rule.reported(cluster.body)
        except UserError:
            room = None  # a fault of its own
        free, used = ({}, {}) if room is None else (room.free, room.used)
        wholes.append({name: Quantity(free[name] + used.get(name, 0)) for name in free})
    names = set.intersection(*map(set, wholes)) if wholes else set()
    return {name: max(one[name] for one in wholes) for name in names}
