"""`reconciler advise` over real commits: what it says is what the merge does, in all three APIs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.fleet.placed_objects import PlacedObjects
from reconciler.rebalance.rebalancer_files import decode_record
from tests.builders import Body, deployment, path_of, text
from tests.cli.history import answer
from tests.shell.fleet import load_world, run_pass
from tests.shell.repositories import Checkout, new_checkout
from tests.three_apis import begun, eased, scores, settings

pytestmark = pytest.mark.cpu_seconds(60)  # many whole passes in real repositories

Capsys = pytest.CaptureFixture[str]
BY_ADA = ("--author", "Ada <ada@example.com>")
BY_SCORE = ("--goal", "score", "--score", "r/s")
OBJECTS = {"Deployment default/web", "Placement ns1/p", "ClusterResourcePlacement fleet-web"}


def files(*bodies: Body) -> dict[str, str]:
    """Each object in a file of its own."""
    return {path_of(body): text(body) for body in bodies}


def fleet_of(folder: Path, *more: Body) -> Checkout:
    """All three APIs at rest, with each object on the cluster that it likes less."""
    checkout = new_checkout(
        folder / "fleet", {**files(*begun(), *more), "reconciler.yaml": text(settings())}
    )
    run_pass(checkout.folder, 0)
    eased_files = files(*eased(), *scores(alpha=0, beta=-50, gamma=100))
    checkout.commit(eased_files, "Everything is clean again")
    run_pass(checkout.folder, 1)
    return checkout


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The three objects, and nothing else."""
    return fleet_of(tmp_path)


def advised(fleet: Checkout, capsys: Capsys, *words: str) -> tuple[int, Any, str]:
    """Ask for advice; return the exit code, what it says, and what is told beside."""
    code, out, err = answer(fleet, capsys, "advise", *words, "-o", "json")
    return code, json.loads(out), err


def where(fleet: Checkout) -> dict[str, list[tuple[str, int]]]:
    """Where each object is, by the name of what decisions about it bear."""
    world = load_world(fleet.folder)
    return {str(key): [*placed_on(world, key)] for key in PlacedObjects(world)}


def merged(fleet: Checkout, branch: str, seconds: int) -> None:
    """Merge a branch, and let a pass run."""
    fleet.git("merge", "--quiet", "--ff-only", branch)
    run_pass(fleet.folder, seconds)


def told(found: Mapping[str, Any], side: str) -> dict[str, list[tuple[str, int]]]:
    """Where advice says that objects are or will be, as `where` says it."""
    return {
        _key_text(one["object"]): [(part["cluster"], part["replicas"]) for part in one[side]]
        for one in found["advised"]
    }


def _key_text(key: Mapping[str, str]) -> str:
    scope = f"{key['namespace']}/" if key["namespace"] else ""
    return f"{key['kind']}.{key['group']} {scope}{key['name']}"


def test_advice_that_is_merged_moves_exactly_what_it_said(fleet: Checkout, capsys: Capsys) -> None:
    """From where to where, for objects of all three APIs, and nothing else."""
    before, head = where(fleet), fleet.head()
    code, found, err = advised(fleet, capsys, *BY_SCORE, "--branch", "better", *BY_ADA)
    assert (0, head) == (code, found["commit"])
    assert OBJECTS == {one["subject"] for one in found["advised"]}
    assert "rebalancers/advice.yaml is committed on the new branch better" in err
    assert (before, head) == (where(fleet), fleet.head())  # it never moves anything itself

    merged(fleet, "better", 600)

    after = where(fleet)
    assert told(found, "from") == {key: before[key] for key in told(found, "from")}
    changed = {key: at for key, at in after.items() if at != before[key]}
    assert told(found, "to") == changed
    assert 4 == found["moves"] == sum(one["moves"] for one in found["advised"])


def test_the_best_for_the_fewest_moves_comes_first(fleet: Checkout, capsys: Capsys) -> None:
    """100 points for one move, 50 for one, then 100 for two."""
    _, found, _ = advised(fleet, capsys, *BY_SCORE)

    assert [
        ("ClusterResourcePlacement fleet-web", 100, 1),
        ("Deployment default/web", 100, 2),
        ("Placement ns1/p", 50, 1),
    ] == [(one["subject"], one["points"], one["moves"]) for one in found["advised"]]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param(("--max-moves", "1"), {"ClusterResourcePlacement fleet-web"}, id="one-move"),
        pytest.param(
            ("--max-moves", "2"),
            {"ClusterResourcePlacement fleet-web", "Placement ns1/p"},
            id="what-fits",
        ),
        pytest.param(("--min-gain", "60"), {"ClusterResourcePlacement fleet-web"}, id="threshold"),
        pytest.param(("--min-gain", "500"), set(), id="nothing-is-worth-it"),
    ],
)
def test_limits_are_kept_and_merged_alike(
    fleet: Checkout, capsys: Capsys, limits: tuple[str, ...], expected: set[str]
) -> None:
    """What is not advised says why, and stays where it is after the merge."""
    before = where(fleet)
    _, found, err = advised(fleet, capsys, *BY_SCORE, *limits, "--branch", "some", *BY_ADA)
    assert expected == {one["subject"] for one in found["advised"]}
    assert OBJECTS - expected == {one["subject"] for one in found["notAdvised"]}
    if not expected:
        assert (None, None) == (found["path"], found["manifest"])
        assert "nothing is advised, so nothing is written" in err
        return

    merged(fleet, "some", 600)

    after = where(fleet)
    assert told(found, "to") == {key: at for key, at in after.items() if at != before[key]}


def test_costs_are_the_less_the_better(fleet: Checkout, capsys: Capsys) -> None:
    """With the least being the best, nothing that comes to a dearer cluster is advised."""
    words = ("--goal", "cost", "--score", "r/s", "--lower-is-better")
    code, out, _ = answer(fleet, capsys, "advise", *words)

    assert 0 == code
    assert "nothing is worth a move" in out
    assert "Not recommended: 3 without a gain" in out


def test_affinity_is_what_people_are_told(fleet: Checkout, capsys: Capsys) -> None:
    """A table, and one line for the rest."""
    code, out, err = answer(fleet, capsys, "advise")

    assert 0 == code
    assert "1 object, 2 moves" in out.splitlines()[0]
    lines = out.splitlines()
    assert ["OBJECT", "FROM", "TO", "MOVES", "GAIN"] == lines[3].split()
    assert lines[4].startswith("Deployment default/web   beta(2)   alpha(2)   2 ")
    assert lines[4].endswith("back in its first affinity group (g0)")
    assert (
        "Not recommended: 1 well placed already; 1 without a gain (Placement ns1/p)." == lines[-1]
    )
    assert "nothing is written; --branch NAME commits rebalancers/advice.yaml" in err


def test_batches_are_computed_to_the_end(fleet: Checkout, capsys: Capsys) -> None:
    """The rebalancer bears the limit, and passes move it all, one batch after the other."""
    words = (*BY_SCORE, "--batch", "1", "--branch", "slowly", *BY_ADA)
    before = where(fleet)
    _, found, _ = advised(fleet, capsys, *words)
    assert {"maxMoves": 1} == found["manifest"]["spec"]["limits"]
    assert (True, 4) == (found["finished"], found["passes"])

    merged(fleet, "slowly", 600)
    for seconds in (700, 800, 900):
        run_pass(fleet.folder, seconds)

    after = where(fleet)
    assert told(found, "to") == {key: at for key, at in after.items() if at != before[key]}
    world = load_world(fleet.folder)
    record = next(m for key, m in world.outputs.items() if key.kind == "WorkloadRebalancer")
    assert {"Successful"} == {one.result for one in decode_record(record.body).workloads}


def test_what_has_to_wait_says_for_what(tmp_path: Path, capsys: Capsys) -> None:
    """A suspended workload is not advised."""
    asleep = deployment("asleep", replicas=2)
    metadata = {**asleep["metadata"], "annotations": {"reconciler.dev/suspend": "true"}}  # type: ignore[dict-item]
    fleet = fleet_of(tmp_path, {**asleep, "metadata": metadata})
    _, found, _ = advised(fleet, capsys)

    (one,) = [one for one in found["notAdvised"] if one["subject"].endswith("asleep")]
    assert "has to wait" == one["why"]
    assert "suspend" in one["detail"]


def test_yaml_is_the_rebalancer_alone(fleet: Checkout, capsys: Capsys) -> None:
    """Which may be put where it is wanted."""
    code, out, _ = answer(fleet, capsys, "advise", "-o", "yaml", "--name", "back-home")
    body = YAML(typ="safe").load(out)

    assert (0, "back-home") == (code, body["metadata"]["name"])
    assert ["web"] == [one["name"] for one in body["spec"]["workloads"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--goal", "cost"], "--goal cost needs cluster scores", id="cost-of-what"),
        pytest.param(["--score", "r"], "must be NAME/SCORE", id="half-a-score"),
        pytest.param(["--score", "r/x"], 'no cluster has the score "r/x"', id="no-such-score"),
        pytest.param(["--goal", "room", "--score", "r/s"], "--goal score or cost", id="unused"),
        pytest.param(["--lower-is-better"], "requires --score", id="lower-than-what"),
        pytest.param(
            ["--preserve-available", "--goal", "room"], "omit --goal, --score", id="keeps-and-moves"
        ),
        pytest.param(["--name", "A/b"], "must be lower-case letters", id="name"),
        pytest.param(["--base", "v9"], "no revision", id="revision"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, words: list[str], message: str
) -> None:
    """Nothing on standard output, nothing written."""
    code, out, err = answer(fleet, capsys, "advise", *words)

    assert (2, "") == (code, out)
    assert message in err
    assert 1 == err.count("\n")
    assert "" == fleet.status()
