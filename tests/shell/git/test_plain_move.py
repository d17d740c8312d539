"""Files of a checkout that move without git comparing all of it, and those that do not."""

from pathlib import Path

import pytest

from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.checkout.worktree import advance
from reconciler.shell.git.command import CheckoutBusy
from reconciler.shell.git.repository import Repository
from tests.shell.counted import CommandLog
from tests.shell.git.test_worktree import commit, photograph
from tests.shell.repositories import Checkout, new_checkout

FILES = {"status/a.yaml": "a\n", "status/gone.yaml": "gone\n", "mine.yaml": "mine\n"}
CHANGES = (
    WriteFile("status/a.yaml", "new\n"),
    WriteFile("status/deep/b.yaml", "b\n"),
    DeleteFile("status/gone.yaml"),
)


def move(checkout: Checkout) -> tuple[KeptEdit, ...]:
    """Let the checkout follow a commit; return the edits that stay."""
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")
    new = commit(repository, *CHANGES, parent=old)
    return advance(repository, "main", old=old, new=new)


def test_git_moves_what_it_converts(tmp_path: Path) -> None:
    """The file of the checkout is not, byte for byte, that of the commit; nobody edited it."""
    files = {".gitattributes": "*.yaml text eol=crlf\n", **FILES}
    checkout = new_checkout(tmp_path / "r", files)
    (checkout.folder / "status/a.yaml").unlink()
    checkout.git("checkout", "status/a.yaml")

    move(checkout)

    assert b"new\r\n" == (checkout.folder / "status/a.yaml").read_bytes()
    assert "" == checkout.status()


def test_an_executable_file_follows(tmp_path: Path) -> None:
    """It becomes a plain one, as every file of ours is."""
    checkout = new_checkout(tmp_path / "r", FILES)
    (checkout.folder / "status/a.yaml").chmod(0o755)
    checkout.git("commit", "--quiet", "--all", "--message=mode")

    move(checkout)

    assert 0 == (checkout.folder / "status/a.yaml").stat().st_mode & 0o111
    assert "" == checkout.status()


def test_a_changed_mode_is_an_edit(tmp_path: Path) -> None:
    """Content alone does not tell."""
    checkout = new_checkout(tmp_path / "r", FILES)
    (checkout.folder / "status/a.yaml").chmod(0o755)

    [kept] = move(checkout)

    assert "status/a.yaml" == kept.path
    assert " M status/a.yaml" == checkout.status()


@pytest.mark.parametrize("theirs", ["status/deep/b.yaml/theirs", "status/deep"])
def test_a_staged_path_that_excludes_a_new_file_refuses_the_move(
    tmp_path: Path, theirs: str
) -> None:
    """The index cannot hold both, and the person's stays."""
    checkout = new_checkout(tmp_path / "r", FILES)
    blob = checkout.git("rev-parse", "HEAD:mine.yaml")
    checkout.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{theirs}")
    head, before = checkout.head(), photograph(checkout.folder)

    with pytest.raises(CheckoutBusy, match=rf'"{theirs}" is staged where a folder'):
        move(checkout)

    assert head == checkout.head()
    assert before == photograph(checkout.folder)


def test_a_person_who_stages_elsewhere_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git compares nothing but what moves."""
    checkout = new_checkout(tmp_path / "r", FILES)
    checkout.write({"mine.yaml": "edited\n", "new.yaml": "new\n"})
    checkout.git("add", "new.yaml")
    log = CommandLog(tmp_path / "bin", monkeypatch)

    move(checkout)

    assert "read-tree" not in log.taken()
    assert " M mine.yaml\nA  new.yaml" == checkout.status()
