"""`reconciler scores`: a table becomes AddOnPlacementScores, and Placements choose by them."""

from pathlib import Path

import pytest

from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, decided_fleet, load_world, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
BY_ADA = ("--author", "Ada <ada@example.com>")
REPORTS = ObjectKey(
    "cluster.open-cluster-management.io", "PlacementDecision", "default", "reports-decision-1"
)
BY_PRICE = EXAMPLE["placements/reports.yaml"].replace("usage", "cost").replace("cpuratio", "price")


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, whose placement chooses by price: nothing has one yet."""
    return decided_fleet(tmp_path / "fleet", {"placements/reports.yaml": BY_PRICE})


@pytest.fixture
def prices(tmp_path: Path) -> str:
    """edge1 is the dear one."""
    place = tmp_path / "prices.csv"
    place.write_text("cluster,price\nedge1,3\nedge2,1.5\n")
    return str(place)


def written(fleet: Checkout, cluster: str) -> str:
    """Return the file of a cluster's scores."""
    return (fleet.folder / f"scores/cost/{cluster}.yaml").read_text()


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        pytest.param((), "edge1", id="more-is-better"),
        pytest.param(("--lower-is-better", "price"), "edge2", id="lower-is-better"),
    ],
)
def test_a_placement_chooses_by_the_table(
    fleet: Checkout, capsys: Capsys, prices: str, options: tuple[str, ...], chosen: str
) -> None:
    """Merged: the best number wins, once decisions may move by scores again."""
    words = ("scores", "cost", "--table", prices, *options, "--branch", "today", *BY_ADA)
    code, _, err = answer(fleet, capsys, *words)
    fleet.git("merge", "--quiet", "today")
    run_pass(fleet.folder, 600)

    assert (0, True) == (code, "committed on the new branch today" in err)
    assert "Write the scores cost" == fleet.git("log", "-1", "--format=%s", "today").strip()
    decided = load_world(fleet.folder).outputs[REPORTS].body
    assert [chosen] == [
        one["clusterName"] for one in bodies(mapping(decided, "status"), "decisions")
    ]


def test_scores_are_edited_where_they_are(fleet: Checkout, capsys: Capsys, prices: str) -> None:
    """Comments and scores of other names stay; what is as it is to be is nothing to do."""
    answer(fleet, capsys, "scores", "usage", "--table", prices)
    edited = (fleet.folder / "scores/edge1.yaml").read_text()
    code, out, err = answer(fleet, capsys, "scores", "usage", "--table", prices)

    assert EXAMPLE["scores/edge1.yaml"] + "  - name: price\n    value: 100\n" == edited
    assert (0, "", 2) == (code, out, err.count(" has these scores already"))


def test_scores_may_run_out(fleet: Checkout, capsys: Capsys, prices: str) -> None:
    """Later ones take their place, the moment included."""
    answer(fleet, capsys, "scores", "cost", "--table", prices, "--valid-for", "24h")
    first = written(fleet, "edge1")
    code, _, _ = answer(fleet, capsys, "scores", "cost", "--table", prices, "--valid-for", "48h")

    assert (0, True) == (code, "  validUntil: " in first)
    assert first != written(fleet, "edge1")


def test_a_cluster_without_a_number_is_told(
    fleet: Checkout, capsys: Capsys, tmp_path: Path
) -> None:
    """It counts as 0, as upstream has it."""
    place = tmp_path / "few.yaml"
    place.write_text("edge2: {price: 1}\n")
    _, _, err = answer(fleet, capsys, "scores", "cost", "--table", str(place))

    assert "edge1 has no number for price: it keeps the score it has, 0 without one\n" in err


def test_free_capacity_becomes_a_score(fleet: Checkout, capsys: Capsys) -> None:
    """Of clusters that tell what they have."""
    room = "status:\n  allocatable: {cpu: '8'}\n"
    edges = EXAMPLE["clusters/edge.yaml"].replace("\n---\n", f"\n{room}---\n", 1)
    assert edges != EXAMPLE["clusters/edge.yaml"]
    fleet.commit({"clusters/edge.yaml": edges}, "Tell room")
    code, out, _ = answer(fleet, capsys, "scores", "room", "--free", "cpu")

    assert (0, True) == (code, "+  - name: cpu\n+    value: 100\n" in out)


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        pytest.param("", (), "give a table of values (--table)", id="nothing"),
        pytest.param(
            "cluster,p\nnowhere,1\n",
            (),
            'there is no cluster "nowhere", which ',
            id="cluster",
        ),
        pytest.param("cluster,p\nedge1,x\n", (), '.csv:2: "x" in "p" must be', id="number"),
        pytest.param("cluster,p\nedge1,1\n", ("--free", "cpu"), "give a table", id="both"),
        pytest.param(
            "cluster,p\nedge1,1\n",
            ("--lower-is-better", "q"),
            'the table has no column "q"; it has p',
            id="column",
        ),
        pytest.param(
            "cluster,p\nedge1,101\n", ("--as-it-is",), "a whole number from -100 to 100", id="range"
        ),
        pytest.param(
            "cluster,p\nedge1,1\n", ("--valid-for", "soon"), "must be a time such as 24h", id="time"
        ),
        pytest.param("", ("--free", "moonlight"), "tells how much moonlight it has", id="resource"),
        pytest.param("", ("--free", "cpu", "--as-it-is"), "require --table", id="no-table"),
    ],
)
def test_what_cannot_be_a_score_is_refused(
    fleet: Checkout, capsys: Capsys, tmp_path: Path, table: str, words: tuple[str, ...], said: str
) -> None:
    """In one sentence, and nothing is written."""
    place = tmp_path / "table.csv"
    place.write_text(table)
    named = ("--table", str(place)) if table else ()
    code, out, err = answer(fleet, capsys, "scores", "cost", *named, *words)

    assert (2, "", True, 1) == (code, out, said in err, err.count("\n"))
    assert "" == fleet.status()
