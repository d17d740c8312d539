"""Moves as flows between clusters."""

from reconciler.audit.previews.placement_moves import PlacementMove
from reconciler.model.identity import ClusterName
from reconciler.page.timeline import GONE, MOST, NEW, REST, drawing_of, drawn_moves, flows_of


def move(name: str, before: int | None, after: int | None) -> PlacementMove:
    """Return what becomes of one cluster."""
    return PlacementMove(ClusterName(name), before, after)


def test_what_leaves_goes_where_others_grow() -> None:
    """In the order of names, until the sources are empty."""
    found = flows_of([[move("a", 3, None), move("b", 1, 2), move("c", None, 2)]])

    assert {("a", "b"): 1, ("a", "c"): 2} == found


def test_what_only_grows_or_shrinks_is_new_or_stopped() -> None:
    """Nothing is drawn from a cluster that loses nothing."""
    found = flows_of([[move("a", 1, 4)], [move("b", 2, None)]])

    assert {(NEW, "a"): 3, ("b", GONE): 2} == found


def test_objects_without_replicas_are_counted_apart() -> None:
    """The picture has as many replicas as its title; copies are drawn where no replica moves."""
    settings = [move("a", 0, None), move("b", None, 0)]
    shop = [move("a", 6, None), move("b", None, 6)]
    both, alone = drawn_moves([shop, settings]), drawn_moves([settings])

    assert {("a", "b"): 6} == flows_of([shop, settings])
    assert both is not None
    assert alone is not None
    assert ["b +6"] == [bar.text("+") for bar in both.targets]
    assert "replicas that move; 1 object without replicas besides" == both.says
    assert (["b +1"], "copies of 1 object without replicas") == (
        [bar.text("+") for bar in alone.targets],
        alone.says,
    )


def test_a_billion_replicas_are_one_flow() -> None:
    """They are counted, not listed."""
    assert {("a", "b"): 10**9} == flows_of([[move("a", 10**9, None), move("b", None, 10**9)]])


def test_nothing_that_moves_is_no_picture() -> None:
    """There is no empty frame."""
    assert None is drawing_of({})


def test_many_clusters_are_drawn_as_few() -> None:
    """Those with the most, the others as one."""
    drawing = drawing_of({(f"s{i:03}", f"t{i:03}"): 1 + i for i in range(100)})

    assert drawing is not None
    assert MOST + 1 == len(drawing.sources) == len(drawing.targets)
    assert REST in {bar.name for bar in drawing.sources}
    assert 5050 == sum(flow.count for flow in drawing.flows)


def test_what_starts_or_stops_is_no_loss_and_no_gain() -> None:
    """It has a kind of its own, and a number without a sign."""
    found = flows_of([[move("a", 1, 4)], [move("b", 2, None)]])
    drawing = drawing_of(found)

    assert drawing is not None
    assert {"b": ("", "b -2"), NEW: ("new", f"{NEW} 3")} == {
        bar.name: (bar.kind, bar.text("-")) for bar in drawing.sources
    }
    assert {"a": ("", "a +3"), GONE: ("stop", f"{GONE} 2")} == {
        bar.name: (bar.kind, bar.text("+")) for bar in drawing.targets
    }
    assert ["3 start on a", "2 stop on b"] == [flow.says for flow in drawing.flows]
