"""Numbers with a fraction as Go writes them."""

import math

EXPONENT = 6  # greater powers of ten, and those below -4, are written with an exponent


def float_text(number: float) -> str:
    """Return a number in the fewest digits, as `strconv.FormatFloat` with the format `g` does.

    >>> float_text(1.0), float_text(1234567.5), float_text(0.00001), float_text(1e21)
    ('1', '1.2345675e+06', '1e-05', '1e+21')
    """
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    digits, power = digits_of(number)
    if not -4 <= power < EXPONENT:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):02}"
    return sign + _plain(digits, power)


def plain_text(number: float) -> str:
    """Return a finite number in the fewest digits, never with an exponent.

    >>> plain_text(1e21), plain_text(-0.00001)
    ('1000000000000000000000', '-0.00001')
    """
    return ("-" if number < 0 else "") + _plain(*digits_of(number))


def digits_of(number: float) -> tuple[str, int]:
    """Return the fewest digits that tell a finite number, and the power of ten of the first."""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + ("" if fraction == "0" else fraction)
    power = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(digits.lstrip("0")))
    stripped = digits.lstrip("0").rstrip("0")
    return (stripped, power) if stripped else ("0", 0)


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    rest = digits[power + 1 :]
    return digits[: power + 1].ljust(power + 1, "0") + (f".{rest}" if rest else "")
