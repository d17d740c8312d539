"""`run --settings`: options in a file of the operator, which counts anew when it changes."""

import json
import re
from pathlib import Path

import click
import pytest

from reconciler.cli.main import cli, run
from reconciler.cli.settings import read_settings
from reconciler.cli.verbs.run import run_command
from reconciler.errors import UsageError
from tests.shell.daemon.test_roots import ask
from tests.shell.fleet import ROOT, eventually, new_fleet, running
from tests.shell.repositories import git


def settings_of(tmp_path: Path, text: str) -> dict[str, object]:
    """Return how a file is read."""
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    return read_settings(click.Context(run_command, info_name="run"), file)


def test_options_stand_in_the_file_by_their_names(tmp_path: Path) -> None:
    """Those that may be repeated as lists."""
    text = (
        "poll-seconds: 30\nroot: [teams/a, teams/b]\nauthor: bot <bot@example.com>\n"
        "report: [[github, https://github.com/acme/fleet]]\n"
        "page-forge: [github, https://github.com/acme/fleet]\n"
    )
    expected = {
        "poll_seconds": "30",
        "roots": ["teams/a", "teams/b"],
        "author": "bot <bot@example.com>",
        "report": [["github", "https://github.com/acme/fleet"]],
        "page_forge": ["github", "https://github.com/acme/fleet"],
    }

    assert expected == settings_of(tmp_path, text)
    assert {} == settings_of(tmp_path, "# nothing yet\n")


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    """docs/operations.md shows it."""
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(remote: .*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert {"remote", "credential_file", "roots", "listen", "report"} == set(
        settings_of(tmp_path, example)
    )


def test_what_is_given_or_in_the_environment_counts_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is for what neither says."""
    file = tmp_path / "settings.yaml"
    file.write_text("branch: file\nmirror: file\nlisten: '1'\n")
    monkeypatch.setenv("RECONCILER_MIRROR", "environment")

    above = cli.make_context("reconciler", [], resilient_parsing=True)
    context = run_command.make_context(
        "run", ["--settings", str(file), "--branch", "given"], parent=above, obj=tmp_path
    )

    found = [str(context.params[name]) for name in ("branch", "mirror", "listen")]
    assert ["given", "environment", "1"] == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", r'settings.yaml":1 must be YAML', id="no-yaml"),
        pytest.param("- a", "must be a mapping of options", id="list"),
        pytest.param(
            "branch: a\npol: 3", r'":2: `pol` must be one of .*, poll-seconds, ', id="unknown"
        ),
        pytest.param("settings: x", "`settings` must be one of", id="itself"),
        pytest.param("poll-seconds: soon", "`poll-seconds`: 'soon' is not a valid", id="type"),
        pytest.param("branch: [a, b]", "`branch` must be a single value", id="one"),
        pytest.param("root: a", "`root` must be a list", id="many"),
        pytest.param("page-forge: github", "`page-forge` must be a list", id="pair"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    """And with what would be right."""
    with pytest.raises(UsageError, match=message):
        settings_of(tmp_path, text)


def test_a_daemon_does_not_start_with_broken_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no last good one yet."""
    fleet = new_fleet(tmp_path / "fleet")
    missing = str(tmp_path / "missing")

    assert 2 == run(["-C", str(fleet.folder), "run", "--settings", missing])
    assert f'--settings "{missing}" cannot be read: No such file' in capsys.readouterr().err


def test_settings_count_anew_when_they_change(tmp_path: Path) -> None:
    """A broken file, and one that cannot be served, keep the last good one and are reported."""
    fleet = new_fleet(tmp_path / "fleet")
    file, log = tmp_path / "settings.yaml", tmp_path / "log"
    file.write_text("author: first <first@example.com>\nlog-format: json\n")

    def author() -> str:
        return git(fleet.folder, "log", "-1", "--format=%an", "main")

    def refusals() -> list[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["error"] for line in lines if line["msg"].startswith("settings refused")]

    def refused() -> bool:
        return "reconciler_settings_refused 1.0" in ask(log, "/metrics")[1]

    with running(fleet.folder, "--settings", str(file), "--listen", "0", log=log):
        eventually(lambda: author() == "first", "the first author")
        assert not refused()
        file.write_text("author: nonsense: [")
        eventually(lambda: len(refusals()) == 1, "the broken file")
        assert refused()
        file.write_text("author: no mail address\nlog-format: json\n")
        eventually(lambda: len(refusals()) == 2, "the file that cannot be served")
        fleet.git("revert", "--no-edit", "HEAD")
        eventually(lambda: author() == "first", "the last good settings")
        assert refused()
        file.write_text("author: second <second@example.com>\nlog-format: json\n")
        eventually(lambda: log.read_text().count('"msg": "serving"') >= 3, "the other settings")
        fleet.git("revert", "--no-edit", "HEAD")
        eventually(lambda: author() == "second", "the second author")
        assert not refused()
    assert "must be NAME <EMAIL>" in refusals()[1]
