"""An object as the words of a verb name it: `KIND/NAME`, or as in kubectl `KIND NAME`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.errors import UsageError
from reconciler.model.message_text import shown

Option = Callable[[Callable[..., int]], Callable[..., int]]


def object_argument(
    metavar: str = "OBJECT", *, required: bool = True, behind: str | None = None
) -> Option:
    """Return the argument that names one object; the verb gets `KIND/NAME` as its `word`.

    Args:
        metavar: What the object is called in the help.
        required: Whether it must be there; `word` may be `None` otherwise.
        behind: Name of one more word that may follow, which the verb gets, too.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def verb(*arguments: object, words: tuple[str, ...], **named: Any) -> int:
            word, rest = first_object(words)
            if behind is not None:
                named[behind] = rest[0] if rest else None
                rest = rest[1:]
            if rest:
                raise UsageError(f"{shown(rest[0])} is one word too many; name one object")
            return function(*arguments, word=word, **named)

        shown_as = metavar if required else f"[{metavar}]"
        shown_as += f" [{behind.upper()}]" if behind else ""
        offer = complete.object_then_cluster if behind else complete.objects
        return click.argument(
            "words", metavar=shown_as, nargs=-1, required=required, shell_complete=offer
        )(verb)

    return decorate


def first_object(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the object that words begin with, `None` without words, and the words behind it.

    >>> first_object(["deployment", "shop", "member1"]), first_object(["deployment/shop"])
    (('deployment/shop', ['member1']), ('deployment/shop', []))
    """
    if not words:
        return None, ()
    if "/" in words[0] or len(words) == 1:
        return words[0], words[1:]
    return f"{words[0]}/{words[1]}", words[2:]


def all_objects(words: Sequence[str]) -> list[str]:
    """Return every object that words name: `deployment shop web` are two.

    >>> all_objects(["deployment", "shop", "web"]), all_objects(["pp/a", "rb/b"])
    (['deployment/shop', 'deployment/web'], ['pp/a', 'rb/b'])
    """
    if len(words) > 1 and not any("/" in word for word in words):
        return [f"{words[0]}/{name}" for name in words[1:]]
    return list(words)
