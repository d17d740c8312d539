"""A sample of what strangers may do; `make strangers` goes on until time is up."""

import random
from pathlib import Path

import pytest

from reconciler.shell.passes import trust
from tests.trust.campaign import Campaign, LawBrokenError
from tests.trust.moves import detour, play, put_right

CPU_SECONDS = 60  # each pass and each question of the oracle is a process or ten
MOVES = 25


@pytest.mark.cpu_seconds(CPU_SECONDS)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_strangers_is_decided_and_all_of_people_is(tmp_path: Path, seed: int) -> None:
    """After any pass, and after any two: outputs apart or not, served here or from afar."""
    play(tmp_path, seed, MOVES)


@pytest.mark.cpu_seconds(CPU_SECONDS)
def test_a_missing_check_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite itself can fail: what is signed for any place is let through here."""
    monkeypatch.setattr(trust, "misplacement", lambda *_, **__: "")
    campaign = Campaign(tmp_path, random.Random(0), apart=False)  # noqa: S311  # moves, not secrets

    with pytest.raises(LawBrokenError, match="identity-duplicate"):
        campaign.make(15 * [put_right, Campaign.look_twice, detour])
