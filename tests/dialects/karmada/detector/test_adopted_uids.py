"""The uid that a workload has on a hub stays with its binding, and ties go by it."""

from typing import cast

import pytest

from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.schedule.apportion import breaks_ties_descending
from tests.builders import DYNAMIC, Body, cluster, cluster_status, deployment, path_of, policy
from tests.stories import Story, story

WEB = ObjectKey("apps", "Deployment", "default", "web")
PATH = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
UIDS = [f"b7f2c1d0-0000-4000-8000-{number:012}" for number in range(9)]
EVEN, ODD = (
    next(uid for uid in UIDS if breaks_ties_descending(uid) is descending)
    for descending in (False, True)
)
"""Uids of which the one has ties go to the lesser name, the other to the greater."""


def adopted(uid: str) -> Story:
    """A binding on two clusters of equal room, as if it had been adopted with a uid."""
    room = cluster_status(pods=50)
    told = story(
        cluster("a", status=room),
        cluster("b", status=room),
        deployment(replicas=2),
        policy(placement={"replicaScheduling": DYNAMIC}),
    )
    told.run()
    told.files[PATH] = told.files[PATH].replace(uid_of(WEB), uid)
    return told


def uid_in(told: Story) -> str:
    """The uid in the binding."""
    return str(cast(Body, cast(Body, told.binding()["spec"])["resource"])["uid"])


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        pytest.param(EVEN, {"a": 2, "b": 1}, id="ascending"),
        pytest.param(ODD, {"a": 1, "b": 2}, id="descending"),
    ],
)
def test_ties_go_by_the_adopted_uid(uid: str, expected: dict[str, int]) -> None:
    """The next division is the hub's, and so is the one after it."""
    told = adopted(uid)
    told.put(deployment(replicas=3))
    told.run()
    assert expected == told.placed()

    told.put(deployment(replicas=5))
    told.run(10)
    assert uid == uid_in(told)


def test_an_edit_of_the_uid_is_told_once() -> None:
    """It is part of the decision that the digest stands for; then the edit is in force."""
    told = adopted(EVEN)
    assert [binding_key(WEB)] == list(told.run(10).edited)
    assert () == told.run(20).edited

    told.files[PATH] = told.files[PATH].replace(EVEN, ODD)
    assert [binding_key(WEB)] == list(told.run(30).edited)
    assert ODD == uid_in(told)
    assert () == told.run(40).edited


def test_a_workload_that_is_made_again_has_an_invented_uid() -> None:
    """A copied file carries nobody's; its owner's uid is that of the workload."""
    told = adopted(ODD)
    told.run(10)
    assert ODD in str(told.binding()["metadata"])
    del told.files[path_of(deployment())]
    told.run(20)
    assert PATH not in told.files

    told.put(deployment(replicas=3))
    told.run(30)
    assert uid_of(WEB) == uid_in(told)
