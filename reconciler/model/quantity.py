"""Kubernetes quantities, exact: a whole number of nano units, and their canonical texts.

Amounts by resource name are what a cluster has, or what a replica asks for.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NewType

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.text import shown

Quantity = NewType("Quantity", int)
"""An amount in nano units; Kubernetes keeps no smaller part."""

NANOS = 10**9
MAX_DIGITS = 18  # apimachinery maxInt64Factors: so many digits always fit 64 bits
MAX_VALUE = 2**63 - 1  # apimachinery maxAllowed: greater amounts with binary suffixes are capped

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF_POWER = {power: suffix for suffix, power in _DECIMAL.items()}
_SYNTAX = re.compile(
    r"(?=.)([+-]?)(\d*\.?\d*)(?:([KMGTPE]i)|[eE]([+-]?\d+)|([numkMGTPE]?))", re.ASCII
)
_MAX_EXPONENT = 64  # beyond it every amount is capped, or rounds up to one nano


@lru_cache(maxsize=1 << 14, typed=True)  # workloads ask for the same few amounts
def parse_quantity(text: str | int) -> Quantity:
    """Return the amount that a quantity names, digits below a nano rounded away from zero.

    One without digits is zero, as in Go. Of binary ones what is above `MAX_VALUE` is cut.

    Args:
        text: `1500m`, `1Gi`, `.5`, `1e3`; a plain number of YAML is taken as its text.

    Raises:
        ValueError: The text is not a quantity.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go
    `ParseQuantity`.

    >>> parse_quantity("1500m"), parse_quantity(".5"), parse_quantity("1Ki")
    (1500000000, 500000000, 1024000000000)
    """
    match = _SYNTAX.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{shown(text)} is not a quantity; write it as 500m, 2, 1Gi or 1e3")
    sign, digits, binary, exponent, decimal = match.groups()
    whole, _, fraction = digits.partition(".")
    unscaled = int(whole + fraction or "0")
    if binary is not None:
        unscaled, power = unscaled << _BINARY[binary], 0
    else:
        power = int(exponent) if exponent is not None else _DECIMAL[decimal]
    power = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, power)) - len(fraction) + 9
    nanos = unscaled * 10**power if power >= 0 else -(-unscaled // 10**-power)
    if binary is not None:
        nanos = min(nanos, MAX_VALUE * NANOS)
    return Quantity(-nanos if sign == "-" else nanos)


def approximate(text: str | float) -> float:
    """Return the amount that a quantity names as upstream's float64, rounding errors included.

    The digits and the power of ten are multiplied, so `0.3` is `3 * 0.1`. What does not fit 64 bits
    easily is taken in nano units, rounded up.

    Raises:
        ValueError: The text is not a quantity.

    Source: ocm@00f84c3 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go `ParseQuantity`
    and `AsApproximateFloat64`.

    >>> approximate("0.3"), approximate("1Ki")
    (0.30000000000000004, 1024.0)
    """
    match = _SYNTAX.fullmatch(str(text))
    if match is None:
        return float(parse_quantity(str(text)))
    sign, digits, binary, exponent, decimal = match.groups()
    whole, _, fraction = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    unscaled = int(whole + fraction)
    if binary is not None:
        bits = _BINARY[binary]
        unscaled, power = unscaled << bits, 0
        fits = not fraction and 14 - len(whole) - bits * 3 // 10 >= 0
    else:
        power = int(exponent) if exponent is not None else _DECIMAL[decimal]
        power -= len(fraction)
        fits = len(whole) + len(fraction) <= MAX_DIGITS and power >= -9  # nano
    if not fits:
        unscaled, power = abs(parse_quantity(str(text).lstrip("+-"))), -9
    value = float(unscaled) * float(f"1e{power}") if power else float(unscaled)
    return -value if sign == "-" else value


def ceil_units(amount: Quantity) -> int:
    """Return the amount in whole units, rounded away from zero.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go `Value`, and
    amount.go `negativeScaleInt64`.

    >>> ceil_units(parse_quantity("1500m")), ceil_units(parse_quantity("-1500m"))
    (2, -2)
    """
    return ceil_by(NANOS, amount)


def ceil_milli(amount: Quantity) -> int:
    """Return the amount in thousandths, rounded away from zero.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go `MilliValue`.

    >>> ceil_milli(parse_quantity("1999u"))
    2
    """
    return ceil_by(NANOS // 1000, amount)


def ceil_by(unit: int, amount: Quantity) -> int:
    """Return the amount in whole units of so many nanos, rounded away from zero."""
    return -(-amount // unit) if amount >= 0 else amount // unit


def canonical_decimal(amount: Quantity) -> str:
    """Return the canonical text in powers of a thousand: the fewest digits, no fraction.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go
    `CanonicalizeBytes`, format DecimalSI.

    >>> canonical_decimal(parse_quantity("1.5")), canonical_decimal(parse_quantity("1000"))
    ('1500m', '1k')
    """
    if amount == 0:
        return "0"
    mantissa, power = int(amount), -9
    while mantissa % 1000 == 0 and power < max(_SUFFIX_OF_POWER):
        mantissa, power = mantissa // 1000, power + 3
    return f"{mantissa}{_SUFFIX_OF_POWER[power]}"


def canonical_cpu(amount: Quantity) -> str:
    """Return the canonical text of an amount of cpu, rounded up to a thousandth.

    >>> canonical_cpu(parse_quantity("0.1")), canonical_cpu(parse_quantity("2000m"))
    ('100m', '2')
    """
    return canonical_decimal(Quantity(ceil_milli(amount) * (NANOS // 1000)))


def canonical_binary(amount: Quantity) -> str:
    """Return the canonical text in powers of 1024, rounded up to whole units.

    Amounts below 1024 are written in powers of a thousand.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go
    `CanonicalizeBytes`, format BinarySI.

    >>> [canonical_binary(parse_quantity(text)) for text in ("1G", "2G", "1024Mi", "1000")]
    ['1000000000', '1953125Ki', '1Gi', '1k']
    """
    value = ceil_units(amount)
    if abs(value) < 1024:
        return canonical_decimal(Quantity(value * NANOS))
    power = 0
    while value % 1024 == 0 and power < _BINARY["Ei"]:
        value, power = value // 1024, power + 10
    suffix = next((name for name, bits in _BINARY.items() if bits == power), "")
    return f"{value}{suffix}"


def canonical_like(amount: Quantity, text: str) -> str:
    """Return the canonical text of an amount in the format of another text.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/resource/quantity.go `Format`: a sum
    has the format of what it began with.

    >>> canonical_like(parse_quantity("3"), "1Gi"), canonical_like(parse_quantity("3k"), "1e3")
    ('3', '3e3')
    """
    match = _SYNTAX.fullmatch(text)
    if match is not None and match[3] is not None:
        return canonical_binary(amount)
    written = canonical_decimal(amount)
    if match is None or match[4] is None or not written[-1].isalpha():
        return written
    return f"{written[:-1]}e{_DECIMAL[written[-1]]}"


def canonical_text(text: str) -> str:
    """Return a quantity as an API server prints it.

    >>> canonical_text("1000m"), canonical_text("1024Mi"), canonical_text("0.5")
    ('1', '1Gi', '500m')
    """
    return canonical_like(parse_quantity(text), text)


Resources = Mapping[str, Quantity]


def decode_resources(body: Body) -> dict[str, Quantity]:
    """Return a mapping of resource names to quantities.

    Raises:
        UserError: A value is no quantity.
    """
    resources = {}
    for name, amount in body.items():
        if isinstance(amount, bool) or not isinstance(amount, str | int | float):
            raise UserError("must be a quantity", field=name)
        try:
            resources[name] = parse_quantity(str(amount))
        except ValueError as error:
            raise UserError(f"must be a quantity: {error}", field=name) from None
    return resources


def readable_resources(body: Body) -> Resources | None:
    """Return amounts, `None` where there are none, or none that can be read."""
    try:
        return decode_resources(body) or None
    except UserError:
        return None


def less(capacity: Resources, used: Resources) -> dict[str, Quantity]:
    """Return what is left, 0 at least."""
    return {name: Quantity(max(0, amount - used.get(name, 0))) for name, amount in capacity.items()}
