"""Quantities and amounts: parsing is exact, rounding is up, texts are canonical."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.quantity import (
    NANOS,
    approximate,
    canonical_binary,
    canonical_cpu,
    canonical_decimal,
    ceil_milli,
    ceil_units,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("+1.5", 1_500_000_000, id="signed-fraction"),
        pytest.param("-2", -2_000_000_000, id="negative"),
        pytest.param("1e3", 1000 * 10**9, id="exponent"),
        pytest.param("12E-1", 1_200_000_000, id="negative-exponent"),
        pytest.param("2E", 2 * 10**27, id="exa-is-no-exponent"),
        pytest.param("1.5Ki", 1536 * 10**9, id="binary-fraction"),
        pytest.param("0.1n", 1, id="below-a-nano-rounds-up"),
        pytest.param("99Ei", (2**63 - 1) * 10**9, id="binary-is-capped"),
        pytest.param("1e20", 10**29, id="decimal-is-not-capped"),
        pytest.param("Gi", 0, id="no-digits"),
        pytest.param(".", 0, id="no-digits-around-the-point"),
        pytest.param(3, 3 * 10**9, id="plain-number"),
    ],
)
def test_parse(text: str | int, nanos: int) -> None:
    """The amount in nano units."""
    assert nanos == parse_quantity(text)


@pytest.mark.parametrize("text", ["", "1 Gi", "1gi", "1e", "0x1", "1,5", "--1", "NaN"])
def test_no_quantity(text: str) -> None:
    """The message says what would do."""
    with pytest.raises(ValueError, match="is not a quantity; write it as"):
        parse_quantity(text)


@given(st.integers(-(10**20), 10**20))
def test_canonical_text_names_the_same_amount(nanos: int) -> None:
    """Writing and reading is the identity."""
    amount = parse_quantity(f"{nanos}n")

    assert amount == parse_quantity(canonical_decimal(amount))


@given(st.integers(-(10**12), 10**12))
def test_canonical_binary_rounds_away_from_zero(millis: int) -> None:
    """The text names the amount in whole units, less than nothing as what is more negative."""
    amount = parse_quantity(f"{millis}m")

    assert ceil_units(amount) * 10**9 == parse_quantity(canonical_binary(amount))
    assert ceil_milli(amount) * 10**6 == parse_quantity(canonical_cpu(amount))
    assert ceil_units(amount) == -ceil_units(parse_quantity(f"{-millis}m"))


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
