"""Asks a verb to end at its steps, runs passes afterwards, and compares with a calm run."""

import gc
import os
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reconciler.cli import main
from reconciler.shell.processes import signals
from reconciler.shell.resources import SystemClock
from tests.crash.campaign import (
    LATER_SECONDS,
    LEFT,
    EndState,
    end_state,
    files_of,
    left_in_mirrors,
    problems,
    short,
)
from tests.crash.git_stand_in import have_strace, install, traced_calls
from tests.crash.verbs import MOMENT, Verb
from tests.crash.victim import FileOperations
from tests.shell.repositories import git

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


ENDED = {0, 1, main.EXIT_INTERRUPTED}
LIMIT_SECONDS = 60.0
CACHE = "cache"  # below the place: what verbs keep there is seen, too
FOLLOWS = 0.02  # seconds from a signal in a file operation to the second one


class SignalCampaign:
    """One verb in a folder of its own; the place is always the same path."""

    def __init__(self, verb: Verb, folder: Path) -> None:
        """Prepare the place, run it calmly, and record its points."""
        self.verb = verb
        self._root = folder / "place"
        self._prepared = folder / "prepared"
        self._control = folder / "control"
        self._said = folder / "said"
        real = shutil.which("git")
        assert real is not None
        install(self._control, real=real)
        self._root.mkdir()
        verb.scenario.prepare(self._root)
        shutil.copytree(self._root, self._prepared, symlinks=True)
        code = self._run(None, tracing=have_strace())
        assert 0 == code, f"{verb.name}: the calm run ended with {code}: {self._said.read_text()}"
        self.points = list_points(self._control)
        self._made = self._branch()
        self._edits = self._edited()
        assert not (verb.branch or verb.folder) or self._made or self._edits
        self._settled, self._changed = (self._go_on(later=later) for later in (False, True))

    def run(self, point: SignalPoint) -> list[str]:
        """Ask it to end at a point, start again, and return what did not hold."""
        shutil.rmtree(self._root)
        shutil.copytree(self._prepared, self._root, symlinks=True)
        code = self._run(point, tracing=False)
        try:
            return [*self._ended(point, code), *self._finished()]
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told with its point
            where = traceback.format_exc(limit=-3).replace("\n", " | ")
            return [f"{type(error).__name__}: {error} {where}"[:1200]]

    def _ended(self, point: SignalPoint, code: int) -> list[str]:
        """Return what is wrong before anything else has run."""
        said = self._said.read_text()
        wrong = [f"it said {said[-300:]!r}"] if "Traceback" in said or "mistake" in said else []
        killed = {-getattr(signal, f"SIG{point.signal}")} if point.target is Target.TWICE else set()
        if code not in ENDED | killed:
            wrong.append(f"it ended with {code}: {said[-300:]}")
        if point.target is Target.TWICE:
            return wrong
        edited = self._edited()
        half = [path for path in edited if edited[path] != self._edits.get(path)]
        if half:
            wrong.append(f"half written: {', '.join(half)}")
        if self.verb.scenario.remote:
            return wrong
        person = self.verb.scenario.person(self._root)
        left = [path.name for name in LEFT for path in (person.folder / ".git").rglob(name)]
        if left:
            wrong.append(f"left behind: {', '.join(left)}")
        if not self.verb.edits and person.status():
            wrong.append(f"the checkout has {person.status()!r}")
        return wrong

    def _finished(self) -> list[str]:
        """Let the verb be run again if it has done nothing, then passes; return what differs."""
        is_done = self._branch() == self._made and self._edited() == self._edits
        again = self.verb.repeatable or not is_done
        code = self._run(None, tracing=False) if again else 0
        wrong = [f"again it ended with {code}: {self._said.read_text()}"] if code else []
        wrong += [] if self._branch() == self._made else ["another branch was made"]
        wrong += [] if self._edited() == self._edits else ["other files were written"]
        wrong += left_in_mirrors(self._root / CACHE) if again else []
        for later, expected in ((False, self._settled), (True, self._changed)):
            if wrong:
                return wrong
            self._go_on(later=later)
            wrong += problems(self.verb.scenario, self._root, expected, when=f"later: {later}")
        return wrong

    def _go_on(self, *, later: bool) -> EndState:
        """Let passes run until nothing is left, later after a person's further commit."""
        scenario = self.verb.scenario
        if later:
            scenario.change(self._root, scenario.seconds + LATER_SECONDS)
        else:
            if self.verb.edits:
                scenario.person(self._root).git("clean", "--quiet", "--force", "-d")
                scenario.person(self._root).git("checkout", "--quiet", "--", ".")
            scenario.settle(self._root, scenario.seconds)
        return end_state(scenario, self._root)

    def _branch(self) -> str:
        """Return the commit of the branch that the verb makes or moves, `""` if there is none."""
        if not self.verb.branch:
            return ""
        name = f"refs/heads/{self.verb.branch}"
        served = self.verb.scenario.served(self._root)
        return git(served, "for-each-ref", "--format=%(objectname)", name)

    def _edited(self) -> dict[str, bytes]:
        """Return the files that the verb wrote and nobody has committed, by their paths."""
        if not self.verb.folder:
            return {}
        before = files_of(self._prepared / self.verb.folder)
        now = files_of(self._root / self.verb.folder)
        return {path: content for path, content in now.items() if content != before.get(path)}

    def _run(self, point: SignalPoint | None, *, tracing: bool) -> int:
        """Run the verb in a child, and return how it ended."""
        self._aim(point, tracing=tracing)
        child = os.fork()
        if child == 0:
            gc.freeze()  # what tests left is no garbage of the verb: its finalizers may import
            self._be_asked(point)
        ended = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < ended:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return -signal.SIGKILL

    def _aim(self, point: SignalPoint | None, *, tracing: bool) -> None:
        """Write the plan of the stand-in, and forget what it recorded."""
        for trace in self._control.glob("trace.*"):
            trace.unlink()
        (self._control / "log").write_bytes(b"")
        (self._control / "count").write_text("0\n")
        how = "traced" if tracing else "untraced"
        plan = f"0 never - 0 {how} KILL group"
        if point is not None and point.kind == "git":
            plan = (
                f"{point.number} {point.phase} {point.call} {point.ordinal} {how} "
                f"{point.signal} {point.target}"
            )
        (self._control / "plan").write_text(f"{plan}\n")

    def _be_asked(self, point: SignalPoint | None) -> None:
        """Run the verb in this process as one that was just started; never return."""
        code = 1
        try:
            output = os.open(self._said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(output, 1)
            os.dup2(output, 2)
            if point is not None and point.kind == "output":
                reader, writer = os.pipe()
                os.close(reader)
                os.dup2(writer, 1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name in ("SIGTERM", "SIGHUP"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            (self._control / "victim").write_text(f"{os.getpid()}\n")
            os.environ["PATH"] = f"{self._control / 'bin'}:{os.environ['PATH']}"
            os.environ["RECONCILER_CACHE_DIR"] = "off"
            os.environ["XDG_CACHE_HOME"] = str(self._root / CACHE)
            signals.PATIENCE_SECONDS = 0.0 if _is_twice(point) else LIMIT_SECONDS
            setattr(SystemClock, "now", lambda _: MOMENT)  # noqa: B010  # of this process only
            number = point.number if point is not None and point.kind == "file" else 0
            ask = _asking(point)
            FileOperations(self._root, self._control, number=number, die=ask).install()
            code = main.run(self.verb.arguments(self._root))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException as error:  # noqa: BLE001  # nothing of the parent may run here
            os.write(2, f"Traceback: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)


def _is_twice(point: SignalPoint | None) -> bool:
    return point is not None and point.target is Target.TWICE


def _asking(point: SignalPoint | None) -> Callable[[], None] | None:
    """Return what sends the signals of a point to this process."""
    if point is None or point.kind != "file":
        return None
    number = getattr(signal, f"SIG{point.signal}")

    def ask() -> None:
        signal.raise_signal(number)
        if point.target is Target.TWICE:
            time.sleep(FOLLOWS)
            signal.raise_signal(number)

    return ask
