"""Reading what no schema judged, as a workload is: what is not as expected counts as absent."""

from collections.abc import Mapping

from reconciler.model.world import Body


def at(body: Body, *path: str) -> Body:
    """Return the mapping at a path, an empty one where it ends early.

    >>> at({"spec": {"template": 3}}, "spec", "template")
    {}
    """
    for name in path:
        body = mapping_of(body.get(name))
    return body


def mapping_of(value: object) -> Body:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def mappings_of(value: object) -> list[Body]:
    """Return the mappings of a list, none for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
