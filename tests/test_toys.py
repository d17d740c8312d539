"""A filter, a score or a dialect is one file or package and one line: toys prove it."""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.dialects.karmada.scheduler.plugins import PROFILE as KARMADA
from reconciler.dialects.kubefleet.scheduler.plugins import PROFILE as KUBEFLEET
from reconciler.dialects.ocm.scheduler.plugins import PROFILE as OCM
from reconciler.manifests.admission import SUSPEND
from tests import builders
from tests.builders import Body, configmap, configuration, metadata, path_of, rebalancer, text
from tests.cli.history import answer
from tests.dialects.kubefleet import fleet as kubefleet
from tests.dialects.ocm import worlds as ocm
from tests.shell.fleet import ROOT, process_environment, reconciler, run_pass
from tests.shell.repositories import Checkout, new_checkout
from tests.toys import (
    karmada_filter,
    karmada_score,
    kubefleet_filter,
    kubefleet_score,
    ocm_filter,
    ocm_score,
)

Capsys = pytest.CaptureFixture[str]
LATER = ("--now", "2026-11-20T12:10:00Z")
TOYS = ROOT / "tests/toys"
ONE = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
LIKED = {
    "configurations": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Toy"}, "weight": 2}]
}


@dataclass(frozen=True)
class Api:
    """One API: its profile, its toys, what is there, what is placed, and what `why` is asked.

    `first` is the cluster that is chosen without any toy, `last` the one that comes last.
    """

    profile: Any
    toys: tuple[Any, Any]
    there: Sequence[Body]
    placed: Body
    asked: str
    first: str = "a"
    last: str = "c"


def labels(name: str, *, first: str = "a") -> dict[str, str]:
    """Who comes first is closed; the others are liked, the last one most."""
    return {"closed": "yes"} if name == first else {"liked": "10" if name == "b" else "20"}


def managed(name: str) -> Body:
    """A cluster of the set."""
    found = ocm.cluster(name)
    metadata = cast("dict[str, dict[str, str]]", found["metadata"])
    return {**found, "metadata": {**metadata, "labels": metadata["labels"] | labels(name)}}


APIS = {
    "karmada": Api(
        KARMADA,
        (karmada_filter.reject_closed, karmada_score.score_liking),
        [
            *(builders.cluster(name, labels=labels(name)) for name in "abc"),
            builders.policy(placement={"spreadConstraints": ONE}),
        ],
        builders.deployment(replicas=1),
        "deployment/web",
    ),
    "ocm": Api(
        OCM,
        (ocm_filter.reject_closed, ocm_score.score_liking),
        [*map(managed, "abc"), ocm.cluster_set(), ocm.binding()],
        ocm.placement(numberOfClusters=1, prioritizerPolicy=LIKED),
        "placement/p",
    ),
    "kubefleet": Api(
        KUBEFLEET,
        (kubefleet_filter.reject_closed, kubefleet_score.score_liking),
        [kubefleet.member(name, labels=labels(name, first="c")) for name in "abc"],
        kubefleet.placement(kubefleet.pick(1)),
        "clusterresourceplacement/web",
        first="c",
        last="a",
    ),
}


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> Api:
    """Each API in turn."""
    return APIS[request.param]


def register(monkeypatch: pytest.MonkeyPatch, plugins: object, plugin: object) -> None:
    """Add the one line to a profile."""
    monkeypatch.setitem(cast("MutableMapping[str, object]", plugins), "Toy", plugin)


def told(
    api: Api, placed: Body, folder: Path, capsys: Capsys, *, gone: str
) -> tuple[str, str, str]:
    """What `plan` says before the merge, `why` after the pass, `simulate` of a cluster removed."""
    fleet = new_checkout(folder / "fleet", {path_of(body): text(body) for body in api.there})
    run_pass(fleet.folder, 0)
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit({path_of(placed): text(placed)}, "Place it")
    plan = said(fleet, capsys, "plan", *LATER)
    fleet.git("checkout", "--quiet", "main")
    fleet.git("merge", "--quiet", "topic")
    run_pass(fleet.folder, 60)
    namespace = ("-n", "ns1") if "placement/p" == api.asked else ()
    why = said(fleet, capsys, "why", api.asked, *namespace)
    return plan, why, said(fleet, capsys, "simulate", *LATER, "--remove", gone)


def said(fleet: Checkout, capsys: Capsys, *arguments: str) -> str:
    """The output of a verb that succeeds."""
    code, out, err = answer(fleet, capsys, *arguments)

    assert (0, "") == (code, err)
    return out


def test_a_registered_filter_turns_clusters_away(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The first is closed, so the second is chosen; `why` has the reason and the remedy."""
    register(monkeypatch, api.profile.filters, api.toys[0])
    spec = cast("dict[str, object]", api.placed["spec"])
    placed = {**api.placed, "spec": {k: v for k, v in spec.items() if k != "prioritizerPolicy"}}
    plan, why, simulated = told(api, placed, tmp_path, capsys, gone="b")

    assert re.search(r"^ *b\b", plan, re.MULTILINE)
    assert " is on b" in why.splitlines()[0]
    assert "Toy: cluster(s) are closed" in why
    assert "to qualify: lose the label closed" in why
    assert re.search(rf"^ *{api.last}\b", simulated, re.MULTILINE)


def test_a_registered_score_ranks_clusters(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The last is liked most, so it is chosen; `why` has the score that ranking heard."""
    register(monkeypatch, api.profile.scores, api.toys[1])
    plan, why, simulated = told(api, api.placed, tmp_path, capsys, gone=api.last)

    assert re.search(rf"^ *{api.last}\b", plan, re.MULTILINE)
    assert f" is on {api.last}" in why.splitlines()[0]
    assert re.search(rf"^{api.last} +chosen #1 .*Toy .*20", why, re.MULTILINE)
    assert re.search(r"^ *b\b", simulated, re.MULTILINE)


SHOWN = sorted(
    path.relative_to(ROOT).as_posix()
    for path in TOYS.rglob("[a-z]*")
    if path.suffix in (".py", ".json")
)


@pytest.mark.parametrize("path", SHOWN)
def test_the_page_shows_the_toys(path: str) -> None:
    """To the letter; JSON has no comments, so its path stands above."""
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    content = (ROOT / path).read_text(encoding="utf-8")
    head = f"```python\n# {path}\n" if path.endswith(".py") else f"`{path}`:\n\n```json\n"

    assert f"{head}{content}```\n" in page


TOY = ROOT / "tests/toys/dialect"
GROUP = "toy.example.dev"
NORTH = {"sea": "north"}

STORM = {"key": "stormy", "effect": "NoExecute"}


def site(name: str, *taints: Body, sea: str = "north") -> Body:
    """A site in a sea."""
    spec = {"spec": {"taints": list(taints)}} if taints else {}
    found = metadata(name, labels={"sea": sea})
    return {"apiVersion": f"{GROUP}/v1", "kind": "Site", "metadata": found, **spec}


def berth(
    name: str = "ferry", *, sites: object = 2, suspend: str = "", cargo: Body | None = None
) -> Body:
    """A berth in the north."""
    annotations = {SUSPEND: suspend} if suspend else {}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Berth",
        "metadata": metadata(name, "default", annotations=annotations),
        "spec": {
            "sites": sites,
            "labels": NORTH,
            **({} if cargo is None else {"cargo": cargo}),
        },
    }


def files(*bodies: Body) -> Mapping[str, str]:
    """Each object in a file of its own."""
    return {path_of(body): text(body) for body in bodies}


FERRY: Body = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Berth",
    "namespace": "default",
    "name": "ferry",
}


def register_dialect(build: Path) -> None:
    """Copy the product, add the one line, and put the schemas beside those of the others."""
    partly_written = shutil.ignore_patterns("*.pyc.*")
    for folder in ("reconciler", "schemas"):
        shutil.copytree(ROOT / folder, build / folder, ignore=partly_written)
    shutil.copytree(TOY / "schemas", build / "schemas" / GROUP)
    dialects = build / "reconciler/core/dialects.py"
    line = r"from tests.toys.dialect.dialect import TOY\n\n\1, TOY)"
    source, times = re.subn(r"^(DIALECTS: .*)\)$", line, dialects.read_text(), flags=re.MULTILINE)
    assert 1 == times
    dialects.write_text(source)


@dataclass(frozen=True)
class Harbor:
    """A repository of the toy, served by a product in which it is registered."""

    sources: tuple[Path, Path]
    checkout: Checkout

    def ask(self, *arguments: str) -> str:
        """Return what a command prints that succeeds."""
        found = reconciler(self.checkout.folder, *arguments, sources=self.sources)

        assert 0 == found.code, found.stderr
        return found.stdout

    def rows(self, *arguments: str) -> list[list[str]]:
        """Return the cells of a table without its titles."""
        return [re.split(" {2,}", row) for row in self.ask(*arguments).splitlines()[1:]]

    def run_pass(self, minute: int) -> str:
        """Run a pass at a minute after twelve."""
        return self.ask("reconcile", "--now", f"2026-11-20T12:{minute:02}:00Z")

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve the page as a process of its own while the block lasts, and return its address."""
        process = subprocess.Popen(
            [sys.executable, "-m", "reconciler", "serve", "--listen", "0"],
            cwd=self.checkout.folder,
            env=process_environment(self.sources),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate()


def page(address: str) -> str:
    """The text of a page."""
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  # our own
        found: bytes = answer.read()
    return found.decode()


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Harbor:
    """Two sites of three in the north; one is lost in a storm; it is back; a rebalance."""
    folder = tmp_path_factory.mktemp("harbor")
    register_dialect(folder / "build")
    sites = (site("a"), site("b"), site("c"), site("d", sea="south"))
    checkout = new_checkout(folder / "fleet", files(*sites, berth()))
    found = Harbor((folder / "build", ROOT), checkout)
    found.run_pass(0)
    checkout.commit(files(site("a", STORM)), "Report a storm")
    found.run_pass(1)
    checkout.commit(files(site("a")), "Report that it is over")
    found.run_pass(2)
    checkout.commit(files(rebalancer("back", FERRY)), "Return")
    found.run_pass(3)
    propose(checkout, "topic", berth("barge", sites=4))
    propose(checkout, "held", site("a", STORM), berth(suspend="true"))
    return found


def propose(checkout: Checkout, branch: str, *bodies: Body) -> None:
    """Commit objects to a branch of their own."""
    checkout.git("checkout", "--quiet", "-b", branch)
    checkout.commit(files(*bodies))
    checkout.git("checkout", "--quiet", "main")


def test_reconcile_writes_what_it_decides(harbor: Harbor) -> None:
    """One commit a pass, an output in the folder of its kind, nothing once it is settled."""
    subjects = harbor.checkout.git("log", "--format=%s", "--author=reconciler@").splitlines()
    written = harbor.checkout.git("ls-files", f"status/berths.{GROUP}")

    assert [
        "Rebalance default/ferry on a, b",
        "Place default/ferry on b, c",
        "Place default/ferry on a, b",
    ] == subjects
    assert f"status/berths.{GROUP}/default/ferry.yaml" == written
    assert "nothing to do\n" == harbor.ask("reconcile", "--dry-run", *LATER)


def test_why_has_the_verdicts_of_the_filters(harbor: Harbor) -> None:
    """Who is chosen, who would be next, who is turned away, and what would have to change."""
    told = harbor.ask("why", "berth/ferry")

    assert "default/ferry is on a, b\n  asked    2 sites\n" in told
    assert re.search(r"^c +passes #3 ", told, re.MULTILINE)
    assert "Why not d:\n  Labels: it has other labels\n    to qualify: have" in told


def test_plan_tells_what_a_merge_would_place(harbor: Harbor) -> None:
    """A new berth gets fewer sites than it asks for."""
    told = harbor.ask("plan", "--head", "topic", *LATER)

    assert "+ default/barge (new): created\n" in told
    assert "    3 of 4 sites\n      d: it has other labels\n" in told
    assert "warning: default/barge: 3 of 4 sites\n" in told


def test_simulate_lets_a_site_fail(harbor: Harbor) -> None:
    """What it held goes elsewhere."""
    told = harbor.ask("simulate", "--fail", "a", *LATER)

    assert re.search(r"^ *a +yes +- +gone\n.*\n *c +- +yes +new$", told, re.MULTILINE)


def test_simulate_cordons_a_site(harbor: Harbor) -> None:
    """What it holds stays."""
    assert "Simulation: Nothing moves\n" in harbor.ask("simulate", "--cordon", "a", *LATER)


def test_validate_accepts_what_the_schemas_of_the_toy_allow(harbor: Harbor) -> None:
    """Four sites, a berth, a rebalancer that names a berth which is there."""
    told = reconciler(harbor.checkout.folder, "validate", sources=harbor.sources)

    assert (0, "6 manifests valid, 0 faults\n") == (told.code, told.stderr)


def test_validate_refuses_what_they_do_not_allow(harbor: Harbor, tmp_path: Path) -> None:
    """File, line, field and what would be right."""
    (tmp_path / "ferry.yaml").write_text(text(berth(sites="many")))
    told = reconciler(tmp_path, "validate", "ferry.yaml", sources=harbor.sources)

    assert 1 == told.code
    assert told.stdout.startswith(
        'ferry.yaml:1:128: error: spec.sites must be a whole number, "many" is text.'
    )


def test_get_has_the_columns_of_the_toy(harbor: Harbor) -> None:
    """Of its outputs, merged with what people wrote, and that nothing is coming."""
    row = ["ferry", "a, b", "<none>", "<none>"]
    assert [row] == harbor.rows("get", "berths", "-o", "wide")


def test_tree_ends_at_the_sites(harbor: Harbor) -> None:
    """A berth has no parts, so its sites hang on it."""
    assert [["├── cluster/a"], ["└── cluster/b"]] == harbor.rows("tree", "berth/ferry")


def test_top_counts_the_berths_of_each_site(harbor: Harbor) -> None:
    """They have no replicas, and report nothing."""
    rows = [row[:4] for row in harbor.rows("top", "clusters")]

    assert [
        ["a", "Site", "Declared", "1"],
        ["b", "Site", "Declared", "1"],
        ["c", "Site", "Declared", "0"],
        ["d", "Site", "Declared", "0"],
    ] == rows


def test_events_are_those_of_the_toy(harbor: Harbor) -> None:
    """One each time that a berth moves."""
    rows = [row[1:5] for row in harbor.rows("events", "berth/ferry")]

    assert [
        ["Normal", "Moved", "default/ferry", "from <none> to a, b"],
        ["Normal", "Moved", "default/ferry", "from a, b to b, c"],
        ["Normal", "Moved", "default/ferry", "from b, c to a, b"],
    ] == rows


def test_history_has_the_cause_of_each_move(harbor: Harbor) -> None:
    """The newest first."""
    rows = [row[2:5] for row in harbor.rows("history", "berth/ferry")]

    assert [
        ["b, c", "a, b", "rebalanced (WorkloadRebalancer back)"],
        ["a, b", "b, c", "clusters changed"],
        ["nowhere", "a, b", "created"],
    ] == rows


def test_verify_proves_every_pass(harbor: Harbor) -> None:
    """Computed again, they are equal byte for byte."""
    assert "3 of 3 decision commits verified, 4 human commits\n" == harbor.ask("verify")


def test_a_rebalancer_reaches_a_berth(harbor: Harbor) -> None:
    """The pass did what it demanded."""
    assert [["back", "1/1", "0"]] == [row[:3] for row in harbor.rows("get", "wr")]


def test_a_berth_can_be_suspended(harbor: Harbor) -> None:
    """By the annotation of all APIs, since its kind says so."""
    told = harbor.ask("suspend", "berth/ferry", "--dry-run")

    assert f'"annotations": {{"{SUSPEND}": "true"}}' in told


def test_a_suspended_berth_stays(harbor: Harbor) -> None:
    """Even on a site that is lost."""
    assert "Plan: Nothing moves\n" in harbor.ask("plan", "--head", "held", *LATER)


def test_the_toy_keeps_the_contract(harbor: Harbor) -> None:
    """What is asked of the facts of every dialect holds for it."""
    arguments = ["-q", "-k", "toy", "-p", "no:cacheprovider", "-o", "pythonpath="]
    found = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *arguments, "tests/dialects/test_contract.py"],
        cwd=ROOT,
        env=process_environment(harbor.sources),
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.stdout.splitlines()[-1].startswith("3 passed, "), found.stdout


CARGO = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}
ABSENT = {**CARGO, "name": "absent"}
DELIVERY = {"folders": {}, "works": {"hubsWithoutControllers": True}, "manifestworks": {}}
SETTINGS = "default/configmaps/settings.yaml"
MISSING = "ConfigMap.core default/absent is not there"
NOON = "2026-11-20T12:00:00Z"
LONG_AFTER = "2100-01-01T00:00:00Z"  # an import is of the present moment


@pytest.fixture(scope="module")
def harbor_of_cargo(tmp_path_factory: pytest.TempPathFactory) -> Harbor:
    """A berth with cargo on two sites, and one whose cargo is nowhere."""
    folder = tmp_path_factory.mktemp("harbor")
    register_dialect(folder / "build")
    berths = (berth(cargo=CARGO), berth("barge", sites=1, cargo=ABSENT))
    there = (site("a"), site("b"), configmap(), configuration(delivery=DELIVERY))
    found = Harbor((folder / "build", ROOT), new_checkout(folder / "fleet", files(*there, *berths)))
    told = reconciler(found.checkout.folder, "reconcile", "--now", NOON, sources=found.sources)

    assert 1 == told.code, told.stderr
    assert f"is not delivered to a: {MISSING}" in told.stderr
    return found


def documents(told: str) -> list[str]:
    """The cluster of each document that `render` prints."""
    return re.findall(r"^# (.*)$", told, re.MULTILINE)


def test_render_prints_what_each_site_gets(harbor_of_cargo: Harbor) -> None:
    """The cargo, once a site."""
    told = harbor_of_cargo.ask("render", "berth/ferry")

    assert ["a", "b"] == documents(told)
    assert 2 == told.count("kind: ConfigMap\n")


def test_render_prints_the_carriers_of_the_toy(harbor_of_cargo: Harbor) -> None:
    """They hold manifests where the toy says, which is where no other API has them."""
    told = json.loads(harbor_of_cargo.ask("render", "berth/ferry", "b", "--carriers", "-o", "json"))
    (crate,) = told["items"]

    assert ("Crate", "ferry-b") == (crate["kind"], crate["metadata"]["name"])
    assert ["settings"] == [one["metadata"]["name"] for one in crate["content"]]
    assert "spec" not in crate


def test_render_says_what_cannot_be_rendered(harbor_of_cargo: Harbor) -> None:
    """In the words of the toy."""
    found = reconciler(
        harbor_of_cargo.checkout.folder, "render", "berth/barge", sources=harbor_of_cargo.sources
    )

    assert 1 == found.code
    assert f"a: {MISSING}" in found.stderr


def test_delivery_writes_the_folder_of_each_site(harbor_of_cargo: Harbor) -> None:
    """The cargo, and what kustomize reads."""
    listed = harbor_of_cargo.checkout.git("ls-files", "delivery").splitlines()

    assert [
        f"delivery/{name}/{file}"
        for name in ("a", "b")
        for file in (SETTINGS, "kustomization.yaml")
    ] == listed


def test_delivery_writes_the_carriers_of_the_toy(harbor_of_cargo: Harbor) -> None:
    """As they are, and as ManifestWorks."""
    crate = harbor_of_cargo.checkout.git(
        "show", f"HEAD:works/a/berths.{GROUP}/default/ferry/ferry-a.yaml"
    )
    wrapped = harbor_of_cargo.checkout.git("ls-files", "manifestworks/b").splitlines()

    assert "kind: Crate\n" in crate
    assert "content:\n- apiVersion: v1\n" in crate
    assert 1 == len(wrapped)


def live(body: Body, **status: object) -> Body:
    """An object as a control plane has it."""
    found = json.loads(json.dumps(body))
    found["metadata"] |= {
        "uid": "00000000-0000-4000-8000-000000000001",
        "resourceVersion": "7",
        "annotations": {f"{GROUP}/moored-by": "the pilot"},
    }
    assert isinstance(found, dict)
    return {**found, **({"status": status} if status else {})}


@pytest.fixture
def imported(harbor_of_cargo: Harbor, tmp_path: Path) -> Harbor:
    """A repository that took over a live harbor, whose ferry is where no pass would put it."""
    checkout = new_checkout(tmp_path / "fleet", {"README.md": "A harbor.\n"})
    found = Harbor(harbor_of_cargo.sources, checkout)
    ferry = live(berth(sites=1), sites=["b"], problem="")
    items = [live(site("a")), live(site("b")), ferry]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    (tmp_path / "live.json").write_text(listed)
    found.ask("import", str(tmp_path / "live.json"), "--adopt")
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", "--message=Take the harbor over")
    return found


def test_import_makes_files_where_the_toy_wants_them(imported: Harbor) -> None:
    """Without what its control plane made."""
    listed = imported.checkout.git("ls-files").splitlines()
    ferry = imported.checkout.git("show", "HEAD:berths/default/ferry.yaml")

    assert {"sites/a.yaml", "sites/b.yaml", "berths/default/ferry.yaml"} <= set(listed)
    assert "moored-by" not in ferry
    assert "uid" not in ferry


def test_import_adopts_the_decisions_of_the_toy(imported: Harbor) -> None:
    """Nothing moves: the berth stays on b, though a pass by itself would begin with a."""
    assert [["ferry", "b", "<none>", "<none>"]] == imported.rows("get", "berths", "-o", "wide")
    assert "nothing to do\n" == imported.ask("reconcile", "--dry-run", "--now", LONG_AFTER)


def told_lines(told: str) -> Mapping[str, str]:
    """What stands behind each title; where one comes twice, the first."""
    pairs = (line.partition(":") for line in told.splitlines() if ":" in line)
    return {title.strip(): rest.strip() for title, _, rest in reversed([*pairs])}


def test_status_counts_the_objects_of_the_toy(harbor_of_cargo: Harbor) -> None:
    """By their kinds, and what its renderer could not bring."""
    told = harbor_of_cargo.ask("status")

    assert told_lines(told)["Objects"].endswith(", 2 berths, 2 sites")
    assert f"is not delivered to a: {MISSING} (expected: " in told


def test_describe_tells_of_a_berth(harbor_of_cargo: Harbor) -> None:
    """Its fields, its decision, and its events."""
    told = harbor_of_cargo.ask("describe", "berth/ferry")
    lines = told_lines(told)

    assert ("Berth", "a, b") == (lines["Kind"], lines["Clusters"])
    assert "Moved" in told


def test_explain_reads_the_schema_of_the_toy(harbor_of_cargo: Harbor) -> None:
    """Kind, field and what it means."""
    told = harbor_of_cargo.ask("explain", "berth.spec.sites")

    assert ["Berth", GROUP, "v1"] == [told_lines(told)[one] for one in ("KIND", "GROUP", "VERSION")]
    assert "FIELD: sites <integer> -required-\n" in told
    assert "    How many sites.\n" in told


def test_a_report_has_the_berths(harbor_of_cargo: Harbor) -> None:
    """In the matrix, and each in full."""
    told = harbor_of_cargo.ask("report", "-o", "-")

    assert ">berth/ferry</a>" in told
    assert MISSING in told


def test_the_page_has_the_berths(harbor_of_cargo: Harbor) -> None:
    """The fleet, the matrix, what is wrong, and one berth."""
    with harbor_of_cargo.serving() as address:
        fleet, matrix, wrong = (page(address + path) for path in ("", "matrix", "faults"))
        query = f"object?group={GROUP}&kind=Berth&namespace=default&name=ferry"
        ferry = page(address + query)

    assert re.search("<b>2</b><a [^>]*>clusters</a>", fleet)
    assert ">berth/ferry</a>" in matrix
    assert MISSING in wrong
    assert "<h1>berth/ferry" in ferry
