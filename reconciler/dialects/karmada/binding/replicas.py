"""A manifest for one cluster: its replicas and completions revised, the API server's fields pruned.

Pruning removes what an API server puts into an object and what no member cluster may be given. It
relies on the types of a Job's fields: a Job with other types is not delivered.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from reconciler.dialects.karmada.api.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.cluster import TargetCluster
from reconciler.dialects.karmada.api.placement import is_divided
from reconciler.dialects.karmada.api.workload import CustomKinds
from reconciler.dialects.karmada.overridemanager.overriders import string_map
from reconciler.errors import UserError
from reconciler.manifests.admission import without_ours
from reconciler.model.body import Body
from reconciler.model.fields import at, text, with_value, without
from reconciler.model.identity import ClusterName
from reconciler.schedule.apportion import apportion, breaks_ties_descending

REPLICAS = {
    ("apps/v1", "Deployment"): ("spec", "replicas"),
    ("apps/v1", "ReplicaSet"): ("spec", "replicas"),
    ("apps/v1", "StatefulSet"): ("spec", "replicas"),
    ("batch/v1", "Job"): ("spec", "parallelism"),
}
"""Where the kinds that are interpreted without a row have their replicas.

Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/revisereplica.go
`getAllDefaultReviseReplicaInterpreter`.
"""


def replicas_path(manifest: Body, custom_kinds: CustomKinds) -> tuple[str, ...] | None:
    """Return where a manifest has its replicas, `None` if nobody knows."""
    kind = text(manifest, "apiVersion"), text(manifest, "kind")
    row = custom_kinds.row(*kind)
    return REPLICAS.get(kind) if row is None else row.replicas


def revised(manifest: Body, replicas: int, custom_kinds: CustomKinds) -> Body:
    """Return a manifest with the replicas of a cluster.

    Of the kinds interpreted without a row, an absent field stays absent, and one that is there must
    be a whole number. A row writes them whatever is there, as a script does, into an object that is
    there.

    Raises:
        UserError: There is something else than a whole number, or than an object that holds it.

    Source: karmada@f8fdd02 pkg/util/helper/unstructured.go `ApplyReplica`; the `replicaRevision` of
    pkg/resourceinterpreter/default/thirdparty/resourcecustomizations.
    """
    path = replicas_path(manifest, custom_kinds)
    if path is None:
        return manifest
    if custom_kinds.row(text(manifest, "apiVersion"), text(manifest, "kind")) is not None:
        return with_value(manifest, path, replicas) if _is_held(manifest, path) else manifest
    if path[-1] not in at(manifest, *path[:-1]):
        return manifest
    _whole_number(manifest, path)
    return with_value(manifest, path, replicas)


def _is_held(manifest: Body, path: Sequence[str]) -> bool:
    """Return whether the object is there that a path ends in."""
    value: object = manifest
    for depth, name in enumerate(path):
        if not isinstance(value, Mapping):
            if value is None:
                return False
            raise UserError(f"`{'.'.join(path[:depth])}` must be a mapping")
        value = value.get(name)
    return True


def completions_by_cluster(
    manifest: Body, binding: BindingSpec, targets: Sequence[TargetCluster]
) -> dict[ClusterName, int]:
    """Return how many completions of a Job each cluster gets; empty where they are not divided.

    They are divided like the replicas, by the Webster method.

    Raises:
        UserError: The completions are no whole number.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `needReviseJobCompletions`,
    `divideReplicasByJobCompletions`.
    """
    path = ("spec", "completions")
    divided = manifest.get("kind") == "Job" and (binding.replicas or 0) > 0
    if (
        not divided
        or not is_divided(binding.placement)
        or "completions" not in at(manifest, "spec")
    ):
        return {}
    completions = _whole_number(manifest, path)
    weights = {target.name: target.replicas for target in targets}
    if not any(weights.values()):
        return {}
    uid = at(manifest, "metadata").get("uid")
    descending = breaks_ties_descending(uid if isinstance(uid, str) else "")
    return apportion(completions, weights, descending=descending)


def _whole_number(manifest: Body, path: Sequence[str]) -> int:
    value = at(manifest, *path[:-1]).get(path[-1])
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserError(f"`{'.'.join(path)}` must be a whole number, it is {value!r}")
    return value


Check = Callable[[str, object], None]
"""Raises a `UserError` that names the path where a value has the wrong type."""

MOST = {32: 2**31 - 1, 64: 2**63 - 1}


def require_job(manifest: Body) -> None:
    """Raise unless a manifest can be read as a Job; unknown fields and nulls are passed over.

    Raises:
        UserError: A field has another type than a Job's.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/prune/prune.go
    `removeJobIrrelevantField`, which converts it to batch/v1 `Job`.
    """
    _JOB("", manifest)


def _text(path: str, value: object) -> None:
    if not isinstance(value, str):
        raise UserError(f"`{path}` must be a text")


def _flag(path: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UserError(f"`{path}` must be true or false")


def _whole(path: str, value: object, *, bits: int) -> None:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not -MOST[bits] - 1 <= value <= MOST[bits]:  # type: ignore[operator]  # a number, as `whole` says
        raise UserError(f"`{path}` must be a whole number of {bits} bits")


def _texts(path: str, value: object) -> None:
    _mapping(path, value)
    for name, one in value.items():  # type: ignore[attr-defined]  # a mapping, as checked above
        if one is not None:
            _text(f"{path}.{name}", one)


def _mapping(path: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise UserError(f"`{path}` must be a mapping")


def _list_of(check: Check, path: str, value: object) -> None:
    if not isinstance(value, list):
        raise UserError(f"`{path}` must be a list")
    for position, element in enumerate(value):
        if element is not None:
            check(f"{path}/{position}", element)


def _fields(checks: Mapping[str, Check], path: str, value: object) -> None:
    _mapping(path, value)
    for name, check in checks.items():
        inner = value.get(name)  # type: ignore[attr-defined]  # a mapping, as checked above
        if inner is not None:
            check(f"{path}.{name}" if path else name, inner)


def _object(**checks: Check) -> Check:
    return partial(_fields, checks)


_int32 = partial(_whole, bits=32)
_int64 = partial(_whole, bits=64)
_METADATA = _object(name=_text, namespace=_text, labels=_texts, annotations=_texts)
_REQUIREMENT = _object(key=_text, operator=_text, values=partial(_list_of, _text))
_SELECTOR = _object(matchLabels=_texts, matchExpressions=partial(_list_of, _REQUIREMENT))
_CONTAINERS = partial(
    _list_of,
    _object(
        name=_text,
        image=_text,
        command=partial(_list_of, _text),
        args=partial(_list_of, _text),
        workingDir=_text,
        env=partial(_list_of, _object(name=_text, value=_text, valueFrom=_mapping)),
        ports=partial(_list_of, _object(name=_text, containerPort=_int32, protocol=_text)),
        resources=_object(limits=_mapping, requests=_mapping),
    ),
)
_POD = _object(
    activeDeadlineSeconds=_int64,
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    nodeName=_text,
    nodeSelector=_texts,
    restartPolicy=_text,
    schedulerName=_text,
    serviceAccountName=_text,
    terminationGracePeriodSeconds=_int64,
    tolerations=partial(
        _list_of, _object(key=_text, operator=_text, value=_text, tolerationSeconds=_int64)
    ),
    volumes=partial(_list_of, _object(name=_text)),
)
_JOB = _object(
    metadata=_METADATA,
    spec=_object(
        activeDeadlineSeconds=_int64,
        backoffLimit=_int32,
        backoffLimitPerIndex=_int32,
        completionMode=_text,
        completions=_int32,
        managedBy=_text,
        manualSelector=_flag,
        maxFailedIndexes=_int32,
        parallelism=_int32,
        podReplacementPolicy=_text,
        selector=_SELECTOR,
        suspend=_flag,
        template=_object(metadata=_METADATA, spec=_POD),
        ttlSecondsAfterFinished=_int32,
    ),
)


Path = tuple[str, ...]

EVERYWHERE: tuple[Path, ...] = (
    *(
        ("metadata", name)
        for name in (
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "managedFields",
            "resourceVersion",
            "selfLink",
            "uid",
            "ownerReferences",
            "finalizers",
        )
    ),
    ("status",),
)
_CONTROLLER = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB_NAMES = ("job-name", "batch.kubernetes.io/job-name")
_SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105  # the type of a Secret
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def pruned(manifest: Body) -> Body:
    """Return a manifest without what an API server put there; what becomes empty stays.

    Raises:
        UserError: A part that is looked at has the wrong type.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/prune/prune.go
    `RemoveIrrelevantFields`.
    """
    for path in EVERYWHERE:
        manifest = without(manifest, path)
    manifest = without_ours(manifest)
    prune = BY_KIND.get(text(manifest, "kind"))
    return manifest if prune is None else prune(manifest)


def _without_all(manifest: Body, path: Path, names: Sequence[str]) -> Body:
    for name in names:
        manifest = without(manifest, (*path, name))
    return manifest


def _deployment(manifest: Body) -> Body:
    names = ("deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history")
    return _without_all(manifest, ("metadata", "annotations"), names)


def _job(manifest: Body) -> Body:
    require_job(manifest)
    manifest = without(manifest, ("spec", "ttlSecondsAfterFinished"))
    if at(manifest, "spec").get("manualSelector") is True:
        return manifest
    manifest = _without_labels(manifest, ("spec", "selector", "matchLabels"), _CONTROLLER)
    labels = ("spec", "template", "metadata", "labels")
    return _without_labels(manifest, labels, (*_CONTROLLER, *_JOB_NAMES))


def _without_labels(manifest: Body, path: Path, names: Sequence[str]) -> Body:
    """Drop labels of a map that is there; one that is null, or holds a null, is no map of texts."""
    inner = at(manifest, *path[:-1])
    if path[-1] not in inner:
        return manifest
    if string_map(inner[path[-1]]) is None:
        raise UserError(f"`{'.'.join(path)}` must be a map of texts")
    return _without_all(manifest, path, names)


def _secret(manifest: Body) -> Body:
    if manifest.get("type") != _SERVICE_ACCOUNT_TOKEN:
        return manifest
    annotation = ("metadata", "annotations", "kubernetes.io/service-account.uid")
    return {**without(manifest, annotation), "data": None}


def _service_account(manifest: Body) -> Body:
    """Drop the tokens of the account; of two neighbours the second stays, as upstream has it."""
    secrets = manifest.get("secrets")
    if not isinstance(secrets, list) or not secrets:
        return manifest
    account = at(manifest, "metadata").get("name")
    prefix = f"{account if isinstance(account, str) else ''}-token-"
    secrets_left, i = list(secrets), 0
    while i < len(secrets_left):
        name = secrets_left[i].get("name") if isinstance(secrets_left[i], Mapping) else None
        if not isinstance(name, str):
            raise UserError(f"`secrets/{i}` must be an object with a name")
        if name.startswith(prefix):
            del secrets_left[i]
        i += 1
    return {**manifest, "secrets": secrets_left}


def _service(manifest: Body) -> Body:
    address = at(manifest, "spec").get("clusterIP")
    if not isinstance(address, str) or address == "None":
        return manifest
    return _without_all(manifest, ("spec",), ("clusterIP", "clusterIPs"))


def _claim(manifest: Body) -> Body:
    path = ("metadata", "annotations", _SELECTED_NODE)
    return without(manifest, path) if at(manifest, *path[:-1]).get(_SELECTED_NODE) else manifest


BY_KIND: Mapping[str, Callable[[Body], Body]] = {
    "Deployment": _deployment,
    "Job": _job,
    "PersistentVolumeClaim": _claim,
    "Secret": _secret,
    "Service": _service,
    "ServiceAccount": _service_account,
}
"""What is dropped besides, by kind; of any group, as upstream has it."""
