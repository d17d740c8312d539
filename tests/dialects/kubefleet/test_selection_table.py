"""Selections are asked again where something changed that they could select, and only there."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from reconciler.dialects.kubefleet.snapshots.selection import (
    PlacementQuestion,
    SelectionTable,
    select_resources,
)
from reconciler.errors import UserError
from reconciler.model.fields import bodies, mapping
from reconciler.model.remembered import patched
from reconciler.model.world import World
from tests.builders import Body, manifest, metadata
from tests.dialects.recorded_reads import overlook
from tests.followed import linked
from tests.stories import world

NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace"}
LABELLED = {"labelSelector": {"matchLabels": {"team": "a"}}}
DEPLOYMENTS = {"group": "apps", "version": "v1", "kind": "Deployment"}
ROLES = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole"}
ENDPOINTS = {"group": "", "version": "v1", "kind": "Endpoints"}
SELECTORS: Sequence[Sequence[Body]] = (
    [{**NAMESPACE, "name": "one"}],
    [{**NAMESPACE, "name": "two", "selectionScope": "NamespaceOnly"}],
    [{**NAMESPACE, **LABELLED}],
    [{**ROLES, "name": "x"}],
    [{**ROLES, **LABELLED}],
    [ROLES, {**NAMESPACE, "name": "two"}],
    [{**NAMESPACE, "name": "one", "selectionScope": "NamespaceWithResourceSelectors"}, ENDPOINTS],
    [DEPLOYMENTS],
    [ENDPOINTS],
)
KINDS = (
    ("v1", "Namespace"),
    ("apps/v1", "Deployment"),
    ("v1", "Endpoints"),
    ("v1", "Service"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
)


def an(api: str, kind: str, name: str, namespace: str = "", **labels: str) -> Body:
    """Any object."""
    named = metadata(name, **({"namespace": namespace} if namespace else {}), labels=labels)
    return {"apiVersion": api, "kind": kind, "metadata": named}


def role(name: str, **labels: str) -> Body:
    """A ClusterRole."""
    return an("rbac.authorization.k8s.io/v1", "ClusterRole", name, **labels)


def web(namespace: str, **spec: object) -> Body:
    """A Deployment."""
    return {**an("apps/v1", "Deployment", "web", namespace), "spec": spec}


def placement(name: str, *selectors: Body, namespace: str = "") -> Body:
    """A placement with selectors."""
    kind = "ResourcePlacement" if namespace else "ClusterResourcePlacement"
    group = "placement.kubernetes-fleet.io/v1beta1"
    return {**an(group, kind, name, namespace), "spec": {"resourceSelectors": [*selectors]}}


def question(body: Body) -> PlacementQuestion:
    """A placement as the table is asked for it."""
    selectors = bodies(mapping(body, "spec"), "resourceSelectors")
    return PlacementQuestion(manifest(body).key, body, selectors)


def asked_after(before: Iterable[Body], after: Iterable[Body], *placements: Body) -> int:
    """How many of the placements are asked again after a change."""
    table, first = SelectionTable(), world(*before)
    questions = [question(body) for body in placements]
    for item in questions:
        table.select(item, first)
    asked, then = table.drawn, linked(world(*after), first)
    for item in questions:
        table.select(item, then)
    return table.drawn - asked


def test_a_workload_asks_the_placement_of_its_namespace() -> None:
    """A thousand others are not looked at."""
    placements = [placement(name, {**NAMESPACE, "name": name}) for name in ("one", "two", "three")]
    before = [web("one", replicas=1), web("two", replicas=1)]

    assert asked_after(before, [web("one", replicas=2), before[1]], *placements) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(role("x"), role("x", team="a"), id="it-gets-the-label"),
        pytest.param(role("x", team="a"), role("x"), id="it-loses-the-label"),
    ],
)
def test_a_label_asks_the_placements_that_look_for_it(before: Body, after: Body) -> None:
    """Those that look for another label or name of the same kind stay."""
    other = {**ROLES, "labelSelector": {"matchLabels": {"team": "b"}}}
    placements = [
        placement("labelled", {**ROLES, **LABELLED}),
        placement("other", other),
        placement("named", {**ROLES, "name": "y"}),
    ]

    assert asked_after([before], [after], *placements) == 1


def test_nothing_is_asked_where_nothing_changed() -> None:
    """A round on the same world costs a look at each placement."""
    before = [web("one")]

    assert asked_after(before, before, placement("one", {**NAMESPACE, "name": "one"})) == 0


def test_what_is_the_same_again_is_the_same_object() -> None:
    """So that nothing which depends on it is decided anew."""
    asked = question(placement("one", {**NAMESPACE, "name": "one"}))
    first = world(web("one"), an("v1", "Pod", "web", "one"))
    then = linked(world(web("one"), an("v1", "Pod", "web", "one", app="web")), first)
    table = SelectionTable()

    assert table.select(asked, first) is table.select(asked, then)
    assert table.drawn == 2


def blobs_of_another_version() -> list[object]:
    """Where a selection finds its content once another document of the file changed."""
    asked, first = question(placement("x", {**ROLES, "name": "x"})), world(role("x"))
    (path,) = first.blobs
    before = linked(first, first)
    table = SelectionTable()
    table.select(asked, before)
    later = replace(before, blobs=patched(before.blobs, {path: "2" * 40}))

    return [item.entry["blob"] for item in table.select(asked, later).resources]


def test_another_blob_of_a_file_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """And overlooked where it is not recorded that the selection looked for the file."""
    assert ["2" * 40] == blobs_of_another_version()
    overlook("file", monkeypatch)
    assert ["2" * 40] != blobs_of_another_version()


def answer_to_odd_labels() -> object:
    """What a selection by label says once labels cannot be read; a validated file has none such."""
    asked, first = question(placement("x", {**ROLES, **LABELLED})), world(role("x"))
    before = linked(first, first)
    table = SelectionTable()
    table.select(asked, before)
    odd = manifest({**role("x"), "metadata": {"name": "x", "labels": {"team": 1}}})
    return answer(asked, replace(before, inputs=patched(before.inputs, {odd.key: odd})), table)


def test_labels_that_cannot_be_read_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And overlooked where it is not recorded that the selection looked at labels."""
    assert isinstance(answer_to_odd_labels(), str)
    overlook("odd", monkeypatch)
    assert not isinstance(answer_to_odd_labels(), str)


def test_what_is_gone_is_forgotten() -> None:
    """A placement that comes back is asked again."""
    asked, first = question(placement("x", {**ROLES, "name": "x"})), world(role("x"))
    table = SelectionTable()
    table.select(asked, first)
    table.follow(first, [asked.key])
    table.select(asked, first)

    assert table.drawn == 2


def answer(item: PlacementQuestion, at: World, table: SelectionTable | None) -> object:
    """What a placement selects, or why nothing: of a table, or without one."""
    try:
        if table is not None:
            return table.select(item, at)
        namespace = item.key.namespace
        return select_resources(item.selectors, at.inputs, at.blobs, at.known, namespace)
    except UserError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(12))
def test_a_table_that_follows_answers_like_one_that_looks_at_all(seed: int) -> None:
    """Documents come, change their labels or their file, and go, one or some at a time."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    placements = [
        *(placement(f"p{number}", *chosen) for number, chosen in enumerate(SELECTORS)),
        *(placement(f"p{i}", *SELECTORS[i], namespace="one") for i in (3, 6, 7, 8)),
    ]
    questions = [question(body) for body in placements]
    documents: dict[tuple[str, str, str], Body] = {}
    table, before = SelectionTable(), None
    for _ in range(40):
        for _ in range(chance.choice((1, 1, 1, 4))):
            api, kind = chance.choice(KINDS)
            cluster_wide = kind in ("Namespace", "ClusterRole")
            space = "" if cluster_wide else chance.choice(("one", "two", "three"))
            name = chance.choice(("one", "two") if kind == "Namespace" else ("x", "y"))
            if chance.random() < 0.3:
                documents.pop((kind, space, name), None)
            else:
                labels = chance.choice(({}, {"team": "a"}, {"team": "b"}))
                documents[kind, space, name] = an(api, kind, name, space, **labels)
        before = linked(world(*documents.values()), before)
        table.follow(before, ())
        for item in questions:
            assert answer(item, before, None) == answer(item, before, table)
