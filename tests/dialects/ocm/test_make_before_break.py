"""A placement of a hub that is made before it breaks, through whole passes, with reports."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.imports.importers import report_of
from reconciler.manifests.text.reader import read
from reconciler.model.fields import mapping
from reconciler.rebalance.surge import surge_in
from tests.builders import Body, after, configuration, deployment, rebalancer, text
from tests.dialects.ocm.test_decide import DISABLE
from tests.dialects.ocm.worlds import (
    GROUP,
    binding,
    cluster,
    cluster_set,
    placement,
    replica_set,
    report,
    score,
    succeed,
)
from tests.stories import Story, story

ALL: Body = {"makeBeforeBreak": {"deadlineSeconds": 100, "maxSurgePercent": 100}}
SAFE: Body = {"makeBeforeBreak": {"deadlineSeconds": 100}}
FULL: Body = {"key": "full", "value": "", "effect": "NoSelect"}
P: Body = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Placement", "name": "p", "namespace": "ns1"}
WEB = deployment("web", namespace="shop", replicas=2)
STATUS = f"status/placements.{GROUP}/ns1/p.yaml"
OPTIONS: Body = {
    "feedback": {"assumeAfterSeconds": None},
    "delivery": {"folders": {"path": "clusters/{cluster}"}},
}


def delivered(told: Story, where: str) -> Body:
    """What a cluster is given of the Deployment, empty if nothing."""
    path = f"clusters/{where}/shop/deployments.apps/web.yaml"
    return read(told.files[path].encode(), path).documents[0].body if path in told.files else {}


def hear(told: Story, where: str, ready: int = 2) -> Story:
    """A cluster reports what it was given, with so many replicas of two ready."""
    body, path = delivered(told, where), f"feedback/{where}/web.yaml"
    if not body:
        told.files.pop(path, None)
        return told
    own = {**mapping(body, "metadata"), "uid": "1", "generation": 7}
    status = {"observedGeneration": 7, "replicas": 2, "updatedReplicas": 2}
    status["availableReplicas"] = ready
    told.files[path] = text(report_of({**body, "metadata": own, "status": status}))
    return told


def away(number: int | None = 1, names: str = "ab") -> Story:
    """P on the greater names, which report what its set puts there, since the others were full."""
    half = len(names) // 2
    told = story(cluster_set(), binding(), replica_set(WEB), configuration(**OPTIONS))
    wanted = placement() if number is None else placement(numberOfClusters=number)
    told.put(wanted, *(cluster(n, FULL) for n in names[:half]))
    told.put(*map(cluster, names[half:]))
    told.run(0)
    for name in names[half:]:
        hear(told, name)
    told.put(*map(cluster, names[:half])).run(1)
    return told


def begun(limits: Body = ALL, number: int = 1, names: str = "ab") -> Story:
    """A step under way since second 10."""
    told = away(number, names).put(rebalancer("demo", P, limits=limits, ttl=None))
    told.run(10)
    return told


def decided(told: Story) -> dict[str, str]:
    """Cluster to reason, of all decisions."""
    found: dict[str, str] = {}
    for path in sorted(told.outputs):
        if "/placementdecisions." in path:
            listed = mapping(told.output(path), "status")["decisions"]
            for one in cast(Sequence[Mapping[str, str]], listed):
                found[one["clusterName"]] = one["reason"]
    return found


def selected(told: Story) -> object:
    """How many clusters the placement says that it has."""
    return mapping(told.output(STATUS), "status")["numberOfSelectedClusters"]


def beside(told: Story) -> list[str]:
    """The clusters that are to be ready before others are left."""
    surge = surge_in(told.output(STATUS))
    return [] if surge is None else sorted(surge.clusters)


def given(told: Story) -> str:
    """The clusters that are given something."""
    return "".join(name for name in "abcdef" if delivered(told, name))


def result(told: Story, name: str = "demo") -> tuple[str, str]:
    """Result of the placement, and why it failed or waits."""
    (one,) = cast(Sequence[Mapping[str, str]], told.rebalancer(name)["observedWorkloads"])
    return one.get("result", ""), one.get("reason", one.get("waitsFor", ""))


def causes(outcome: Outcome) -> list[str]:
    """Why placements moved."""
    return [str(one.cause) for one in outcome.decisions if one.key.kind == "Placement"]


def test_what_is_left_is_listed_until_what_replaces_it_is_ready() -> None:
    """It is leaving, counts no more, and keeps what it has."""
    told = begun()
    assert ({"a": "", "b": "Leaving"}, 1, "ab") == (decided(told), selected(told), given(told))
    hear(told, "a", 1).run(20)
    assert (["a"], "ab") == (beside(told), given(told))
    hear(told, "a").run(30)

    assert ({"a": ""}, [], "a") == (decided(told), beside(told), given(told))
    assert ("Successful", "") == result(told)
    assert () == told.run(31).changes


def test_a_step_is_told() -> None:
    """What starts, until when, what is waited for, and what became ready."""
    told = away().put(rebalancer("demo", P, limits=ALL, ttl=None))
    first = told.run(10)
    by = "rebalanced (WorkloadRebalancer demo"
    assert [f"{by}; starts 1 on a to be ready by 2026-11-20T12:01:50Z)"] == causes(first)
    assert after(110) == first.recheck_at
    assert ("", "1 on a to be ready by 2026-11-20T12:01:50Z") == result(told)

    assert [f"{by}; 1 on a ready)"] == causes(hear(told, "a").run(20))


def test_what_is_not_ready_in_time_is_given_back() -> None:
    """The decision of before is restored, and counts as a change."""
    told = away()
    before = decided(told)
    told.put(rebalancer("demo", P, limits=ALL, ttl=None)).run(10)
    told.run(110)

    assert (before, [], "b") == (decided(told), beside(told), given(told))
    assert ("Failed", "not ready on a by 2026-11-20T12:01:50Z") == result(told)
    notes = mapping(mapping(told.output(STATUS), "metadata"), "annotations")
    assert "2026-11-20T12:01:50Z" == notes["reconciler.dev/decided-at"]
    assert () == told.run(111).changes


def test_a_step_exchanges_as_many_as_may_be_doubled() -> None:
    """Each that is ready is followed by the next."""
    told = begun(SAFE, 3, "abcdef")
    assert (["a"], {"a": "", "d": "", "e": "", "f": "Leaving"}) == (beside(told), decided(told))
    hear(told, "a").run(20)
    assert (["b"], "abde") == (beside(told), given(told))
    hear(told, "b").run(30)
    hear(told, "c").run(40)

    assert ({"a": "", "b": "", "c": ""}, "abc") == (decided(told), given(told))
    assert ("Successful", "") == result(told)


def test_as_many_move_as_the_limit_says() -> None:
    """Where it is less than may be doubled."""
    assert ["a", "b"] == beside(begun({**ALL, "maxMoves": 2}, 3, "abcdef"))


def test_a_report_of_another_step_is_none() -> None:
    """A late one of an attempt that was given back says nothing of this one."""
    told = begun()
    late = hear(told, "a").files.pop("feedback/a/web.yaml")
    told.run(110)
    told.put(rebalancer("again", P, limits=ALL, ttl=None)).run(120)
    told.files["feedback/a/web.yaml"] = late
    told.run(130)

    assert ({"a": "", "b": "Leaving"}, ["a"]) == (decided(told), beside(told))


def test_a_manifest_work_counts_if_it_has_become_available_since() -> None:
    """Of the template that its cluster has; one of before may be of another step."""
    told = begun()
    told.now = after(5)
    succeed(told, "a").run(20)
    assert ["a"] == beside(told)
    report(told, "a", Applied="True", Available="False").run(30)
    assert ["a"] == beside(told)
    succeed(told, "a").run(40)

    assert {"a": ""} == decided(told)


def test_a_cluster_that_is_to_be_left_is_not_chosen() -> None:
    """Though nothing keeps it from being chosen."""
    told = away().put(rebalancer("demo", P, limits=ALL, ttl=None, leaving=["a"]))
    told.run(10)

    assert ({"b": ""}, ("Successful", "")) == (decided(told), result(told))


# What happens in between


def test_a_step_that_nobody_asks_for_any_more_is_given_back() -> None:
    """What is ready by then is kept."""
    told = begun(ALL, 3, "abcdef")
    hear(told, "b")
    told.drop(rebalancer("demo", P)).run(20)

    assert ({"b": "", "d": "", "e": ""}, "bde") == (decided(told), given(told))


def test_another_number_of_clusters_ends_a_step() -> None:
    """The scheduler counts from what is placed."""
    told = begun()
    told.put(placement(numberOfClusters=2)).run(20)
    assert ({"a": "", "b": ""}, []) == (decided(told), beside(told))
    assert ("Successful", "") == result(told)


def test_scores_alone_move_nothing_meanwhile() -> None:
    """However long ago the decision was made."""
    long: Body = {"makeBeforeBreak": {"deadlineSeconds": 5000, "maxSurgePercent": 100}}
    told = begun(long)
    told.put(score("b", 90)).run(2000)

    assert ({"a": "", "b": "Leaving"}, ["a"]) == (decided(told), beside(told))


def test_a_placement_that_goes_takes_its_decision_along() -> None:
    """What its sets put there stays, as ever: they have lost their placement."""
    told = begun()
    told.drop(placement()).run(20)

    assert ({}, "ab") == (decided(told), given(told))


def test_a_source_that_leaves_the_fleet_is_not_waited_for() -> None:
    """What was to replace it counts from now on."""
    told = begun()
    told.drop(cluster("b")).run(20)

    assert ({"a": ""}, []) == (decided(told), beside(told))


@pytest.mark.parametrize("fails", [cluster("a", FULL), None], ids=["taint", "gone"])
def test_a_target_that_fails_gives_back_all_of_it(fails: Body | None) -> None:
    """The goal cannot be reached, so another schedule afresh looks for one that can."""
    told = begun()
    told = told.drop(cluster("a")) if fails is None else told.put(fails)
    told.run(20)

    assert ({"b": ""}, "b", []) == (decided(told), given(told), beside(told))
    assert ("Successful", "") == result(told)


def test_in_a_freeze_a_step_ends_and_none_begins() -> None:
    """What is ready is taken, and the rest waits for the end of the freeze."""
    told = begun(SAFE, 3, "abcdef")
    noon = {"schedule": "0 12 * * *", "duration": "1h"}
    told.put(configuration(**OPTIONS, freeze={"windows": [noon]}))
    hear(told, "a").run(20)
    assert ({"a": "", "d": "", "e": ""}, []) == (decided(told), beside(told))
    told.run(3600)

    assert ["b"] == beside(told)


def test_of_what_is_switched_off_only_the_deadline_acts() -> None:
    """Nothing is taken of it, and then it is given back."""
    body = placement(numberOfClusters=1)
    off = {**mapping(body, "metadata"), "annotations": {DISABLE: "true"}}
    told = begun().put({**body, "metadata": off})
    hear(told, "a").run(20)
    assert {"a": "", "b": "Leaving"} == decided(told)
    told.run(110)

    assert ({"b": ""}, []) == (decided(told), beside(told))
    assert ("Failed", "not ready on a by 2026-11-20T12:01:50Z") == result(told)


# What cannot be made before it breaks


def test_without_a_set_nothing_begins() -> None:
    """Nobody would report what is ready."""
    told = away().drop(replica_set())
    told.run(5)
    told.put(rebalancer("demo", P, limits=ALL, ttl=None)).run(10)

    why = "no ManifestWorkReplicaSet uses it, so nothing would report what is ready"
    assert ({"b": ""}, ("Failed", why)) == (decided(told), result(told))


def test_without_any_report_nothing_begins() -> None:
    """Availability that is assumed is none."""
    told = away()
    del told.files["feedback/b/web.yaml"]
    told.put(rebalancer("demo", P, limits=ALL, ttl=None)).run(10)

    why = "no cluster reports shop, so nothing could be seen to be ready"
    assert ({"b": ""}, ("Failed", why)) == (decided(told), result(told))


def test_what_has_every_cluster_is_refused() -> None:
    """None of them could replace another."""
    told = away(None).put(rebalancer("demo", P, limits=ALL, ttl=None))
    told.run(10)

    why = "it has every cluster that fits, so none could replace another"
    assert ("Failed", why) == result(told)
