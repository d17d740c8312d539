"""Of what an agent reports only what counts, in one order."""

from collections.abc import Iterable, Sequence

from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, mapping

CONDITION = ("lastTransitionTime", "message", "observedGeneration", "reason", "status", "type")


def counted_metadata(body: Body, *, labels: Iterable[str], annotations: Iterable[str]) -> Body:
    """Return who an object is, its generation, and some of its labels and annotations."""
    metadata = mapping(body, "metadata")
    names = ("name", "namespace", "generation", "deletionTimestamp")
    kept = {name: metadata[name] for name in names if metadata.get(name) is not None}
    for part, wanted in (("labels", labels), ("annotations", annotations)):
        present = mapping(metadata, part)
        found = {name: present[name] for name in sorted(wanted) if name in present}
        if found:
            kept[part] = found
    return kept


def counted_conditions(body: Body) -> Sequence[Body]:
    """Return the conditions of a status or of a part of it, by type, without probes."""
    listed = (
        {name: one[name] for name in CONDITION if name in one} for one in bodies(body, "conditions")
    )
    return sorted(listed, key=lambda one: str(one.get("type")))


def counted_manifests(body: Body) -> Sequence[Body]:
    """Return by what the manifests that an object carries are known, and how many replicas."""
    return [_counted(one) for one in bodies(at(body, "spec", "workload"), "manifests")]


def _counted(manifest: Body) -> Body:
    metadata, replicas = at(manifest, "metadata"), at(manifest, "spec").get("replicas")
    own = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    known = {name: manifest[name] for name in ("apiVersion", "kind") if name in manifest}
    return {
        **known,
        "metadata": own,
        **({} if replicas is None else {"spec": {"replicas": replicas}}),
    }
