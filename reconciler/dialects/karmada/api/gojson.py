"""JSON as Go has it: how it is written, and the words for text that is none."""

import json

_LITERALS = {"t": "true", "f": "false", "n": "null"}
_KEY = "looking for beginning of object key string"
_PLACES = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": _KEY,
    "Illegal trailing comma before end of object": _KEY,
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
}
_END = "unexpected end of JSON input"
_ESCAPES = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"}
_ESCAPES |= {"\u2028": "\\u2028", "\u2029": "\\u2029"}


def go_json(value: object) -> str:
    r"""Return a value as Go marshals it: compact, fields in their order, some signs escaped.

    Source: Go src/encoding/json/encode.go `Marshal`.

    >>> go_json({"a": "<b>"})
    '{"a":"\\u003cb\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def explain_json_error(text: str, error: json.JSONDecodeError) -> str:
    """Return the message of Go's `json.Unmarshal` for the first fault in a text.

    Source: Go src/encoding/json/scanner.go `SyntaxError`.

    >>> explain_json_error("x", json.JSONDecodeError("Expecting value", "x", 0))
    "invalid character 'x' looking for beginning of value"
    """
    position = error.pos
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    if position >= len(text) or error.msg.startswith("Unterminated string"):
        return _END
    character, place = text[position], _PLACES.get(error.msg)
    if error.msg == "Expecting ',' delimiter":
        opened = text[:position].count("[") > text[:position].count("]")
        place = "after array element" if opened else "after object key:value pair"
    if error.msg == "Expecting value" and character in _LITERALS:
        return _explain_literal(text[position:], _LITERALS[character])
    return f"invalid character '{character}' {place}" if place else error.msg


def _explain_literal(text: str, literal: str) -> str:
    for found, expected in zip(text, literal, strict=False):
        if found != expected:
            return f"invalid character '{found}' in literal {literal} (expecting '{expected}')"
    return _END
