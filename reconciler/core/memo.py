"""What passes of one repository remember, so that work follows what changed.

No answer depends on it: a pass with a memo, whatever it saw before, and a pass without one give
equal outcomes. The caller owns it and hands it to one pass after the other. It refers to the
documents of the worlds that it saw, and these must not change.
"""

from dataclasses import dataclass, field
from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS, wraps
from reconciler.core.ledger.ledger_round import LedgerMemory
from reconciler.delivery.memory import DeliveryMemory
from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.model.keyed_cache import AnswerCache, UnchangedUntil
from reconciler.model.settings import Settings
from reconciler.model.world import World


def _begun() -> dict[Dialect, DialectMemory]:
    """Return memories that have seen nothing yet."""
    return {dialect: dialect.begin() for dialect in DIALECTS}


def undelivered() -> DeliveryMemory:
    """Return a memory of delivery that has rendered nothing yet."""
    renderers = {dialect.name: dialect.renderers() for dialect in DIALECTS}
    return DeliveryMemory(renderers, wraps())


@dataclass(slots=True)
class Memo:
    """What earlier passes found out.

    Attributes:
        dialects: The memory of each dialect.
        settings: The configuration decoded, under one name.
        delivery: Which files of clusters there should be.
        ledger: What is reserved of clusters.
    """

    dialects: dict[Dialect, DialectMemory] = field(default_factory=_begun)
    settings: AnswerCache[None, Settings] = field(default_factory=AnswerCache)
    delivery: DeliveryMemory = field(default_factory=undelivered)
    ledger: LedgerMemory = field(default_factory=LedgerMemory)
    _last: tuple[World, UnchangedUntil, Outcome] | None = None

    def clear(self) -> None:
        """Forget everything, as after a pass that was not brought to its end."""
        self.dialects, self.settings, self._last = _begun(), AnswerCache(), None
        self.delivery, self.ledger = undelivered(), LedgerMemory()

    def idle(self, world: World, now: datetime) -> Outcome | None:
        """Return the outcome of the last pass if it had the same world and nothing to do."""
        if self._last is None or self._last[0] is not world or not self._last[1].holds(now):
            return None
        return self._last[2]

    def close(self, world: World, now: datetime, outcome: Outcome, *, idle: bool) -> None:
        """End a pass: remember an idle one, and forget what is of no use any more.

        Args:
            world: That the pass looked at.
            now: Its moment.
            outcome: What came of it.
            idle: Whether nothing but the world had it do nothing, if it did.
        """
        still = idle and not (outcome.changes or outcome.decisions or outcome.edited)
        self._last = (world, UnchangedUntil(now, outcome.recheck_at), outcome) if still else None
        self.settings.forget()
        self.ledger.forget()
        for memory in self.dialects.values():
            memory.forget()
