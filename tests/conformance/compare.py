"""The first place where two JSON values differ."""

from collections.abc import Mapping


def first_difference(expected: object, actual: object, path: str = "") -> str | None:
    """Return where and how two values differ, `None` if they are equal."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in sorted({*expected, *actual}):
            if key not in expected or key not in actual:
                side = "not expected" if key not in expected else "missing"
                return f"{path}.{key}: {side}"
            found = first_difference(expected[key], actual[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for place, (one, other) in enumerate(zip(expected, actual, strict=True)):
            found = first_difference(one, other, f"{path}[{place}]")
            if found:
                return found
        return None
    if expected == actual:
        return None
    return f"{path}: expected {expected!r}, got {actual!r}"
