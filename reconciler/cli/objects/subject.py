"""What a question about one object is asked of: its key, its world, and its history."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.cli.objects.object_words import object_argument
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.option_group import Option, with_options
from reconciler.cli.options.options import at_option, output_option
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.library.subject import Subject

SEVERAL = 8  # events that `history` and `blame` look at, most often


@dataclass(frozen=True, slots=True)
class AskedObject:
    """What a person asks about: an object, where it is, as at which revision; how to answer."""

    word: str
    namespace: str
    output: str
    at: str
    layout: RepositoryLayout


def about_object(*formats: str, metavar: str = "OBJECT", behind: str | None = None) -> Option:
    """Return the argument and the options of a verb about one object; it gets them as `asked`.

    Args:
        formats: Of `-o`, the first by default.
        metavar: What the object is called in the help.
        behind: Name of one more word that may follow; the verb gets it, too.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def verb(*arguments: object, **named: Any) -> int:
            asked = AskedObject(
                **{field.name: named.pop(field.name) for field in fields(AskedObject)}
            )
            return function(*arguments, asked=asked, **named)

        options: list[Option] = [
            namespace_option,
            output_option(*formats),
            at_option,
            layout_options,
        ]
        return with_options(verb, [object_argument(metavar, behind=behind), *options])

    return decorate


def open_subject(directory: Path, asked: AskedObject) -> "Subject":
    """Find the object that a person names.

    Raises:
        UsageError: There is no such revision or kind, or nothing is decided about that kind.
    """
    from reconciler.cli.objects.world import note_if_empty, open_fleet

    fleet = open_fleet(directory, asked.layout)
    note_if_empty(directory, fleet.world(asked.at))
    return fleet.subject(asked.word, namespace=asked.namespace, at=asked.at)
