"""Kills a scenario at its steps, starts it again each time, and compares with a calm run."""

import os
import re
import shutil
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

import pytest

from reconciler.shell.processes import identity as processes
from tests.crash.git_stand_in import have_strace, install, traced_calls
from tests.crash.scenarios import DELIVERED, MIRROR, Scenario
from tests.crash.victim import run_victim
from tests.shell.repositories import git

LEFT = (
    "*.lock",
    "*.step",
    "*.import",
    "*.keep",
    "reconciler-index-*",
    "reconciler-before.index",
    "reconciler-new-*",
    "reconciler-broken-*",
)
LEFT_IN_MIRROR = ("tmp_obj_*", "tmp_pack_*", "tmp_idx_*", "tmp_objdir-*")


@dataclass(frozen=True, kw_only=True)
class EndState:
    """Everything that counts of a place.

    Attributes:
        head: Id of the commit of the branch of outputs: its tree, its history and its messages,
            byte for byte.
        rebalanced: How many commits moved the workload by the rebalancer.
        files: What the person's checkout holds, path to content; empty for a remote.
        status: What git says of that checkout.
        delivered: Id of the tree of the branch that is delivered to, `""` if there is none.
    """

    head: str
    rebalanced: int
    files: dict[str, bytes]
    status: str
    delivered: str


def end_state(scenario: Scenario, root: Path) -> EndState:
    """Return the state of a place at rest."""
    served = scenario.served(root)
    branch = scenario.output_branch or "main"
    subjects = git(served, "log", "--format=%s", branch).splitlines()
    files: dict[str, bytes] = {}
    status = ""
    if not scenario.remote:
        person = scenario.person(root)
        status = person.status()
        files = files_of(person.folder)
    return EndState(
        head=git(served, "rev-parse", branch),
        rebalanced=sum(subject.startswith("Rebalance default/web") for subject in subjects),
        files=files,
        status=status,
        delivered=_tree(served, DELIVERED),
    )


def files_of(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds, path to content; what is git's is left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def left_in_mirrors(cache: Path) -> list[str]:
    """Return what is wrong with the mirrors below a cache after they were used once more."""
    left = sorted(path.name for name in LEFT + LEFT_IN_MIRROR for path in cache.rglob(name))
    for mirror in cache.rglob("repository.git"):
        git(mirror, f"--git-dir={mirror}", "fsck")
    return [f"left behind in the cache: {', '.join(left)}"] if left else []


def _tree(served: Path, branch: str) -> str:
    """The id of the tree of a branch, `""` without one; when it was reached may differ."""
    found = git(served, "for-each-ref", "--format=%(tree)", f"refs/heads/{branch}")
    return found.strip()


def problems(scenario: Scenario, root: Path, expected: EndState, *, when: str) -> list[str]:
    """Return what is wrong with a place, each in a line."""
    found = end_state(scenario, root)
    wrong = [
        f"{when}: {name} is {getattr(found, name)!r}, not {getattr(expected, name)!r}"[:400]
        for name in ("head", "rebalanced", "status", "delivered")
        if getattr(found, name) != getattr(expected, name)
    ]
    differing = sorted(dict(found.files.items() ^ expected.files.items()))
    if differing:
        wrong.append(f"{when}: files differ: {', '.join(differing)}")
    ours = root / MIRROR if scenario.remote else scenario.person(root).folder / ".git"
    patterns = LEFT + (LEFT_IN_MIRROR if scenario.remote else ())
    left = sorted(path.name for pattern in patterns for path in ours.rglob(pattern))
    if left:
        wrong.append(f"{when}: left behind: {', '.join(left)}")
    repository = ours / "repository.git" if scenario.remote else ours
    for folder in {repository, scenario.served(root)}:
        try:
            git(
                folder,
                f"--git-dir={folder if folder.name != 'person' else folder / '.git'}",
                "fsck",
            )
        except AssertionError as error:
            wrong.append(f"{when}: fsck: {error}"[:400])
    return wrong


OPENED = re.compile(r"= \d+<(?P<place>/[^>]*)>")
DESCRIPTOR = re.compile(r"^\d+<(?P<place>/[^>]*)>")
NAMED = re.compile(r"(?:AT_FDCWD(?:<(?P<at>[^>]*)>)?, )?\"(?P<name>[^\"]*)\"(?P<cut>\.\.\.)?")


class Left(Enum):
    """What a file system leaves of a file that was not synced."""

    NOTHING = auto()
    PART = auto()
    ZEROS = auto()


def lose_power(root: Path, control: Path, left: Left) -> int:
    """Take the content of every file below `root` that was not synced; return how many had any."""
    lost = 0
    for place in sorted(_unsynced(control)):
        path = Path(place)
        if place.startswith(f"{root}/") and path.is_file() and not path.is_symlink():
            lost += path.stat().st_size > 0
            mode = path.stat().st_mode
            path.chmod(0o644)
            _take(path, left)
            path.chmod(mode)
    return lost


def _take(path: Path, left: Left) -> None:
    size = path.stat().st_size
    os.truncate(path, size // 2 if left is Left.PART else 0)
    if left is Left.ZEROS:
        os.truncate(path, size)


def _unsynced(control: Path) -> set[str]:
    """Return the places of all files that were written since they were synced last."""
    dirty: set[str] = set()
    for line in (control / "log").read_text(errors="replace").splitlines():
        kind, number, what = line.split(" ", 2)
        if kind == "git":
            trace = control / f"trace.{number}"
            if trace.exists():
                for call in traced_calls(trace):
                    _apply_call(dirty, call.name, call.rest)
            continue
        name, _, places = what.partition(" ")
        _apply(dirty, name, places.split("\t"))
    return dirty


def _apply_call(dirty: set[str], name: str, rest: str) -> None:
    if name == "openat":
        if found := OPENED.search(rest):
            _apply(dirty, "open", [found["place"]])
        return
    if found := DESCRIPTOR.match(rest):
        _apply(dirty, "write" if name == "pwrite64" else name, [found["place"]])
        return
    places = [os.path.join(match["at"] or "", match["name"]) for match in NAMED.finditer(rest)]  # noqa: PTH118  # plain text
    _apply(dirty, name.removesuffix("2").removesuffix("at"), places)


def _apply(dirty: set[str], name: str, places: list[str]) -> None:
    """Follow one operation."""
    match name:
        case "open" | "fill" | "write" | "pwrite" | "ftruncate":
            dirty.add(places[0])
        case "fsync" | "fdatasync":
            dirty.discard(places[0])
        case "sync":
            dirty.clear()
        case "rename" | "replace" | "link" if len(places) == 2:
            before, after = places
            dirty.discard(after)
            if before in dirty:
                dirty.add(after)
            if name != "link":
                dirty.discard(before)
        case "unlink" | "remove":
            dirty.discard(places[0])
        case _:
            pass


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


LATER_SECONDS = 100  # from the pass that is killed to the person's further change


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A step after which something did not hold."""

    scenario: str
    step: CrashStep
    wrong: tuple[str, ...]


class Campaign:
    """One scenario in a folder of its own.

    The place is always the same path, for the journal and the mirror hold absolute ones.
    """

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        """Prepare the place, run it calmly, and record its steps."""
        self.scenario = scenario
        self._root = folder / "place"
        self._prepared = folder / "prepared"
        self._control = folder / "control"
        self._traced = have_strace()
        real = shutil.which("git")
        assert real is not None
        install(self._control, real=real)
        self._root.mkdir()
        scenario.prepare(self._root)
        shutil.copytree(self._root, self._prepared, symlinks=True)
        self.steps = self._record()
        scenario.settle(self._root, scenario.seconds)
        self._settled = end_state(scenario, self._root)
        calm = problems(scenario, self._root, self._settled, when="calm")
        assert ([], 1, "") == (calm, self._settled.rebalanced, self._settled.status)
        scenario.change(self._root, scenario.seconds + LATER_SECONDS)
        self._changed = end_state(scenario, self._root)

    @property
    def calm(self) -> tuple[EndState, EndState]:
        """The state after a calm run, and after the further change."""
        return self._settled, self._changed

    def _act(self) -> None:
        self.scenario.run_pass(self._root, self.scenario.seconds)

    def _record(self) -> Sequence[CrashStep]:
        self._aim(None, tracing=self._traced)
        code = run_victim(self._root, self._control, self._act)
        assert 0 == code, f"{self.scenario.name}: the calm run ended with {code}"
        return list_steps(self._control, traced=self._traced)

    def _aim(self, step: CrashStep | None, *, tracing: bool) -> None:
        """Write the plan of the stand-in, and forget what it recorded."""
        for trace in self._control.glob("trace.*"):
            trace.unlink()
        (self._control / "log").write_bytes(b"")
        (self._control / "count").write_text("0\n")
        number, phase, call, ordinal = 0, "never", "-", 0
        if step is not None and step.kind == "git":
            number, phase, call, ordinal = step.number, step.phase, step.call, step.ordinal
        how = "traced" if tracing else "untraced"
        plan = f"{number} {phase} {call} {ordinal} {how} KILL group\n"
        (self._control / "plan").write_text(plan)

    def run(self, step: CrashStep) -> Failed | None:
        """Kill at a step, start again, and return what did not hold."""
        self._restore()
        self._aim(step, tracing=step.power)
        number = step.number if step.kind == "file" else 0
        within = step.phase == "within"
        code = run_victim(self._root, self._control, self._act, number=number, within=within)
        if step.power:
            left = [*Left][(step.number + step.ordinal) % len(Left)]
            lose_power(self._root, self._control, left)
            (self._control / "boot").write_text(f"{uuid.uuid4()}\n")
        wrong = [] if code in (0, -9) else [f"it ended with {code}, not by the kill"]
        boot = self._control / "boot" if step.power else processes.BOOT_ID
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(processes, "BOOT_ID", boot)
            return self._start_again(step, wrong)

    def _start_again(self, step: CrashStep, wrong: list[str]) -> Failed | None:
        """Return what does not hold after a start, and after a further change."""
        seconds = self.scenario.seconds
        for when, act, expected in (
            ("after the restart", lambda: self.scenario.settle(self._root, seconds), self._settled),
            (
                "after a further change",
                lambda: self.scenario.change(self._root, seconds + LATER_SECONDS),
                self._changed,
            ),
        ):
            wrong += self._attempt(when, act, expected)
            if wrong:
                return Failed(scenario=self.scenario.name, step=step, wrong=tuple(wrong))
        return None

    def _attempt(self, when: str, act: Callable[[], object], expected: EndState) -> list[str]:
        try:
            act()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told with its step
            where = traceback.format_exc(limit=-3).replace("\n", " | ")
            return [f"{when}: {type(error).__name__}: {error} {where}"[:1200]]
        return problems(self.scenario, self._root, expected, when=when)

    def _restore(self) -> None:
        """Put the place back as it was prepared."""
        shutil.rmtree(self._root)
        shutil.copytree(self._prepared, self._root, symlinks=True)
        for entry in self._prepared.glob("person/.git/reconciler/*.step"):
            self._relink(entry)

    def _relink(self, entry: Path) -> None:
        """Make a lock the very file of its entry again; copying made two of them."""
        copied = self._root / entry.relative_to(self._prepared)
        for lock in self._prepared.glob("person/.git/index.lock"):
            target = self._root / lock.relative_to(self._prepared)
            target.unlink()
            os.link(copied, target)
