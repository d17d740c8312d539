"""No repository, no branch, no folder: one sentence, the documented code, no traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import git, new_checkout


def nothing(folder: Path) -> None:
    """Make a folder that is no repository."""
    folder.mkdir()


def a_file(folder: Path) -> None:
    """Put a file where a folder is expected."""
    folder.write_text("")


def absent(folder: Path) -> None:
    """Make nothing."""


def empty_repository(folder: Path) -> None:
    """Make a repository without a commit."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")


def unborn_branch(folder: Path) -> None:
    """Make a repository whose checked out branch has no commit."""
    new_checkout(folder, {"a.txt": ""}).git("switch", "--quiet", "--orphan", "maim")


def detached(folder: Path) -> None:
    """Make a repository with a detached HEAD."""
    new_checkout(folder, {"a.txt": ""}).git("switch", "--quiet", "--detach")


VERBS: list[list[str]] = [["reconcile"], ["get", "clusters"], ["run"]]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(nothing, "is not in a git repository; clone one, or run git init", id="none"),
        pytest.param(a_file, "is not a folder", id="file"),
        pytest.param(absent, "is not a folder", id="absent"),
        pytest.param(empty_repository, 'branch "main" has no commit yet', id="empty"),
        pytest.param(unborn_branch, 'there is no branch "maim"; near it: main', id="unborn"),
    ],
)
def test_a_place_without_a_branch_is_wrong_usage(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
    make: Callable[[Path], None],
    said: str,
) -> None:
    """One sentence says what is there and what would do."""
    make(tmp_path / "place")

    assert 2 == run(["-C", str(tmp_path / "place"), *verb])
    shown = capsys.readouterr()

    assert "" == shown.out
    assert said in shown.err
    assert 1 == shown.err.count("\n")


@pytest.mark.parametrize("verb", [["reconcile"], ["run"], ["events", "--watch"]])
def test_what_serves_a_branch_needs_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    """A detached HEAD names none; the option that does is told."""
    detached(tmp_path / "place")

    assert 2 == run(["-C", str(tmp_path / "place"), *verb])
    assert "HEAD is detached); name one with --branch" in capsys.readouterr().err


def test_a_detached_commit_is_read_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `git log` does, and as pipelines check out; --branch reads the branch."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("switch", "--quiet", "--detach", "HEAD~1")

    def names(*options: str) -> str:
        assert 0 == run(["-C", str(fleet.folder), "get", "rb", "-A", "-o", "name", *options])
        return capsys.readouterr().out

    assert "" == names()
    assert names("--branch", "main") == names("--at", "main") != ""


@pytest.mark.parametrize(
    ("branch", "said"),
    [
        pytest.param("mian", 'there is no branch "mian"; near it: main', id="near"),
        pytest.param("-x", '"-x" is no branch name', id="option"),
        pytest.param("a\nb\x1b[2J", r'"a\nb\x1b[2J" is no branch name', id="escape"),
        pytest.param("HEAD", '"HEAD" is no branch name', id="head"),
    ],
)
def test_a_branch_that_cannot_be_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], branch: str, said: str
) -> None:
    """Names near it are listed; what is no name at all is quoted."""
    fleet = new_fleet(tmp_path / "fleet")

    assert 2 == run(["-C", str(fleet.folder), "reconcile", f"--branch={branch}"])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "root", ["", ".", "..", "../x", "a/../b", "/abs", ".git", "a\\b", "a\nb\x1b[2J", "status/"]
)
def test_an_output_root_elsewhere_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], root: str
) -> None:
    """It must be a folder inside the repository; it is quoted without control characters."""
    fleet = new_fleet(tmp_path / "fleet")

    for verb in (["reconcile"], ["get", "clusters"], ["validate"]):
        assert 2 == run(["-C", str(fleet.folder), *verb, "--output-root", root])
        shown = capsys.readouterr().err

        assert "--output-root" in shown
        assert 1 == shown.count("\n")
        assert "\x1b" not in shown


def test_an_output_root_with_files_of_people_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong --output-root must not delete what people wrote there."""
    fleet = new_fleet(tmp_path / "fleet")
    head = fleet.head()

    assert 2 == run(["-C", str(fleet.folder), "reconcile", "--output-root", "clusters"])

    assert '"clusters/backup1.yaml"' in capsys.readouterr().err
    assert head == fleet.head()
    assert "" == fleet.status()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_an_output_root_that_is_no_folder_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """A file or link of that name is never replaced or followed."""
    fleet = new_fleet(tmp_path / "fleet")
    place = fleet.folder / "status"
    (tmp_path / "elsewhere").mkdir()
    if kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "elsewhere")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Take the place of the outputs")
    head = fleet.head()

    assert 1 == run(["-C", str(fleet.folder), "reconcile"])

    assert "status: what must be a plain file or folder of outputs" in capsys.readouterr().err
    assert head == fleet.head()
    assert [] == list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        pytest.param("rubbish", '"rubbish" must be a time such as', id="rubbish"),
        pytest.param("2026-01-01", "must be a time such as", id="day"),
        pytest.param("9999-12-31T23:59:59Z", "must be a time", id="end-of-time"),
        pytest.param("0001-01-01T00:00:00Z", "must be a time", id="begin-of-time"),
        pytest.param("0001-01-01T00:00:00+01:00", "must be a time", id="before-time"),
        pytest.param("\x1b[2J", r'"\x1b[2J" must be a time', id="escape"),
    ],
)
def test_a_moment_that_cannot_be_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], moment: str, said: str
) -> None:
    """`--now` is a moment within living memory or the far future."""
    fleet = new_fleet(tmp_path / "fleet")

    assert 2 == run(["-C", str(fleet.folder), "reconcile", "--now", moment])
    assert said in capsys.readouterr().err


def test_now_must_be_later_than_the_last_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Time never goes back, nor stands, between two passes."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    head = fleet.head()

    assert 1 == run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:00Z"])

    assert "is not later than the last pass at 2026-11-20T12:00:00Z" in capsys.readouterr().err
    assert head == fleet.head()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["reconcile", "--mirror", "m"], id="mirror-alone"),
        pytest.param(["reconcile", "--remote", "ext::sh -c id"], id="protocol"),
        pytest.param(["reconcile", "--remote", "/none", "--mirror", "file"], id="mirror-is-file"),
        pytest.param(["reconcile", "--remote", "/none", "--mirror", "."], id="mirror-is-checkout"),
        pytest.param(["reconcile", "--author", "x"], id="author"),
        pytest.param(["reconcile", "--author", "a\nb <c@d>"], id="author-lines"),
        pytest.param(["run", "--poll-seconds", "0"], id="poll"),
        pytest.param(["get", "nonsense"], id="kind"),
        pytest.param(["validate", "absent.yaml"], id="absent-path"),
        pytest.param(["init", "file"], id="init-file"),
        pytest.param(["init", "file/below"], id="init-below-file"),
        pytest.param(["demo", "--folder", "."], id="demo-in-use"),
        pytest.param(["reconsile"], id="verb"),
        pytest.param(["reconcile", "--dryrun"], id="option"),
    ],
)
def test_wrong_usage_ends_with_two(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    """Each is told in a sentence on standard error; nothing is on standard output."""
    fleet = new_fleet(tmp_path / "fleet", {"file": ""})
    monkeypatch.chdir(fleet.folder)

    assert 2 == run(arguments)
    shown = capsys.readouterr()

    assert "" == shown.out
    assert shown.err.strip()


def test_a_repository_without_manifests_has_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A repository of another kind is not written to."""
    fleet = new_checkout(tmp_path / "fleet", {"README.md": "Hello"})
    head = fleet.head()

    assert 0 == run(["-C", str(fleet.folder), "reconcile"])
    assert "nothing to do\n" == capsys.readouterr().out
    assert 1 == run(["-C", str(fleet.folder), "validate"])
    assert "no manifest was found" in capsys.readouterr().err
    assert head == fleet.head()


def test_a_folder_that_cannot_be_read_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the operating system refuses is a sentence, too."""
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")

    assert 2 == run(["-C", str(tmp_path), "validate", "loop.yaml"])
    assert '"' in capsys.readouterr().err


def test_the_example_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `init` writes passes `validate`."""
    assert 0 == run(["init", str(tmp_path / "fleet")])
    capsys.readouterr()

    assert 0 == run(["-C", str(tmp_path / "fleet"), "validate"])
    assert sorted(EXAMPLE) == sorted(
        path.relative_to(tmp_path / "fleet").as_posix()
        for path in (tmp_path / "fleet").rglob("*")
        if path.is_file()
    )


@pytest.mark.parametrize(
    ("moment", "warned"), [("2999-01-02T03:04:05Z", True), ("2026-11-20T12:00:01Z", False)]
)
def test_a_pass_ahead_of_the_clock_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], moment: str, *, warned: bool
) -> None:
    """The next one would have to wait for the clock."""
    fleet = new_fleet(tmp_path / "fleet")

    run(["-C", str(fleet.folder), "reconcile", "--now", moment])

    err = capsys.readouterr().err
    assert warned == ("s ahead of the clock, and passes never go back in time" in err)
    assert warned == (f"none runs before {moment}" in err)
