"""Roots by pattern: folders of a commit that hold a configuration."""

from pathlib import Path

import pytest

from reconciler.errors import UsageError
from reconciler.shell.git.history import find_roots
from reconciler.shell.git.repository import Repository
from tests.shell.repositories import new_checkout

MARKED = ("teams/a", "teams/b", "teams/b/inner", "regions/eu/west", "x")
FILES = {
    **{f"{folder}/reconciler.yaml": "" for folder in MARKED},
    "teams/plain/clusters.yaml": "",
    "teams/reconciler.yaml/folder": "",
    "teams/c": "a file",
    "teams/b\\c/reconciler.yaml": "where we would not write",
}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        pytest.param(["teams/*"], ["teams/a", "teams/b"], id="a-level"),
        pytest.param(["teams/[ab]", "teams/a"], ["teams/a", "teams/b"], id="twice"),
        pytest.param(["*/*/west"], ["regions/eu/west"], id="deep"),
        pytest.param(["*"], ["x"], id="top"),
        pytest.param(["teams/*", "teams/*/*"], ["teams/a", "teams/b"], id="inner-is-part-of-outer"),
        pytest.param(["teams/b/inner"], ["teams/b/inner"], id="plain"),
        pytest.param(["nowhere/*", "teams/plain", "teams/c"], [], id="none"),
    ],
)
def test_folders_with_a_configuration_match(
    tmp_path: Path, patterns: list[str], expected: list[str]
) -> None:
    """A star stands for one name, and not for a slash."""
    fleet = new_checkout(tmp_path / "fleet", FILES)

    assert tuple(expected) == find_roots(Repository.open(fleet.folder), fleet.head(), patterns)


def test_patterns_begin_at_the_folder_that_is_served(tmp_path: Path) -> None:
    """As `--root` does."""
    fleet = new_checkout(tmp_path / "fleet", FILES)
    repository = Repository.open(fleet.folder / "teams")

    assert ("a", "b") == find_roots(repository, fleet.head(), ["*"])


@pytest.mark.parametrize("pattern", ["", "/teams/*", "teams/../*", "teams/**", "teams//a", "a/"])
def test_what_is_no_pattern_is_refused(tmp_path: Path, pattern: str) -> None:
    """With one that is."""
    fleet = new_checkout(tmp_path / "fleet", FILES)

    with pytest.raises(UsageError, match=r"--roots .* must be folders such as teams/\*"):
        find_roots(Repository.open(fleet.folder), fleet.head(), [pattern])
