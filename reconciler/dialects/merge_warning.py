"""What a dialect may warn of before a merge."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.model.decision import Decision
from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: a stable id, the object as people call it (`""` for none), and a sentence."""

    rule: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeEffects:
    """Both worlds and what a pass writes in each.

    Attributes:
        base: The world without the change.
        merged: The world with it.
        known: Path to text of what a pass writes without the change.
        written: Path to text of what it writes with it.
        caused: The decisions that it takes with the change and not without it.
        is_carried: Whether a placement of any API may select a namespace with all that is in it.
    """

    base: World
    merged: World
    known: Mapping[str, str]
    written: Mapping[str, str]
    caused: Sequence[Decision]
    is_carried: Callable[[str], bool]
