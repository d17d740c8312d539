"""docs/delivery.md says what the table of delivery says."""

from tests.documents.carriage import PAGE, written


def test_the_table_is_that_of_delivery() -> None:
    """`make docs` writes it."""
    page = PAGE.read_text(encoding="utf-8")

    assert written(page) == page
