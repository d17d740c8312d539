"""What it costs that a commit is on the disk before its branch moves."""

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from reconciler.core.changes import WriteFile
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.identity import CommitIdentity
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.worktree import advance

ROUNDS = 15
SIZES = (1, 50, 1000)
WAYS = {
    "nothing synced": {"core.fsync": "none"},
    "git's default": {"core.fsync": "default"},
    "all, in batches": {"core.fsync": "all", "core.fsyncMethod": "batch"},
    "all": {"core.fsync": "all"},
}
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="durable-", dir=sys.argv[1] if sys.argv[1:] else None))
    try:
        print("commit, branch and checkout in ms, the best of some: load only ever adds")
        print("files  " + "".join(f"{way:>18}" for way in WAYS))
        for files in SIZES:
            best = [1000 * min(measured(folder, way, files)) for way in WAYS]
            print(f"{files:5}  " + "".join(f"{milliseconds:18.1f}" for milliseconds in best))
    finally:
        shutil.rmtree(folder)


def measured(folder: Path, way: str, files: int) -> list[float]:
    """Return the seconds of some commits of so many files, each followed by a checkout."""
    place = folder / f"{way}-{files}"
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(place)], check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    start = ["commit", "--quiet", "--allow-empty", "--message=Start"]
    subprocess.run(["git", *identity, *start], cwd=place, check=True)
    opened = Repository.open(place)
    repository = replace(opened, git=opened.git.having(settings=WAYS[way]))
    head = repository.resolve("main")
    seconds = []
    for number in range(ROUNDS):
        changes = [WriteFile(f"status/{i:05d}.yaml", f"{number} {i}\n" * 50) for i in range(files)]
        begin = time.perf_counter()
        commit = write_commit(
            repository,
            changes,
            parent=head,
            message="Place",
            at=NOW,
            author=CommitIdentity("r", "r@x"),
        )
        advance(repository, "main", old=head, new=commit)
        seconds.append(time.perf_counter() - begin)
        head = commit
    return seconds


if __name__ == "__main__":
    main()
