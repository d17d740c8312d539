"""Writing commits, moving branches, and an index of what commits changed."""

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.shell.git.command import GitError, LostRace, PathBlocked
from reconciler.shell.git.commits import (
    MANY,
    EarlierCommit,
    check_path,
    remove_dead_imports,
    write_commit,
)
from reconciler.shell.git.held_objects import new_folder
from reconciler.shell.git.history import (
    FEW,
    GRAPH,
    MOST_KEPT,
    ChangedPaths,
    FolderLine,
    list_range,
    read_commit,
)
from reconciler.shell.git.objects import list_files, read_file
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import CommitIdentity, Repository
from tests.shell.repositories import NOW, Checkout, git, new_bare, new_checkout

ROBOT = CommitIdentity("reconciler", "reconciler@example.com")


def commit(
    repository: Repository, *changes: Change, parent: str | None, message: str = "Place web"
) -> str:
    """Write a commit with the dullest of everything."""
    return write_commit(repository, changes, parent=parent, message=message, at=NOW, author=ROBOT)


def opened(tmp_path: Path) -> tuple[Repository, str]:
    """A bare repository with two files, and its head."""
    repository = Repository.open(new_bare(tmp_path / "b.git", {"a.yaml": "a", "s/b.yaml": "b"}))
    return repository, repository.resolve("main")


def test_a_commit_holds_the_changes_and_the_rest(tmp_path: Path) -> None:
    """Written, replaced, deleted; a folder that becomes empty is gone."""
    repository, parent = opened(tmp_path)

    new = commit(
        repository,
        WriteFile("a.yaml", "new"),
        DeleteFile("s/b.yaml"),
        DeleteFile("s/absent.yaml"),
        WriteFile("status/größe.yaml", "größe\n"),
        WriteFile('"quoted" name', "q"),
        WriteFile(" lead and trail ", "w"),
        parent=parent,
    )

    assert [" lead and trail ", '"quoted" name', "a.yaml", "status/größe.yaml"] == list(
        list_files(repository, new)
    )
    assert "größe\n".encode() == read_file(repository, new, "status/größe.yaml")
    written = read_commit(repository, new)
    assert (ROBOT, NOW, "Place web", (parent,)) == (
        written.author, written.committed_at, written.subject, written.parents,
    )  # fmt: skip


def test_nothing_but_objects_is_left_behind(tmp_path: Path) -> None:
    """No branch moves, no temporary reference remains, the repository is sound."""
    repository, parent = opened(tmp_path)
    before = git(repository.git_dir, "for-each-ref")

    commit(repository, WriteFile("x", "y"), parent=parent)

    assert before == git(repository.git_dir, "for-each-ref")
    assert not list((repository.git_dir / "refs").glob("reconciler/*"))
    git(repository.git_dir, "fsck", "--strict")


def test_same_arguments_same_id(tmp_path: Path) -> None:
    """Two daemons that decide the same write the same commit."""
    repository, parent = opened(tmp_path)
    other = Repository.open(new_bare(tmp_path / "c.git", {"a.yaml": "a", "s/b.yaml": "b"}))

    first = commit(repository, WriteFile("x", "y"), parent=parent)

    assert first == commit(repository, WriteFile("x", "y"), parent=parent)
    assert first == commit(other, WriteFile("x", "y"), parent=parent)


def test_an_equal_tree_is_no_commit(tmp_path: Path) -> None:
    """Writing what is there, or deleting what is not, answers with the parent."""
    repository, parent = opened(tmp_path)

    assert parent == commit(repository, parent=parent)
    assert parent == commit(repository, WriteFile("a.yaml", "a"), DeleteFile("gone"), parent=parent)


def test_the_last_file_can_go(tmp_path: Path) -> None:
    """An empty tree is a tree, and stays one."""
    repository, parent = opened(tmp_path)

    empty = commit(repository, DeleteFile("a.yaml"), DeleteFile("s/b.yaml"), parent=parent)

    assert {} == list_files(repository, empty)
    assert empty == commit(repository, DeleteFile("a.yaml"), parent=empty)


def test_a_history_can_begin(tmp_path: Path) -> None:
    """As an output branch does that does not exist yet."""
    repository, _ = opened(tmp_path)

    first = commit(repository, WriteFile("x", "y"), parent=None)
    publish(repository, "decisions", old=None, new=first)

    assert () == read_commit(repository, first).parents
    assert first == repository.resolve("decisions")


def test_a_subfolder_root_is_put_before_every_path(tmp_path: Path) -> None:
    """A monorepo: the rest of the repository is out of reach."""
    checkout = new_checkout(tmp_path / "r", {"team/a.yaml": "a", "a.yaml": "top"})
    repository = Repository.open(checkout.folder / "team")

    new = commit(repository, DeleteFile("a.yaml"), WriteFile("b.yaml", "b"), parent=checkout.head())

    assert ["a.yaml", "team/b.yaml"] == list(list_files(repository, new))


def test_a_sha256_repository_is_written(tmp_path: Path) -> None:
    """The id has the repository's length."""
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "r")
    repository = Repository.open(tmp_path / "r")

    assert 64 == len(commit(repository, WriteFile("x", "y"), parent=None))
    assert "" == git(tmp_path / "r", "for-each-ref")


@pytest.mark.parametrize(
    "path",
    [
        "", "/abs", "../x", "a/../b", "a//b", "a/", "./a", ".git/config", "a/.GIT/x", ".git",
        "git~1/x", "GIT~2", ".git /x", ".git./x", ".g\u200cit/x", ".git::$INDEX_ALLOCATION/x",
        "a\nb", "a\0b", "a\\b", "a\x7f", "x" * 256, "y/" * 3000 + "z",
    ],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    """Git itself accepts some of them."""
    repository, parent = opened(tmp_path)

    with pytest.raises(ValueError, match=r"has a |must be relative|is longer"):
        commit(repository, WriteFile(path, "x"), parent=parent)


@pytest.mark.parametrize("path", [".github/x.yaml", "a/.gitignore", "git/x", "..a", "a..b/c"])
def test_a_path_that_only_looks_like_it_passes(path: str) -> None:
    """Dots are no crime."""
    assert path == check_path(path)


def test_a_path_twice_is_refused(tmp_path: Path) -> None:
    """Which one wins would be an accident."""
    repository, parent = opened(tmp_path)

    with pytest.raises(ValueError, match="changed twice"):
        commit(repository, WriteFile("x", "1"), DeleteFile("x"), parent=parent)
    with pytest.raises(ValueError, match="a file and a folder"):
        commit(repository, WriteFile("x", "1"), WriteFile("x/y", "1"), parent=parent)


@pytest.mark.parametrize("beside", [0, 100], ids=["few-paths", "many-paths"])
def test_a_symlinked_folder_is_not_written_through(tmp_path: Path, beside: int) -> None:
    """Nor is it replaced, nor a file by a folder, nor a folder by a file."""
    others = [WriteFile(f"beside/{i}", "x") for i in range(beside)]
    checkout = new_checkout(tmp_path / "r", {"file": "f", "folder/x": "x"})
    (checkout.folder / "status").symlink_to(tmp_path)
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", "--message=x")
    repository = Repository.open(checkout.folder)

    for path in ("status/x", "file/x", "folder"):
        with pytest.raises(PathBlocked, match="is something else; move it away"):
            commit(repository, WriteFile(path, "x"), *others, parent=checkout.head())
    assert checkout.head() != commit(
        repository, WriteFile("folder/x", "y"), *others, parent=checkout.head()
    )


@pytest.mark.parametrize(
    "identity",
    [
        CommitIdentity("a\nb", "x"),
        CommitIdentity("a", "b>c"),
        CommitIdentity("<", "x"),
        CommitIdentity("", "x"),
    ],
)
def test_an_identity_cannot_forge_a_header(tmp_path: Path, identity: CommitIdentity) -> None:
    """Line breaks and brackets would end the field."""
    repository, parent = opened(tmp_path)

    with pytest.raises(ValueError, match="printable text"):
        write_commit(
            repository, [], parent=parent, message="x", at=NOW + timedelta(1), author=identity
        )


def test_a_message_cannot_end_the_stream(tmp_path: Path) -> None:
    """It is counted, not parsed."""
    repository, parent = opened(tmp_path)

    new = commit(
        repository, WriteFile("x", "y"), parent=parent, message="x\n\ndone\nreset refs/heads/main\n"
    )

    assert "done\nreset refs/heads/main" == read_commit(repository, new).body
    assert parent == repository.resolve("main")


def test_a_branch_moves_only_from_where_it_was(tmp_path: Path) -> None:
    """The loser learns it, and nothing of the winner is lost."""
    repository, parent = opened(tmp_path)
    ours = commit(repository, WriteFile("x", "ours"), parent=parent)
    theirs = commit(repository, WriteFile("x", "theirs"), parent=parent)

    publish(repository, "main", old=parent, new=theirs)

    with pytest.raises(LostRace, match='branch "main" is at'):
        publish(repository, "main", old=parent, new=ours)
    assert theirs == repository.resolve("main")
    publish(repository, "main", old=parent, new=theirs)


def test_a_deleted_branch_does_not_come_back(tmp_path: Path) -> None:
    """Whoever deleted it meant it."""
    repository, parent = opened(tmp_path)
    new = commit(repository, WriteFile("x", "y"), parent=parent)
    git(repository.git_dir, "update-ref", "-d", "refs/heads/main")

    with pytest.raises(LostRace, match="nothing"):
        publish(repository, "main", old=parent, new=new)


def test_a_lock_is_waited_for_and_never_removed(tmp_path: Path) -> None:
    """Whoever holds it is at work."""
    repository, parent = opened(tmp_path)
    new = commit(repository, WriteFile("x", "y"), parent=parent)
    lock = repository.git_dir / "refs/heads/main.lock"
    lock.touch()
    waits: list[float] = []

    with pytest.raises(GitError, match="lock"):
        publish(repository, "main", old=parent, new=new, sleep=waits.append)

    assert lock.exists()
    assert 5 == len(waits)
    publish(repository, "main", old=parent, new=new, sleep=lambda _: lock.unlink())
    assert new == repository.resolve("main")


def test_of_many_writers_exactly_one_wins(tmp_path: Path) -> None:
    """Compare and swap, with real processes."""
    repository, parent = opened(tmp_path)
    heads = [commit(repository, WriteFile("x", str(i)), parent=parent) for i in range(8)]
    won: list[str] = []

    def move(new: str) -> None:
        try:
            publish(repository, "main", old=parent, new=new)
        except LostRace:
            return
        won.append(new)

    threads = [threading.Thread(target=move, args=(head,)) for head in heads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [repository.resolve("main")] == won


def test_a_folder_taken_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another root clears up at that very moment, and cannot know that somebody is at work."""
    repository, head = opened(tmp_path)
    made: list[Path] = []

    def take_the_first(place: Path) -> Path:
        made.append(new_folder(place))
        if len(made) == 1:
            remove_dead_imports(repository)
        return made[-1]

    monkeypatch.setattr("reconciler.shell.git.commits.new_folder", take_the_first)
    new = commit(repository, WriteFile("c.yaml", "c"), parent=head)

    assert 2 == len(made)
    assert b"c" == read_file(repository, new, "c.yaml")
    assert not any(folder.exists() for folder in made)


@pytest.mark.parametrize("meanwhile", ["notes.txt", "status/notes.txt", "status/0.yaml"])
@pytest.mark.parametrize("collected", [False, True], ids=["kept", "collected"])
def test_what_lost_a_race_is_written_again_alike(
    tmp_path: Path,
    meanwhile: str,
    collected: bool,  # noqa: FBT001
) -> None:
    """To the id, on whatever came meanwhile, and with all its objects; what others wrote stays."""
    repository, head = opened(tmp_path)
    changes: list[Change] = [WriteFile(f"status/{number}.yaml", f"{number}") for number in range(9)]
    moved = commit(repository, WriteFile(meanwhile, "theirs"), parent=head)
    git(repository.git_dir, "update-ref", "refs/heads/main", moved)
    with repository.held:
        lost = commit(repository, *changes, DeleteFile("a.yaml"), parent=head)
        if collected:
            git(repository.git_dir, "gc", "--quiet", "--prune=now")
        earlier = EarlierCommit(
            revision=lost, parent=head, changes=[*changes, DeleteFile("a.yaml")], folder="status"
        )
        changes[-1] = WriteFile(changes[-1].path, "later")
        again = write_commit(
            repository,
            [*changes, DeleteFile("a.yaml")],
            parent=moved,
            message="Place web",
            at=NOW,
            author=ROBOT,
            earlier=earlier,
        )
        git(repository.git_dir, "update-ref", "refs/heads/main", again)
    git(repository.git_dir, "gc", "--quiet", "--prune=now")

    assert again == commit(repository, *changes, DeleteFile("a.yaml"), parent=moved)
    assert {meanwhile, "s/b.yaml", *(one.path for one in changes)} == set(
        list_files(repository, again)
    )
    git(repository.git_dir, "fsck", "--strict")


@pytest.mark.parametrize("files", [1, 200], ids=["small", "large"])
def test_a_commit_is_one_pack(tmp_path: Path, files: int) -> None:
    """Nothing is synced by itself, and a collector that leaves packs alone leaves all of it."""
    repository, head = opened(tmp_path)
    edits = [WriteFile(f"status/{number}.yaml", f"{number}") for number in range(files)]

    new = commit(repository, *edits, parent=head)

    [pack] = (repository.git_dir / "objects/pack").glob("*.idx")
    held = git(repository.git_dir, "verify-pack", "--verbose", str(pack))
    assert 3 + files == sum(" commit " in f" {line} " or " blob " in line or " tree " in line
                            for line in held.splitlines())  # fmt: skip
    assert new in held


def test_packs_of_passes_stay_few(tmp_path: Path) -> None:
    """They are joined, and nothing is lost."""
    repository, head = opened(tmp_path)
    for number in range(3 * MANY):
        head = commit(repository, WriteFile("status/a.yaml", f"{number}"), parent=head)
    git(repository.git_dir, "update-ref", "refs/heads/main", head)

    assert MANY + 2 >= len([*(repository.git_dir / "objects/pack").glob("*.pack")])
    git(repository.git_dir, "fsck", "--strict")
    assert b"0" == read_file(
        repository, commit_before(repository, head, 3 * MANY - 1), "status/a.yaml"
    )


def commit_before(repository: Repository, head: str, generations: int) -> str:
    """Return an ancestor."""
    return git(repository.git_dir, "rev-parse", f"{head}~{generations}")


def test_a_submodule_is_not_written_over(tmp_path: Path) -> None:
    """Neither in its place nor below it."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{checkout.head()},sub")
    checkout.git("commit", "--quiet", "--message=sub")
    repository = Repository.open(checkout.folder)

    for path in ("sub", "sub/x"):
        with pytest.raises(PathBlocked, match=r'"sub" must be a (file|folder), but is'):
            commit(repository, WriteFile(path, "x"), parent=checkout.head())


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


MADE = "Decide\n\nMade-By: us\n"


def test_a_line_goes_on_where_merges_have_a_folder_from(tmp_path: Path) -> None:
    """However often somebody merges who has written elsewhere meanwhile, root commit included."""
    checkout = new_checkout(tmp_path / "repository", {"status/a.yaml": "0", "note.txt": "0"})
    passes = [checkout.head()]
    for number in range(3):
        checkout.git("checkout", "--quiet", "-B", "theirs", passes[-1])
        checkout.commit({"note.txt": f"{number + 1}"})
        checkout.git("checkout", "--quiet", "-B", "main", passes[-1])
        passes.append(checkout.commit({"status/a.yaml": f"{number + 1}"}, MADE))
        checkout.git("checkout", "--quiet", "-B", "main", "theirs")
        checkout.git("merge", "--quiet", "--no-edit", passes[-1])
        passes.append(checkout.head())
    repository = Repository.open(checkout.folder)
    line = FolderLine(repository, "status", "Made-By")

    def listed(*paths: str) -> list[str]:
        return line.commits(passes[-1], paths=paths, index=repository)[::-1]

    assert passes == listed()
    assert [passes[0], *passes[1::2]] == listed("status/a.yaml")
    assert [passes[0], *passes[2::2]] == listed("note.txt")
    assert passes[3:] == line.commits(passes[-1], but=(passes[2],), index=repository)[::-1]
    merge = read_commit(repository, passes[-1])
    assert passes[-2] == line.parents_of(merge)[0] != merge.parents[0]


def test_a_line_stays_where_a_merge_drops_what_was_changed(tmp_path: Path) -> None:
    """The folder of the first parent would be left out, and with it who changed that."""
    checkout = new_checkout(tmp_path / "repository", {"status/a.yaml": "0"})
    start = checkout.head()
    other = checkout.commit({"status/a.yaml": "1"}, MADE)
    checkout.git("checkout", "--quiet", "-B", "main", start)
    first = checkout.commit({"status/a.yaml": "2"})
    checkout.git("merge", "--quiet", "--no-edit", "--strategy-option=theirs", other)
    repository = Repository.open(checkout.folder)

    line = FolderLine(repository, "status", "Made-By").commits(checkout.head(), index=repository)

    assert [checkout.head(), first, start] == line


def test_a_line_stays_where_somebody_else_changed_the_folder(tmp_path: Path) -> None:
    """Who merged that is told, too."""
    checkout = new_checkout(tmp_path / "repository", {"status/a.yaml": "0"})
    start = checkout.head()
    checkout.git("checkout", "--quiet", "-b", "fix")
    checkout.commit({"status/a.yaml": "1"})
    checkout.git("checkout", "--quiet", "main")
    checkout.git("merge", "--quiet", "--no-edit", "--no-ff", "fix")
    repository = Repository.open(checkout.folder)

    line = FolderLine(repository, "status", "Made-By").commits(checkout.head(), index=repository)

    assert [checkout.head(), start] == line
