"""Sets of ManifestWorks of a live OCM hub: each work keeps its name, and nothing moves."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

from reconciler.core.changes import WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world, world_after
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    KIND,
    WORKS,
    SetRecord,
    decode_record,
    record_annotations,
    template_id,
)
from reconciler.imports.adoption import Adoption
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.builders import NOW, configuration
from tests.builders import text as written
from tests.dialects.ocm.sets import settings_map
from tests.imports.hubs import THEN, condition, live
from tests.imports.imported import adopt_into, fates, import_into, propagated, texts
from tests.imports.ocm_hub import ocm_hub

SHOP = ObjectKey(WORKS, KIND, "default", "shop")
PLACEMENT = "apps-0000"
CHOSEN = ("member1", "member4")
"""The clusters of the hub's placement."""

DELIVERED = {"reconciler.yaml": written(configuration(delivery={"manifestworks": {}}))}


def shop(*, value: str = "1", strategy: Body | None = None) -> Body:
    """Return the live set of one ConfigMap."""
    rollout = {} if strategy is None else {"rolloutStrategy": strategy}
    return live(
        f"{WORKS}/v1alpha1",
        KIND,
        "shop",
        namespace="default",
        metadata={"finalizers": [f"{WORKS}/manifest-work-cleanup"]},
        spec={
            "cascadeDeletionPolicy": "Background",
            "manifestWorkTemplate": {"workload": {"manifests": [settings_map(value)]}},
            "placementRefs": [{"name": PLACEMENT, **rollout}],
        },
        status={"conditions": [condition("PlacementVerified", reason="AsExpected")]},
    )


def work(cluster: str, *, value: str = "1", status: Body | None = None, name: str = "") -> Body:
    """Return the live work of the set for a cluster, as the hub's controller made it."""
    return live(
        f"{WORKS}/v1",
        "ManifestWork",
        name or f"shop-x{cluster}",
        namespace=cluster,
        metadata={
            "labels": {
                f"{WORKS}/manifestworkreplicaset": "default.shop",
                f"{WORKS}/placementname": PLACEMENT,
            },
        },
        spec={"workload": {"manifests": [settings_map(value)]}},
        **({} if status is None else {"status": status}),
    )


def applied() -> Body:
    """Return the status of a work that its cluster has."""
    return {
        "conditions": [
            condition("Applied", observedGeneration=3),
            condition("Available", observedGeneration=3),
            condition("Progressing", status="False", observedGeneration=3),
        ]
    }


def hub(*bodies: Body) -> list[Body]:
    """Return the hub of one placement with a set and its works."""
    return [*ocm_hub(1), *bodies]


def adopted(export: Sequence[Body], files: dict[str, str] | None = None) -> tuple[World, Adoption]:
    """Return a repository with an export imported and adopted."""
    files, wanted = DELIVERED if files is None else files, propagated(export)
    found = adopt_into(files, export, wanted)
    return world_after(import_into(files, export, wanted).world, found.outputs, (), ()), found


def record(world: World) -> SetRecord:
    """Return which works the set has."""
    return decode_record(world.outputs[SHOP].body)


def delivered(world: World) -> dict[str, str]:
    """Return the names of the works that a pass delivers, by cluster."""
    outcome = reconcile(world, NOW + timedelta(seconds=1))
    found = {}
    for change in outcome.delivered:
        if isinstance(change, WriteFile):
            body = read(change.content.encode(), change.path).documents[0].body
            metadata = mapping(body, "metadata")
            found[text(metadata, "namespace")] = text(metadata, "name")
    return found


EVERYWHERE = hub(shop(), *(work(name, status=applied()) for name in CHOSEN))


def test_a_set_becomes_a_file_and_its_works_reports() -> None:
    """Nothing of it is read by nothing."""
    plan = import_into({}, EVERYWHERE, propagated(EVERYWHERE))

    assert ("shop", "created") in fates(plan)
    assert "workloads/default/shop.yaml" in plan.files
    assert "feedback/member1/member1/shop-xmember1-manifestwork.yaml" in plan.files
    assert {} == import_into(texts(plan), EVERYWHERE, propagated(EVERYWHERE)).files


def test_no_pass_of_the_first_hour_moves_a_set() -> None:
    """Nor writes anything."""
    world, found = adopted(EVERYWHERE, {})
    passes = [reconcile(world, NOW + timedelta(seconds=s)) for s in (1, 90, 400, 3600)]

    assert ((), (), ()) == (found.moves, found.new, found.coming)
    assert [((), (), ())] * 4 == [(one.decisions, one.changes, one.faults) for one in passes]


def test_a_work_is_delivered_under_the_name_that_it_has() -> None:
    """Under another one, two works of one set would stand on a cluster."""
    world, _ = adopted(EVERYWHERE)

    assert {name: f"shop-x{name}" for name in CHOSEN} == delivered(world)


def test_a_new_template_goes_into_the_same_work() -> None:
    """An edit of the set is written over what is there."""
    world, _ = adopted(EVERYWHERE)
    edited = replace(world.inputs[SHOP], held={**world.inputs[SHOP].body, **_spec("2")})
    later = replace(world, inputs={**world.inputs, SHOP: edited})
    now = NOW + timedelta(seconds=1)
    after = next_world(later, reconcile(later, now))

    assert {f"shop-x{name}" for name in CHOSEN} == {one.name(SHOP) for one in record(after).works}
    assert {name: f"shop-x{name}" for name in CHOSEN} == delivered(later)


def _spec(value: str) -> Body:
    """Return the spec of the set with another value."""
    return {"spec": mapping(shop(value=value), "spec")}


def test_a_report_of_the_hub_is_of_the_template_that_its_work_has() -> None:
    """So it says nothing of the one that a set gets later."""
    plan = import_into({}, EVERYWHERE, propagated(EVERYWHERE))
    path = "feedback/member1/member1/shop-xmember1-manifestwork.yaml"
    body = read(plan.files[path], path).documents[0].body
    template = cast("Body", mapping(shop(), "spec")["manifestWorkTemplate"])

    assert {"reconciler.dev/template": template_id(template)} == mapping(body, "metadata")[
        "annotations"
    ]


def test_a_rollout_goes_on_where_the_hub_is() -> None:
    """A cluster that has the earlier template keeps it until its turn comes."""
    one_by_one: Body = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    export = hub(
        shop(value="2", strategy=one_by_one),
        work("member1", value="2", status={"conditions": [condition("Applied", status="False")]}),
        work("member4", status=applied()),
    )
    world, found = adopted(export)
    outcome = reconcile(world, NOW + timedelta(seconds=3600))

    assert ((), ()) == (found.moves, outcome.decisions)
    assert 2 == len({one.template for one in record(world).works})


def test_a_work_that_no_agent_applied_lets_its_rollout_wait() -> None:
    """Without a status it says that nothing happened; silence would be assumed to be success."""
    one_by_one: Body = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    world, found = adopted(hub(shop(strategy=one_by_one), work("member1")))
    outcome = reconcile(world, NOW + timedelta(seconds=3600))

    assert ((), (), ()) == (found.new, found.coming, outcome.decisions)
    assert ["member1"] == [one.cluster for one in record(world).works]


def test_what_moves_of_a_set_is_foreseen() -> None:
    """Here its placement chose a cluster that has no work yet."""
    _, found = adopted(hub(shop(), work("member1", status=applied())))
    (move,) = found.moves

    assert (SHOP, ["member1", "member4"]) == (move.key, [name for name, _ in move.after])


def test_of_two_works_of_a_cluster_one_is_left() -> None:
    """The reason names the other."""
    again = work("member1", status=applied(), name="shop-z")
    _, found = adopted([*EVERYWHERE, again])

    assert ["its cluster has another work of its set: shop-xmember1"] == list(found.left.values())


def test_a_work_whose_set_is_not_there_is_left() -> None:
    """So is one that is being deleted, or does not say for which placement it is."""
    leaving = work("member1", status=applied())
    deleted = {**leaving, "metadata": {**mapping(leaving, "metadata"), "deletionTimestamp": THEN}}
    own = {"labels": {f"{WORKS}/manifestworkreplicaset": "default.shop"}}
    unnamed = {**leaving, "metadata": {**mapping(leaving, "metadata"), **own}}
    _, alone = adopted(hub(leaving))
    _, with_deleted = adopted(hub(shop(), deleted))
    _, with_unnamed = adopted(hub(shop(), unnamed))
    label = f"{WORKS}/placementname"

    assert [
        ["its ManifestWorkReplicaSet is not in the repository: the export has none of that name"],
        ["it is being deleted"],
        [f"it has no label {label}, which says for which placement it is"],
    ] == [list(one.left.values()) for one in (alone, with_deleted, with_unnamed)]


def test_a_work_on_a_cluster_that_its_placement_has_left_is_left_and_named() -> None:
    """No file of ours was there, so none that goes would take it away."""
    world, found = adopted([*EVERYWHERE, work("member9", status=applied())])

    assert ["shop-xmember9"] == [key.name for key in found.left]
    assert "delete it on the hub" in "".join(found.left.values())
    assert () == found.moves
    assert {"member1", "member4"} == {one.cluster for one in record(world).works}


def test_a_record_is_read_as_it_was_written() -> None:
    """With names, and what was reported and observed since."""
    world, _ = adopted(EVERYWHERE)
    known = record(world)
    again = decode_record({"metadata": {"annotations": record_annotations(known)}})

    assert known.works == again.works
    assert {"shop-xmember1", "shop-xmember4"} == {one.adopted_name for one in again.works}


def test_an_empty_message_that_go_writes_is_no_other_template() -> None:
    """So what agents report of an adopted work counts for its set."""
    rule = {"condition": "Progressing", "type": "CEL", "celExpressions": ["true"]}
    at = {"group": "", "resource": "configmaps", "namespace": "default", "name": "settings"}

    def asking(**more: str) -> Body:
        rules = {"conditionRules": [{**rule, **more}], "feedbackScrapeType": "Poll"}
        config = {"resourceIdentifier": at, **rules}
        return {"manifestConfigs": [config], "workload": {"manifests": [settings_map("1")]}}

    owner = shop()
    spec = mapping(owner, "spec")
    owner = {**owner, "spec": {**spec, "manifestWorkTemplate": asking()}}
    works = [
        {**work(name, status=applied()), "spec": asking(message="", messageExpression="")}
        for name in CHOSEN
    ]
    world, found = adopted(hub(owner, *works))

    assert {template_id(asking())} == {one.template for one in record(world).works}
    assert [] == list(found.moves)
