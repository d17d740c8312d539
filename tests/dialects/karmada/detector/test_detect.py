"""What claims and bindings read of others, which uid they have, and what is never propagated."""

from collections.abc import Callable
from typing import cast

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada.detector import detect
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.karmada.detector.detect import ClaimTable
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.schedule.apportion import breaks_ties_descending
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    path_of,
    policy,
    selector,
    taint,
)
from tests.dialects.recorded_reads import Changes, RememberedStory, after_the_change, overlook
from tests.stories import Story, story

DIVIDED: Body = {"replicaScheduling": DYNAMIC}
TEAM = {"team": "a"}
BY_LABEL = selector(labelSelector={"matchLabels": TEAM})
ON_A: Body = {"clusterAffinity": {"clusterNames": ["a"]}, **DIVIDED}
TO_B: Body = {"clusterAffinity": {"clusterNames": ["b"]}, **DIVIDED}


def unclaimed() -> Story:
    """Workloads that no policy wants."""
    return story(cluster("a"), cluster("b"), *map(of_team, ("web", "job")), deployment("other"))


def of_team(name: str) -> Body:
    """A workload with a label."""
    return deployment(name, labels=TEAM)


def placed() -> Story:
    """One workload on one cluster, by its name."""
    return unclaimed().put(policy("web", selectors=[selector(name="web")], placement=ON_A))


def everywhere() -> Story:
    """One workload on whatever cluster there is."""
    return unclaimed().put(policy("web", selectors=[selector(name="web")], placement={}))


def put(*bodies: Body) -> Callable[[Story], object]:
    """Write objects."""
    return lambda told: told.put(*bodies)


def moved_by_hand(told: Story) -> None:
    """A person moves a workload, in its binding."""
    path = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    told.files[path] = told.files[path].replace("- name: a\n", "- name: b\n")


CHANGES: Changes = {
    "policies": (unclaimed, put(policy("team", selectors=[BY_LABEL], placement=ON_A))),
    "name": (placed, put(cluster("a", taints=[taint("gone", "NoExecute")]))),
    "any": (everywhere, put(cluster("c"))),
}
OWN: Changes = {
    "name of a workload": (
        unclaimed,
        put(policy("web", namespace="", selectors=[selector(name="web")], placement=ON_A)),
    ),
    "binding": (placed, moved_by_hand),
}


@pytest.mark.parametrize("kind", [*CHANGES, *OWN])
def test_a_change_is_found(kind: str) -> None:
    """By what the claim, or the binding, read."""
    warm, cold = after_the_change({**CHANGES, **OWN}, kind)

    assert cold.changes
    assert cold.changes == warm.changes


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_read_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not recorded, the change is overlooked."""
    overlook(kind, monkeypatch)
    warm, cold = after_the_change(CHANGES, kind)

    assert cold.changes
    assert cold.changes != warm.changes


@pytest.mark.parametrize("kind", OWN)
def test_what_a_workload_is_found_by_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, and that of its binding."""
    monkeypatch.setattr(detect, "_names", lambda _: ())
    monkeypatch.setattr(ClaimTable, "wanting", lambda *_: frozenset[ObjectKey]())
    warm, cold = after_the_change(OWN, kind)

    assert cold.changes
    assert cold.changes != warm.changes


def test_a_policy_that_waited_makes_room_when_it_goes() -> None:
    """It claimed nothing, and kept the others from claiming."""
    waiting = policy(
        "first",
        selectors=[selector(name="web")],
        placement=ON_A,
        priority=9,
        dependentOverrides=["missing"],
    )
    told = RememberedStory(
        unclaimed().put(waiting, policy("next", selectors=[selector(name="web")], placement=TO_B))
    )
    del told.told.files["propagationpolicy/default/first.yaml"]
    warm, cold = told.advance(), reconcile(told.told.world(), told.told.now)

    assert cold.decisions
    assert cold.changes == warm.changes


def test_a_policy_by_label_concerns_who_has_the_label() -> None:
    """Others of the kind are not looked at."""
    told = RememberedStory(unclaimed())
    told.told.put(policy("team", selectors=[BY_LABEL], placement=ON_A))
    [memory] = [found for api, found in told.memo.dialects.items() if api.name == "karmada"]
    looked_at: set[str] = set()
    real = ClaimTable.replace

    def noted(table: ClaimTable, gone: set[ObjectKey], came: object) -> None:
        looked_at.update(key.name for key in gone if key.kind == "Deployment")
        real(table, gone, came)  # type: ignore[arg-type]  # as it is given

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(memory.memory.claims.table), "replace", noted)  # type: ignore[attr-defined]  # Karmada's
        told.advance()

    assert {"job", "web"} == looked_at


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


DNS = "status/resourcebindings.work.karmada.io/kube-system/dns-configmap.yaml"


def placed_dns(options: Body | None = None) -> Story:
    """A ConfigMap in kube-system, and a policy that selects it."""
    config = configmap("dns", namespace="kube-system")
    selecting = policy(namespace="kube-system", selectors=[selector("ConfigMap")])
    settings = [] if options is None else [configuration(karmada=options)]
    return story(cluster("a"), config, selecting, *settings)


@pytest.mark.parametrize(
    ("options", "placed"),
    [
        pytest.param(None, False, id="by-default"),
        pytest.param({"skippedPropagatingNamespaces": []}, True, id="own-list"),
        pytest.param({"skippedPropagatingNamespaces": ["kube-s.*"]}, False, id="own-pattern"),
        pytest.param(
            {"skippedPropagatingNamespaces": [], "skippedPropagatingAPIs": "v1/Secret,ConfigMap"},
            False,
            id="own-kinds",
        ),
    ],
)
def test_what_is_skipped_is_not_placed(options: Body | None, placed: bool) -> None:  # noqa: FBT001  # a table
    """Namespaces `kube-.*` unless the configuration says others; APIs beside the defaults."""
    told = placed_dns(options)
    told.run(0)

    assert placed == (DNS in told.files)


def test_what_was_placed_before_waits_for_leave() -> None:
    """However few they are: it stays, and a fault says what would let it go."""
    told = placed_dns({"skippedPropagatingNamespaces": []})
    told.run(0)
    told.run(100)
    told.put(configuration(karmada={}))
    outcome = told.run(200)
    [fault] = outcome.faults
    allowed = fault.expected.split("`")[1].removeprefix("allow: ")

    assert ("removal-braked", True) == (fault.rule, DNS in told.files)
    assert () == outcome.decisions

    told.put(configuration(karmada={}, safety={"allow": allowed}))
    outcome = told.run(300)

    assert False is (DNS in told.files)
    assert ["never propagated"] == [str(one.cause) for one in outcome.decisions]


def test_a_pattern_that_is_none_is_a_fault() -> None:
    """The configuration keeps its last good version; RE2 has no look-ahead."""
    told = placed_dns({"skippedPropagatingNamespaces": ["(?=kube)"]})
    outcome = told.run(0)

    assert ["schema-format"] == [fault.rule for fault in outcome.faults]
    assert "must be a regular expression" in outcome.faults[0].message


def test_an_api_with_three_slashes_is_a_fault() -> None:
    """Upstream's flag refuses it, too."""
    told = placed_dns({"skippedPropagatingAPIs": "apps;a/b/c/d"})
    outcome = told.run(0)

    assert ["schema-pattern"] == [fault.rule for fault in outcome.faults]
