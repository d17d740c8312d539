"""A change that a person may propose: a new file or a patch, and the command that proposes it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedView:
    """The view; the page writes nothing itself.

    Attributes:
        path: The file, or how many there are.
        lines: All of a new file, or what differs in one that is there; none if nothing differs, or
            if its difference is hidden.
        is_new: Whether it is a new file.
        command: What writes it, of one object onto a branch of its own; `""` where no command does.
        said: What to know of it.
    """

    path: str
    lines: Sequence[str]
    is_new: bool
    command: str
    said: Sequence[str]
