"""A mirror that was killed while it was made, or that git cannot read, is made anew."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.errors import UsageError
from reconciler.shell.git.command import MirrorBusy
from reconciler.shell.git.remotes.mirror import Mirror
from tests.shell.fleet import EXAMPLE, reconciler
from tests.shell.repositories import git, new_bare


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A remote with the example."""
    return new_bare(tmp_path / "remote.git", EXAMPLE)


def empty_objects(repository: Path) -> None:
    """Lose the content of every object, as a loss of power does."""
    for path in [*repository.glob("objects/??/*"), *repository.glob("objects/pack/*")]:
        path.chmod(0o644)
        os.truncate(path, 0)


def damaged_blobs(repository: Path) -> None:
    """Overwrite the end of every object but the commits."""
    head = git(repository, f"--git-dir={repository}", "rev-parse", "main")
    for path in repository.glob("objects/??/*"):
        if path.parent.name + path.name != head:
            path.chmod(0o644)
            path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)


def no_head(repository: Path) -> None:
    """Lose HEAD."""
    (repository / "HEAD").unlink()


def no_objects(repository: Path) -> None:
    """Lose the folder of objects."""
    (repository / "objects").rename(repository / "away")


def empty_reference(repository: Path) -> None:
    """Lose the content of the branch."""
    os.truncate(repository / "refs/heads/main", 0)


def bad_configuration(repository: Path) -> None:
    """Write nonsense into the configuration."""
    (repository / "config").write_text("[core\n")


def only_begun(repository: Path) -> None:
    """Leave what a killed `git init` may leave."""
    for name in ("HEAD", "objects", "refs", "config"):
        (repository / name).rename(repository.parent / f"reconciler-new-{name}")


DAMAGES = [
    empty_objects,
    damaged_blobs,
    no_head,
    no_objects,
    empty_reference,
    bad_configuration,
    only_begun,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_mirror_is_made_anew_at_the_start(
    tmp_path: Path, bare: Path, damage: Callable[[Path], None]
) -> None:
    """One pass is enough, and nothing of the remote changes but by that pass."""
    options = ["--remote", str(bare), "--mirror", str(tmp_path / "mirror")]
    assert 0 == reconciler(tmp_path, "reconcile", "--dry-run", *options).code
    damage(tmp_path / "mirror/repository.git")

    finished = reconciler(tmp_path, "reconcile", *options)

    assert 0 == finished.code, finished.stderr
    subject = git(bare, "log", "-1", "--format=%s", "main")
    assert subject.startswith("Place "), subject
    known = {"reconciler-remote", "reconciler-lock", "reconciler-askpass", "repository.git"}
    assert known == {path.name for path in (tmp_path / "mirror").iterdir()}
    git(tmp_path / "mirror/repository.git", f"--git-dir={tmp_path}/mirror/repository.git", "fsck")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_mirror_is_made_anew_while_it_is_used(
    tmp_path: Path, bare: Path, damage: Callable[[Path], None]
) -> None:
    """A fetch that fails finds it out, or a repair before the next try."""
    with Mirror.open(str(bare), tmp_path / "mirror") as mirror:
        head = mirror.fetch("main")
        damage(mirror.repository.common_dir)
        mirror.repair()

        assert head == mirror.fetch("main")
        assert not mirror.repair()


def test_a_sound_mirror_stays(tmp_path: Path, bare: Path) -> None:
    """Though the remote cannot be reached: what was fetched is not thrown away."""
    with Mirror.open(str(bare), tmp_path / "mirror") as mirror:
        head = mirror.fetch("main")
    bare.rename(tmp_path / "away")

    with Mirror.open(str(bare), tmp_path / "mirror") as mirror:
        assert not mirror.repair()
        assert head == mirror.repository.find("main")


@pytest.mark.parametrize("left", ["nothing", "empty-mark", "half-a-mark"])
def test_a_kill_while_the_folder_is_claimed_leaves_nothing_in_the_way(
    tmp_path: Path, bare: Path, left: str
) -> None:
    """The mark is written whole or not at all; a loss of power may empty it."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    if left != "nothing":
        name = "reconciler-remote" if left == "empty-mark" else "reconciler-new-1"
        (folder / name).touch()

    with Mirror.open(str(bare), folder) as mirror:
        assert mirror.fetch("main")


def test_the_folder_of_another_remote_stays_refused(tmp_path: Path, bare: Path) -> None:
    """Also where its owner is dead."""
    Mirror.open(str(bare), tmp_path / "mirror").close()
    (tmp_path / "mirror/reconciler-lock").write_text(json.dumps({"pid": 1}))

    with pytest.raises(UsageError, match="is the mirror of"):
        Mirror.open("https://example.com/r", tmp_path / "mirror")


def test_a_git_command_of_a_dead_process_keeps_the_folder(tmp_path: Path, bare: Path) -> None:
    """It inherited the lock, so nothing is removed under its hands."""
    first = Mirror.open(str(bare), tmp_path / "mirror")
    with first.repository.git.stream("cat-file", "--batch", stdin=()) as output:
        held = os.dup(first._place.lock)
        first.close()
        with pytest.raises(MirrorBusy):
            Mirror.open(str(bare), tmp_path / "mirror")
        output.read()
    os.close(held)
    Mirror.open(str(bare), tmp_path / "mirror").close()
