"""The moments at which a process is asked to end, and how it is asked."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.crash.git_stand_in import traced_calls
from tests.crash.steps import short

SIGNALS = ("INT", "TERM", "HUP", "PIPE")


class Target(StrEnum):
    """Who is asked."""

    PROCESS = "process"
    TWICE = "twice"
    GROUP = "group"


@dataclass(frozen=True, kw_only=True)
class SignalPoint:
    """A moment, a signal, and who gets it.

    Attributes:
        kind: `git` or `file`; `output` for a reader of the output that has gone.
        number: The how many-th of its kind.
        phase: `before`, `within` or `after`.
        signal: Name without `SIG`.
        target: The process, the process a second time a little later, or all of its group.
        call: System call that git gets it at.
        ordinal: The how many-th call of that name.
        what: For people.
    """

    kind: str
    number: int
    phase: str
    signal: str
    target: Target
    call: str = "-"
    ordinal: int = 0
    what: str = ""

    def __str__(self) -> str:
        within = f" {self.call} #{self.ordinal}" if self.phase == "within" else ""
        where = f"{self.phase}{within} {self.kind} {self.number} ({self.what})"
        return f"{self.signal} to the {self.target}, {where}"


def list_points(control: Path) -> list[SignalPoint]:
    """Return every point of the run that was recorded in a folder, in order."""
    points = [
        SignalPoint(kind="output", number=0, phase="before", signal="PIPE", target=Target.PROCESS)
    ]
    for sent in SIGNALS:
        for line in (control / "log").read_text(errors="replace").splitlines():
            kind, count, what = line.split(" ", 2)
            points += _of(control, kind, int(count), short(kind, what), sent)
    return points


def _of(control: Path, kind: str, number: int, what: str, signal: str) -> Iterator[SignalPoint]:
    """Yield the points of one git command or file operation."""

    def point(phase: str, target: Target, call: str = "-", ordinal: int = 0) -> SignalPoint:
        return SignalPoint(
            kind=kind, number=number, phase=phase, signal=signal, target=target, call=call,
            ordinal=ordinal, what=what,
        )  # fmt: skip

    if signal != "PIPE":  # Python ignores it
        yield point("before", Target.PROCESS)
        yield point("before", Target.TWICE)
    if kind == "file":
        return
    trace = control / f"trace.{number}"
    calls = list(traced_calls(trace)) if trace.exists() else []
    if signal != "PIPE":
        yield from (point("after", Target.PROCESS) for _ in calls[:1])
    yield point("before", Target.GROUP)
    for name, ordinal in dict.fromkeys((call.name, call.ordinal) for call in calls):
        yield point("within", Target.GROUP, name, ordinal)
    yield from (point("after", Target.GROUP) for _ in calls[:1])


def sample(points: Sequence[SignalPoint], count: int, seed: str) -> list[SignalPoint]:
    """Return some of the points, the same for the same seed: half of them from the calls of git."""
    choice = random.Random(seed)  # noqa: S311  # to be repeated, no secret
    within = [one for one in points if one.phase == "within"]
    others = [one for one in points if one.phase != "within"]
    half = min(len(within), count // 2)
    rest = min(len(others), count - half)
    return [*choice.sample(within, half), *choice.sample(others, rest)]
