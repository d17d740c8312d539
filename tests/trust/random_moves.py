"""Moves in any order: those of strangers, of people, and looks of the daemon."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from tests.trust.campaign import Campaign
from tests.trust.peoples_moves import PEOPLES_MOVES
from tests.trust.strangers_moves import STRANGERS_MOVES

KINDS = [*STRANGERS_MOVES] * 2 + [*PEOPLES_MOVES] * 2 + [Campaign.look] * 9


def play(folder: Path, seed: int, moves: int) -> None:
    """Make moves in a new repository; by its seed it has outputs apart, or is served from afar.

    Raises:
        LawBrokenError: A law does not hold.
    """
    chosen = random.Random(seed)  # noqa: S311  # moves, not secrets
    apart, mirrored = seed % 2 == 1, seed % 4 > 1
    with closing(Campaign(folder, chosen, apart=apart, mirrored=mirrored)) as campaign:
        campaign.make(_chosen_moves(chosen, moves))


def _chosen_moves(chosen: random.Random, count: int) -> Iterator[Callable[[Campaign], None]]:
    """Yield so many moves; the daemon looks after every third or so."""
    return (chosen.choice(KINDS) for _ in range(count))
