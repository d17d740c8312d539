"""What a pass does after one change, whatever else is in the repository; calls, not seconds."""

from collections.abc import Mapping

import pytest

from benchmarks.work_counters import work_after_one_change

pytestmark = pytest.mark.cpu_seconds(60)  # six passes over two repositories, one of them counted

MORE = 1.02  # a pass counts the digits of a moment, and the like


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What one changed workload costs among 25, and among 200."""
    folder = tmp_path_factory.mktemp("work")
    small = work_after_one_change(folder / "small", 60, clusters=10)
    large = work_after_one_change(folder / "large", 410, clusters=10)
    return small, large


def test_one_binding_is_decided(work: tuple[Mapping[str, int], Mapping[str, int]]) -> None:
    """Once, once without the edit to see that it was the cause, and once to see that nothing moves.

    It and the record of the pass are written.
    """
    _, large = work

    assert {"drafted": 2, "decided": 3, "encoded": 2, "hashed": 1} == {
        name: count for name, count in large.items() if name != "calls"
    }


def test_work_does_not_grow_with_the_repository(
    work: tuple[Mapping[str, int], Mapping[str, int]],
) -> None:
    """From the commit to the outcome, in calls of any function."""
    small, large = work

    assert large["calls"] <= small["calls"] * MORE
