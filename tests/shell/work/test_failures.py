"""What failing clusters bring about is the same, whoever computes it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from reconciler.audit.previews.edits import assess, clusters_of
from reconciler.shell.work.executors import Workers, start_pool
from reconciler.shell.work.failures import LEAST, assess_all
from tests.cli.history import told_fleet
from tests.shell.fleet import load_world
from tests.shell.repositories import NOW

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
