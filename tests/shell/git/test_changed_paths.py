"""An index of what commits changed saves time, and is never believed when something is wrong."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.shell.git.history import FEW, GRAPH, MOST_KEPT, ChangedPaths, list_range
from reconciler.shell.git.repository import Repository
from tests.shell.repositories import Checkout, new_checkout

PATHS = ("a.yaml", "deep/b.yaml", "deep", "deep/ödd name.yaml", "none.yaml")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A history in which each file changed and changed back, with a merge."""
    checkout = new_checkout(tmp_path / "repository", {"a.yaml": "0", "deep/b.yaml": "0"})
    for number in range(4):
        checkout.commit({"a.yaml": f"{number % 2}"})
        checkout.commit({"deep/b.yaml": f"{number}", "deep/ödd name.yaml": f"{number}"})
    checkout.git("checkout", "--quiet", "-b", "other", "HEAD~2")
    checkout.commit({"deep/c.yaml": "0"})
    checkout.git("checkout", "--quiet", "main")
    checkout.git("merge", "--quiet", "--no-edit", "other")
    return checkout


def asked(known: ChangedPaths, checkout: Checkout) -> Repository:
    """The repository as it is asked, with what was noted written for the next question."""
    repository = Repository.open(checkout.folder)
    found = known.of(repository, checkout.head(), commits=FEW)
    known.save()
    return found


def has_graph(repository: Repository) -> bool:
    """Whether a graph of ours is looked into."""
    return "GIT_OBJECT_DIRECTORY" in repository.git.variables


def commits_of(repository: Repository, checkout: Checkout) -> list[list[str]]:
    """The commits that changed each path."""
    return [list_range(repository, checkout.head(), paths=(path,)) for path in PATHS]


def test_with_it_the_same_commits_are_found(checkout: Checkout, tmp_path: Path) -> None:
    """Of each path, also where later commits are not in it yet."""
    known = ChangedPaths(tmp_path / "histories")
    before = asked(known, checkout)

    indexed = asked(known, checkout)
    assert not has_graph(before)
    assert has_graph(indexed)
    assert commits_of(before, checkout) == commits_of(indexed, checkout)
    checkout.commit({"deep/b.yaml": "9"})
    assert commits_of(before, checkout) == commits_of(indexed, checkout)


def test_nothing_is_written_into_the_repository(checkout: Checkout, tmp_path: Path) -> None:
    """It is a person's."""
    folder = checkout.folder / ".git"
    before = sorted(folder.rglob("*"))
    asked(ChangedPaths(tmp_path / "histories"), checkout)

    assert before == sorted(folder.rglob("*"))


def test_a_short_history_is_looked_at_as_soon(checkout: Checkout, tmp_path: Path) -> None:
    """And nothing is kept of it."""
    known = ChangedPaths(tmp_path / "histories")
    repository = Repository.open(checkout.folder)

    assert repository is known.of(repository, checkout.head(), commits=FEW - 1)
    known.save()
    assert not (tmp_path / "histories").exists()


def cut(graph: Path) -> None:
    """Lose the second half."""
    graph.chmod(0o600)
    os.truncate(graph, graph.stat().st_size // 2)


def scramble(graph: Path) -> None:
    """Change a byte."""
    graph.chmod(0o600)
    data = bytearray(graph.read_bytes())
    data[len(data) // 2] ^= 0x55
    graph.write_bytes(data)


def open_to_others(graph: Path) -> None:
    """Let others write it."""
    graph.chmod(0o666)


@pytest.mark.parametrize("damage", [cut, scramble, open_to_others])
def test_one_that_is_damaged_is_not_looked_into(
    checkout: Checkout, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """But where others may write it, it is written anew for the next question."""
    known = ChangedPaths(tmp_path / "histories")
    asked(known, checkout)
    [graph] = (tmp_path / "histories").glob(f"*/info/{GRAPH}")
    damage(graph)

    assert not has_graph(asked(known, checkout))
    assert has_graph(asked(known, checkout)) == (damage is not open_to_others)


def test_a_lock_of_a_killed_git_is_removed_with_the_rest(
    checkout: Checkout, tmp_path: Path
) -> None:
    """It would be in the way for ever."""
    known = ChangedPaths(tmp_path / "histories")
    asked(known, checkout)
    [graph] = (tmp_path / "histories").glob(f"*/info/{GRAPH}")
    graph.with_name(f"{GRAPH}.lock").touch()
    checkout.commit({"a.yaml": "9"})
    asked(known, checkout)

    assert not has_graph(asked(known, checkout))
    assert has_graph(asked(known, checkout))


def test_repositories_that_were_asked_about_long_ago_are_forgotten(
    checkout: Checkout, tmp_path: Path
) -> None:
    """There are only so many graphs."""
    folder = tmp_path / "histories"
    for number in range(MOST_KEPT):
        (folder / f"{number:032}").mkdir(parents=True)
        os.utime(folder / f"{number:032}", (number, number))
    folder.chmod(0o700)
    known = ChangedPaths(folder)
    asked(known, checkout)

    assert MOST_KEPT == len([*folder.iterdir()])
    assert has_graph(asked(known, checkout))
    assert not (folder / f"{0:032}").exists()
