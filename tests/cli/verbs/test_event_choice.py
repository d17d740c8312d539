"""`events` and `history` of a namespace, of some types, of a span of time."""

import json
from typing import Any

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Placed, scaled, and failed over, days ago."""
    return told_fleet(tmp_path_factory.mktemp("fleet") / "fleet")


def events(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[dict[str, Any]]:
    """Return what is asked for; that there is none is said beside it."""
    code, out, _ = answer(fleet, capsys, "events", *arguments, "-o", "json")
    assert 0 == code
    found: list[dict[str, Any]] = json.loads(out)["events"]
    return found


def namespaces(fleet: Checkout, capsys: Capsys, *arguments: str) -> set[str]:
    """Of the objects that have events."""
    return {one["object"]["namespace"] for one in events(fleet, capsys, *arguments)}


def test_a_namespace_is_all_that_is_asked_for(fleet: Checkout, capsys: Capsys) -> None:
    """Without one, or with -A, events of all are told, those of no namespace, too."""
    assert {"default"} == namespaces(fleet, capsys, "-n", "default")
    assert set() == namespaces(fleet, capsys, "-n", "nosuch")
    assert {"", "default"} <= namespaces(fleet, capsys)
    assert namespaces(fleet, capsys) == namespaces(fleet, capsys, "-A")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("--types", "Normal"), {"Normal"}, id="normal"),
        pytest.param(("--types", "normal,Warning"), {"Normal"}, id="both"),
        pytest.param(("--types", "Warning"), set(), id="warning"),
    ],
)
def test_types_are_those_of_kubectl(
    fleet: Checkout, capsys: Capsys, arguments: tuple[str, ...], expected: set[str]
) -> None:
    """Several are separated by commas; this fleet has no warning."""
    assert expected == {one["type"] for one in events(fleet, capsys, *arguments)}


def test_a_span_begins_so_long_ago(fleet: Checkout, capsys: Capsys) -> None:
    """Everything here happened long before an hour ago, and less than a hundred years ago."""
    assert [] == events(fleet, capsys, "--since", "1h30m")
    assert events(fleet, capsys, "--since", "36500d")


def test_a_history_is_cut_likewise(fleet: Checkout, capsys: Capsys) -> None:
    """By a span, or after a revision."""
    every, none, newest = (
        answer(fleet, capsys, "history", "deployment/shop", "--since", since)[1].splitlines()
        for since in ("36500d", "1h", "HEAD~1")
    )

    assert (4, 0, 2) == (len(every), len(none), len(newest))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--types", "Bad"), '"Bad" is no type of events', id="type"),
        pytest.param(("-A", "-n", "a"), "--all-namespaces excludes -n", id="all-and-one"),
        pytest.param(("--since", "v9"), "no revision", id="revision"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    fleet: Checkout, capsys: Capsys, arguments: tuple[str, ...], said: str
) -> None:
    """With what there is."""
    code, _, err = answer(fleet, capsys, "events", *arguments)

    assert (2, True) == (code, said in err)
