"""What signed commits say that they are for: written once, read to the letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.message import CommitPurpose, Purpose, purposes_in, with_purpose

NAMES = st.text(min_size=1, max_size=20) | st.sampled_from(
    ["main", "a b", "ä/\udcff", "\n\u2028%20"]
)
PURPOSES = st.builds(CommitPurpose, st.sampled_from(Purpose), NAMES, st.just("") | NAMES)
HERE = CommitPurpose(Purpose.DECISIONS, "main", "teams/a")


@given(PURPOSES)
def test_what_is_written_is_read(purpose: CommitPurpose) -> None:
    """Whatever names there are: one line, words without spaces, and the same value again."""
    trailer = str(purpose)

    assert [purpose] == purposes_in([("Reconciled-For", trailer)])
    assert trailer.isascii()
    assert trailer.isprintable()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="nothing"),
        pytest.param("decisions", id="no branch"),
        pytest.param("decisions  main", id="two spaces"),
        pytest.param("decisions main a b", id="a word too many"),
        pytest.param("decisions%20 main", id="a purpose that is none"),
        pytest.param("everything main", id="a purpose that nobody knows"),
        pytest.param("decisions m%61in", id="a letter that needs no escape"),
        pytest.param("decisions ma in%2", id="half an escape"),
        pytest.param("decisions mäin", id="a letter that needs one"),
    ],
)
def test_what_is_not_written_so_is_not_read(value: str) -> None:
    """A trailer has one spelling, or two readers could take it for two branches."""
    assert [None] == purposes_in([("Reconciled-For", value)])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("Import\n", "Import\n\n{}", id="a subject alone"),
        pytest.param("Place web", "Place web\n\n{}", id="no line end"),
        pytest.param("Reconciled-At: now\n", "Reconciled-At: now\n\n{}", id="a subject like one"),
        pytest.param("a\n\n- b: c\n", "a\n\n- b: c\n\n{}", id="a body"),
        pytest.param("a\n\nAt: now\n", "a\n\nAt: now\n{}", id="trailers"),
    ],
)
def test_the_trailer_is_the_last_of_the_trailers(message: str, expected: str) -> None:
    """They are one paragraph, which is not the subject."""
    told = "Reconciled-For: decisions main teams/a\n"

    assert expected.format(told) == with_purpose(message, HERE)
