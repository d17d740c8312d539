"""What the configuration of a repository can hold, seen without asking git."""

from pathlib import Path

import pytest

from reconciler.shell.git.repository import Repository, may_configure
from tests.shell.repositories import new_checkout


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"user.name": "Ada"}, False, id="another"),
        pytest.param({"filter.lfs.clean": "x"}, True, id="itself"),
        pytest.param({"FILTER.lfs.clean": "x"}, True, id="in-capitals"),
        pytest.param({"include.path": "other"}, True, id="another-file"),
        pytest.param({"extensions.worktreeConfig": "true"}, True, id="one-a-worktree"),
    ],
)
def test_git_is_asked_only_where_it_may_answer(
    tmp_path: Path, settings: dict[str, str], *, expected: bool
) -> None:
    """A word that is nowhere in the file sets nothing."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    for key, value in settings.items():
        checkout.git("config", key, value)

    assert expected == may_configure(Repository.open(checkout.folder), "filter")


def test_what_the_operator_sets_counts(tmp_path: Path) -> None:
    """It is in no file."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    given = {"GIT_CONFIG_PARAMETERS": "'filter.x.clean=y'"}

    assert may_configure(Repository.open(checkout.folder, variables=given), "filter")
