"""Values as Go holds and prints them: their types, their texts and their JSON."""

import json
from collections.abc import Mapping
from decimal import Decimal

from reconciler.model.body import Body

INT64 = 2**63
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-6, 1e21  # of floats without an exponent in JSON
TEXT_LARGEST_EXPONENT = 21  # of floats without an exponent in texts


class GoByte(int):
    """A byte of a text, which is a number of a type of its own."""


class GoInt(int):
    """A number of a program, which is of another type than those of JSON."""


_TYPES: Mapping[type, str] = {
    bool: "bool",
    int: "int64",
    GoByte: "uint8",
    GoInt: "int",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def stored(value: object) -> object:
    """Return a value as an API server's JSON holds it: whole numbers of 64 bits, else floats."""
    if isinstance(value, int) and not -INT64 <= value < INT64:
        return float(value)
    return value


def go_type(value: object) -> str:
    """Return the type's name, `<nil>` of null."""
    return _TYPES.get(type(stored(value)), "<nil>")


def go_text(value: object) -> str:
    """Return a value as `%v` prints it.

    >>> go_text({"b": [1, None], "a": True})
    'map[a:true b:[1 <nil>]]'
    """
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case float():
            return _float_text(value)
        case Mapping():
            inner = (f"{name}:{go_text(value[name])}" for name in sorted(value))
            return f"map[{' '.join(inner)}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
    return str(value)


def go_json(value: object) -> str:
    r"""Return compact JSON as Go writes it: keys in order, HTML's signs escaped.

    >>> go_json({"b": 2.0, "a": ["<", 1e-7, 1e16]})
    '{"a":["\\u003c",1e-7,10000000000000000],"b":2}'

    Source: Go encoding/json encode.go `floatEncoder`, `appendString`.
    """
    match stored(value):
        case float() as number:
            return _float_json(number)
        case Mapping() as body:
            return f"{{{','.join(_member(body, name) for name in sorted(body))}}}"
        case list() as items:
            return f"[{','.join(map(go_json, items))}]"
        case str() as text:
            shown = json.dumps(text, ensure_ascii=False)
            for sign in "<>&\u2028\u2029":
                shown = shown.replace(sign, f"\\u{ord(sign):04x}")
            return shown
        case plain:
            return json.dumps(plain)


def _member(body: Body, name: str) -> str:
    return f"{go_json(name)}:{go_json(body[name])}"


def _float_json(number: float) -> str:
    if number and not SMALLEST_PLAIN <= abs(number) < LARGEST_PLAIN:
        return _scientific(number).replace("e-0", "e-")
    return _plain(number)


def _float_text(number: float) -> str:
    exponent = Decimal(repr(number)).adjusted() if number else 0
    if not -4 <= exponent < TEXT_LARGEST_EXPONENT:
        return _scientific(number)
    return _plain(number)


def _plain(number: float) -> str:
    """Return the shortest digits without an exponent."""
    shown = format(Decimal(repr(number)), "f")
    return shown.removesuffix(".0") if "." in shown else shown


def _scientific(number: float) -> str:
    """Return the shortest digits with an exponent of at least two."""
    sign, digits, _ = Decimal(repr(number)).normalize().as_tuple()
    exponent = Decimal(repr(number)).adjusted()
    rest = "".join(map(str, digits[1:]))
    mantissa = f"{digits[0]}.{rest}" if rest else str(digits[0])
    mark = "-" if exponent < 0 else "+"
    return f"{'-' if sign else ''}{mantissa}e{mark}{abs(exponent):02d}"
