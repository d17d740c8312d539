"""The demonstration and the documents beside it say what is true."""

import os
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli.main import VERBS, run
from tests.shell.fleet import ROOT, new_fleet, reconciler

GOLDEN = ROOT / "fixtures" / "demo" / "story.txt"
DOCUMENTS = ["README.md", "example-repo/README.md", "example-repo/rebalancers/README.md"]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def normalised(text: str, folder: Path) -> str:
    """Replace what differs from run to run: commit ids, how long it took, and the folder."""
    short = re.sub(r"\b[0-9a-f]{7,12}\b", lambda found: "#" * len(found[0]), text)
    timed = re.sub(r"(?m)^This took \d+ seconds", "This took N seconds", short)
    return timed.replace(str(folder), "FOLDER")


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    """Word for word; run with REFRESH=1 in the environment to write the golden text anew."""
    folder = tmp_path / "fleet"

    finished = reconciler(tmp_path, "demo", "--folder", str(folder))

    assert 0 == finished.code, finished.stderr
    assert "" == finished.stderr
    story = normalised(finished.stdout, folder)
    if os.environ.get("REFRESH"):
        GOLDEN.write_text(story)
    assert GOLDEN.read_text() == story


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of a document in one language, their indentation taken away."""
    text = (ROOT / document).read_text()
    return [
        "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        for indent, name, body in FENCE.findall(text)
        if name == language
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_manifests_in_documents_are_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str
) -> None:
    """Each is accepted by `validate`; what is to be appended is appended to a cluster."""
    cluster = (ROOT / "example-repo/clusters/member1.yaml").read_text()
    found = blocks(document, "yaml")
    for number, block in enumerate(found):
        whole = block if "apiVersion" in block else cluster + block
        (tmp_path / f"{number}.yaml").write_text(whole)
        assert "kind" in YAML(typ="safe").load(whole)

    code = run(["-C", str(tmp_path), "validate", "--no-references"])

    assert (0 if found else 1) == code, capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_documents_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str
) -> None:
    """Each verb that is shown is one; what only reads is run on the example."""
    text = (ROOT / document).read_text()
    shown = re.findall(r"(?:^|`)reconciler ((?:[a-z-]+ ?)[^`\n;]*)", text, re.MULTILINE)
    fleet = new_fleet(tmp_path / "fleet")
    for line in shown:
        words = line.split()
        assert words[0] in VERBS, line
        if words[0] in ("get", "validate") or "--dry-run" in words:
            assert run(["-C", str(fleet.folder), *words]) in (0, 2), capsys.readouterr().err
