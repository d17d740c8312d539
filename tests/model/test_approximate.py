"""Amounts as upstream's float64."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.quantity import NANOS, approximate, parse_quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0.3", 3 * 0.1, id="digits-times-a-power"),
        pytest.param("300m", 300 * 0.001, id="milli"),
        pytest.param("007", 7.0, id="leading-zeros"),
        pytest.param("-2", -2.0, id="negative"),
        pytest.param("256Gi", 256.0 * 2**30, id="binary"),
        pytest.param("0.5Gi", 2**29 * 10**9 * 1e-9, id="binary-with-a-fraction"),
        pytest.param("1e30", 1e30, id="greater-than-the-cap"),
        pytest.param(0.5, 0.5, id="number"),
        pytest.param("0.1n", 1e-9, id="rounded-up-to-a-nano"),
    ],
)
def test_amount_as_a_float(text: str | float, expected: float) -> None:
    """Digits and the power of ten are multiplied, never divided."""
    assert expected == approximate(text)


@given(st.integers(0, 10**12), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_float_is_close_to_the_exact_amount(number: int, suffix: str) -> None:
    """Only rounding separates the two."""
    text = f"{number}{suffix}"

    assert pytest.approx(parse_quantity(text) / NANOS) == approximate(text)
