"""docs/one-system.md says what the tables say."""

from tests.documents.one_system import PAGE, written


def test_the_tables_are_those_of_the_apis() -> None:
    """`make docs` writes them."""
    page = PAGE.read_text(encoding="utf-8")

    assert written(page) == page
