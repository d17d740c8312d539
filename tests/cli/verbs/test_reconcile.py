"""`reconcile`: what is printed of a pass."""

from pathlib import Path

import pytest

from reconciler.cli.reconcile import MOST_DECISIONS
from tests.builders import cluster, deployment, path_of, policy, text
from tests.shell.fleet import reconciler
from tests.shell.repositories import Checkout, new_checkout

NOW = "2027-01-01T00:00:00Z"
MORE = 3


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A repository whose first pass places a few more workloads than are printed."""
    count = MOST_DECISIONS + MORE
    bodies = [cluster(), policy(), *(deployment(f"web-{number:03}") for number in range(count))]
    return new_checkout(tmp_path / "fleet", {path_of(body): text(body) for body in bodies})


def test_a_large_pass_prints_its_beginning(checkout: Checkout) -> None:
    """The first decisions, how many there are besides, and what became of the pass."""
    told = reconciler(checkout.folder, "reconcile", "--now", NOW).stdout.splitlines()

    assert MOST_DECISIONS + 2 == len(told)
    assert told[MOST_DECISIONS - 1].startswith(f"default/web-{MOST_DECISIONS - 1:03}: ")
    assert f"and {MORE} more; -v shows all" == told[MOST_DECISIONS]
    assert " files changed in " in told[-1]


def test_a_large_pass_prints_all_where_it_is_asked_to(checkout: Checkout) -> None:
    """Each decision, and in a dry run each file."""
    brief = reconciler(checkout.folder, "reconcile", "--dry-run", "--now", NOW).stdout
    whole = reconciler(checkout.folder, "reconcile", "--dry-run", "--now", NOW, "-v").stdout
    lines = whole.splitlines()
    count = MOST_DECISIONS + MORE

    assert count == sum(line.startswith("default/web-") for line in lines)
    assert f"{sum(line.startswith('write ') for line in lines)} files would change" == lines[-1]
    assert 2 == sum(line.startswith("and ") for line in brief.splitlines())
    assert 2 * MOST_DECISIONS + 3 == len(brief.splitlines())
