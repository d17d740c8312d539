"""`reconciler validate`: what is checked, where reports go, and how it ends."""

import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli.main import run
from tests.report_formats import junit_faults, sarif_faults
from tests.shell.fleet import EXAMPLE, ROOT, process_environment

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
