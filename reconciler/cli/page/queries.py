"""The rest of an address as what a view is asked: text in, typed questions out."""

from collections.abc import Mapping, Sequence

from reconciler.page.chosen_objects import ObjectChoice
from reconciler.page.cluster_list import ClusterQuery
from reconciler.page.matrix import BY_NAMESPACE, MatrixQuery
from reconciler.page.object_list import ObjectQuery

Query = Mapping[str, str]


def _choice(query: Query) -> ObjectChoice:
    return ObjectChoice(**only(query, ("namespace", "selector", "name", "cluster")))


def matrix_query(query: Query) -> MatrixQuery:
    """Return what is asked of the view."""
    return MatrixQuery(
        choice=_choice(query),
        group=query.get("group", "") or BY_NAMESPACE,
        page=number_in(query, "page"),
        across=number_in(query, "across"),
    )


def object_query(query: Query) -> ObjectQuery:
    """Return what is asked of the view."""
    words = only(query, ("state", "sort"))
    return ObjectQuery(choice=_choice(query), **words, page=number_in(query, "page"))


def cluster_query(query: Query) -> ClusterQuery:
    """Return what is asked of the view."""
    words = only(query, ("state", "region", "zone", "name", "sort"))
    return ClusterQuery(**words, page=number_in(query, "page"))


def only(query: Query, names: Sequence[str]) -> dict[str, str]:
    """Return some words of a query, `""` for those that are not there."""
    return {name: query.get(name, "") for name in names}


def number_in(query: Query, name: str) -> int:
    """Return a number of a query, 1 if it is none."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 1
