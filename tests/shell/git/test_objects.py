"""Reading trees, blobs and commits: one answer for each question, by processes that stay open."""

import gc
import select
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifests.text.raw import MAX_READ_BYTES, Oversized
from reconciler.model.records import replace
from reconciler.shell.git import repository as kept
from reconciler.shell.git.command import GitError
from reconciler.shell.git.history import is_ancestor, list_range, read_commit, read_commits
from reconciler.shell.git.objects import (
    ChangedFile,
    TreeEntry,
    changed_files,
    list_files,
    read_blobs,
    read_file,
)
from reconciler.shell.git.repository import CommitIdentity, Repository
from tests.cli.history import answer
from tests.shell.counted import CommandLog
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout, git, new_checkout


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
    assert [*changes[:3]] == [*changed_files(repository, old, new, but="t")]
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

    def subjects(*paths: str, most: int | None = None) -> list[str]:
        listed = list_range(repository, checkout.head(), paths=paths, most=most)
        return [commit.subject for commit in read_commits(repository, listed)]

    assert ["Last", "Commit 2", "Commit 1", "Commit 0", "Start"] == subjects()
    assert ["Last", "Commit 2"] == subjects(most=2)
    assert ["Commit 2", "Commit 1", "Commit 0"] == subjects("t")
    assert [] == subjects("absent")


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


HUGE = "x" * (MAX_READ_BYTES + 1)
Capsys = pytest.CaptureFixture[str]


def with_huge(checkout: Checkout, files: dict[str, str]) -> str:
    """Commit with a message above the limit of what is read; return the id."""
    checkout.write(files)
    checkout.git("add", "--all")
    git(checkout.folder, "commit", "--quiet", "--file=-", stdin=HUGE.encode())
    return checkout.head()


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_commit_with_a_huge_message_has_its_own_answer(tmp_path: Path, position: int) -> None:
    """Those behind it keep theirs."""
    checkout = new_checkout(tmp_path / "repo", {"a": "0"})
    for number in range(3):
        if number == position:
            huge = with_huge(checkout, {"a": str(number + 1)})
        else:
            checkout.commit({"a": str(number + 1)}, f"Change {number}")
    repository = Repository.open(checkout.folder)
    asked = checkout.git("rev-list", "HEAD").split()
    found = list(read_commits(repository, asked))

    assert asked == [one.revision for one in found]
    assert [huge] == [one.revision for one in found if one.unread]
    told = next(one for one in found if one.unread)
    assert "(a message of 16 MB, which is not read)" == told.subject
    assert "Ada <ada@example.com>" == str(told.author)


def test_history_names_the_right_person_behind_a_huge_message(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Whoever scaled the shop is told, not whoever committed beside."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    with_huge(fleet, {"notes.txt": "x"})
    text = (fleet.folder / "workloads/shop.yaml").read_text()
    fleet.commit({"workloads/shop.yaml": text.replace("replicas: 2", "replicas: 4")}, "Scale it")
    run_pass(fleet.folder, 60)
    with_huge(fleet, {"notes.txt": "y"})
    fleet.commit({"notes.txt": "z"}, "Note")

    assert "Ada: Scale it" in answer(fleet, capsys, "why", "deployment/shop")[1]
    assert "Ada: Start" in answer(fleet, capsys, "blame", "deployment/shop")[1]


BATCH = ("cat-file", "--batch")


def test_one_process_answers_question_after_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the head is looked up, and however many blobs are read."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    log = CommandLog(tmp_path / "bin", monkeypatch)
    repository = Repository.open(checkout.folder)
    blob = checkout.git("rev-parse", "HEAD:x")
    log.taken()

    for _ in range(3):
        repository.resolve("main")
        list(read_blobs(repository, [blob] * 200))

    assert ["cat-file", "cat-file"] == log.taken()


def test_a_process_that_was_asked_often_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hold every pack that it has ever seen, those that were joined since as well."""
    monkeypatch.setattr(kept, "MOST_USES", 3)
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    log = CommandLog(tmp_path / "bin", monkeypatch)
    repository = Repository.open(checkout.folder)
    log.taken()

    heads = {repository.resolve("main") for _ in range(7)}

    assert ({checkout.head()}, ["cat-file"] * 3) == (heads, log.taken())


def test_what_was_written_since_is_seen(tmp_path: Path) -> None:
    """A commit of a person, as loose objects, as a pack, and with packed references."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    repository = Repository.open(checkout.folder)
    for number, upkeep in enumerate(["status", "gc", "pack-refs"]):
        assert checkout.head() == repository.resolve("main")
        head = checkout.commit({"x": f"new {number}"})
        checkout.git(upkeep, "--quiet") if upkeep == "gc" else None
        checkout.git("pack-refs", "--all") if upkeep == "pack-refs" else None

        assert head == repository.resolve("main")
        [entry] = list_files(repository, head).values()
        assert [(entry.blob, f"new {number}".encode())] == list(
            read_blobs(repository, [entry.blob])
        )


def test_a_branch_that_goes_is_seen(tmp_path: Path) -> None:
    """Absent is no mistake of the process that answers."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    repository = Repository.open(checkout.folder)
    checkout.git("branch", "side")
    assert checkout.head() == repository.find("side")

    checkout.git("branch", "-D", "side")

    assert None is repository.find("side")
    assert checkout.head() == repository.find("main")


def test_a_reader_that_leaves_early_leaves_no_answers(tmp_path: Path) -> None:
    """The next one gets its own."""
    checkout = new_checkout(tmp_path / "r", {"x": "1", "y": "2"})
    repository = Repository.open(checkout.folder)
    one, two = (checkout.git("rev-parse", f"HEAD:{name}") for name in "xy")
    reading = read_blobs(repository, [one] * 50)
    assert (one, b"1") == next(reading)
    reading.close()  # type: ignore[attr-defined]

    assert [(two, b"2")] == list(read_blobs(repository, [two]))


def test_two_readers_at_a_time_get_their_own_answers(tmp_path: Path) -> None:
    """As where a file is looked up while others are read."""
    checkout = new_checkout(tmp_path / "r", {"x": "1", "y": "2"})
    repository = Repository.open(checkout.folder)
    one, two = (checkout.git("rev-parse", f"HEAD:{name}") for name in "xy")

    both = zip(
        read_blobs(repository, [one] * 300), read_blobs(repository, [two] * 300), strict=True
    )

    assert {((one, b"1"), (two, b"2"))} == set(both)


def test_another_repository_at_the_place_is_noticed(tmp_path: Path) -> None:
    """A person moved the first one away and cloned anew."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    repository = Repository.open(checkout.folder)
    first = repository.resolve("main")
    checkout.folder.rename(tmp_path / "old")
    other = new_checkout(tmp_path / "r", {"x": "another"})

    assert first != other.head()
    assert other.head() == repository.resolve("main")


def test_a_process_that_was_killed_is_replaced(tmp_path: Path) -> None:
    """It holds nothing that would be lost."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    repository = Repository.open(checkout.folder)
    blob = checkout.git("rev-parse", "HEAD:x")
    with repository.kept.lent(repository.git, *BATCH) as git:
        process = git.process
    process.kill()
    process.wait()

    assert [(blob, b"1")] == list(read_blobs(repository, [blob]))


@pytest.mark.parametrize("limit", [1 << 20, 1 << 10])
def test_a_piece_of_an_answer_is_no_answer(tmp_path: Path, limit: int) -> None:
    """A process that is killed within the last blob has not said what the file holds."""
    checkout = new_checkout(tmp_path / "r", {"x": "1", "y": "more than a pipe holds" * 20_000})
    repository = Repository.open(checkout.folder)
    ids = [checkout.git("rev-parse", f"HEAD:{name}") for name in "xy"]
    with repository.kept.lent(repository.git, *BATCH) as git:
        process, output = git.process, git.process.stdout
    assert output is not None
    reading = read_blobs(repository, ids, limit_bytes=limit)
    assert (ids[0], b"1") == next(reading)
    select.select([output], [], [])  # it has begun to tell the other one
    process.kill()
    process.wait()

    with pytest.raises(GitError, match="git cat-file: exit code -9"):
        next(reading)


def test_an_answer_that_does_not_come_is_given_up(tmp_path: Path) -> None:
    """Nothing was asked, so git says nothing."""
    repository = Repository.open(new_checkout(tmp_path / "r", {"x": "1"}).folder)
    hasty = replace(repository.git, timeout_seconds=0.2)

    with (
        pytest.raises(GitError, match=r"git cat-file took longer than 0\.2 seconds"),
        repository.kept.lent(hasty, *BATCH) as git,
    ):
        next(git.answers([b""]))


def test_the_processes_end_with_their_repository(tmp_path: Path) -> None:
    """None is left behind."""
    repository = Repository.open(new_checkout(tmp_path / "r", {"x": "1"}).folder)
    with repository.kept.lent(repository.git, *BATCH) as git:
        process = git.process
    assert None is process.poll()

    del repository, git
    gc.collect()

    assert None is not process.poll()


def test_grafts_are_ignored(tmp_path: Path) -> None:
    """They would cut off the first commit, and give the second one another parent."""
    checkout = new_checkout(tmp_path / "r", {"a.yaml": "1"})
    first = checkout.head()
    second = checkout.commit({"a.yaml": "2"})
    checkout.git("branch", "other")
    (checkout.folder / ".git/info/grafts").write_text(f"{second}\n")
    repository = Repository.open(checkout.folder)

    assert is_ancestor(repository, first, second)
    listed = read_commits(repository, list_range(repository, second))
    assert [second, first] == [commit.revision for commit in listed]
    assert "1" == checkout.git("rev-list", "--count", "HEAD")


SHOP = "workloads/shop.yaml"
ASKED: tuple[tuple[str, ...], ...] = (
    ("plan", "--base", "origin/main", "--head", "HEAD"),
    ("verify", "origin/main"),
    ("history", "deployment/shop"),
    ("blame", "deployment/shop"),
    ("get", "rb", "-A", "--at", "origin/main"),
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A repository in which a branch and `main` went on from a pass."""
    found = new_fleet(tmp_path_factory.mktemp("partial") / "fleet")
    run_pass(found.folder, 0)
    found.git("config", "uploadpack.allowFilter", "true")
    found.git("switch", "--quiet", "--create", "scaled")
    found.commit({SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 5")})
    found.git("switch", "--quiet", "main")
    found.commit({SHOP: EXAMPLE[SHOP].replace("image: ", "image:  ")})
    run_pass(found.folder, 60)
    return found


@pytest.mark.parametrize("objects", ["blob:none", "tree:0"])
def test_what_a_partial_clone_lacks_is_told_once_with_what_fetches_it(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: str
) -> None:
    """In one sentence, whatever is asked; what it says is all that it takes."""
    place = tmp_path / "clone"
    source = f"file://{fleet.folder}"
    git(tmp_path, "clone", "-q", f"--filter={objects}", "-b", "scaled", source, str(place))

    for arguments in ASKED:
        assert 1 == run(["-C", str(place), *arguments])
        shown = capsys.readouterr()
        sentence = (
            f"reconciler: this clone is partial ({objects}), and what is needed here was not "
            "fetched; fetch the rest with git fetch --refetch --no-filter origin\n"
        )
        assert ("", sentence) == (shown.out, shown.err), arguments

    git(place, "fetch", "-q", "--refetch", "--no-filter", "origin")
    for arguments in ASKED:
        assert 0 == run(["-C", str(place), *arguments]), capsys.readouterr()


def test_a_partial_clone_answers_what_it_has(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its checkout is whole."""
    place = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{fleet.folder}", str(place))

    assert 0 == run(["-C", str(place), "get", "deployments", "-A"])
    assert 0 == run(["-C", str(place), "validate"])
    assert "shop" in capsys.readouterr().out
