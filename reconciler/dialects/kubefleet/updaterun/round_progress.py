"""What a round of a run comes to: what it waits for, and until when time alone changes nothing."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Waits(StrEnum):
    """What a run waits for."""

    NOTHING = "nothing"
    NEXT_ROUND = "the next round"
    CLUSTERS = "clusters"
    APPROVAL = "an approval"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How a round ended.

    Attributes:
        waits: What for.
        until: When time alone could change something, `None` if never.
        finished: Whether the run is done, or stopped.
    """

    waits: Waits
    until: datetime | None = None
    finished: bool = False


AT_REST = RoundProgress(Waits.NOTHING)
NEXT_ROUND = RoundProgress(Waits.NEXT_ROUND)
FINISHED = RoundProgress(Waits.NOTHING, finished=True)
