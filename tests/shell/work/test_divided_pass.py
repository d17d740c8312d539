"""A first pass on several processes commits what one process commits."""

import resource
from dataclasses import replace
from datetime import timedelta
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from pathlib import Path

import pytest

from reconciler.core.divided import divide
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.work.divided_pass import decide_divided
from tests.builders import text
from tests.core.cell_fleets import KARMADA
from tests.shell.fleet import Clock, load_world, new_passes
from tests.shell.repositories import NOW, Checkout, new_checkout

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
