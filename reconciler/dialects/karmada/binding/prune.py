"""What an API server puts into an object, and what no member cluster may be given."""

from collections.abc import Callable, Mapping, Sequence

from reconciler.dialects.karmada.binding.typed_job import require_job
from reconciler.dialects.karmada.overridemanager.label_overrider import string_map
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import at, without
from reconciler.model.fields import text

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
    kept, i = list(secrets), 0
    while i < len(kept):
        name = kept[i].get("name") if isinstance(kept[i], Mapping) else None
        if not isinstance(name, str):
            raise UserError(f"`secrets/{i}` must be an object with a name")
        if name.startswith(prefix):
            del kept[i]
        i += 1
    return {**manifest, "secrets": kept}


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
