"""Many files are inspected by several processes; what they find is the same."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterable
from multiprocessing.context import SpawnProcess

import pytest

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules
from reconciler.errors import ShellError
from reconciler.manifests.schemas.violations import Violation
from reconciler.manifests.text.raw import Oversized
from reconciler.model.body import Body
from reconciler.shell.resources import load_schemas
from reconciler.shell.work.validators import PIECE, File, file_validators

RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
LONG_SECONDS = 9
GOOD = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web-{}}}\nspec: {{replicas: 2}}\n"
BAD = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web-{}}}\nspec: {{replicas: two}}\n"


def files(count: int) -> list[File]:
    """Files of every sort, each of its own content."""
    texts = [(GOOD, BAD, "a: [\n", "not: ours\n")[number % 4] for number in range(count)]
    found: list[File] = [
        (f"{number}.yaml", f"{number:040x}", text.format(number).encode())
        for number, text in enumerate(texts)
    ]
    return [*found, ("large.yaml", "f" * 40, Oversized(1 << 30))]


def found(given: Iterable[File], rules: Rules, *, processes: int) -> list[FileValidation]:
    """What is found in files, by path."""
    with file_validators({"rules": rules}, 2 * PIECE, processes=processes, enough=PIECE) as by:
        for helper in by.helpers:
            helper.connection.poll(LONG_SECONDS)  # it says that it has started
        return sorted(by.validate(given, 4 * PIECE, "rules"), key=lambda one: one.path)


def die_elsewhere(body: Body) -> tuple[Violation, ...]:
    """An admission that ends the process that helps, as a machine out of memory would."""
    if multiprocessing.parent_process() is not None:
        os._exit(1)
    return ADMISSIONS["apps", "Deployment"](body)


def refuse_start(*_: object) -> None:
    """What some sandboxes answer when a process is to be started."""
    raise OSError("no semaphores here")


def test_helpers_find_what_one_process_finds() -> None:
    """Each file once, bodies and faults equal, whoever read it."""
    given = files(4 * PIECE)

    assert found(given, RULES, processes=1) == found(iter(given), RULES, processes=2)


def test_helper_that_is_killed_is_replaced_by_this_process() -> None:
    """Nothing is lost, nothing is told twice."""
    given = files(4 * PIECE)
    rules = Rules(load_schemas(), {**ADMISSIONS, ("apps", "Deployment"): die_elsewhere}, KINDS)

    assert found(given, RULES, processes=1) == found(iter(given), rules, processes=2)


def test_helper_that_is_killed_at_its_start_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it, not even for it to read what it was started with."""
    start = SpawnProcess.start

    def killed(process: SpawnProcess) -> None:
        start(process)
        process.kill()

    monkeypatch.setattr(SpawnProcess, "start", killed)
    given = files(4 * PIECE)

    assert found(given, RULES, processes=1) == found(iter(given), RULES, processes=2)


def test_machine_without_processes_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sandboxes have no shared memory."""
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refuse_start)
    given = files(2 * PIECE)

    assert len(given) == len(found(given, RULES, processes=2))


def test_interrupt_while_a_helper_starts_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept back from the helper, not from the person."""
    start = SpawnProcess.start

    def interrupted(process: SpawnProcess) -> None:
        start(process)
        signal.raise_signal(signal.SIGINT)  # to this thread; the runner has others

    monkeypatch.setattr(SpawnProcess, "start", interrupted)

    with pytest.raises(KeyboardInterrupt):
        found([], RULES, processes=2)
    assert [] == multiprocessing.active_children()


def test_fault_of_reading_is_told_not_hidden() -> None:
    """A repository that cannot be read is not a process that could not be started."""

    def broken() -> "list[File]":
        raise ShellError("an object is missing")

    with pytest.raises(ShellError, match="an object is missing"):
        found((file for file in broken()), RULES, processes=2)


def test_rules_travel() -> None:
    """Every admission is a function that another process can be sent."""
    again = pickle.loads(pickle.dumps(RULES))  # noqa: S301  # our own

    assert again.admissions.keys() == RULES.admissions.keys()
    assert again.schemas.covers("policy.karmada.io/v1alpha1", "PropagationPolicy")
