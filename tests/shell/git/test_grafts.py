"""A file of the repository that rewrites its history is not believed."""

from pathlib import Path

from reconciler.shell.git.history import is_ancestor, read_history
from reconciler.shell.git.repository import Repository
from tests.shell.repositories import new_checkout


def test_grafts_are_ignored(tmp_path: Path) -> None:
    """They would cut off the first commit, and give the second one another parent."""
    checkout = new_checkout(tmp_path / "r", {"a.yaml": "1"})
    first = checkout.head()
    second = checkout.commit({"a.yaml": "2"})
    checkout.git("branch", "other")
    (checkout.folder / ".git/info/grafts").write_text(f"{second}\n")
    repository = Repository.open(checkout.folder)

    assert is_ancestor(repository, first, second)
    assert [second, first] == [commit.revision for commit in read_history(repository, second)]
    assert "1" == checkout.git("rev-list", "--count", "HEAD")
