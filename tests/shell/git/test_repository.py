"""Finding repositories and resolving branches."""

import os
from pathlib import Path

import pytest

from reconciler.errors import UsageError
from reconciler.shell.git.repository import Repository, check_branch
from tests.shell.repositories import git, new_bare, new_checkout


def test_a_checkout_is_found_from_a_subfolder(tmp_path: Path) -> None:
    """The prefix is the subfolder's place in the repository."""
    checkout = new_checkout(tmp_path / "r", {"team/a/x": "1"})

    repository = Repository.open(checkout.folder / "team" / "a")

    assert checkout.folder.resolve() == repository.work_tree
    assert "team/a" == repository.prefix
    assert checkout.folder.resolve() / ".git" == repository.git_dir == repository.common_dir
    assert "sha1" == repository.object_format
    assert "main" == repository.head_branch()
    assert checkout.head() == repository.resolve("main")


def test_a_bare_repository_is_found(tmp_path: Path) -> None:
    """It has no work tree and no prefix."""
    repository = Repository.open(new_bare(tmp_path / "b.git", {"x": "1"}))

    assert None is repository.work_tree
    assert "" == repository.prefix
    assert "main" == repository.head_branch()


def test_a_linked_worktree_has_its_own_git_dir(tmp_path: Path) -> None:
    """References are shared, HEAD is not."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))

    repository = Repository.open(tmp_path / "linked")

    assert "side" == repository.head_branch()
    assert checkout.folder.resolve() / ".git" == repository.common_dir
    assert checkout.folder.resolve() / ".git/worktrees/linked" == repository.git_dir


def test_a_sha256_repository_is_read(tmp_path: Path) -> None:
    """Ids are as long as the repository's format makes them."""
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "r")
    git(tmp_path / "r", "commit", "--quiet", "--allow-empty", "--message=x")

    repository = Repository.open(tmp_path / "r")

    assert "sha256" == repository.object_format
    assert 64 == len(repository.resolve("main"))


def test_what_is_not_a_repository_is_refused(tmp_path: Path) -> None:
    """The message says what would do."""
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="is not a folder; name one inside a git repository"):
        Repository.open(tmp_path / "file")
    with pytest.raises(UsageError, match="is not in a git repository; clone one"):
        Repository.open(tmp_path)


def test_an_unborn_branch_is_told(tmp_path: Path) -> None:
    """A fresh `git init` has a branch name but no commit."""
    repository = Repository.open(new_checkout(tmp_path / "r").folder)

    assert "main" == repository.head_branch()
    assert None is repository.find("main")
    with pytest.raises(UsageError, match='branch "main" has no commit yet'):
        repository.resolve("main")


def test_a_missing_branch_lists_near_names(tmp_path: Path) -> None:
    """Most often it is a slip."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("branch", "production")

    with pytest.raises(UsageError, match='no branch "prodction"; near it: production'):
        Repository.open(checkout.folder).resolve("prodction")


def test_a_tag_is_no_branch(tmp_path: Path) -> None:
    """A tag of the same name does not stand in for a branch."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("tag", "v1")

    assert None is Repository.open(checkout.folder).find("v1")


def test_a_detached_head_needs_a_branch_name(tmp_path: Path) -> None:
    """Without a branch there is nothing to move."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("checkout", "--quiet", "--detach")

    with pytest.raises(UsageError, match="HEAD is detached"):
        Repository.open(checkout.folder).head_branch()


def test_git_dir_of_the_caller_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook, which runs with GIT_DIR set."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    other = new_checkout(tmp_path / "other", {"y": "2"})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git/index"))

    assert checkout.head() == Repository.open(checkout.folder).resolve("main")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git does; the operator may trust the owner."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    os.chown(checkout.folder / ".git", 54321, 54321)

    with pytest.raises(UsageError, match=r"belongs to user 54321, but .* trust the owner"):
        Repository.open(checkout.folder)

    trusted = Repository.open(checkout.folder, trust_owner=True)

    assert "main" == trusted.head_branch()
    assert None is not trusted.find("main")


@pytest.mark.parametrize(
    "name",
    [
        "", "-h", "--all", "@{-1}", "@", "a b", "a\nb", "a..b", "a~1", "a^", "a:b", "a?", "a*",
        "a[b", "a\\b", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "a\x7f",
        "HEAD",
    ],
)  # fmt: skip
def test_a_name_that_git_would_refuse_is_refused(name: str) -> None:
    """Before it comes near a command line."""
    with pytest.raises(UsageError, match="no branch name"):
        check_branch(name)


@pytest.mark.parametrize("name", ["main", "a/b", "v1.2", "fix-#3", "größe", "a@b", "a.locked"])
def test_a_fit_name_passes(name: str) -> None:
    """Nothing that git accepts is refused without need."""
    assert name == check_branch(name)
