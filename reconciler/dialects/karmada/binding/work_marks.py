"""What Karmada writes onto a Work and its manifest, so that its agents know both again."""

from collections.abc import Mapping

from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.execution_space import execution_namespace
from reconciler.dialects.karmada.api.work.hub_marks import NOTED_GENERATION
from reconciler.dialects.karmada.binding.work_names import work_name
from reconciler.dialects.karmada.overridemanager.label_overrider import string_map
from reconciler.manifests.text.filled import Filled
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName

API_VERSION = "work.karmada.io/v1alpha1"
CONFLICT = "work.karmada.io/conflict-resolution"
FINALIZER = "karmada.io/execution-controller"
MANAGED = "karmada.io/managed"
MANAGED_ANNOTATIONS = "resourcetemplate.karmada.io/managed-annotations"
MANAGED_LABELS = "resourcetemplate.karmada.io/managed-labels"
UID = "resourcetemplate.karmada.io/uid"
WORK_NAME = "work.karmada.io/name"
WORK_NAMESPACE = "work.karmada.io/namespace"
WORK_ID = "work.karmada.io/permanent-id"
OPEN_ID: Mapping[str, str] = {WORK_ID: ""}
"""The label by which a Work and its manifest are known; the webhook of Works gives it upstream."""
ID_AT = ("metadata", "labels", WORK_ID)
NAMED_AT = ("metadata", "annotations", WORK_NAMESPACE)
"""Where a manifest names its cluster."""
WORK_NAMED_AT = ("metadata", "namespace")
"""Where a Work does."""

Texts = Mapping[str, str]


def binding_marks(namespace: str, name: str, permanent_id: str) -> tuple[Texts, Texts]:
    """Return the labels and annotations by which a manifest names its binding.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeLabel`, `mergeAnnotations`.
    """
    if namespace:
        prefix = "resourcebinding.karmada.io"
        named = {f"{prefix}/namespace": namespace, f"{prefix}/name": name}
    else:
        prefix = "clusterresourcebinding.karmada.io"
        named = {f"{prefix}/name": name}
    return {f"{prefix}/permanent-id": permanent_id}, named


def conflict_resolution(manifest: Body, binding: BindingSpec) -> str:
    """Return what happens where a cluster has an object of that name already.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeConflictResolution`.
    """
    wished = (string_map(at(manifest, "metadata").get("annotations")) or {}).get(CONFLICT)
    if wished in {"abort", "overwrite"}:
        return str(wished)
    return "overwrite" if binding.conflict_resolution == "Overwrite" else "abort"


def claimed(template: Body, labels: Texts, annotations: Texts) -> Body:
    """Return a workload with the labels and annotations of the policy that claims it.

    So overrides meet them, as they do upstream.

    Source: karmada@f8fdd02 pkg/detector/claim.go `AddPPClaimMetadata`, `AddCPPClaimMetadata`.
    """
    metadata = template.get("metadata", {})
    if not isinstance(metadata, Mapping) or not (labels or annotations):
        return template
    own = {**(string_map(metadata.get("labels")) or {}), **labels}
    told = {**(string_map(metadata.get("annotations")) or {}), **annotations}
    return {**template, "metadata": {**metadata, "labels": own, "annotations": told}}


def marked(manifest: Body, labels: Texts, annotations: Texts) -> Body:
    """Return a manifest with what names its Work, beside labels and annotations of its binding.

    What names the cluster and the Work there is left open; `marked_at` fills it in.

    Where the metadata is no mapping, nothing can be written.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `ensureWork`, pkg/util/helper/work.go
    `CreateOrUpdateWork`.
    """
    metadata = manifest.get("metadata", {})
    if not isinstance(metadata, Mapping):
        return manifest
    generation = metadata.get("generation")
    counted = isinstance(generation, int) and generation > 0
    told = {
        **(string_map(metadata.get("annotations")) or {}),
        **annotations,
        **({NOTED_GENERATION: str(generation)} if counted else {}),
        UID: _text(metadata, "uid"),
        WORK_NAME: name_of(manifest),
        WORK_NAMESPACE: "",
    }
    own = {**(string_map(metadata.get("labels")) or {}), **labels, MANAGED: "true"}
    return {**manifest, "metadata": {**metadata, "labels": own, "annotations": told}}


def marked_at(manifest: Body, cluster: ClusterName, work_id: str | None) -> Body:
    """Return a manifest with the name of the cluster that it is for, and the id of its Work.

    Without an id, `None`, it has no label of that name either.
    """
    if not isinstance(manifest.get("metadata"), Mapping):
        return manifest
    return _filled(manifest, NAMED_AT, cluster, work_id)


def with_managed_lists(manifest: Body) -> Body:
    """Return a manifest that lists its labels and annotations, so that those that go are known.

    Source: karmada@f8fdd02 pkg/util/annotation.go `RecordManagedAnnotations`, label.go
    `RecordManagedLabels`.
    """
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return manifest
    annotations, labels = at(metadata, "annotations"), at(metadata, "labels")
    names = sorted({*annotations, MANAGED_ANNOTATIONS, MANAGED_LABELS})
    told = {
        **annotations,
        MANAGED_ANNOTATIONS: ",".join(names),
        MANAGED_LABELS: ",".join(sorted(labels)),
    }
    return {**manifest, "metadata": {**metadata, "annotations": told}}


def name_of(manifest: Body) -> str:
    """Return the name of the Work that carries a manifest."""
    metadata = at(manifest, "metadata")
    return work_name(text(manifest, "kind"), _text(metadata, "namespace"), _text(metadata, "name"))


def work_of(manifest: Body, labels: Texts, annotations: Texts | None) -> Body:
    """Return a Work without its manifests, of no cluster yet.

    Source: karmada@f8fdd02 pkg/util/helper/work.go `CreateOrUpdateWork`.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {
            "name": name_of(manifest),
            "namespace": "",
            "labels": labels or None,
            "annotations": annotations,
            "finalizers": [FINALIZER],
        },
        "spec": {},
    }


def at_cluster(work: Body, cluster: ClusterName, work_id: str | None) -> Body:
    """Return a Work in the namespace of a cluster, with its permanent id if it has one."""
    return _filled(work, WORK_NAMED_AT, cluster, work_id)


def _filled(body: Body, place: tuple[str, ...], cluster: ClusterName, work_id: str | None) -> Body:
    space = execution_namespace(cluster)
    if work_id is None:
        return Filled(body, (place,), (space,))
    return Filled(body, (place, ID_AT), (space, work_id))


def _text(body: Body, field: str) -> str:
    value = body.get(field)
    return value if isinstance(value, str) else ""
