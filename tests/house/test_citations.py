"""What files say of other files: a path that is cited exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "reconciler"
CITED = re.compile(r"`(?:reconciler/)?([a-z_]+(?:/[a-z_]+)*/[a-z_]+\.py|[a-z_]+\.py)`")
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("source", [path.relative_to(PACKAGE).as_posix() for path in SOURCES])
def test_a_cited_file_exists(source: str) -> None:
    """Named from the root, the package, the API's package, or the file's own folder."""
    here = PACKAGE / source
    cited = CITED.findall(here.read_text(encoding="utf-8"))

    assert [] == [
        path for path in cited if not any((base / path).is_file() for base in here.parents)
    ]


def test_the_changelog_says_nothing_twice() -> None:
    """Two entries that begin with the same line are one."""
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.startswith("- ")]

    assert [] == sorted({head for head in heads if heads.count(head) > 1})
