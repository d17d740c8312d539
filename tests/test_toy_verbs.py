"""A dialect's renderer, importer and schemas reach every verb: seen through the command, by a toy.

It is registered in a copy of the product; nothing outside of its package knows it.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.builders import Body, configmap, configuration
from tests.harbor import GROUP, Harbor, berth, files, page, register, site
from tests.shell.fleet import ROOT, reconciler
from tests.shell.repositories import new_checkout

CARGO = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}
ABSENT = {**CARGO, "name": "absent"}
DELIVERY = {"folders": {}, "works": {"hubsWithoutControllers": True}, "manifestworks": {}}
SETTINGS = "default/configmaps/settings.yaml"
MISSING = "ConfigMap.core default/absent is not there"
NOON = "2026-11-20T12:00:00Z"
LONG_AFTER = "2100-01-01T00:00:00Z"  # an import is of the present moment


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Harbor:
    """A berth with cargo on two sites, and one whose cargo is nowhere."""
    folder = tmp_path_factory.mktemp("harbor")
    register(folder / "build")
    berths = (berth(cargo=CARGO), berth("barge", sites=1, cargo=ABSENT))
    there = (site("a"), site("b"), configmap(), configuration(delivery=DELIVERY))
    found = Harbor((folder / "build", ROOT), new_checkout(folder / "fleet", files(*there, *berths)))
    told = reconciler(found.checkout.folder, "reconcile", "--now", NOON, sources=found.sources)

    assert 1 == told.code, told.stderr
    assert f"nothing new is delivered to a: {MISSING}" in told.stderr
    return found


def documents(told: str) -> list[str]:
    """The cluster of each document that `render` prints."""
    return re.findall(r"^# (.*)$", told, re.MULTILINE)


def test_render_prints_what_each_site_gets(harbor: Harbor) -> None:
    """The cargo, once a site."""
    told = harbor.ask("render", "berth/ferry")

    assert ["a", "b"] == documents(told)
    assert 2 == told.count("kind: ConfigMap\n")


def test_render_prints_the_carriers_of_the_toy(harbor: Harbor) -> None:
    """They hold manifests where the toy says, which is where no other API has them."""
    told = json.loads(harbor.ask("render", "berth/ferry", "b", "--carriers", "-o", "json"))
    (crate,) = told["items"]

    assert ("Crate", "ferry-b") == (crate["kind"], crate["metadata"]["name"])
    assert ["settings"] == [one["metadata"]["name"] for one in crate["content"]]
    assert "spec" not in crate


def test_render_says_what_cannot_be_rendered(harbor: Harbor) -> None:
    """In the words of the toy."""
    found = reconciler(harbor.checkout.folder, "render", "berth/barge", sources=harbor.sources)

    assert 1 == found.code
    assert f"a: {MISSING}" in found.stderr


def test_delivery_writes_the_folder_of_each_site(harbor: Harbor) -> None:
    """The cargo, and what kustomize reads."""
    listed = harbor.checkout.git("ls-files", "delivery").splitlines()

    assert [
        f"delivery/{name}/{file}"
        for name in ("a", "b")
        for file in (SETTINGS, "kustomization.yaml")
    ] == listed


def test_delivery_writes_the_carriers_of_the_toy(harbor: Harbor) -> None:
    """As they are, and as ManifestWorks."""
    crate = harbor.checkout.git("show", f"HEAD:works/a/berths.{GROUP}/default/ferry/ferry-a.yaml")
    wrapped = harbor.checkout.git("ls-files", "manifestworks/b").splitlines()

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
def imported(harbor: Harbor, tmp_path: Path) -> Harbor:
    """A repository that took over a live harbor, whose ferry is where no pass would put it."""
    checkout = new_checkout(tmp_path / "fleet", {"README.md": "A harbor.\n"})
    found = Harbor(harbor.sources, checkout)
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


def test_status_counts_the_objects_of_the_toy(harbor: Harbor) -> None:
    """By their kinds, and what its renderer could not bring."""
    told = harbor.ask("status")

    assert told_lines(told)["Objects"].endswith(", 2 berths, 2 sites")
    assert f"nothing new is delivered to a: {MISSING}\n" in told


def test_describe_tells_of_a_berth(harbor: Harbor) -> None:
    """Its fields, its decision, and its events."""
    told = harbor.ask("describe", "berth/ferry")
    lines = told_lines(told)

    assert ("Berth", "a, b") == (lines["Kind"], lines["Clusters"])
    assert "Moved" in told


def test_explain_reads_the_schema_of_the_toy(harbor: Harbor) -> None:
    """Kind, field and what it means."""
    told = harbor.ask("explain", "berth.spec.sites")

    assert ["Berth", GROUP, "v1"] == [told_lines(told)[one] for one in ("KIND", "GROUP", "VERSION")]
    assert "FIELD: sites <integer> -required-\n" in told
    assert "    How many sites.\n" in told


def test_a_report_has_the_berths(harbor: Harbor) -> None:
    """In the matrix, and each in full."""
    told = harbor.ask("report", "-o", "-")

    assert ">berth/ferry</a>" in told
    assert MISSING in told


def test_the_page_has_the_berths(harbor: Harbor) -> None:
    """The fleet, the matrix, what is wrong, and one berth."""
    with harbor.serving() as address:
        fleet, matrix, wrong = (page(address + path) for path in ("", "matrix", "faults"))
        query = f"object?group={GROUP}&kind=Berth&namespace=default&name=ferry"
        ferry = page(address + query)

    assert re.search("<b>2</b><a [^>]*>clusters</a>", fleet)
    assert ">berth/ferry</a>" in matrix
    assert MISSING in wrong
    assert "<h1>berth/ferry" in ferry
