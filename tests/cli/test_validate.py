"""`reconciler validate`: what is checked, how mistakes are named, where reports go, how it ends."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli.main import run
from tests.audit.test_findings import junit_faults, sarif_faults
from tests.shell.fleet import EXAMPLE, ROOT, decided_fleet, new_fleet, process_environment

CLUSTER = EXAMPLE["clusters/member1.yaml"]
WRONG = CLUSTER.replace("kind: Cluster\n", "kind: Cluster\ntypo: 1\n")
DOUBTFUL = EXAMPLE["policies/shop.yaml"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without git in which a person works: one file right, one wrong, one doubtful."""
    files = {
        "clusters/member1.yaml": CLUSTER,
        "clusters/wrong.yaml": WRONG,
        "policies/shop.yaml": DOUBTFUL,
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param([], 1, id="error"),
        pytest.param(["--fail-level", "never"], 0, id="never"),
        pytest.param(["clusters/member1.yaml"], 0, id="one-file"),
        pytest.param(["policies"], 0, id="one-folder"),
        pytest.param(["policies", "--references"], 0, id="warning"),
        pytest.param(["policies", "--references", "--fail-level", "warning"], 1, id="strict"),
        pytest.param(["clusters/*.yaml"], 1, id="glob"),
        pytest.param(["**/member*.yaml"], 0, id="deep-glob"),
        pytest.param(["nothing/*.yaml"], 2, id="glob-of-nothing"),
        pytest.param(["nothing.yaml"], 2, id="no-file"),
        pytest.param(["-o", "xml"], 2, id="no-format"),
        pytest.param(["-o", "json", "-o", "text"], 2, id="two-on-standard-output"),
        pytest.param(["-o", "json=a.out", "-o", "text=a.out"], 2, id="two-in-one-file"),
        pytest.param(["-o", "json=none/a.out"], 2, id="no-folder-to-write-to"),
        pytest.param(["-o", "json="], 2, id="no-name"),
    ],
)
def test_exit_code(folder: Path, arguments: Sequence[str], code: int) -> None:
    """0 clean, 1 findings at or above the level, 2 usage."""
    assert code == run(["validate", *arguments])


def test_reports_go_where_they_are_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several at once; the count is on standard error."""
    assert 1 == run(["validate", "-o", "github", "-o", "sarif=a.sarif", "-o", "junit=a.xml"])
    shown = capsys.readouterr()

    assert shown.out.startswith("::error file=clusters/wrong.yaml,line=")
    assert [] == sarif_faults((folder / "a.sarif").read_text())
    assert [] == junit_faults((folder / "a.xml").read_text())
    assert "2 manifests valid, 1 fault, 2 warnings\n" == shown.err


def test_without_valid_settings_references_are_not_checked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether a name leads nowhere follows from them, and the fault is what to mend first."""
    assert "or one of member1" in shown_by_validate(capsys)

    (folder / "reconciler.yaml").write_text(
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
        "metadata: {name: fleet}\nspec: {inventory: {projects: true}}\n"
    )

    said = shown_by_validate(capsys)
    assert "or one of member1" not in said
    assert "cross-references skipped: the settings in reconciler.yaml are not valid" in said


def shown_by_validate(capsys: pytest.CaptureFixture[str]) -> str:
    """Return all that the verb says."""
    run(["validate"])
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_a_forge_is_told_paths_from_where_the_pipeline_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """People are told paths in the folder that they ask about."""
    run(["-C", "clusters", "validate", "-o", "github", "-o", "text=a.txt"])

    assert "file=clusters/wrong.yaml," in capsys.readouterr().out
    assert (folder / "a.txt").read_text().startswith("wrong.yaml:")


def test_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An editor sends what is not saved yet."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))

    assert 1 == run(["validate", "-"])
    assert capsys.readouterr().out.startswith("<stdin>:")
    assert 2 == run(["validate", "-", "--references"])


def test_a_named_file_that_is_not_read_can_be_left_out(folder: Path) -> None:
    """Hooks name every file that changed."""
    (folder / "status").mkdir()
    (folder / "reconciler.yaml").write_text(
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
        "metadata: {name: fleet}\nspec: {exclude: [drafts/**]}\n"
    )
    for folder_name in ("templates", "status", ".github", "drafts"):
        path = f"{folder_name}/web.yaml"
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(WRONG)

        assert 1 == run(["validate", path])
        assert 0 == run(["validate", "--force-exclude", path])


def test_the_hooks_run(folder: Path) -> None:
    """As pre-commit runs them: one with the names of files, one without."""
    named, whole = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (folder / "clusters/wrong.yaml").unlink()

    def hook(entry: str, *names: str) -> int:
        command = [sys.executable, "-m", *entry.split(), *names]
        environment = {**process_environment(), "PYTHONPATH": str(ROOT)}
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode

    assert (True, False) == (named.get("pass_filenames", True), whole["pass_filenames"])
    assert 0 == hook(named["entry"], "clusters/member1.yaml")
    assert 0 == hook(whole["entry"])
    (folder / "clusters/wrong.yaml").write_text(WRONG)
    assert 1 == hook(named["entry"], "clusters/member1.yaml", "clusters/wrong.yaml")
    assert 1 == hook(whole["entry"])


def test_half_an_identity_fails_a_whole_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also as the only document of the only file, which does not even mention apiVersion."""
    (tmp_path / "web.yaml").write_text("kind: Deployment\nmetadata:\n  name: web\n")

    assert 1 == run(["-C", str(tmp_path), "validate"])
    assert capsys.readouterr().out.startswith("web.yaml:1:1: error: `apiVersion` is missing")


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        name: Of it.
        path: The file.
        files: What this one and others hold then; `None` for one that is removed.
        level: Whether it is an error, or a warning.
        line: Where it is, or what would have to change; from 1.
        says: What the answer has, in this order.
    """

    name: str
    path: str
    files: Mapping[str, str | None]
    level: str
    line: int
    says: tuple[str, ...]


def listed() -> list[Mistake]:
    """Read the list."""
    found = []
    for item in YAML(typ="safe").load(ROOT / "fixtures/mistakes.yaml"):
        text = item.get("after", EXAMPLE.get(item["path"]))
        if "before" in item:
            assert item["before"] in EXAMPLE[item["path"]], item["name"]
            text = EXAMPLE[item["path"]].replace(item["before"], text, 1)
        files = {item["path"]: text, **item.get("beside", {})}
        files |= {item["without"]: None} if "without" in item else {}
        says = tuple(item["says"])
        found.append(Mistake(item["name"], item["path"], files, item["level"], item["line"], says))
    return found


MISTAKES = listed()


def with_mistake(folder: Path, mistake: Mistake | None) -> Path:
    """Write the example repository, with one mistake."""
    files: dict[str, str | None] = {**EXAMPLE, **(mistake.files if mistake else {})}
    for path, text in files.items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_each_mistake_is_named(
    mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At its line, with what is wrong and what would be right, and with an exit code that fits."""
    folder = str(with_mistake(tmp_path, mistake))

    code = run(["-C", folder, "validate", "-o", "json"])

    found = json.loads(capsys.readouterr().out)["findings"]
    told = [one for one in found if one["path"] == mistake.path and one["line"] == mistake.line]
    assert told, found
    said = f"{told[0]['message']} {told[0]['expected']}"
    places = [said.find(word) for word in mistake.says]
    assert -1 not in places, said
    assert sorted(places) == places, said
    assert mistake.level == told[0]["severity"]
    assert (1 if mistake.level == "error" else 0) == code


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_strict_fails_on_each(mistake: Mistake, tmp_path: Path) -> None:
    """Also where it is a warning."""
    assert 1 == run(["-C", str(with_mistake(tmp_path, mistake)), "validate", "--strict"])


@pytest.mark.parametrize(
    ("version", "code"),
    [
        pytest.param("1.31", 1, id="older"),
        pytest.param("v1.25.16", 1, id="as-clusters-say"),
        pytest.param("none", 0, id="none"),
        pytest.param("1.2", 2, id="unknown"),
    ],
)
def test_workloads_are_held_against_a_version(version: str, code: int, tmp_path: Path) -> None:
    """As kubeconform is told; `none` leaves them to the clusters."""
    mistake = next(one for one in MISTAKES if one.name == "imagePullPolice")
    folder = str(with_mistake(tmp_path, mistake))

    assert code == run(["-C", folder, "validate", "--kubernetes-version", version])


def test_the_example_has_none(tmp_path: Path) -> None:
    """Nothing is said of it."""
    assert 0 == run(["-C", str(with_mistake(tmp_path, None)), "validate", "--strict"])


@pytest.mark.parametrize("revision", [False, True], ids=["disk", "commit"])
def test_what_is_skipped_for_its_name_is_said_in_a_line(
    *, revision: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever wrote it thinks that it counts; -v names each."""
    fleet = new_fleet(tmp_path / "fleet")
    skipped = (
        "charts/web/Chart.yaml",
        "charts/web/templates/web.yaml",
        "charts/web/values.yaml",
        "policies/new.yaml.txt",
        "workloads/kustomization.yaml",
    )
    other = (".github/ci.yaml", "status/kustomization.yaml", "notes.txt", "drafts/old.yaml.txt")
    configured = EXAMPLE["reconciler.yaml"].replace("spec:", "spec:\n  exclude: [drafts/**]", 1)
    files = dict.fromkeys((*skipped, *other), "kind: {{ .Values.kind }}\n")
    fleet.commit({**files, "reconciler.yaml": configured}, "Add files")
    asked = ["--rev", "HEAD"] if revision else []

    assert 0 == run(["-C", str(fleet.folder), "validate", "-v", *asked])
    said = capsys.readouterr().err.splitlines()

    line = (
        "skipped: 1 Helm chart (charts/web), 1 kustomization (workloads), "
        "1 file of another name (policies/new.yaml.txt); render or rename them"
    )
    assert line in said
    assert [f"{path}: skipped for its name" for path in skipped] == [
        one for one in said if one.endswith("for its name")
    ]


PATH = "clusters/member[9] [skip ci].yaml"
WRONG_CLUSTER = (
    EXAMPLE["clusters/member1.yaml"]
    .replace("name: member1", "name: member9")
    .replace("kind: Cluster\n", 'kind: Cluster\n"x[0]\\e[2J\\n***\\u202E": 1\n')
)


def test_a_fault_is_shown_as_it_is_and_committed_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who looks for the file must find its name; what a CI system would obey is in no commit."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.commit({PATH: WRONG_CLUSTER}, "Add a cluster")

    assert 1 == run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:10:00Z"])
    shown = capsys.readouterr().err
    written = fleet.git("log", "-1", "--format=%B")

    assert shown.startswith(f'{PATH}:4:1: "x[0]\\x1b[2J\\n***\\u202e" is not a field')
    assert "\x1b" not in shown
    assert (
        'clusters/member(9) (skip ci).yaml:4: "x(0)\\x1b(2J\\n* * *\\u202e" is not a field'
        in written
    )


@pytest.mark.parametrize(
    "content", ["foo\n", "- a\n", "[]\n", "spec: {}\n", "spec: {}\n---\nspec: {}\n"]
)
def test_a_file_of_settings_without_any_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    """A pass goes by the defaults then, in silence; with an empty file somebody means that."""
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": content})
    arguments = ["-C", str(fleet.folder), "validate", "--strict"]

    assert 1 == run(arguments)
    assert (
        "reconciler.yaml: warning: the file holds no ReconcilerConfiguration, so the defaults are "
        "in force [configuration-none]\n"
    ) in capsys.readouterr().out
    for meant in ("", "# the defaults\n"):
        fleet.write({"reconciler.yaml": meant})
        assert 0 == run(arguments)


@pytest.mark.parametrize("written", ["x: [\n", "\tspec: 1\n"])
def test_a_broken_configuration_is_told_before_it_was_ever_read(
    folder: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    """Its name says whose it is: what refuses it later must not let a pipeline pass."""
    (folder / "reconciler.yaml").write_text(written, encoding="utf-8")

    assert 1 == run(["validate"])
    assert "reconciler.yaml:" in capsys.readouterr().out
