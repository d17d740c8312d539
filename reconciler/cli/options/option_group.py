"""Options that belong together: a verb gets their values as one object."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

Option = Callable[[Callable[..., int]], Callable[..., int]]


def gathered(
    function: Callable[..., int], name: str, kind: Callable[..., object], options: Sequence[Option]
) -> Callable[..., int]:
    """Add options to a verb, which gets all their values as one object.

    Args:
        function: The verb.
        name: Its argument.
        kind: A dataclass with a field for each option.
        options: In the order in which `--help` lists them; one may be a group itself, whose object
            is then one of the values.
    """

    @functools.wraps(function)
    def verb(*arguments: object, **named: Any) -> int:
        values = {field.name: named.pop(field.name) for field in fields(kind)}  # type: ignore[arg-type]
        return function(*arguments, **{name: kind(**values)}, **named)

    return with_options(verb, options)


def with_options(function: Callable[..., int], options: Sequence[Option]) -> Callable[..., int]:
    """Add options to a verb, in the order in which `--help` lists them."""
    for option in reversed(options):
        function = option(function)
    return function
