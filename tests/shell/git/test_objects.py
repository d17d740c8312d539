"""Reading trees, blobs and commits."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.manifests.text.raw import Oversized
from reconciler.shell.git.command import GitError
from reconciler.shell.git.history import read_commit, read_history
from reconciler.shell.git.objects import (
    ChangedFile,
    TreeEntry,
    changed_files,
    list_files,
    read_blobs,
    read_file,
)
from reconciler.shell.git.repository import CommitIdentity, Repository
from tests.shell.repositories import git, new_checkout


def blob_of(folder: Path, content: str) -> str:
    """Store a blob and return its id."""
    return git(folder, "hash-object", "-w", "--stdin", stdin=content.encode())


def test_files_are_listed_with_mode_and_blob(tmp_path: Path) -> None:
    """Symlinks and submodules are marked, so that the caller leaves them alone."""
    checkout = new_checkout(tmp_path / "r", {"a/x.yaml": "x", "run.sh": "s"})
    (checkout.folder / "run.sh").chmod(0o755)
    (checkout.folder / "link").symlink_to("/etc/passwd")
    checkout.git("add", "--all")
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{checkout.head()},module")
    checkout.git("commit", "--quiet", "--message=x")
    repository = Repository.open(checkout.folder)

    files = list_files(repository, checkout.head())

    assert ["a/x.yaml", "link", "module", "run.sh"] == list(files)
    assert TreeEntry("100644", blob_of(checkout.folder, "x")) == files["a/x.yaml"]
    assert ["a/x.yaml", "run.sh"] == [path for path in files if files[path].is_file]
    assert files["link"].is_symlink
    assert files["module"].is_gitlink


def test_a_prefix_is_taken_literally_and_stripped(tmp_path: Path) -> None:
    """No pattern, no neighbour of a like name, no error for a folder that is absent."""
    checkout = new_checkout(tmp_path / "r", {"a*/x": "1", "ab/x": "2", "a*b": "3"})
    repository = Repository.open(checkout.folder)

    assert ["x"] == list(list_files(repository, checkout.head(), prefix="a*"))
    assert {} == list_files(repository, checkout.head(), prefix="absent")


def test_odd_names_survive(tmp_path: Path) -> None:
    """A line feed and bytes that are not UTF-8 do not break the listing."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    blob = blob_of(checkout.folder, "1")
    tree = git(
        checkout.folder, "mktree", "-z", stdin=f"100644 blob {blob}\ta\nb\0".encode()
        + f"100644 blob {blob}\t".encode() + b"\xff\0",
    )  # fmt: skip
    commit = checkout.git("commit-tree", "-m", "odd", tree)
    repository = Repository.open(checkout.folder)

    assert ["a\nb", "\udcff"] == list(list_files(repository, commit))


def test_blobs_come_in_the_order_asked_for(tmp_path: Path) -> None:
    """Repeated ids and empty blobs included."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    ids = [blob_of(checkout.folder, content) for content in ("two\n", "", "one", "two\n")]
    repository = Repository.open(checkout.folder)

    read = list(read_blobs(repository, ids))

    assert list(zip(ids, [b"two\n", b"", b"one", b"two\n"], strict=True)) == read


def test_more_blobs_than_a_pipe_holds(tmp_path: Path) -> None:
    """Writing and reading go on at the same time."""
    checkout = new_checkout(tmp_path / "r", {"x": "line\n" * 2000})
    blob = blob_of(checkout.folder, "line\n" * 2000)
    repository = Repository.open(checkout.folder)

    assert 5000 == sum(1 for _ in read_blobs(repository, [blob] * 5000))


def test_a_blob_above_the_limit_is_read_past(tmp_path: Path) -> None:
    """Its size is told, and the next one is whole."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    large, small = blob_of(checkout.folder, "y" * 3_000_000), blob_of(checkout.folder, "z" * 10)
    repository = Repository.open(checkout.folder)

    read = list(read_blobs(repository, [large, small], limit_bytes=10))

    assert [(large, Oversized(3_000_000)), (small, b"z" * 10)] == read


def test_a_missing_blob_is_named(tmp_path: Path) -> None:
    """A damaged or partial repository is an error, not an absent file."""
    repository = Repository.open(new_checkout(tmp_path / "r", {"x": "1"}).folder)

    with pytest.raises(GitError, match=f"no blob {'ab' * 20}: missing"):
        list(read_blobs(repository, ["ab" * 20]))


def test_leaving_early_ends_the_process(tmp_path: Path) -> None:
    """A reader that stops does not leave git behind."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    blob = blob_of(checkout.folder, "1" * 100_000)
    reading = read_blobs(Repository.open(checkout.folder), [blob] * 1000)

    assert blob == next(iter(reading))[0]
    reading.close()  # type: ignore[attr-defined]


def test_one_file_is_read_by_path(tmp_path: Path) -> None:
    """What is no regular file has no content."""
    checkout = new_checkout(tmp_path / "r", {"a/x": "1"})
    repository = Repository.open(checkout.folder)

    assert b"1" == read_file(repository, checkout.head(), "a/x")
    assert None is read_file(repository, checkout.head(), "a")
    assert None is read_file(repository, checkout.head(), "b")


def test_changes_are_between_trees(tmp_path: Path) -> None:
    """Added, changed and deleted; a rename is two changes; history does not matter."""
    checkout = new_checkout(tmp_path / "r", {"a": "1", "b": "2", "t/c": "3"})
    old = checkout.head()
    (checkout.folder / "b").unlink()
    new = checkout.commit({"a": "4", "b2": "2", "t/c": "5", "b": ""})
    checkout.git("rm", "--quiet", "b")
    checkout.git("commit", "--quiet", "--amend", "--message=x")
    new = checkout.head()
    repository = Repository.open(checkout.folder)

    changes = changed_files(repository, old, new)

    assert ["a", "b", "b2", "t/c"] == [change.path for change in changes]
    entry = TreeEntry("100644", blob_of(checkout.folder, "2"))
    assert ChangedFile("b", entry, None) == changes[1]
    assert ChangedFile("b2", None, entry) == changes[2]
    assert ["c"] == [change.path for change in changed_files(repository, old, new, prefix="t")]
    assert () == changed_files(repository, new, new)


def test_a_commit_is_read(tmp_path: Path) -> None:
    """Trailers are the last paragraph, if all of it is trailers."""
    checkout = new_checkout(tmp_path / "r", {"a": "1"})
    parent = checkout.head()
    message = "Place web\n\nweb: a -> b\n\nNote: not\nlast\n\nReconciled-From: x\nTo-Whom: y"
    revision = checkout.commit({"a": "2"}, message)

    commit = read_commit(Repository.open(checkout.folder), revision)

    assert CommitIdentity("Ada", "ada@example.com") == commit.author
    assert datetime(2026, 11, 20, 10, 0, tzinfo=UTC) == commit.committed_at
    assert "Place web" == commit.subject
    assert "web: a -> b\n\nNote: not\nlast" == commit.body
    assert (("Reconciled-From", "x"), ("To-Whom", "y")) == commit.trailers
    assert (parent,) == commit.parents


@pytest.mark.parametrize(
    ("signature", "more", "expected"),
    [
        pytest.param("A <a> 99999999999999 +0000", "", ("A", "a", 0, "Ü"), id="far-future"),
        pytest.param("A <a> 99999999999999999999999 +0000", "", ("A", "a", 0, "Ü"), id="no-time"),
        pytest.param("A <a> -86400 +0000", "", ("A", "a", -86400, "Ü"), id="before-1970"),
        pytest.param("A <a> soon", "", ("A", "a", 0, "Ü"), id="word"),
        pytest.param("A <a>", "", ("A", "a", 0, "Ü"), id="none"),
        pytest.param("A 12 +0000", "", ("", "", 0, "Ü"), id="no-address"),
        pytest.param("A <a> 1 +0000", "encoding idna\n", ("A", "a", 1, "Ü"), id="idna"),
        pytest.param("A <a> 1 +0000", "encoding undefined\n", ("A", "a", 1, "Ü"), id="undefined"),
        pytest.param("A <a> 1 +0000", "encoding Ü\n", ("A", "a", 1, "Ü"), id="not-ascii"),
        pytest.param("A <a> 1 +0000", "encoding latin-1\n", ("A", "a", 1, "Ã\x9c"), id="latin-1"),
    ],
)
def test_a_strange_commit_is_read_as_far_as_it_goes(
    tmp_path: Path, signature: str, more: str, expected: tuple[str, str, int, str]
) -> None:
    """Whoever writes a commit may date it as they like; no later command may stumble over it."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    tree = checkout.git("rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nauthor {signature}\ncommitter {signature}\n{more}\nÜ\n"
    arguments = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
    revision = git(checkout.folder, *arguments, stdin=text.encode())

    found = read_commit(Repository.open(checkout.folder), revision)

    assert expected == (
        found.author.name, found.author.email, found.authored_at.timestamp(), found.subject,
    )  # fmt: skip


def test_history_is_read_newest_first(tmp_path: Path) -> None:
    """Along first parents, all of it or what touched a path."""
    checkout = new_checkout(tmp_path / "r", {"a": "1"})
    for number in range(3):
        checkout.commit({f"t/{number}": "x"}, f"Commit {number}")
    checkout.commit({"a": "2"}, "Last")
    repository = Repository.open(checkout.folder)

    def subjects(*, limit: int | None = None, path: str = "") -> list[str]:
        found = read_history(repository, checkout.head(), limit=limit, path=path)
        return [commit.subject for commit in found]

    assert ["Last", "Commit 2", "Commit 1", "Commit 0", "Start"] == subjects()
    assert ["Last", "Commit 2"] == subjects(limit=2)
    assert ["Commit 2", "Commit 1", "Commit 0"] == subjects(path="t")
    assert [] == subjects(path="absent")


def test_an_option_is_no_revision(tmp_path: Path) -> None:
    """Only full ids reach a command line."""
    repository = Repository.open(new_checkout(tmp_path / "r", {"a": "1"}).folder)

    with pytest.raises(ValueError, match="not a full commit id"):
        list_files(repository, "--help")


@pytest.mark.parametrize("name", ["HEAD:secret.yaml", "main", "0" * 40 + "\nHEAD", ""])
def test_an_expression_is_no_id(tmp_path: Path, name: str) -> None:
    """Ids come from files that people edit, and git would follow an expression."""
    fleet = new_checkout(tmp_path / "fleet", {"secret.yaml": "a: 1\n"})

    with pytest.raises(GitError, match="is no id of an object of git"):
        list(read_blobs(Repository.open(fleet.folder), [name]))
