"""Kills a scenario at its steps, starts it again each time, and compares with a calm run."""

import os
import shutil
import traceback
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.shell.processes import identity as processes
from tests.crash.checks import EndState, end_state, problems
from tests.crash.git_stand_in import have_strace, install
from tests.crash.power import Left, lose_power
from tests.crash.scenarios import Scenario
from tests.crash.steps import CrashStep, list_steps
from tests.crash.victim import run_victim

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
