"""A filter or a score is one file and one line: toys are registered, and every verb knows them."""

import re
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.dialects.karmada.scheduler.plugins import PROFILE as KARMADA
from reconciler.dialects.kubefleet.scheduler.plugins import PROFILE as KUBEFLEET
from reconciler.dialects.ocm.scheduler.plugins import PROFILE as OCM
from tests import builders
from tests.builders import Body, path_of, text
from tests.cli.history import answer
from tests.dialects.kubefleet import fleet as kubefleet
from tests.dialects.ocm import worlds as ocm
from tests.shell.fleet import ROOT, run_pass
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
