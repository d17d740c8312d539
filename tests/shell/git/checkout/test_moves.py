"""Checkouts that move beside people: they commit what they named, and their edits stay."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.errors import ShellError
from reconciler.shell.git.checkout import worktree
from reconciler.shell.git.checkout.moves import BEFORE, KeptEdit, LockedIndex, mend_indexes
from reconciler.shell.git.checkout.worktree import advance
from reconciler.shell.git.command import CheckoutBusy, LostRace
from reconciler.shell.git.repository import Repository
from tests.bounded import is_bounded
from tests.builders import cluster, deployment, groups, policy, text
from tests.cli.history import answer, answer_json
from tests.shell.counted import CommandLog
from tests.shell.fleet import eventually, patiently, running
from tests.shell.git.checkout.test_worktree import commit, photograph
from tests.shell.repositories import ENVIRONMENT, Checkout, git, new_checkout

MANY_COMMANDS = pytest.mark.cpu_seconds(60)  # many git commands
PATIENT = pytest.mark.timeout(120)

OURS = {"status/a.yaml": "a: 2\n", "status/new.yaml": "n: 1\n"}
STEPS = ("locked", "indexed", "moved", "written")
COMMANDS = {
    "add-commit": [["add", "note.txt"], ["commit", "--quiet", "-m", "note"]],
    "commit-all": [["add", "note.txt"], ["commit", "--quiet", "-a", "-m", "note"]],
    "commit-path": [["add", "note.txt"], ["commit", "--quiet", "-m", "note", "--", "note.txt"]],
    "stash": [["stash", "--quiet", "--include-untracked"], ["stash", "pop", "--quiet"]],
    "switch": [["switch", "--quiet", "-c", "mine"], ["switch", "--quiet", "main"]],
    "status": [["status", "--short"]],
}


def start(folder: Path, kind: str) -> tuple[Checkout, Repository, str, str]:
    """A checkout with outputs, and a commit of a pass that changes, adds and removes some."""
    first = {"status/a.yaml": "a: 1\n", "status/old.yaml": "o: 1\n", "work.yaml": "w: 1\n"}
    checkout = new_checkout(folder / "repo", first)
    if kind == "line-ends":
        checkout.commit({".gitattributes": "status/** text eol=crlf\n"})
    if kind == "linked":
        checkout.git("switch", "--quiet", "-c", "aside")
        checkout.git("worktree", "add", "--quiet", str(folder / "linked"), "main")
        checkout = Checkout(folder / "linked")
    old = checkout.head()
    git(checkout.folder, "switch", "--quiet", "--detach")
    checkout.write(OURS)
    (checkout.folder / "status/old.yaml").unlink()
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", "-m", "Place a")
    new = checkout.head()
    checkout.git("switch", "--quiet", "main")
    return checkout, Repository.open(checkout.folder), old, new


def at_step(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], None]) -> None:
    """Let something happen once a move has come to a step."""

    def after(target: object, name: str, *, before: bool = False) -> None:
        real = getattr(target, name)

        def wrapped(*arguments: object, **named: object) -> object:
            if before:
                act()
                return real(*arguments, **named)
            found = real(*arguments, **named)
            act()
            return found

        monkeypatch.setattr(target, name, wrapped)

    match step:
        case "locked":
            after(worktree, "_install_ahead", before=True)
        case "indexed":
            after(worktree, "_install_ahead")
        case "moved":
            after(worktree, "_publish")
        case "written":
            after(LockedIndex, "install", before=True)


def named_by_people(checkout: Checkout) -> set[str]:
    """The paths of all commits but the first and those of passes, on any branch."""
    found: set[str] = set()
    log = checkout.git("log", "--all", "--format=%H %s")
    for line in filter(None, log.splitlines()):
        revision, _, subject = line.partition(" ")
        if subject == "note":
            listed = checkout.git("show", "--name-only", "--format=", revision)
            found.update(filter(None, listed.split("\n")))
    return found


@MANY_COMMANDS
@PATIENT
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", ["plain", "line-ends", "linked"])
def test_a_command_at_any_step_commits_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str, step: str
) -> None:
    """It waits, or fails, or succeeds; afterwards the status shows only what the person did."""
    if is_bounded() and kind != "plain" and name not in ("add-commit", "commit-all"):
        pytest.skip("a share of the cases: tests/bounded.py")
    checkout, repository, old, new = start(tmp_path, kind)
    checkout.write({"note.txt": "mine\n"})

    def act() -> None:
        for arguments in COMMANDS[name]:
            subprocess.run(
                ["git", *arguments],
                cwd=checkout.folder,
                env=ENVIRONMENT,
                capture_output=True,
                check=False,
            )

    at_step(monkeypatch, step, act)
    try:
        advance(repository, "main", old=old, new=new)
    except ShellError:
        monkeypatch.undo()
        advance(repository, "main", old=old, new=new)
    mend_indexes(repository, "main")

    assert named_by_people(checkout) <= {"note.txt"}
    left = [line[3:] for line in checkout.git("status", "--porcelain").splitlines()]
    assert left in ([], ["note.txt"])
    whole = checkout.git("show", "HEAD:status/a.yaml").strip()  # a person may have left the branch
    assert whole == (checkout.folder / "status/a.yaml").read_text().strip()
    assert (name == "switch") or "a: 2" == whole


@MANY_COMMANDS
@PATIENT
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not there")
@pytest.mark.parametrize("style", ["index", "path", "all"])
def test_a_commit_that_began_before_the_pass_never_takes_it_back(
    tmp_path: Path, style: str
) -> None:
    """It has read HEAD and the index, and gets the lock when the pass has let go of it."""
    checkout, repository, old, new = start(tmp_path, "plain")
    checkout.write({"note.txt": "mine\n"})
    checkout.git("add", "note.txt")
    more = {"index": [], "path": ["--", "note.txt"], "all": ["-a"]}[style]
    lock, held = checkout.folder / ".git/index.lock", tmp_path / "held"
    command = [
        "strace", "-qq", "-f", "-o", str(held), "-P", str(lock), "-e", "trace=openat",
        "-e", "inject=openat:delay_enter=1500000", "git", "commit", "--quiet", "-m", "note", *more,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=checkout.folder, env=ENVIRONMENT, stderr=subprocess.DEVNULL
    )
    eventually(held.exists, "the start of git")
    waits = threading.Event()
    waits.wait(0.7)  # git has read the index by then, or reads it after the pass: both must do
    advance(repository, "main", old=old, new=new)
    process.wait()
    mended = mend_indexes(repository, "main")
    again = mend_indexes(repository, "main")

    assert named_by_people(checkout) <= {"note.txt"}
    left = {line[3:] for line in checkout.git("status", "--porcelain").splitlines()}
    assert left <= {"note.txt"}
    assert len(mended) <= 1
    assert () == again


@MANY_COMMANDS
@PATIENT
def test_an_index_that_was_put_back_is_mended_and_told_once(tmp_path: Path) -> None:
    """What a person staged besides stays staged; their own edit of an output is left alone."""
    checkout, repository, old, new = start(tmp_path, "plain")
    before = (checkout.folder / ".git/index").read_bytes()
    advance(repository, "main", old=old, new=new)
    index = checkout.folder / ".git/index"
    index.unlink()
    index.write_bytes(before)
    checkout.write({"work.yaml": "w: 9\n", "note.txt": "mine\n"})
    checkout.git("add", "work.yaml", "note.txt")

    assert "status/a.yaml" in checkout.git("diff", "--cached", "--name-only")
    [told] = mend_indexes(repository, "main")
    assert "for 3 paths; it is as the branch again" in told
    assert () == mend_indexes(repository, "main")
    assert "note.txt\nwork.yaml" == checkout.git("diff", "--cached", "--name-only").strip()


@MANY_COMMANDS
@PATIENT
def test_a_person_who_stages_an_edit_of_an_output_keeps_it(tmp_path: Path) -> None:
    """What is neither as before the step, nor on disk as after it, is theirs."""
    checkout, repository, old, new = start(tmp_path, "plain")
    advance(repository, "main", old=old, new=new)
    checkout.write({"status/a.yaml": "a: 1\n"})
    checkout.git("add", "status/a.yaml")

    assert () == mend_indexes(repository, "main")
    assert "status/a.yaml" == checkout.git("diff", "--cached", "--name-only").strip()


@MANY_COMMANDS
@PATIENT
def test_a_branch_that_does_not_move_leaves_the_index_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race is lost after the index moved: it goes back before the lock does."""
    checkout, repository, old, new = start(tmp_path, "plain")

    def lost(*_: object, **__: object) -> None:
        raise LostRace("somebody else was first")

    monkeypatch.setattr(worktree, "_publish", lost)
    with pytest.raises(LostRace):
        advance(repository, "main", old=old, new=new)

    assert "" == checkout.status()
    assert not (checkout.folder / ".git" / BEFORE).exists()
    assert not (checkout.folder / ".git/index.lock").exists()


def names_of(folder: Path) -> Iterator[str]:
    """The files of a folder."""
    return (path.name for path in folder.iterdir() if path.is_file())


@MANY_COMMANDS
@PATIENT
def test_a_branch_that_is_another_name_moves_with_its_checkout(tmp_path: Path) -> None:
    """`git symbolic-ref refs/heads/main refs/heads/real`, checked out as main."""
    checkout, repository, old, new = start(tmp_path, "plain")
    checkout.git("branch", "--move", "main", "real")
    checkout.git("symbolic-ref", "refs/heads/main", "refs/heads/real")
    checkout.git("symbolic-ref", "HEAD", "refs/heads/main")
    advance(repository, "real", old=old, new=new)

    assert "" == checkout.status()
    assert new == checkout.head()
    assert {"a.yaml", "new.yaml"} == set(names_of(checkout.folder / "status"))


Capsys = pytest.CaptureFixture[str]
BINDINGS = "status/resourcebindings.work.karmada.io/default"
WEB, SHOP = f"{BINDINGS}/web-deployment.yaml", f"{BINDINGS}/shop-deployment.yaml"
AGAIN = "git -C {} checkout HEAD -- {}"


def workloads(replicas: int) -> dict[str, str]:
    """Two workloads."""
    names = ("web", "shop")
    return {f"{name}.yaml": text(deployment(name, replicas=replicas)) for name in names}


@pytest.fixture
def fleet(tmp_path: Path, capsys: Capsys) -> Checkout:
    """Two workloads that were placed, and scaled since; the binding of one was edited."""
    placed = text(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    fleet = new_checkout(tmp_path / "fleet", {"fleet.yaml": placed, **workloads(1)})
    assert 0 == answer(fleet, capsys, "reconcile", "--now", "2026-11-20T12:00:00Z")[0]
    fleet.commit(workloads(2), "Scale")
    with (fleet.folder / WEB).open("a") as file:
        file.write("# mine\n")
    return fleet


def test_a_pass_commits_whole_around_an_edited_output(fleet: Checkout, capsys: Capsys) -> None:
    """The edit alone is left in the work tree, and the command that is told takes ours."""
    edited = (fleet.folder / WEB).read_text()
    code, out, err = answer(fleet, capsys, "reconcile", "--now", "2026-11-20T12:10:00Z")

    assert 0 == code
    assert "files changed in" in out
    assert f'warning: "{WEB}" keeps an edit of yours in {fleet.folder}; ' in err
    assert AGAIN.format(fleet.folder, WEB) in err
    assert f" M {WEB}" == fleet.status()
    assert edited == (fleet.folder / WEB).read_text()
    assert "replicas: 2" in (fleet.folder / SHOP).read_text()
    assert "replicas: 2" in fleet.git("show", f"HEAD:{WEB}")
    fleet.git("checkout", "HEAD", "--", WEB)
    assert "" == fleet.status()


def test_status_lists_the_edits_with_their_command(fleet: Checkout, capsys: Capsys) -> None:
    """As text, and for machines; a calm checkout has no such line."""
    assert 0 == answer(fleet, capsys, "reconcile", "--now", "2026-11-20T12:10:00Z")[0]
    command = AGAIN.format(fleet.folder, WEB)

    assert f"{WEB}: {command}" in answer(fleet, capsys, "status")[1]
    assert [{"path": WEB, "command": command}] == answer_json(fleet, capsys, ["status"])[1][
        "keptEdits"
    ]
    fleet.git("checkout", "HEAD", "--", WEB)
    assert "Edited here" not in answer(fleet, capsys, "status")[1]


def test_the_daemon_logs_an_edit_that_stays(fleet: Checkout) -> None:
    """And goes on; when the edit is committed, it is what the next pass decides from."""
    with running(fleet.folder):
        eventually(lambda: "replicas: 2" in fleet.git("show", f"main:{WEB}"), "the decision")
        log = fleet.folder.with_name("fleet.log")
        eventually(lambda: "keeps a person's edit" in log.read_text(), "the log")
        assert f"checkout HEAD -- {WEB}" in log.read_text()
        patiently(fleet, "commit", "--quiet", "--message", "Mine", "--", WEB)
        eventually(lambda: "# mine" not in fleet.git("show", f"main:{WEB}"), "the next decision")
        eventually(lambda: "" == fleet.status(), "a calm checkout")


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
