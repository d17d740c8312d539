"""The order of rows that `--sort-by` asks for: by what stands at a JSONPath, as kubectl sorts."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reconciler.errors import UsageError
from reconciler.manifests.json_path import check_path, find_path
from reconciler.model.quantity import parse_quantity

if TYPE_CHECKING:
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey

Place = tuple[int, int, tuple[tuple[int, int, str], ...]]
"""By what kind of value, by number, by text; comparable with any other."""

_PIECE = re.compile(r"(\d+)|(\D+)")


def check_order(path: str) -> None:
    """Refuse a `--sort-by` that is no JSONPath.

    Raises:
        UsageError: It is none.
    """
    from reconciler.model.message_text import shown

    try:
        check_path(path)
    except ValueError as error:
        raise UsageError(f"--sort-by {shown(path)} {error}") from None


def in_order(bodies: "Mapping[ObjectKey, Body]", path: str) -> "list[ObjectKey]":
    """Return objects in the order of what stands at a path; equal ones stay as they are.

    What lacks the field comes first, then numbers and quantities by what they amount to, then text
    with the numbers in it by value: `c2` before `c10`.

    Raises:
        UsageError: None of them has the field, so the path may be a slip.

    Source: kubernetes/kubectl pkg/cmd/get/sorter.go `isLess`.
    """
    from reconciler.model.message_text import shown

    values = {key: next(iter(find_path(body, path)), None) for key, body in bodies.items()}
    if values and all(value is None for value in values.values()):
        raise UsageError(f"--sort-by {shown(path)} must be a field that one of the objects has")
    return sorted(values, key=lambda key: _place(values[key]))


def _place(value: object) -> Place:
    if value is None:
        return (0, 0, ())
    text = str(value)
    try:
        return (1, parse_quantity(text), ())
    except ValueError:
        pieces = (
            (0, int(digits), "") if digits else (1, 0, other)
            for digits, other in _PIECE.findall(text)
        )
        return (2, 0, tuple(pieces))
