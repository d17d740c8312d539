"""A sample of what strangers may do; `make strangers` goes on until time is up."""

import random
from pathlib import Path

import pytest

from reconciler.shell import commit_places
from tests.trust.campaign import Campaign, LawBrokenError
from tests.trust.peoples_moves import put_right
from tests.trust.random_moves import random_moves
from tests.trust.strangers_moves import detour

CPU_SECONDS = 60  # each pass and each question of the oracle is a process or ten
MOVES = 40


@pytest.mark.cpu_seconds(CPU_SECONDS)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_strangers_is_decided_and_all_of_people_is(tmp_path: Path, seed: int) -> None:
    """After any pass, and after any two; seeds by turns have outputs on a branch of their own."""
    chosen = random.Random(seed)  # noqa: S311  # moves, not secrets

    Campaign(tmp_path, chosen, apart=seed % 2 == 1).make(random_moves(chosen, MOVES))


@pytest.mark.cpu_seconds(CPU_SECONDS)
def test_a_missing_check_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite itself can fail: what is signed for any place is let through here."""
    monkeypatch.setattr(commit_places, "misplacement", lambda *_, **__: "")
    campaign = Campaign(tmp_path, random.Random(0), apart=False)  # noqa: S311  # as above

    with pytest.raises(LawBrokenError, match="identity-duplicate"):
        campaign.make(15 * [put_right, Campaign.look_twice, detour])
