"""The list of the roots that one daemon serves: how each stands, and where its page is."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.page.links import Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class RootLine:
    """How one root stands.

    Attributes:
        anchor: Its name, and where its page is.
        ails: Why nobody should rely on it, `""` if all is well.
        at: Moment of its newest pass, `None` if there was none since the daemon began.
        revision: Full hex id of the commit that pass left, `""` if there was none.
        faults: How many faults that pass reported.
        held: Whether removals wait to be let through.
        worker: Who has its memory now, `""` for the daemon itself or nobody.
    """

    anchor: Anchor
    ails: str
    at: datetime | None = None
    revision: str = ""
    faults: int = 0
    held: bool = False
    worker: str = ""
