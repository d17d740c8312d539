"""What an API server would refuse of the labels and annotations of any object.

Of a workload nothing else is judged: its content is its member cluster's to judge.
"""

from collections.abc import Iterator, Mapping

from reconciler.manifests.schemas.violations import Violation, pointer_of
from reconciler.model.body import Body
from reconciler.model.message_text import shown

RULE = "workload-metadata"
EXPECTED = "text; put numbers, true and false in quotes"


def refuse_metadata(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with the labels and annotations of a document that has an identity.

    >>> [one.pointer for one in refuse_metadata({"metadata": {"labels": {"tier": 1, "app": "a"}}})]
    ['/metadata/labels/tier']
    """
    metadata = body.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    return (*_refused(fields, "labels"), *_refused(fields, "annotations"))


def _refused(metadata: Body, field: str) -> Iterator[Violation]:
    """Yield what is wrong with one map of text; a null instead of the map is none."""
    found = metadata.get(field)
    if found is None:
        return
    if not isinstance(found, Mapping):
        message = f"`metadata.{field}` must be a mapping of text to text"
        yield Violation(f"/metadata/{field}", RULE, message, EXPECTED)
        return
    for key, value in found.items():
        if not isinstance(value, str):
            message = f"`metadata.{field}` must map {shown(key)} to text"
            yield Violation(pointer_of(["metadata", field, key]), RULE, message, EXPECTED)
