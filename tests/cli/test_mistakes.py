"""Each mistake of a list, made in the example repository, is named where it is, and what is right.

The list is `fixtures/mistakes.yaml`; no answer in it was seen before it was written.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, ROOT


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        name: Of it.
        path: The file.
        text: What the file holds then.
        level: Whether it is an error, or a warning.
        line: Where it is, or what would have to change; from 1.
        says: What the answer has, in this order.
    """

    name: str
    path: str
    text: str
    level: str
    line: int
    says: tuple[str, ...]


def listed() -> list[Mistake]:
    """Read the list."""
    found = []
    for item in YAML(typ="safe").load(ROOT / "fixtures/mistakes.yaml"):
        text = item["after"]
        if "before" in item:
            assert item["before"] in EXAMPLE[item["path"]], item["name"]
            text = EXAMPLE[item["path"]].replace(item["before"], text, 1)
        says = tuple(item["says"])
        found.append(Mistake(item["name"], item["path"], text, item["level"], item["line"], says))
    return found


MISTAKES = listed()


def with_mistake(folder: Path, mistake: Mistake | None) -> Path:
    """Write the example repository, with one mistake."""
    files = {**EXAMPLE, **({mistake.path: mistake.text} if mistake else {})}
    for path, text in files.items():
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


def test_the_example_has_none(tmp_path: Path) -> None:
    """Nothing is said of it."""
    assert 0 == run(["-C", str(with_mistake(tmp_path, None)), "validate", "--strict"])
