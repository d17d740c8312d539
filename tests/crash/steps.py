"""The steps of a recorded run, each one a moment at which everything may die."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.crash.git_stand_in import traced_calls


@dataclass(frozen=True, kw_only=True)
class CrashStep:
    """A moment: before, within or after a git command or a file operation.

    Attributes:
        kind: `git` or `file`.
        number: The how many-th of its kind.
        phase: `before`, `within` or `after`.
        call: System call that git is killed at; `""` unless within a git command.
        ordinal: The how many-th call of that name of a process.
        what: For people.
        power: Whether the power fails, too: what was written and not synced is lost.
    """

    kind: str
    number: int
    phase: str
    call: str = "-"
    ordinal: int = 0
    what: str = ""
    power: bool = False

    def __str__(self) -> str:
        within = f" {self.call} #{self.ordinal}" if self.phase == "within" else ""
        power = ", power lost" if self.power else ""
        return f"{self.phase}{within} {self.kind} {self.number} ({self.what}){power}"


def list_steps(control: Path, *, traced: bool) -> list[CrashStep]:
    """Return every step of the run that was recorded in a folder, in order.

    After a command that changes nothing is before the next step; it is not listed twice.
    """
    steps = []
    for step in _kills(control):
        steps.append(step)
        if traced:
            steps.append(_with_power_lost(step))
    return steps


def _with_power_lost(step: CrashStep) -> CrashStep:
    return CrashStep(
        kind=step.kind,
        number=step.number,
        phase=step.phase,
        call=step.call,
        ordinal=step.ordinal,
        what=step.what,
        power=True,
    )


def _kills(control: Path) -> Iterator[CrashStep]:
    for line in (control / "log").read_text(errors="replace").splitlines():
        kind, count, what = line.split(" ", 2)
        number = int(count)
        what = short(kind, what)
        yield CrashStep(kind=kind, number=number, phase="before", what=what)
        if kind == "file":
            if what.startswith(("write", "pwrite")):
                yield CrashStep(kind=kind, number=number, phase="within", what=what)
            continue
        trace = control / f"trace.{number}"
        calls = list(traced_calls(trace)) if trace.exists() else []
        for name, ordinal in dict.fromkeys((call.name, call.ordinal) for call in calls):
            yield CrashStep(
                kind=kind, number=number, phase="within", call=name, ordinal=ordinal, what=what
            )
        if calls or not trace.exists():
            yield CrashStep(kind=kind, number=number, phase="after", what=what)


def short(kind: str, what: str) -> str:
    """Return what a line of the log is of: the verb of git, or the operation and its file."""
    words = [word for word in what.split(" ") if not word.startswith(("--git-dir", "--work-tree"))]
    return words[0] if kind == "git" else " ".join(words)[:60]
