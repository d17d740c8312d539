"""One file of two decisions: what both put there is delivered once if it is one object.

Each API adds labels and annotations of its own to what it brings. Where nothing else differs, and
no name of these has two values, the file has those of both; who leaves takes its own away.
"""

from collections.abc import Mapping, Sequence

from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.content import at

SETS = ("labels", "annotations")


def merged_text(path: str, texts: Sequence[str]) -> str | None:
    """Return what stands in a file of several decisions, `None` if they put other objects there.

    Args:
        path: Of the file.
        texts: What each puts there, in the order of the decisions.
    """
    if not path.endswith(".yaml"):
        return None
    bodies = [read(one.encode(), path).documents[0].body for one in texts]
    merged = bodies[0]
    for other in bodies[1:]:
        found = _merged(merged, other)
        if found is None:
            return None
        merged = found
    return encode(merged)


def _merged(one: Body, other: Body) -> Body | None:
    sets = {name: _union(_texts(one, name), _texts(other, name)) for name in SETS}
    if any(found is None for found in sets.values()) or _bare(one) != _bare(other):
        return None
    metadata = {**at(one, "metadata"), **{name: found for name, found in sets.items() if found}}
    return {**one, "metadata": metadata}


def _union(one: Mapping[str, object], other: Mapping[str, object]) -> Mapping[str, object] | None:
    if any(one[name] != other[name] for name in one.keys() & other.keys()):
        return None
    return {**one, **other}


def _texts(body: Body, name: str) -> Mapping[str, object]:
    return at(body, "metadata", name)


def _bare(body: Body) -> Body:
    """Return an object without what each API adds to it."""
    metadata = {name: one for name, one in at(body, "metadata").items() if name not in SETS}
    return {**body, "metadata": metadata}
