"""The page where whole passes are not computed, for there are too many objects."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.page.answers import LINKS, PageAnswer, PageAnswers
from reconciler.cli.page.views import PageViews, new_memory
from reconciler.library.fleet import open_repository
from reconciler.page.matrix import MatrixQuery
from tests.builders import rebalancer, target, text
from tests.shell.fleet import new_fleet, run_pass

SHOP = {"group": "apps", "kind": "Deployment", "namespace": "default", "name": "shop"}


def asked(
    folder: Path,
    view: str,
    more: Mapping[str, str] | None = None,
    /,
    *,
    most: int | None,
    **query: str,
) -> PageAnswer:
    """Ask for a view where so many objects are few enough for whole passes."""
    fleet = new_fleet(folder / "fleet")
    run_pass(fleet.folder, 0)
    if more:
        fleet.commit(more)
    repository = open_repository(fleet.folder)
    answers = PageAnswers(repository, "main", new_memory(repository.revisions, most))
    return answers.answer(view, query, fleet.head())


def test_an_object_is_explained_at_any_size(tmp_path: Path) -> None:
    """By itself; the verb is named that also says since when it is there."""
    shown = asked(tmp_path, "object", most=0, **SHOP)

    assert 200 == shown.status
    assert '<th scope="row">member1</th>' in shown.html
    assert "Why, for each cluster" in shown.html
    assert "reconciler why deployment/shop -n default says since when it is there" in shown.html


def test_where_others_have_a_say_it_is_said_so(tmp_path: Path) -> None:
    """The verb computes the whole pass that it takes."""
    moves = rebalancer("all", target(name="shop"), limits={"maxMoves": 1})
    shown = asked(tmp_path, "object", {"rebalancer.yaml": text(moves)}, most=0, **SHOP)

    assert 200 == shown.status
    assert '<th scope="row">member1</th>' in shown.html
    assert "depends on others (WorkloadRebalancer all moves its targets in batches)" in shown.html
    assert "Why, for each cluster" not in shown.html


def test_what_comes_is_refused_with_the_verb_that_says_it(tmp_path: Path) -> None:
    """One sentence, and no pass."""
    shown = asked(tmp_path, "coming", most=0)

    assert 400 == shown.status
    assert "only up to 0; reconciler status says what comes" in shown.html


@pytest.mark.parametrize("view", ["fleet", "matrix", "timeline", "rebalancers", "faults"])
def test_the_other_views_are_shown(tmp_path: Path, view: str) -> None:
    """They need no pass over all objects."""
    assert 200 == asked(tmp_path, view, most=0).status


@pytest.mark.parametrize("most", [100, None], ids=["few", "no-limit"])
def test_objects_are_explained_up_to_a_limit(tmp_path: Path, most: int | None) -> None:
    """A report has none: it may take its time."""
    assert "Why, for each cluster" in asked(tmp_path, "object", most=most, **SHOP).html


def test_the_rows_of_the_matrix_are_asked_about_together(tmp_path: Path) -> None:
    """Whoever looks at a page of it opens them next, and most were moved by the same passes."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    revisions = open_repository(fleet.folder).revisions
    memory = new_memory(revisions)
    views = PageViews(revisions, fleet.head(), LINKS, memory)
    views.matrix(MatrixQuery(name="shop"))

    assert ["shop-deployment"] == [key.name for key in memory.replay.together]
