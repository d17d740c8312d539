"""Pieces of work on several processes: in order, with equal results, whatever fails."""

import multiprocessing
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

import pytest

from reconciler.audit.previews.edits import assess, clusters_of
from reconciler.core.dialects import KINDS
from reconciler.core.divided import divide
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules
from reconciler.errors import ShellError
from reconciler.manifests.schemas.violations import Violation
from reconciler.manifests.text.raw import Oversized
from reconciler.model.body import Body
from reconciler.model.records import replace
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.resources import load_schemas
from reconciler.shell.work.divided_pass import decide_divided
from reconciler.shell.work.executors import AHEAD, Workers, results_of, start_pool
from reconciler.shell.work.failures import LEAST, assess_all
from reconciler.shell.work.validators import PIECE, File, file_validators
from tests.builders import text
from tests.cli.history import told_fleet
from tests.core.cell_fleets import KARMADA
from tests.shell.fleet import Clock, load_world, new_passes
from tests.shell.repositories import NOW, Checkout, new_checkout

DEADLY = 5


def square(number: int) -> int:
    """Return the square of a number."""
    return number * number


def square_or_die(number: int) -> int:
    """Return the square of a number; one of them ends each worker, as a lack of memory would."""
    if number == DEADLY and multiprocessing.parent_process() is not None:
        os._exit(1)
    return square(number)


def square_or_stammer(number: int) -> int:
    """Return the square of a number; one of them ends its worker in the midst of an answer."""
    if number == DEADLY and multiprocessing.parent_process() is not None:
        frame = sys._getframe()
        while "result_queue" not in frame.f_locals:
            assert frame.f_back is not None
            frame = frame.f_back
        pipe = frame.f_locals["result_queue"]._writer.fileno()
        os.write(pipe, struct.pack("!i", 1000) + b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def refuse(number: int) -> int:
    """Fail as a programmer's mistake does."""
    raise ValueError(number)


SQUARES = [(number, number * number) for number in range(20)]


def test_results_come_in_order() -> None:
    """Whoever is ready first."""
    with ThreadPoolExecutor(4) as executor:
        assert SQUARES == list(results_of(Workers(executor, 4), square, range(20)))


def test_worker_that_is_killed_costs_time_only() -> None:
    """Its piece is done here, and so are those that come after it."""
    with start_pool(2) as executor:
        assert SQUARES == list(results_of(Workers(executor, 2), square_or_die, range(20)))


def test_worker_that_is_killed_while_it_answers_costs_time_only() -> None:
    """A machine without memory kills whom it likes, when it likes: nobody waits for the rest."""
    with start_pool(2) as executor:
        assert SQUARES == list(results_of(Workers(executor, 2), square_or_stammer, range(20)))


def test_mistake_in_a_call_is_not_taken_for_a_lost_worker() -> None:
    """It is raised here."""
    with start_pool(1) as executor, pytest.raises(ValueError, match="0"):
        list(results_of(Workers(executor, 1), refuse, range(3)))


def test_few_pieces_exist_at_a_time() -> None:
    """A history is not held as a whole."""
    made = []

    def pieces() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    with ThreadPoolExecutor(1) as executor:
        next(results_of(Workers(executor, 1), square, pieces()))

    assert AHEAD + 1 == len(made)


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


FILES = {
    path: text(body)
    for path, body in KARMADA.files(3).items()
    if body["kind"] != "ReconcilerConfiguration"
}
IN_TWO = partial(decide_divided, enough=1, most=2)


def first_pass(folder: Path, most: int) -> tuple[Checkout, PassReport]:
    """Run the first pass of a fleet on so many processes."""
    checkout = new_checkout(folder, FILES)
    passes = new_passes(folder, Clock(NOW))
    return checkout, replace(passes, divided=partial(decide_divided, enough=1, most=most)).run()


def test_processes_commit_what_one_commits(tmp_path: Path) -> None:
    """The very same commit: files, message, moment."""
    one, alone = first_pass(tmp_path / "one", 1)
    two, beside = first_pass(tmp_path / "two", 2)

    assert alone.commit == beside.commit
    assert one.git("rev-parse", "HEAD") == two.git("rev-parse", "HEAD") == alone.commit
    assert len(alone.outcome.decisions) >= 30
    assert 2 == len(divide(load_world(new_checkout(tmp_path / "new", FILES).folder), 2))


def test_the_next_pass_goes_on_in_one_process(tmp_path: Path) -> None:
    """It finds nothing to do, and the same edit brings about the same."""
    heads = []
    for most in (1, 2):
        checkout = new_checkout(tmp_path / str(most), FILES)
        clock = Clock(NOW)
        passes = replace(
            new_passes(checkout.folder, clock),
            divided=partial(decide_divided, enough=1, most=most),
        )
        passes.run()
        clock.moment += timedelta(seconds=10)
        assert passes.run().commit is None
        scaled = {path: text(body) for path, body in KARMADA.changes["replicas"].items()}
        checkout.commit(scaled, "Scale")
        clock.moment += timedelta(seconds=10)
        heads.append(passes.run().commit)

    assert heads[0] is not None
    assert heads[0] == heads[1]


def decided_in_two(folder: Path, end: Connection) -> None:
    """Send whether a pass was divided."""
    end.send(IN_TWO(load_world(folder), NOW) is not None)


@pytest.mark.parametrize("barred", [False, True])
def test_a_process_that_may_have_no_others_decides_alone(tmp_path: Path, *, barred: bool) -> None:
    """As the workers of a Dask cluster may not, which are daemons of their nanny."""
    folder = new_checkout(tmp_path / "fleet", FILES).folder
    context = SpawnContext()
    ours, theirs = context.Pipe()
    process = context.Process(target=decided_in_two, args=(folder, theirs), daemon=barred)
    process.start()
    theirs.close()
    with ours:
        assert ours.recv() is not barred
    process.join()


def test_without_processes_to_give_one_process_decides(tmp_path: Path) -> None:
    """The machine refuses another one, and nobody is told: it takes longer, and that is all."""
    world = load_world(new_checkout(tmp_path / "fleet", FILES).folder)
    assert IN_TWO(world, NOW) is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, hard))
    try:
        assert IN_TWO(world, NOW) is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


FAILED_AT = NOW + timedelta(hours=1)
LATER = FAILED_AT + timedelta(hours=1)


def test_any_executor_finds_what_one_process_finds(tmp_path: Path) -> None:
    """Threads, processes, or none; there are several pieces."""
    world = load_world(told_fleet(tmp_path / "fleet").folder)
    clusters = clusters_of(world)
    expected = list(assess(world, clusters, failed_at=FAILED_AT, now=LATER))

    assert len(clusters) > LEAST
    with ThreadPoolExecutor(2) as threads, start_pool(2) as processes:
        for workers in (None, Workers(threads, 2), Workers(processes, 2)):
            assert expected == list(
                assess_all(world, clusters, failed_at=FAILED_AT, now=LATER, workers=workers)
            )
