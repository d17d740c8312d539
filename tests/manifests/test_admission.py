"""What is recorded of an object at its admission."""

from typing import cast

from reconciler.manifests.admission import admit, digest
from reconciler.model.identity import ObjectKey, uid_of
from tests.builders import (
    NOW,
    Body,
    after,
    cluster,
    deployment,
    policy,
    rebalancer,
)
from tests.stories import (
    story,
)

KEY = ObjectKey("apps.karmada.io", "WorkloadRebalancer", "", "demo")


def test_creation_is_the_moment_first_seen() -> None:
    """And so is the generation's."""
    admitted, record = admit(KEY, {"x": 1}, None, NOW)

    assert (NOW, 1, NOW) == (
        admitted.created_at,
        admitted.generation,
        admitted.generation_seen_at,
    )
    assert (uid_of(KEY), "2026-11-20T12:00:00Z") == (record["uid"], record["creationTimestamp"])


def test_generation_counts_edits_of_the_spec() -> None:
    """An equal spec, in whatever order of keys, is none."""
    _, first = admit(KEY, {"x": 1, "y": 2}, None, NOW)
    same, second = admit(KEY, {"y": 2, "x": 1}, first, after(10))
    edited, third = admit(KEY, {"x": 2}, second, after(20))

    assert (1, NOW, NOW) == (same.generation, same.created_at, same.generation_seen_at)
    assert (2, NOW, after(20)) == (edited.generation, edited.created_at, edited.generation_seen_at)
    assert first == second
    assert 2 == third["generation"]


def test_a_record_without_its_parts_counts_as_none() -> None:
    """The object is admitted anew."""
    _, record = admit(KEY, {}, None, NOW)
    for garbled in ({}, {**record, "creationTimestamp": "yesterday"}, {**record, "annotations": 1}):
        admitted, _ = admit(KEY, {}, garbled, after(5))

        assert after(5) == admitted.created_at


def test_what_a_person_writes_there_is_ignored() -> None:
    """creationTimestamp, generation, uid and status are ours."""
    body = dict(rebalancer())
    body["metadata"] = {
        "name": "demo",
        "uid": "mine",
        "generation": 9,
        "creationTimestamp": "2000-01-01T00:00:00Z",
    }
    body["status"] = {"observedGeneration": 9, "finishTime": "2000-01-01T00:00:00Z"}
    told, plain = (
        story(cluster(), policy(), deployment(), found) for found in (body, rebalancer())
    )
    told.run(0)
    plain.run(0)
    path = "status/workloadrebalancers.apps.karmada.io/demo.yaml"

    assert plain.files[path] == told.files[path]
    assert 1 == cast(Body, told.output(path)["metadata"])["generation"]


def test_digest_does_not_depend_on_the_order_of_keys() -> None:
    """But on that of lists."""
    assert digest({"a": [1, 2], "b": 1}) == digest({"b": 1, "a": [1, 2]})
    assert digest([1, 2]) != digest([2, 1])
