"""What the live Works of a binding have that a hub made up: their ids, and a generation."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.policies import Template
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING, CLUSTER_BINDING
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.execution_space import EXECUTION
from reconciler.dialects.karmada.api.work.hub_marks import NOTED_GENERATION, HubMarks
from reconciler.dialects.karmada.binding.merged_targets import kept_clusters
from reconciler.dialects.karmada.binding.work_marks import WORK_ID
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import is_label_value

WORK = (WORK_GROUP, "Work")


def works_by_binding(live: Mapping[ObjectKey, Body]) -> Mapping[ObjectKey, list[Body]]:
    """Return the live Works by the binding that they name; those that are going are left out."""
    found: dict[ObjectKey, list[Body]] = {}
    for key, body in live.items():
        if key[:2] == WORK and at(body, "metadata").get("deletionTimestamp") is None:
            binding = _binding_of(body)
            if binding is not None:
                found.setdefault(binding, []).append(body)
    return found


def _binding_of(work: Body) -> ObjectKey | None:
    """Return the binding that a Work names, `None` if it names none, as one of a Namespace.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeAnnotations`.
    """
    annotations = at(work, "metadata", "annotations")
    namespace = annotations.get("resourcebinding.karmada.io/namespace")
    name = annotations.get("resourcebinding.karmada.io/name")
    if isinstance(namespace, str) and isinstance(name, str):
        return ObjectKey(WORK_GROUP, BINDING, namespace, name)
    name = annotations.get("clusterresourcebinding.karmada.io/name")
    return ObjectKey(WORK_GROUP, CLUSTER_BINDING, "", name) if isinstance(name, str) else None


def marks_of(works: Iterable[Body], template: Template, binding: BindingSpec) -> HubMarks:
    """Return what a binding keeps of its live Works.

    Args:
        works: Of the binding.
        template: Its workload, as it is in the repository: the generation is that of this content.
        binding: Says on which clusters it is.
    """
    listed, kept = list(works), kept_clusters(binding)
    ids = {
        cluster: value
        for cluster, value in map(_id_of, listed)
        if value and is_label_value(value) and cluster in kept
    }
    generation = max(chain.from_iterable(map(_generations, listed)), default=0)
    return HubMarks(
        work_ids=dict(sorted(ids.items())),
        generation=generation,
        digest=template.digest if generation else "",
    )


def _id_of(work: Body) -> tuple[str, str]:
    """Return the cluster of a Work, and its id."""
    metadata = at(work, "metadata")
    namespace, value = metadata.get("namespace"), at(metadata, "labels").get(WORK_ID)
    return str(namespace).removeprefix(EXECUTION), value if isinstance(value, str) else ""


def _generations(work: Body) -> Iterator[int]:
    """Yield the generations that a Work's manifests were made from."""
    manifests = at(work, "spec", "workload").get("manifests")
    for manifest in manifests if isinstance(manifests, list | tuple) else ():
        if isinstance(manifest, Mapping):
            text = at(manifest, "metadata", "annotations").get(NOTED_GENERATION)
            if isinstance(text, str) and text.isascii() and text.isdecimal():
                yield int(text[:18])
