"""Ages as kubectl prints them."""

from datetime import timedelta

import pytest

from reconciler.manifests.columns import duration

HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(-5, "0s", id="future"),
        pytest.param(119, "119s", id="seconds"),
        pytest.param(120, "2m", id="whole-minutes"),
        pytest.param(185, "3m5s", id="minutes-and-seconds"),
        pytest.param(605, "10m", id="minutes"),
        pytest.param(179 * 60, "179m", id="three-hours-in-minutes"),
        pytest.param(3 * HOUR, "3h", id="whole-hours"),
        pytest.param(5 * HOUR + 120, "5h2m", id="hours-and-minutes"),
        pytest.param(47 * HOUR + 120, "47h", id="hours"),
        pytest.param(3 * DAY + 2 * HOUR, "3d2h", id="days-and-hours"),
        pytest.param(8 * DAY + 2 * HOUR, "8d", id="days"),
        pytest.param(729 * DAY, "729d", id="two-years-in-days"),
        pytest.param(3 * 365 * DAY + 2 * DAY, "3y2d", id="years-and-days"),
        pytest.param(9 * 365 * DAY + 2 * DAY, "9y", id="years"),
    ],
)
def test_an_age_has_two_units_while_the_first_is_small(seconds: int, expected: str) -> None:
    """As `HumanDuration` of Kubernetes."""
    assert expected == duration(timedelta(seconds=seconds))
