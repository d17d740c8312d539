"""The annotation by which a person suspends the scheduling of one object."""

from collections.abc import Mapping

from reconciler.model.body import Body

SUSPEND = "reconciler.dev/suspend"


def is_suspended(body: Body) -> bool:
    """Return whether a manifest carries the annotation with the value `true`.

    A policy or placement that does leaves all that it governs where it is; a workload itself only.
    """
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and annotations.get(SUSPEND) == "true"
