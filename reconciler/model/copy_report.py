"""What a cluster says of one copy of an object, whichever way it says it.

A plain report is the object itself, `metadata` and `status`. An agent that carries objects in an
object of its own, such as a Work, says of each whether it applied it, and what became of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.health import Health, has_health, health_of
from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """A report of one copy.

    Attributes:
        body: The object as its cluster holds it, as far as that is told.
        applied: Whether the cluster has what it was given last.
        message: Why it has not, `""` if it has, or does not say.
        judged: Its health in the words of an agent, `None` if it follows from the body.
        is_judge: Whether who reports it knows the health of its kind, if that has any.
    """

    body: Body
    applied: bool = True
    message: str = ""
    judged: Health | None = None
    is_judge: bool = True

    @property
    def health(self) -> Health:
        """Its health; nothing is known of the health of what is not applied."""
        if not self.applied:
            return Health.UNKNOWN
        return health_of(self.body) if self.judged is None else self.judged

    @property
    def lacks_health(self) -> bool:
        """Whether it should tell its health, and does not (yet)."""
        return self.is_judge and self.health is Health.UNKNOWN and has_health(self.body)


Unpack = Callable[[Body], Iterable[tuple[ObjectKey, CopyReport]]]
"""Returns what an object that carries others says of each; the keys name no reporter."""
