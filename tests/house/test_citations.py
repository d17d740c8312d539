"""What files say of other files: a path that is cited exists."""

import re

from tests.house.sources import PACKAGE, ROOT, SOURCES, text_of

CITED = re.compile(r"`(?:reconciler/)?([a-z_]+(?:/[a-z_]+)*/[a-z_]+\.py|[a-z_]+\.py)`")


def test_a_cited_file_exists() -> None:
    """Named from the root, the package, the API's package, or the file's own folder."""
    cited = [(source, path) for source in SOURCES for path in CITED.findall(text_of(source))]

    assert [] == [
        (source, path)
        for source, path in cited
        if not any((base / path).is_file() for base in (PACKAGE / source).parents)
    ]


def test_the_changelog_says_nothing_twice() -> None:
    """Two entries that begin with the same line are one."""
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.startswith("- ")]

    assert [] == sorted({head for head in heads if heads.count(head) > 1})
