"""Answers depend on when they are asked for: tests that show them ask at a moment of their own."""

from datetime import timedelta

import pytest

from reconciler.shell.resources import SystemClock
from tests.shell.repositories import NOW


@pytest.fixture
def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask an hour after the passes, whenever this runs."""
    monkeypatch.setattr(SystemClock, "now", lambda _: NOW + timedelta(hours=1))
