"""Git processes that stay open: fresh answers, one reader each, gone with their repository."""

import gc
import select
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.shell.git import repository as kept
from reconciler.shell.git.command import GitError
from reconciler.shell.git.objects import list_files, read_blobs
from reconciler.shell.git.repository import Repository
from tests.shell.counted import CommandLog
from tests.shell.repositories import new_checkout

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
