"""The system's clock."""

from datetime import UTC

from reconciler.shell.resources import Clock, SystemClock
from tests.shell.repositories import NOW, FixedClock


def test_now_is_aware_and_whole() -> None:
    """As Kubernetes writes times."""
    now = SystemClock().now()

    assert UTC is now.tzinfo
    assert 0 == now.microsecond


def test_a_test_sets_its_clock() -> None:
    """Any object with `now` is a clock."""
    clock: Clock = FixedClock()

    assert NOW == clock.now()
