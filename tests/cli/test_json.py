"""Answers for machines, and docs/json.md, which lists their fields."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest

from tests.builders import quota, rebalancer, target, text
from tests.cli.history import OCM, SCALED, answer, edited_fleet, told_fleet
from tests.cli.test_rebalance import recovered_fleet
from tests.cli.test_tree import ROOMY
from tests.dialects.kubefleet.fleet import run, stage, strategy
from tests.documents.generated import ANSWERS, json_tables
from tests.pages.run import missing_piece as missing
from tests.pages.run import told
from tests.shell.fleet import EXAMPLE, ROOT, Clock, decided_fleet, new_passes
from tests.shell.repositories import NOW, Checkout, new_checkout

pytestmark = [
    pytest.mark.cpu_seconds(60),  # many examples of whole passes
    pytest.mark.usefixtures("an_hour_later"),
]

Capsys = pytest.CaptureFixture[str]
DOCUMENT = "docs/json.md"
TOLD = told(DOCUMENT)
HEADING = re.compile(r"^##+ (.*)\n", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| .*\|$", re.MULTILINE)
LINK = re.compile(r"\[.*?\]\(#(.*?)\)")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NEWER = {
    "policies/quota.yaml": text(quota(overall={"cpu": "8", "memory": "16Gi"})),
    "reconciler.yaml": EXAMPLE["reconciler.yaml"] + "  delivery: {folders: {}}\n",
    "rebalancers/demo.yaml": text(rebalancer("demo", target(name="shop"))),
    "policies/shop.yaml": EXAMPLE["policies/shop.yaml"].replace(
        "  name: shop\n", "  name: shop\n  annotations: {reconciler.dev/suspend: 'true'}\n", 1
    ),
    "clusters/member3.yaml": EXAMPLE["clusters/member2.yaml"].replace("member2", "member3"),
    "policies/frontend.yaml": EXAMPLE["policies/frontend.yaml"].replace("spec:", "spec: 7 #"),
    "placements/waits.yaml": EXAMPLE["placements/tools.yaml"]
    .replace("name: tools", "name: waits", 1)
    .replace("  policy:", "  strategy: {type: External}\n  policy:"),
    "placements/staged.yaml": EXAMPLE["placements/tools.yaml"]
    .replace("name: tools", "name: web", 1)
    .replace("  policy:", "  strategy: {type: External}\n  policy:"),
    "placements/careful.yaml": text(strategy(stage("all", labelSelector={}))),
    "placements/run.yaml": text(run()),
}
QUIET = (
    "blame deploy/nope",
    "events --since HEAD",
    "history deploy/nope",
    "tree deployment/shop --at HEAD~5",
    "verify HEAD..HEAD",
    "why deploy/nope",
)
EXPORTS = ROOT / "fixtures/exports"
ASKED = {
    "api-resources": ["api-resources"],
    "advise": ["advise"],
    "blame": ["blame deployment/shop", "blame deploy/nope"],
    "check": ["check", "check --remote file:///nowhere --mirror /dev/null/x"],
    "drain --status": ["drain member1 backup1 --status"],
    "events": ["events", "events --since HEAD"],
    "history": ["history deployment/shop", "history placement/reports", "history deploy/nope"],
    "import": [
        f"import {EXPORTS / 'karmada.json'} --workloads deployments --adopt --dry-run",
        f"import {EXPORTS / 'ocm.json'} --adopt --dry-run",
    ],
    "import --check": [f"import {EXPORTS / 'moved.json'} --check"],
    "plan": ["plan --base HEAD~1 --worktree", "plan --base HEAD~2 --head HEAD~1"],
    "plan --roots": ["plan --base HEAD~1 --roots teams/*"],
    "rebalance": ["rebalance deployment/shop --dry-run"],
    "scale, label, cordon, uncordon, taint and rollout": [
        "scale deployment/shop --replicas=7 --dry-run",
        "label deployment/shop app=shop",
        "cordon edge1 member1 --dry-run",
        "uncordon member1",
        "taint cluster member1 repair:NoExecute --dry-run",
    ],
    "simulate": ["simulate --fail member1", "simulate --cordon edge1"],
    "simulate --fail-each": ["simulate --fail-each"],
    "status": ["status"],
    "suspend and resume": ["suspend pp/shop --dry-run", "resume --all --dry-run"],
    "top clusters": ["top clusters"],
    "top quotas": ["top quotas"],
    "tree": ["tree deployment/shop", "tree pp/shop", "tree crp/tools", "tree ns/tools"],
    "undo": [
        "undo HEAD~2 --dry-run",
        "undo HEAD~2 --also --dry-run",
        "undo outputs --output-branch outputs --dry-run",
    ],
    "validate": ["validate", "validate policies/shop.yaml"],
    "verify": [
        "verify",
        "verify HEAD..HEAD",
        "verify HEAD --signatures --allowed-signers /dev/null",
    ],
    "version": ["version"],
    "why": [
        "why deployment/shop",
        "why deployment/frontend",
        "why cm/settings",
        "why placement/reports",
        "why deploy/nope",
    ],
}
ROWS = [(section, words) for section, listed in ASKED.items() for words in listed]


def tables() -> dict[str, dict[str, str]]:
    """Each heading with its fields, and what they are."""
    _, *parts = HEADING.split((ROOT / DOCUMENT).read_text(encoding="utf-8"))
    return {
        heading: dict(ROW.findall(body))
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    }


TABLES = tables()


def test_every_type_has_its_table() -> None:
    """And every answer of a verb is asked for here."""
    assert json_tables().keys() == {heading for heading, table in TABLES.items() if table}
    assert ANSWERS.keys() == ASKED.keys()


def is_a(value: object, described: str) -> bool:
    """Return whether a value without fields is what the table says."""
    match described:
        case "text":
            return isinstance(value, str)
        case "moment":
            return isinstance(value, str) and MOMENT.fullmatch(value) is not None
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "true or false":
            return isinstance(value, bool)
        case "mapping to text" | "mapping to numbers":
            kind = "text" if described.endswith("text") else "number"
            return isinstance(value, dict) and all(is_a(item, kind) for item in value.values())
        case _:
            return described == "manifest" and isinstance(value, dict)


def met(value: object, described: str) -> Iterator[tuple[str, str]]:
    """Yield each heading with each of its fields that occurs in a value; check what they are."""
    plain = described.removesuffix(" or null")
    if value is None and plain != described:
        return
    if plain.startswith("list of "):
        assert isinstance(value, list), described
        for item in value:
            yield from met(item, plain.removeprefix("list of "))
    elif link := LINK.fullmatch(plain):
        assert isinstance(value, dict), described
        yield from fields(value, link[1])
    else:
        assert is_a(value, plain), (value, described)


def fields(answer: Mapping[str, object], heading: str) -> Iterator[tuple[str, str]]:
    """Yield each heading with each of its fields that occurs in an object; all are listed."""
    assert [] == sorted(answer.keys() - TABLES[heading].keys()), heading
    for name, value in answer.items():
        yield heading, name
        yield from met(value, TABLES[heading][name])


@pytest.fixture(scope="module")
def json_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes."""
    return told_fleet(tmp_path_factory.mktemp("json") / "fleet")


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A decision edited by hand, then a new cluster, and a policy that is faulty."""
    fleet = edited_fleet(tmp_path_factory.mktemp("json") / "troubled", OCM)
    fleet.commit(NEWER, "Add member3")
    fleet.write({"status/mine.yaml": "# an edit that nobody committed\n"})
    return fleet


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A workload that would be better off elsewhere."""
    return recovered_fleet(tmp_path_factory.mktemp("json") / "recovered")


@pytest.fixture(scope="module")
def reserving(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A cluster that reports room, some of which is reserved."""
    files = {"clusters/member2.yaml": ROOMY}
    return decided_fleet(tmp_path_factory.mktemp("json") / "reserving", files)


@pytest.fixture(scope="module")
def rooted(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A root in a folder, with a change."""
    files = {f"teams/a/{path}": content for path, content in EXAMPLE.items()}
    place = new_checkout(tmp_path_factory.mktemp("json") / "rooted", files)
    place.commit({f"teams/a/{path}": content for path, content in SCALED.items()}, "Scale the shop")
    return place


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Two passes onto a branch of their own."""
    fleet = new_checkout(tmp_path_factory.mktemp("json") / "apart", EXAMPLE)
    for number, files in enumerate(({}, SCALED)):
        if files:
            fleet.commit(files, "Edit")
        new_passes(fleet.folder, Clock(NOW + timedelta(minutes=number)), "outputs").run()
    return fleet


@pytest.fixture(scope="module")
def places(
    json_fleet: Checkout,
    troubled: Checkout,
    recovered: Checkout,
    reserving: Checkout,
    rooted: Checkout,
    apart: Checkout,
) -> Mapping[str, tuple[Checkout, ...]]:
    """Where each section is asked."""
    return {
        **dict.fromkeys(ASKED, (json_fleet, troubled)),
        "advise": (troubled, recovered),
        "top clusters": (json_fleet, troubled, reserving),
        "plan --roots": (rooted,),
        "undo": (json_fleet,),
        "undo outputs --output-branch outputs --dry-run": (apart,),
    }


def machine(fleet: Checkout, capsys: Capsys, words: str) -> tuple[int, dict[str, object]]:
    """Return the exit code of a verb, and its answer without the version, which comes first."""
    code, out, _ = answer(fleet, capsys, *shlex.split(words), "-o", "json")
    found = json.loads(out)
    assert out == json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    assert ("schemaVersion", 1) == next(iter(found.items()))
    del found["schemaVersion"]
    return code, found


@pytest.mark.parametrize(("command", "pieces"), TOLD, ids=[command for command, _ in TOLD])
def test_the_document_shows_what_commands_print(
    json_fleet: Checkout, recovered: Checkout, capsys: Capsys, command: str, pieces: list[list[str]]
) -> None:
    """Each piece stands in the output as it is shown, one behind the other."""
    place = recovered if command.startswith("advise") else json_fleet
    code, out, _ = answer(place, capsys, *shlex.split(command))

    assert (0, "") == (code, missing(pieces, out))


@pytest.mark.parametrize(("section", "words"), ROWS, ids=[words for _, words in ROWS])
def test_every_field_is_documented(
    places: Mapping[str, tuple[Checkout, ...]], capsys: Capsys, section: str, words: str
) -> None:
    """And is what its table says."""
    for place in places.get(words, places[section]):
        _, found = machine(place, capsys, words)
        assert list(fields(found, section))
        assert TABLES[section].keys() == found.keys()


def test_every_documented_field_occurs(
    places: Mapping[str, tuple[Checkout, ...]], capsys: Capsys
) -> None:
    """What went from the answers went from the document."""
    seen = {
        pair
        for section, words in ROWS
        for place in places.get(words, places[section])
        for pair in fields(machine(place, capsys, words)[1], section)
    }

    listed = {(heading, name) for heading, table in TABLES.items() for name in table}
    assert [] == sorted(listed - seen)


@pytest.mark.parametrize("words", QUIET)
def test_an_empty_answer_can_be_read(json_fleet: Checkout, capsys: Capsys, words: str) -> None:
    """Whatever the exit code: an object with an empty list."""
    code, found = machine(json_fleet, capsys, words)

    assert (0 if words.startswith(("events", "verify")) else 1) == code
    assert [] in found.values()


def test_one_file_prints_answers() -> None:
    """`get` prints manifests."""
    files = sorted((ROOT / "reconciler/cli").rglob("*.py"))
    printing = [path.name for path in files if "echo(json.dumps(" in path.read_text("utf-8")]

    assert ["get_output.py", "printing.py", "render.py"] == printing
