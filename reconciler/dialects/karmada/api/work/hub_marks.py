"""What a binding keeps of the hub that it came from, so that what is delivered stays as it was.

It is there for as long as its binding is. One that was never on a hub has nothing of it, and what
upstream draws at random follows from identities then.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.work.binding_metadata import BindingMetadata
from reconciler.dialects.karmada.api.work.execution_space import execution_namespace
from reconciler.manifests.annotation_json import read_note, write_note
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.labels import is_label_value

BINDING_ID = "resourcebinding.karmada.io/permanent-id"
CLUSTER_BINDING_ID = "clusterresourcebinding.karmada.io/permanent-id"
BINDING_IDS = (BINDING_ID, CLUSTER_BINDING_ID)
"""Labels by which Works know their binding; one that has none is known by its uid."""
NOTED_GENERATION = "resourcetemplate.karmada.io/generation"
"""Annotation of what is delivered: the generation of the workload that it was made from."""
WORK_IDS = "reconciler.dev/work-ids"
"""Annotation: cluster to the permanent id of the Work there."""
TEMPLATE_GENERATION = "reconciler.dev/template-generation"
"""Annotation: the generation that a workload had on its hub, and the digest of it by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubMarks:
    """What is kept.

    Attributes:
        work_ids: Cluster to the permanent id of the Work there.
        generation: Of the workload, 0 if it is not known.
        digest: Of the workload when it had that generation.
    """

    work_ids: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0
    digest: str = ""

    def work_id(self, cluster: ClusterName, name: str) -> str:
        """Return the permanent id of a Work; without one of a hub it follows from its identity.

        Source: karmada@f8fdd02 pkg/webhook/work/mutating.go, which draws it at random.
        """
        known = self.work_ids.get(cluster)
        return known or uid_of(ObjectKey(WORK_GROUP, "Work", execution_namespace(cluster), name))


NO_MARKS = HubMarks()


def decode_marks(metadata: BindingMetadata) -> HubMarks:
    """Return what a binding keeps; what a person garbled is not there."""
    ids, counted = metadata.note(WORK_IDS), metadata.note(TEMPLATE_GENERATION)
    if not ids and not counted:
        return NO_MARKS
    found, known = read_note(counted), _ids_in(read_note(ids))
    generation, digest = found.get("generation"), found.get("digest")
    if isinstance(generation, int) and generation is not True and isinstance(digest, str):
        return HubMarks(work_ids=known, generation=generation, digest=digest)
    return HubMarks(work_ids=known)


def _ids_in(note: Mapping[str, object]) -> Mapping[str, str]:
    return {
        cluster: value
        for cluster, value in note.items()
        if isinstance(value, str) and value and is_label_value(value)
    }


def encode_marks(marks: HubMarks) -> dict[str, str]:
    """Return the annotations of what is kept, empty ones for nothing."""
    counted = {"digest": marks.digest, "generation": marks.generation}
    return {
        WORK_IDS: write_note(marks.work_ids) if marks.work_ids else "",
        TEMPLATE_GENERATION: write_note(counted) if marks.generation else "",
    }


def kept_marks(
    metadata: BindingMetadata, clusters: Callable[[], Collection[str]]
) -> dict[str, str]:
    """Return the annotations as they are carried on; a Work that goes takes its id along.

    Args:
        metadata: Of the binding as it stood.
        clusters: Returns where its Works are from now on; few bindings have to know.
    """
    ids = metadata.note(WORK_IDS)
    if ids:
        known, there = _ids_in(read_note(ids)), clusters()
        stay = {name: value for name, value in known.items() if name in there}
        ids = write_note(stay) if stay else ""
    return {WORK_IDS: ids, TEMPLATE_GENERATION: metadata.note(TEMPLATE_GENERATION)}


def permanent_id(metadata: BindingMetadata) -> str:
    """Return by what Works name a binding: the id of its hub, or else its uid."""
    return next(filter(None, map(metadata.label, BINDING_IDS)), metadata.uid)


def kept_ids(metadata: BindingMetadata) -> dict[str, str]:
    """Return the labels with the id of a hub."""
    found = ((name, metadata.label(name)) for name in BINDING_IDS)
    return {name: value for name, value in found if value and is_label_value(value)}
