"""The matrix: no blank where something is on another page, totals that add up, regions."""

from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.page.links import ServedLinks
from reconciler.page.matrix import MatrixQuery, MatrixView, matrix_view
from tests.builders import NOTHING

LINKS = ServedLinks()


def key(name: str) -> ObjectKey:
    """Return what is decided about an object."""
    return ObjectKey("work.karmada.io", "ResourceBinding", "default", name)


def placed(**parts: int) -> Placed:
    """Return where an object is."""
    return tuple((ClusterName(name), parts[name]) for name in sorted(parts))


PLACEMENTS = {key("a"): placed(m1=3, m2=1, m3=2), key("b"): placed(m3=5), key("c"): placed(m1=0)}


def view(across: int = 1, *, columns: int = 2, regions: dict[str, str] | None = None) -> MatrixView:
    """Return one page of clusters."""
    query = MatrixQuery(across=across)
    return matrix_view(NOTHING, PLACEMENTS, query, LINKS, columns=columns, regions=regions)


def test_what_is_on_other_pages_of_clusters_is_told() -> None:
    """A row without any part on this page says where the rest is."""
    first, second = view(), view(2)
    rows = [{row.anchor.text: row.elsewhere for row in one.groups[0][1]} for one in (first, second)]

    assert [
        {"resourcebinding/a": "2 on 1", "resourcebinding/b": "5 on 1", "resourcebinding/c": ""},
        {"resourcebinding/a": "4 on 2", "resourcebinding/b": "", "resourcebinding/c": "on 1"},
    ] == rows
    assert (True, False) == (first.is_cut, view(columns=3).is_cut)


def test_totals_add_up() -> None:
    """Of each cluster, of clusters on other pages, and of all."""
    found = [(one.totals, one.total_elsewhere, one.total) for one in (view(), view(2))]

    assert [([3, 1], 7, 11), ([7], 4, 11)] == found


def test_clusters_of_a_region_stand_beside_each_other() -> None:
    """Under its name; where none is known there are no such heads."""
    found = view(columns=3, regions={"m1": "us", "m2": "eu", "m3": "us"})

    assert (["m2", "m1", "m3"], [("eu", 1), ("us", 2)]) == (found.columns.items, found.regions)
    assert () == view().regions


def test_a_part_without_replicas_is_no_blank() -> None:
    """It is there, with a ground of its own."""
    [(_, rows)] = view(columns=3).groups
    cells = {row.anchor.text: row.cells for row in rows}

    assert ("yes", "use-1") == cells["resourcebinding/c"][0]
    assert [("3", "use-3"), ("1", "use-1"), ("2", "use-2")] == [*cells["resourcebinding/a"]]
