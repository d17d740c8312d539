"""What has to wait for a moment, and what happens then if nothing else does before."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Wait:
    """One object that stays as it is until a moment.

    Attributes:
        until: When time alone ends it.
        key: What decisions about the object bear, or a rebalancer.
        subject: The object as people call it.
        reason: Why it stays, a clause that `until` and the moment follow.
        then: What happens at that moment, a clause that `then` precedes.
    """

    until: datetime
    key: ObjectKey
    subject: str
    reason: str
    then: str
