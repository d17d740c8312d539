"""Which folder a command takes for the root, and what it says where there is none."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.cli.history import SCALED
from tests.shell.fleet import EXAMPLE, decided_fleet, new_fleet, run_pass
from tests.shell.repositories import Checkout, git, new_checkout

Capsys = pytest.CaptureFixture[str]
CONFIGURATION = text(configuration())
CLUSTER = EXAMPLE["clusters/member1.yaml"]
NOTHING = "no manifest was found in {}; -C DIR names another folder"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example in which one pass has run."""
    return decided_fleet(tmp_path / "fleet")


def stand(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Change to a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)


def output_roots(folder: Path) -> list[str]:
    """Return where a pass has written."""
    found = folder.rglob("reconciler.yaml")
    records = [file for file in found if "\nkind: ReconcilerStatus\n" in file.read_text()]
    return [file.parent.relative_to(folder).as_posix() for file in records]


@pytest.mark.parametrize("place", ["clusters", "status", "clusters/deep/er", ".github/workflows"])
def test_a_pass_in_a_sub_folder_is_one_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """No second output tree is committed, whatever else there is called reconciler.yaml."""
    checkout = new_fleet(tmp_path / "fleet")
    if place == "status":
        run_pass(checkout.folder, 0)
    stand(monkeypatch, checkout.folder / place)

    assert 0 == run(["reconcile"])
    assert ["status"] == output_roots(checkout.folder)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["get", "clusters", "-o", "name"], "cluster.cluster.karmada.io/m", id="get"),
        pytest.param(["verify"], "1 of 1 decision commit verified", id="verify"),
        pytest.param(["plan", "--base", "HEAD"], "default/shop (changed)", id="plan"),
        pytest.param(["why", "deployment/shop"], "member1", id="why"),
        pytest.param(["top", "clusters"], "member1", id="top"),
        pytest.param(["tree", "pp/shop"], "deployment/shop", id="tree"),
        pytest.param(["events"], "Binding has been scheduled", id="events"),
    ],
)
def test_a_question_in_a_sub_folder_is_about_the_repository(
    fleet: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    arguments: list[str],
    expected: str,
) -> None:
    """Each verb finds the same root."""
    fleet.write(SCALED)
    stand(monkeypatch, fleet.folder / "policies")

    assert 0 == run(arguments)
    assert expected in capsys.readouterr().out


def test_validate_in_a_sub_folder_checks_the_repository(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The count is that of the whole root, paths are told from there."""
    fleet.write({"workloads/wrong.yaml": CLUSTER.replace("kind: Cluster\n", "kind: cluster\n")})
    assert 1 == run(["-C", str(fleet.folder), "validate"])
    expected = capsys.readouterr()
    stand(monkeypatch, fleet.folder / "policies")

    assert 1 == run(["validate"])
    assert expected == capsys.readouterr()
    assert expected.out.startswith("workloads/wrong.yaml:")


def test_an_explicit_folder_is_the_root_literally(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Nothing is looked for above it, the folder that one stands in included."""
    stand(monkeypatch, fleet.folder / "clusters")

    assert 0 == run(["-C", ".", "get", "pp", "-A"])
    assert ("", "no pp\n") == capsys.readouterr()
    assert 0 == run(["get", "pp", "-A", "-o", "name"])
    assert "propagationpolicy.policy.karmada.io/shop" in capsys.readouterr().out


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"prod/reconciler.yaml": CONFIGURATION}, id="configuration"),
        pytest.param({"prod/status/reconciler.yaml": "kind: ReconcilerStatus\n"}, id="outputs"),
    ],
)
def test_the_nearest_folder_upwards_that_is_ours_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys, files: Mapping[str, str]
) -> None:
    """By its configuration or its outputs, also below the top of the repository."""
    checkout = new_checkout(tmp_path / "mono", {"other/member1.yaml": CLUSTER, **files})
    checkout.commit({"prod/clusters/c.yaml": CLUSTER.replace("name: member1", "name: inside")})
    stand(monkeypatch, checkout.folder / "prod/clusters")

    assert 0 == run(["validate", "-v"])
    assert "other" not in capsys.readouterr().err


def test_outputs_elsewhere_are_found_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The option that names the output root says what is looked for."""
    checkout = new_checkout(
        tmp_path / "mono",
        {"prod/out/reconciler.yaml": "kind: ReconcilerStatus\n", "prod/c/member1.yaml": CLUSTER},
    )
    stand(monkeypatch, checkout.folder / "prod/c")

    assert 0 == run(["validate", "--output-root", "out", "-v"])
    assert "c/member1.yaml: Cluster member1\n" in capsys.readouterr().err


def test_what_is_above_the_repository_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """A reconciler.yaml in a parent of the clone is another project's."""
    (tmp_path / "reconciler.yaml").write_text(CONFIGURATION)
    checkout = new_checkout(tmp_path / "fleet", {"clusters/member1.yaml": CLUSTER})
    stand(monkeypatch, checkout.folder / "clusters")

    assert 0 == run(["validate", "-v"])
    assert "clusters/member1.yaml: Cluster member1\n" in capsys.readouterr().err


def test_a_linked_worktree_is_a_repository_of_its_own(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Its top is told by a file `.git`."""
    fleet.git("worktree", "add", "--quiet", "-b", "side", "side")
    stand(monkeypatch, fleet.folder / "side" / "policies")

    assert 0 == run(["get", "clusters", "-o", "name"])
    assert "member1" in capsys.readouterr().out


def test_without_git_and_marks_the_present_folder_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """As before."""
    stand(monkeypatch, tmp_path / "files")
    Path("member1.yaml").write_text(CLUSTER)

    assert 0 == run(["validate"])
    assert "1 manifest valid, 0 faults\n" == capsys.readouterr().err


def test_a_path_is_named_from_where_one_stands(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Its objects alone are judged; references are looked up in the root if that is asked for."""
    fleet.write({"workloads/wrong.yaml": "kind: Cluster\n"})
    stand(monkeypatch, fleet.folder / "policies")

    assert 0 == run(["validate", "shop.yaml"])
    assert "1 manifest valid, 0 faults\n" == capsys.readouterr().err
    (fleet.folder / "workloads/wrong.yaml").unlink()
    (fleet.folder / "workloads/shop.yaml").unlink()
    assert 0 == run(["validate", "shop.yaml", "--references"])
    assert "policies/shop.yaml:" in capsys.readouterr().out


def test_a_folder_elsewhere_can_be_judged(
    fleet: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """What the configuration of this root leaves out says nothing of it."""
    stand(monkeypatch, tmp_path / "elsewhere")

    assert 0 == run(["validate", "../fleet/policies"])
    assert " valid, 0 faults\n" in capsys.readouterr().err


EMPTY = {"README.md": "Nothing yet.\n"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["validate"], 1, id="validate"),
        pytest.param(["validate", "--fail-level", "never"], 0, id="never"),
        pytest.param(["verify"], 1, id="verify"),
        pytest.param(["get", "clusters"], 0, id="get"),
        pytest.param(["plan", "--base", "HEAD"], 0, id="plan"),
        pytest.param(["top", "clusters"], 0, id="top"),
        pytest.param(["reconcile"], 0, id="reconcile"),
        pytest.param(["events"], 0, id="events"),
        pytest.param(["simulate", "--fail-each"], 0, id="simulate"),
        pytest.param(["why", "deployment/shop"], 1, id="why"),
        pytest.param(["blame", "deployment/shop"], 1, id="blame"),
        pytest.param(["history", "deployment/shop"], 1, id="history"),
        pytest.param(["tree", "deployment/shop"], 2, id="tree"),
        pytest.param(["suspend", "deployment/shop"], 2, id="suspend"),
        pytest.param(["rebalance", "deployment/shop"], 2, id="rebalance"),
    ],
)
def test_an_answer_about_nothing_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    arguments: list[str],
    code: int,
) -> None:
    """A repository without a manifest is most often the wrong one."""
    checkout = new_checkout(tmp_path / "fleet", EMPTY)
    stand(monkeypatch, checkout.folder / "docs")

    assert code == run(arguments)
    assert NOTHING.format(checkout.folder) in capsys.readouterr().err


def test_a_folder_of_nothing_is_no_success(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """A pipeline that checks a folder must not pass since the folder was renamed."""
    stand(monkeypatch, fleet.folder / "empty")

    assert 1 == run(["validate", "."])
    assert "no manifest was found\n" == capsys.readouterr().err


def test_a_named_file_without_a_manifest_is_no_failure(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks name every file that changed, other programs' included."""
    fleet.write({"compose.yaml": "services: {}\n"})
    monkeypatch.chdir(fleet.folder)

    assert 0 == run(["validate", "compose.yaml"])
    assert 0 == run(["validate", "--force-exclude", "status/reconciler.yaml"])


def test_a_bare_repository_is_its_own_root(
    fleet: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Its files are those of a commit."""
    git(tmp_path, "clone", "--quiet", "--bare", str(fleet.folder), "bare.git")
    stand(monkeypatch, tmp_path / "bare.git")

    assert 0 == run(["get", "clusters", "-o", "name"])
    assert "member1" in capsys.readouterr().out


def test_an_empty_branch_of_a_remote_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """No other folder would help there."""
    checkout = new_checkout(tmp_path / "fleet", EMPTY)
    monkeypatch.chdir(tmp_path)
    mirror = tmp_path / "mirror.git"

    assert 0 == run(["reconcile", "--remote", str(checkout.folder), "--mirror", str(mirror)])
    assert "no manifest was found in this branch of the remote\n" in capsys.readouterr().err


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
    fleet = decided_fleet(tmp_path / "fleet")
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
    fleet = decided_fleet(tmp_path / "fleet")
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
