"""What a dialect answers about the files of a world, beside deciding."""

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The answers of one API.

    Attributes:
        is_placed: Whether an output of it is a decision that names a cluster.
        owner_of: Returns the placement that an output is a part of, `None` if it is of none.
    """

    is_placed: Callable[[Manifest], bool]
    owner_of: Callable[[ObjectKey, Body], ObjectKey | None]
