"""A bounded share of `make fuzz`, the same one each time, and what it once found."""

from pathlib import Path

import pytest

from tests.fuzz.corpus import repositories
from tests.fuzz.mutations import Spot, ordered, spots
from tests.fuzz.run import broken_by_daemon, broken_by_verbs, laws_broken_by, sample, try_all

PIECES, OF_A_PIECE = 8, 50  # 400 of 35,000 shapes, about 20 s of one processor
THROUGH_VERBS = 4
BEFORE_THE_DAEMON = 20


@pytest.mark.parametrize("piece", range(PIECES))
def test_a_share_of_all_mutations_breaks_no_law(piece: int) -> None:
    """Nothing raises, bystanders are undisturbed, and so on: see `run.py`."""
    tally = try_all(sample()[piece * OF_A_PIECE : (piece + 1) * OF_A_PIECE])

    assert [] == tally.broken
    assert OF_A_PIECE == tally.tried


@pytest.mark.parametrize("number", range(THROUGH_VERBS))
def test_every_verb_answers(number: int, tmp_path: Path) -> None:
    """With a sentence, if not with what was asked for."""
    assert [] == list(broken_by_verbs(sample()[number], tmp_path / "fleet"))


def test_the_daemon_lives(tmp_path: Path) -> None:
    """Through one bad commit after the other."""
    example = [one for one in repositories() if one.name == "example-repo"]

    assert [] == list(broken_by_daemon(ordered(example)[:BEFORE_THE_DAEMON], tmp_path / "fleet"))


REGRESSIONS = [
    (
        "fixtures/kubefleet/staged/5-approved",
        "status/clusterstagedupdateruns.placement.kubernetes-fleet.io/shop-v1.yaml",
        "0/status/conditions=deep",
    ),
    (
        "fixtures/kubefleet/staged/4-asked",
        "status/clusterstagedupdateruns.placement.kubernetes-fleet.io/shop-v1.yaml",
        "0/status/conditions/1/reason=wide",
    ),
    ("docs/rules/policy-override-missing.md:1", "mutated.yaml", "1/spec=path"),
    ("docs/rules/identity-kind-unknown.md:0", "mutated.yaml", "0/spec/resourceSelectors=empty"),
    (
        "fixtures/kubefleet/rollout/2-available",
        "status/clusterschedulingpolicysnapshots.placement.kubernetes-fleet.io/crp-1-0.yaml",
        "0/522=cut",
    ),
    (
        "fixtures/kubefleet/resource-change/2-new-resource",
        "status/clusterresourcesnapshots.placement.kubernetes-fleet.io/crp-1-0-snapshot.yaml",
        "0/385=cut",
    ),
]
"""What broke a law once: repository, file, and what was done to it."""


def spot_of(repository: str, path: str, name: str) -> Spot:
    """Find a mutation again."""
    [found] = [one for one in repositories() if one.name == repository]
    return next(spot for spot in spots(found) if (spot.path, spot.name) == (path, name))


@pytest.mark.parametrize("known", REGRESSIONS, ids=" ".join)
def test_what_was_broken_once_holds(known: tuple[str, str, str]) -> None:
    """Each of these was found by `make fuzz`."""
    assert [] == laws_broken_by(spot_of(*known).make())
