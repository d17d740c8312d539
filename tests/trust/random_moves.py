"""Moves in any order: those of strangers, of people, and looks of the daemon."""

import random
from collections.abc import Callable, Iterator

from tests.trust.campaign import Campaign
from tests.trust.peoples_moves import PEOPLES_MOVES
from tests.trust.strangers_moves import STRANGERS_MOVES

KINDS = [*STRANGERS_MOVES] * 2 + [*PEOPLES_MOVES] * 2 + [Campaign.look] * 9


def random_moves(chosen: random.Random, count: int) -> Iterator[Callable[[Campaign], None]]:
    """Yield so many moves; the daemon looks after every third or so."""
    return (chosen.choice(KINDS) for _ in range(count))
