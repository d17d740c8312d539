"""Filters: the feasible clusters, and what every filter says on its own."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from reconciler.schedule.framework import (
    NO_CLUSTERS,
    Filter,
    Mask,
    Rejection,
    run_every_filter,
    run_filters,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = Mask(0b111)


def turning_away(clusters: int, reason: str) -> Filter[None, None]:
    """A filter that turns these clusters away."""

    def reject(_request: None, _fleet: None, _now: datetime, /) -> Iterable[Rejection]:
        return [Rejection(Mask(clusters), reason, "")]

    return reject


FILTERS: Mapping[str, Filter[None, None]] = {
    "First": turning_away(0b011, "one"),
    "Second": turning_away(0b110, "two"),
}


def test_run_filters_counts_a_cluster_for_the_first_filter_only() -> None:
    """Rejections do not overlap, and nobody is left here."""
    feasible, rejections = run_filters(FILTERS, None, None, ALL, NOW)

    assert NO_CLUSTERS == feasible
    assert [("First", 0b011), ("Second", 0b100)] == [(r.plugin, r.clusters) for r in rejections]


def test_every_filter_speaks_for_every_candidate() -> None:
    """A cluster that two filters turn away is named by both; others than candidates by none."""
    found = run_every_filter(FILTERS, None, None, Mask(0b010), NOW)

    assert [("First", 0b010), ("Second", 0b010)] == [(r.plugin, r.clusters) for r in found]
