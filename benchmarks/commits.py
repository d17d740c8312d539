"""What a commit, its push and a lost race cost, all of them durable, and the disk alone."""

import contextlib
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figure import Figure, Unit, median_ms
from benchmarks.repositories import AUTHOR, make_bare, make_repository, push
from reconciler.core.changes import WriteFile
from reconciler.model.records import replace
from reconciler.shell.git.checkout.worktree import advance
from reconciler.shell.git.command import LostRace
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository

SIZES = (1000, 10_000)
LARGE = 100_000
OUTPUTS = (1, 100, 10_000)
ROUNDS = 5
NAMESPACES = 100
WAYS: Mapping[str, Mapping[str, str]] = {
    "nothing synced": {"core.fsync": "none"},
    "git's default": {"core.fsync": "default"},
    "all, in batches": {"core.fsync": "all", "core.fsyncMethod": "batch"},
    "all": {"core.fsync": "all"},
}
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def figures(large: bool) -> Iterator[Figure]:  # noqa: FBT001  # as groups are called
    """Yield commits onto repositories of each size, then the rest in small ones."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        yield Figure("fsync of 4 kB on this disk", _fsync(folder / "file"), Unit.MILLISECONDS)
        for size in (*SIZES, *((LARGE,) if large else ())):
            repository = make_bare(folder / str(size), _files(size, 0))
            for count in OUTPUTS:
                name = f"commit of {count:,} output{'s' * (count > 1)}, {size:,} files"
                yield Figure(name, _commits(repository, count), Unit.MILLISECONDS)
        for way, settings in WAYS.items():
            name = f"commit of 50 outputs in a checkout, core.fsync: {way}"
            took = _in_checkout(folder / way, settings)
            yield Figure(name, took, Unit.MILLISECONDS)
        yield from _pushes(folder)
    finally:
        shutil.rmtree(folder)


def _files(count: int, number: int) -> dict[str, str]:
    """Return outputs in some namespaces; `number` makes them differ."""
    return {
        f"status/resourcebindings.work.karmada.io/ns{i % NAMESPACES}/web-{i:06d}.yaml": (
            f"round: {number}, binding: {i}\n" * 40
        )
        for i in range(count)
    }


def _write(repository: Repository, head: str, changes: Sequence[WriteFile]) -> str:
    """Write a commit of a pass on top of another."""
    return write_commit(repository, changes, parent=head, message="Place", at=NOW, author=AUTHOR)


def _rounds(count: int) -> Iterator[list[WriteFile]]:
    """Yield the changes of some commits."""
    for number in range(1, ROUNDS + 1):
        yield [WriteFile(path, text) for path, text in _files(count, number).items()]


def _commits(repository: Repository, count: int) -> float:
    """Return the milliseconds of a commit of so many outputs, until the branch is there."""
    times = []
    for changes in _rounds(count):

        def commit(changes: Sequence[WriteFile] = changes) -> None:
            head = repository.resolve("main")
            publish(repository, "main", old=head, new=_write(repository, head, changes))

        times.append(median_ms(1, commit))
    return statistics.median(times)


def _in_checkout(folder: Path, settings: Mapping[str, str]) -> float:
    """Return the same for 50 outputs with the checkout that follows, synced in one of the ways."""
    make_repository(folder, 20)
    opened = Repository.open(folder)
    repository = replace(opened, git=opened.git.having(settings=settings))
    times = []
    for changes in _rounds(50):

        def commit(changes: Sequence[WriteFile] = changes) -> None:
            head = repository.resolve("main")
            advance(repository, "main", old=head, new=_write(repository, head, changes))

        times.append(median_ms(1, commit))
    return statistics.median(times)


def _pushes(folder: Path) -> Iterator[Figure]:
    """Yield the push of a commit of 100 outputs, and what a race costs that was lost before it."""
    remote = make_bare(folder / "remote", _files(1000, 0))
    with Mirror.open(str(folder / "remote"), folder / "mirror") as mirror:
        repository, pushes, races = mirror.repository, [], []
        for number, changes in enumerate(_rounds(100)):
            head = _fetched(mirror)
            commit = _write(repository, head, changes)
            pushes.append(
                median_ms(1, lambda old=head, new=commit: mirror.push("main", old=old, new=new))  # type: ignore[misc]
            )
            stale = _write(repository, commit, [WriteFile("status/late.yaml", f"n: {number}\n")])
            push(remote, {"workloads/new.yaml": f"number: {number}\n"}, at=NOW)

            def lose(head: str = commit, late: str = stale, number: int = number) -> None:
                with contextlib.suppress(LostRace):
                    mirror.push("main", old=head, new=late)
                head = _fetched(mirror)
                again = [WriteFile(path, text) for path, text in _files(100, -number - 1).items()]
                mirror.push("main", old=head, new=_write(repository, head, again))

            races.append(median_ms(1, lose))
    yield Figure(
        "push of 100 outputs to a local repository", statistics.median(pushes), Unit.MILLISECONDS
    )
    yield Figure(
        "lost race on top of a push",
        statistics.median(races),
        Unit.MILLISECONDS,
        "refused, fetched, written and pushed again",
    )


def _fetched(mirror: Mirror) -> str:
    """Return what the remote's branch is at."""
    head = mirror.fetch("main")
    assert head is not None  # noqa: S101  # it was made with a commit
    return head


def _fsync(place: Path) -> float:
    """Return the milliseconds that the disk takes for one small file."""

    def write() -> None:
        with place.open("wb") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())

    return median_ms(15, write)
