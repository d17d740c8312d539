"""What a Secret holds is in no answer of a verb, no file, page, log and metric."""

from collections.abc import Iterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from reconciler.cli.main import run
from tests.builders import Body, metadata, selector, text
from tests.cli.test_operation import port_in
from tests.page.served import VIEWS, served_page
from tests.shell.fleet import EXAMPLE, decided_fleet, eventually, running, subjects
from tests.shell.repositories import Checkout

SHOP = "workloads/shop.yaml"
HELD = "hunter2-of-the-shop"
NAMED = ("-n", "default", "secret/token")
ASKED: tuple[tuple[str, ...], ...] = (
    ("get", *NAMED, "-o", "yaml"),
    ("get", *NAMED, "-o", "json"),
    ("get", "all", "-A"),
    ("get", "rb", "-A", "-o", "yaml"),
    ("describe", *NAMED),
    ("status",),
    ("status", "-o", "json"),
    ("top", "clusters"),
    ("tree", *NAMED),
    ("events",),
    ("why", *NAMED),
    ("why", *NAMED, "-o", "json"),
    ("history", *NAMED),
    ("blame", *NAMED),
    ("verify",),
    ("report", "-o", "-", "--plan", "edited"),
    ("validate",),
    ("validate", "-v"),
    ("validate", "-o", "json"),
    ("validate", "-o", "sarif"),
    ("validate", "-o", "junit"),
    ("plan", "--head", "edited"),
    ("plan", "--head", "edited", "-o", "json"),
    ("plan", "--head", "edited", "-o", "markdown"),
    ("advise",),
    ("simulate", "--fail", "member1"),
    ("render", *NAMED),
    ("render", *NAMED, "-o", "json"),
    ("rebalance", *NAMED, "--dry-run"),
    ("suspend", *NAMED, "--branch", "suspended"),
    ("simulate", "--set", "secret/token:/stringData/a=x"),
    ("label", *NAMED, "a=b", "--branch", "labelled"),
    ("reconcile",),
)
"""Verbs with what they are asked here; what refuses says why without it, too."""


def override(name: str, **overriders: object) -> Body:
    """An override of the Secret that does not fit it."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata(name, "default"),
        "spec": {
            "resourceSelectors": [selector("Secret", apiVersion="v1")],
            "overrideRules": [{"overriders": overriders}],
        },
    }


def secret(name: str, **fields: object) -> Body:
    """A Secret in `default`."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata(name, "default"), **fields}


FILES = {
    "workloads/token.yaml": text(secret("token", stringData={"a": HELD}, note=HELD)),
    "workloads/wrong.yaml": text(secret("wrong", data={"a": HELD}, type=7)),
    "workloads/odd.yaml": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: odd, namespace: default}\n"
        f"stringData:\n  a: *{HELD}\n  b: !{HELD} x\n  c: '{HELD}\n"
    ),
    "workloads/odd.json": f'{{"kind": "Secret", "data": {{"a": "{HELD}"}},, }}',
    "policies/token.yaml": text(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": metadata("token", "default"),
            "spec": {
                "resourceSelectors": [selector("Secret", apiVersion="v1")],
                "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
            },
        }
    ),
    "policies/overrides.yaml": text(
        override("b", plaintext=[{"path": "/data/b/c", "operator": "replace", "value": "x"}]),
        override(
            "a",
            fieldOverrider=[
                {
                    "fieldPath": "/stringData/a",
                    "json": [{"subPath": "/x", "operator": "replace", "value": 1}],
                }
            ],
        ),
    ),
    "reconciler.yaml": text(
        {
            "apiVersion": "reconciler.dev/v1alpha1",
            "kind": "ReconcilerConfiguration",
            "metadata": {"name": "fleet"},
            "spec": {"delivery": {"folders": {}}},
        }
    ),
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The example with Secrets on which everything goes wrong, and an edit of one of them."""
    found = decided_fleet(tmp_path_factory.mktemp("secrets") / "fleet", FILES)
    found.git("switch", "--quiet", "--create", "edited")
    edited = text(secret("token", stringData={"a": f"{HELD}-too", "b": HELD}))
    shop = EXAMPLE[SHOP].replace("replicas: 2", "replicas: 5")
    found.commit({"workloads/token.yaml": edited, SHOP: shop})
    found.git("switch", "--quiet", "main")
    return found


@pytest.mark.cpu_seconds(60)
def test_no_verb_tells_it(fleet: Checkout, capfd: pytest.CaptureFixture[str]) -> None:
    """Whether it answers or refuses."""
    for arguments in ASKED:
        code = run(["-C", str(fleet.folder), *arguments])
        shown = capfd.readouterr()

        assert 2 != code, arguments
        assert HELD not in shown.out + shown.err, arguments


def outputs(fleet: Checkout) -> Iterator[str]:
    """What the branch has that people did not write: files and messages of commits."""
    for root in ("status", "delivery"):
        for path in (fleet.folder / root).rglob("*.yaml"):
            yield path.read_text(encoding="utf-8")
    yield fleet.git("log", "--format=%B", "main")


def test_no_file_and_no_commit_holds_it(fleet: Checkout) -> None:
    """What is wrong with the Secret is told there, by place."""
    told = "".join(outputs(fleet))

    assert HELD not in told
    assert "is not delivered to member1: OverridePolicy a: the text must be JSON" in told


@pytest.mark.cpu_seconds(60)
def test_no_page_shows_it(fleet: Checkout) -> None:
    """Neither that of the object, nor that of its file and its history."""
    of = "group=&kind=Secret&namespace=default&name=token"
    views = (*VIEWS, f"/manifest?{of}", f"/object?{of}", f"/rebalance?{of}", "/plan?branch=edited")
    with served_page(fleet.folder) as page:
        for view in views:
            assert HELD not in page.get(view).text, view


@pytest.mark.cpu_seconds(60)
def test_no_log_and_no_metric_has_it(fleet: Checkout, tmp_path: Path) -> None:
    """While the daemon meets the same faults again and again."""
    log = tmp_path / "log"
    with running(fleet.folder, "--listen", "0", "--log-format", "json", log=log):
        port = port_in(log)
        fleet.git("merge", "--quiet", "edited")
        eventually(lambda: "5" in subjects(fleet)[0], "the pass")
        opener = build_opener(ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{port}/metrics") as answer:
            metrics = answer.read().decode()

    assert "reconciler_" in metrics
    assert HELD not in metrics + log.read_text()
