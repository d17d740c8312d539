"""Tests run alike on every machine: however slow it is, and whatever started them.

Properties have the same examples everywhere. A test is bounded by the processor time that it
takes, its children's included, and more of it where the machine is slower; the wall clock only
ends what hangs. Signals act as in a terminal,
also where the runner was started in the background by a shell that lets it ignore them. What
nobody foresaw fails a test. Those of the fast loop (`quick.py`) start no process.
"""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import FrameType

import pytest
import structlog
from hypothesis import HealthCheck, settings

from benchmarks.calibration import slowness
from reconciler.dialects import object_pass
from reconciler.dialects.ocm.cel.values import FRAMES
from tests import bounded, left_out, quick, strict
from tests.left_out import is_left_out

NOT_WHOLE = f"not {left_out.MARK}"
COLLECTIONS = gc.get_threshold()
CPU_SECONDS = 10.0
"""What one test may take on a quiet machine, unless its mark `cpu_seconds` says more."""

HANDLERS: Mapping[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}

settings.register_profile(
    "alike",
    deadline=None,
    derandomize=bounded.OTHER_EXAMPLES not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],  # a loaded machine is no mistake of a test
)
settings.load_profile("alike")
assert sys.getrecursionlimit() >= FRAMES  # set by now, before a property notes how deep it is
strict.enforce()
WATCH = quick.Watch()


def pytest_configure() -> None:
    """Let signals do what a test expects of them, here and in the processes that it starts."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLERS)
    _handle_signals()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even load what `-m quick`, `-m whole` and `-m "not whole"` leave out."""
    if collection_path.suffix != ".py":
        return None
    test = collection_path.relative_to(config.rootpath).as_posix()
    if config.option.markexpr == "quick":
        return None if quick.is_quick(test) else True
    asked = {NOT_WHOLE: False, left_out.MARK: True}.get(config.option.markexpr)
    return None if asked is None or asked == is_left_out(test) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the fast loop, and those that `make test` leaves out; take CI's share."""
    if bounded.is_bounded():
        items[:], others = bounded.share_of(items)
        config.hook.pytest_deselected(items=others)
    for item in items:
        if quick.is_quick(item.nodeid):
            item.add_marker("quick")
        if is_left_out(item.nodeid):
            item.add_marker(left_out.MARK)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say in a line each what was skipped and why, and what was not even asked for."""
    skipped = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
    )
    for reason, count in sorted(skipped.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")
    if config.option.markexpr == NOT_WHOLE:
        terminalreporter.write_line(left_out.summary())
    if bounded.is_bounded():
        terminalreporter.write_line(bounded.summary())


def pytest_collection_finish() -> None:
    """Leave what tests and the package are made of, half a million objects, out of collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Watch a test of the fast loop, with what is made ready for it."""
    WATCH.begin(is_quick=item.get_closest_marker("quick") is not None)
    try:
        return (yield)
    finally:
        WATCH.begin(is_quick=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that takes too much processor time, or started what it should not."""
    before = _cpu_seconds()
    yield
    WATCH.check()
    taken = _cpu_seconds() - before
    mark = item.get_closest_marker("cpu_seconds")
    limit = CPU_SECONDS if mark is None else float(mark.args[0])
    if taken > limit and taken > limit * (slower := slowness()):
        allowed = f"{limit:g} are allowed, times {slower:.1f} for the machine"
        pytest.fail(f"it took {taken:.1f} seconds of processor time, {allowed}")


def _cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.fixture(autouse=True)
def own_process() -> None:
    """Begin each test with Python's own handlers of signals, and with a log that is not set up.

    Objects in circles are looked for as often as Python does by itself: a worker of the product
    looks seldom, and what a thousand tests leave behind holds processes and files.
    """
    _handle_signals()
    gc.set_threshold(*COLLECTIONS)
    structlog.reset_defaults()


def _handle_signals() -> None:
    """Set the handlers that Python begins with, whatever the runner or another test has set."""
    for number, handler in HANDLERS.items():
        signal.signal(number, handler)


@pytest.fixture
def contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contain what nobody foresaw in its object, as in production."""
    monkeypatch.setattr(object_pass, "unforeseen", strict.CONTAIN)
