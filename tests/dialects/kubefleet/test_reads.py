"""What a placement reads of others: each kind of read is recorded, and none is recorded in vain.

A change that one kind of read tells of is found by a pass that remembers, and is overlooked if that
kind is not recorded.
"""

from collections.abc import Iterable

import pytest

from reconciler.model.identity import ObjectKey
from tests.builders import Body, deployment
from tests.dialects.kubefleet.fleet import EAST, fixed, member, pick, placement
from tests.dialects.kubefleet.test_reports import report
from tests.dialects.recorded_reads import Changes, RememberedStory, after_the_change, overlook
from tests.stories import Story, story

MANY = [f"c{number:02}" for number in range(24)]
"""More clusters than a record of a decision names."""
IN_THE_EAST = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "clusterSelectorTerms": [{"labelSelector": {"matchLabels": EAST}}]
    }
}


def by_label() -> Story:
    """A placement in the east; one cluster of many is there."""
    wanted = pick(1, affinity={"clusterAffinity": IN_THE_EAST})
    clusters = [member(name, labels=EAST if name == "c05" else {}) for name in MANY]
    return story(*clusters, placement({**wanted, "numberOfClusters": 2}), deployment())


def by_name() -> Story:
    """A placement on two clusters, one of which is not there yet."""
    return story(member("a"), placement(fixed("a", "z")), deployment())


def everywhere() -> Story:
    """A placement on all clusters."""
    return story(member("a"), placement(), deployment())


TEAM: Body = {"matchLabels": {"team": "a"}}
RBAC = "rbac.authorization.k8s.io"


def role(name: str, labels: object = TEAM["matchLabels"]) -> Body:
    """A ClusterRole of the team."""
    found = {"name": name, "labels": labels}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": found}


def of_roles(more: Body) -> Story:
    """A placement on all clusters of some ClusterRoles; y is there."""
    chosen = {"group": RBAC, "version": "v1", "kind": "ClusterRole", **more}
    wanted = placement()
    spec = {"resourceSelectors": [chosen]}
    return story(member("a"), {**wanted, "spec": spec}, role("y"))


def reported(told: Story) -> None:
    """A cluster says that its copy does not run."""
    told.put(report(0), path="feedback/a/web.yaml")


CHANGES: Changes = {
    "label": (by_label, lambda told: told.put(member("c23", labels=EAST))),
    "cluster": (by_name, lambda told: told.put(member("z"))),
    "names of clusters": (by_label, lambda told: told.put(member("b"))),
    "fleet": (everywhere, lambda told: told.put(member("b"))),
    "reports": (everywhere, reported),
    "within": (everywhere, lambda told: told.put(deployment("more"))),
    "named": (lambda: of_roles({"name": "x"}), lambda told: told.put(role("x"))),
    "labelled": (lambda: of_roles({"labelSelector": TEAM}), lambda told: told.put(role("x"))),
    "of kind": (lambda: of_roles({}), lambda told: told.put(role("x"))),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_found(kind: str) -> None:
    """By what the placement read."""
    warm, cold = after_the_change(CHANGES, kind)

    assert cold.changes
    assert cold.changes == warm.changes


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_read_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not recorded, the change is overlooked."""
    overlook(kind, monkeypatch)
    warm, cold = after_the_change(CHANGES, kind)

    assert cold.changes
    assert cold.changes != warm.changes


def test_a_cluster_elsewhere_concerns_nobody() -> None:
    """It has other labels, and the record does not name it."""
    found = RememberedStory(by_label())
    found.told.put(member("c22", labels={"region": "west"}))
    [memory] = [one for api, one in found.memo.dialects.items() if api.name == "kubefleet"]
    asked: list[ObjectKey] = []
    with pytest.MonkeyPatch.context() as patch:
        parts = memory.memory.parts  # type: ignore[attr-defined]  # KubeFleet's
        real = type(parts).unsettle

        def noted(table: object, keys: Iterable[ObjectKey]) -> None:
            listed = list(keys)
            asked.extend(listed if table is parts else ())
            real(table, listed)

        patch.setattr(type(parts), "unsettle", noted)
        found.advance()

    assert [] == asked
