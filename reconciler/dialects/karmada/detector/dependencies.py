"""What a workload needs beside itself: the Secrets, ConfigMaps and so on that its pods mention."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from reconciler.dialects.karmada.api.groups import INGRESS
from reconciler.model.body import Body
from reconciler.model.content import at, mappings_of
from reconciler.model.identity import ObjectKey

SECRET = "Secret"  # noqa: S105  # a kind, no secret
CONFIG_MAP = "ConfigMap"
CLAIM = "PersistentVolumeClaim"
SERVICE_ACCOUNT = "ServiceAccount"

VOLUME_SECRETS: Mapping[str, tuple[str, ...]] = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "secret": ("secretName",),
    "storageos": ("secretRef", "name"),
}
"""Kind of volume to the field that names its Secret."""


def dependencies_of(workload: ObjectKey, api_version: str, body: Body) -> tuple[ObjectKey, ...]:
    """Return the objects that a workload's pods refer to, in its own namespace, sorted.

    Content that is not as Kubernetes would have it is passed over, as it is for replicas.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/dependencies.go
    `getAllDefaultDependenciesInterpreter`, pkg/util/helper/dependency.go
    `GetDependenciesFromPodTemplate`.
    """
    find = _FINDERS.get((api_version, workload.kind))
    if find is None:
        return ()
    found = {ObjectKey("", kind, workload.namespace, name) for kind, name in find(body) if name}
    return tuple(sorted(found))


def _of_template(body: Body) -> Iterator[tuple[str, str]]:
    return _of_pod_spec(at(body, "spec", "template", "spec"))


def _of_stateful_set(body: Body) -> Iterator[tuple[str, str]]:
    """Leave out the claims that the set makes itself from its templates."""
    own = {
        _text(at(item, "metadata"), "name")
        for item in mappings_of(at(body, "spec").get("volumeClaimTemplates"))
    }
    return ((kind, name) for kind, name in _of_template(body) if kind != CLAIM or name not in own)


def _of_cron_job(body: Body) -> Iterator[tuple[str, str]]:
    return _of_pod_spec(at(body, "spec", "jobTemplate", "spec", "template", "spec"))


def _of_pod(body: Body) -> Iterator[tuple[str, str]]:
    return _of_pod_spec(at(body, "spec"))


def _of_ingress(body: Body) -> Iterator[tuple[str, str]]:
    return (
        (SECRET, _text(entry, "secretName")) for entry in mappings_of(at(body, "spec").get("tls"))
    )


_FINDERS: Mapping[tuple[str, str], Callable[[Body], Iterable[tuple[str, str]]]] = {
    ("apps/v1", "Deployment"): _of_template,
    ("apps/v1", "DaemonSet"): _of_template,
    ("apps/v1", "StatefulSet"): _of_stateful_set,
    ("batch/v1", "CronJob"): _of_cron_job,
    ("batch/v1", "Job"): _of_template,
    INGRESS: _of_ingress,
    ("v1", "Pod"): _of_pod,
}


def _of_pod_spec(pod: Body) -> Iterator[tuple[str, str]]:
    """Yield kind and name of all that a pod refers to; a name may be empty."""
    for secret in mappings_of(pod.get("imagePullSecrets")):
        yield SECRET, _text(secret, "name")
    account = _text(pod, "serviceAccountName")
    if account != "default":
        yield SERVICE_ACCOUNT, account
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in mappings_of(pod.get(field)):
            yield from _of_container(container)
    for volume in mappings_of(pod.get("volumes")):
        yield from _of_volume(volume)


def _of_container(container: Body) -> Iterator[tuple[str, str]]:
    for variable in mappings_of(container.get("env")):
        yield SECRET, _text(at(variable, "valueFrom", "secretKeyRef"), "name")
        yield CONFIG_MAP, _text(at(variable, "valueFrom", "configMapKeyRef"), "name")
    for source in mappings_of(container.get("envFrom")):
        yield SECRET, _text(at(source, "secretRef"), "name")
        yield CONFIG_MAP, _text(at(source, "configMapRef"), "name")


def _of_volume(volume: Body) -> Iterator[tuple[str, str]]:
    for kind, path in VOLUME_SECRETS.items():
        yield SECRET, _text(at(volume, kind, *path[:-1]), path[-1])
    yield CONFIG_MAP, _text(at(volume, "configMap"), "name")
    yield CLAIM, _text(at(volume, "persistentVolumeClaim"), "claimName")
    for source in mappings_of(at(volume, "projected").get("sources")):
        yield SECRET, _text(at(source, "secret"), "name")
        yield CONFIG_MAP, _text(at(source, "configMap"), "name")


def _text(body: Body, field: str) -> str:
    """Return a text, `""` for anything else."""
    value = body.get(field)
    return value if isinstance(value, str) else ""
