"""docs/security.md names tests that exist, and every attack has one."""

import re

import pytest

from tests.shell.fleet import ROOT

PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("\n## Attacks")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)[2:]
NAMED = [
    pair for *_, tests in ROWS for pair in re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
]


def test_every_attack_has_a_test() -> None:
    """At least one."""
    assert [] == [attack for attack, _, tests in ROWS if "::test_" not in tests]
    assert 30 < len(ROWS)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_named_test_exists(path: str, name: str) -> None:
    """In the file where the page says that it is."""
    assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8")
