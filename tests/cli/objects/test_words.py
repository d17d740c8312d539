"""How objects and verbs may be said: as kubectl has them, and what is answered to a slip."""

from pathlib import Path

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    return told_fleet(tmp_path_factory.mktemp("words") / "fleet")


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        pytest.param("blame", [], id="blame"),
        pytest.param("events", ["-o", "json"], id="events"),
        pytest.param("history", [], id="history"),
        pytest.param("rebalance", ["--dry-run", "-o", "yaml"], id="rebalance"),
        pytest.param("suspend", ["--dry-run"], id="suspend"),
        pytest.param("tree", [], id="tree"),
        pytest.param("why", ["-o", "json"], id="why"),
    ],
)
def test_an_object_may_be_two_words(
    fleet: Checkout, capsys: Capsys, verb: str, options: list[str]
) -> None:
    """As kubectl takes `deployment shop`."""
    one = answer(fleet, capsys, verb, "deployment/shop", *options)

    assert (0, True) == (one[0], bool(one[1]))
    assert one == answer(fleet, capsys, verb, "deployment", "shop", *options)


def test_a_cluster_follows_either_spelling(fleet: Checkout, capsys: Capsys) -> None:
    """The third of three words is the cluster."""
    one = answer(fleet, capsys, "why", "deployment/shop", "backup1")

    assert (0, True, False) == (one[0], "backup1" in one[1], "member2" in one[1])
    assert one == answer(fleet, capsys, "why", "deployment", "shop", "backup1")


def test_several_targets_may_share_their_kind(fleet: Checkout, capsys: Capsys) -> None:
    """As in `kubectl rollout restart deployment shop frontend`."""
    options = ("--dry-run", "-o", "yaml")
    one = answer(fleet, capsys, "rebalance", "deploy/shop", "deploy/frontend", *options)

    assert (0, 2) == (one[0], one[1].count("kind: Deployment"))
    assert one == answer(fleet, capsys, "rebalance", "deploy", "shop", "frontend", *options)


def test_a_word_too_many_is_said(fleet: Checkout, capsys: Capsys) -> None:
    """Rather than passed over."""
    expected = 'reconciler: "frontend" is unexpected; name only one object\n'

    assert (2, "", expected) == answer(fleet, capsys, "history", "deploy", "shop", "frontend")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["why", "deploy/shop"], 1, id="why"),
        pytest.param(["history", "deploy/shop"], 1, id="history"),
        pytest.param(["blame", "deploy/shop"], 1, id="blame"),
        pytest.param(["tree", "deploy/shop"], 2, id="tree"),
        pytest.param(["events", "deploy/shop"], 2, id="events"),
        pytest.param(["suspend", "deploy/shop", "--dry-run"], 2, id="suspend"),
        pytest.param(["rebalance", "deploy/shop", "--dry-run"], 2, id="rebalance"),
        pytest.param(["simulate", "--rebalance", "deploy/shop"], 2, id="simulate"),
        pytest.param(["get", "deploy/shop"], 1, id="get"),
    ],
)
def test_an_object_in_another_namespace_is_said(
    fleet: Checkout, capsys: Capsys, arguments: list[str], code: int
) -> None:
    """With the option to add, by every verb that looks for one."""
    found, out, err = answer(fleet, capsys, *arguments, "-n", "staging")

    assert (code, "") == (found, out)
    assert "it is in namespace default: add -n default" in err


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("hisotry", 'there is no verb "hisotry"; did you mean history?', id="slip"),
        pytest.param("resme", 'there is no verb "resme"; did you mean resume?', id="letter"),
        pytest.param("diff", 'there is no verb "diff"; did you mean plan?', id="another-tool"),
        pytest.param("xyz", 'there is no verb "xyz"; reconciler --help lists them', id="nothing"),
    ],
)
def test_a_verb_that_is_meant_is_named(
    tmp_path: Path, capsys: Capsys, word: str, expected: str
) -> None:
    """In one line."""
    checkout = Checkout(tmp_path)

    assert (2, "", f"reconciler: {expected}\n") == answer(checkout, capsys, word)
