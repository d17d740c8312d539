"""KubeFleet's v1 beside v1beta1: one object, whichever version its file is written in."""

import pytest

from tests.builders import Body
from tests.dialects.kubefleet.fleet import member, pick, placement
from tests.stories import Story, story

STATUS = "status/clusterresourceplacements.placement.kubernetes-fleet.io/web.yaml"


def in_v1(body: Body) -> Body:
    """The same object in v1."""
    group = str(body["apiVersion"]).partition("/")[0]
    return {**body, "apiVersion": f"{group}/v1"}


def fleet(version: str) -> Story:
    """Three members and a placement that wants two of them, in one version."""
    bodies = [*(member(name) for name in "abc"), placement(pick(2))]
    return story(*map(in_v1, bodies)) if version == "v1" else story(*bodies)


def test_v1_is_placed_as_v1beta1_is() -> None:
    """The same clusters, the same outputs, but that the status has the version of its manifest."""
    older, newer = fleet("v1beta1"), fleet("v1")
    older.run(0)
    newer.run(0)

    kept = {p: d for p, d in older.outputs.items() if p not in (STATUS, "status/reconciler.yaml")}
    assert kept.items() <= newer.outputs.items()
    assert older.outputs[STATUS].replace("io/v1beta1", "io/v1") == newer.outputs[STATUS]
    assert "c" in older.outputs[STATUS]


def test_an_object_that_changes_its_version_stays_where_it_is() -> None:
    """Only the version in its status file follows."""
    told = fleet("v1beta1")
    told.run(0)
    told.run(100)
    before = told.outputs[STATUS]
    told.put(*(in_v1(body) for body in (member("a"), placement(pick(2)))))
    outcome = told.run(200)

    assert () == outcome.decisions
    assert [STATUS, "status/reconciler.yaml"] == [change.path for change in outcome.changes]
    assert before.replace("io/v1beta1", "io/v1") == told.outputs[STATUS]


def test_two_versions_of_one_object_are_written_twice() -> None:
    """The version is no part of an identity."""
    told = fleet("v1beta1")
    told.put(in_v1(placement(pick(1))), path="other.yaml")
    outcome = told.run(0)

    assert {"identity-duplicate"} == {fault.rule for fault in outcome.faults}


@pytest.mark.parametrize("field", ["deleteStrategy", "reportBackStrategy"])
def test_v1_has_not_every_field_of_v1beta1(field: str) -> None:
    """What v1 lacks is a fault that says so."""
    body = in_v1(placement(pick(1), strategy={field: {}}))
    told = story(member("a")).put(body)
    outcome = told.run(0)

    assert [("schema-unknown-field", f"/spec/strategy/{field}")] == [
        (fault.rule, fault.field) for fault in outcome.faults
    ]
