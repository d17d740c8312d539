"""What people do to outputs: an edit of the decision counts, any other is restored."""

import re

import pytest

from tests.builders import (
    DYNAMIC,
    cluster,
    deployment,
    divided,
    policy,
)
from tests.stories import (
    BINDINGS,
    Story,
    story,
)

WEB = f"{BINDINGS}/default/web-deployment.yaml"


def edited(told: Story, old: str, new: str) -> Story:
    """Replace a text in the binding of web."""
    assert old in told.files[WEB]
    told.files[WEB] = told.files[WEB].replace(old, new)
    return told


def placed_story() -> Story:
    """Web with four replicas on a and b, divided."""
    told = story(
        cluster("a"),
        cluster("b"),
        policy(placement={"replicaScheduling": divided()}),
        deployment(replicas=4),
    )
    told.run(0)
    assert {"a": 2, "b": 2} == told.placed()
    return told


def test_an_edit_of_clusters_is_the_previous_assignment() -> None:
    """It stays where nothing asks for another one, and is reported once."""
    told = edited(placed_story(), "replicas: 2", "replicas: 1")
    told = edited(told, "- name: a\n    replicas: 1", "- name: a\n    replicas: 3")
    outcome = told.run(10)

    assert {"a": 3, "b": 1} == told.placed()
    assert [WEB] == [told.world().outputs[key].origin.path for key in outcome.edited]
    assert () == told.run(11).edited


def test_an_edit_that_does_not_add_up_is_completed() -> None:
    """Replicas are missing, so the scheduler is asked, from the edited assignment on."""
    told = edited(placed_story(), "  - name: b\n    replicas: 2\n", "")
    outcome = told.run(10)

    assert 4 == sum(told.placed().values())
    assert 1 == len(outcome.edited)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("replicas: 4", "replicas: 40", id="replicas-wanted"),
        pytest.param("kind: Deployment\n    name", "kind: Another\n    name", id="owner"),
        pytest.param("schedulerName: default-scheduler", "schedulerName: none", id="scheduler"),
        pytest.param("policy.karmada.io/name: p\n", "policy.karmada.io/name: q\n", id="claim"),
        pytest.param("generation: 1", "generation: 1\n  finalizers: [x]", id="finalizer"),
        pytest.param(
            "    reconciler.dev/placed", "    x: note\n    reconciler.dev/placed", id="note"
        ),
    ],
)
def test_any_other_edit_is_restored(old: str, new: str) -> None:
    """The clusters do not move, and nobody is told of a decision."""
    told = placed_story()
    told.run(60)
    before = told.files[WEB]
    outcome = edited(told, old, new).run(100)

    assert ((), ()) == (outcome.edited, outcome.decisions)
    assert ungenerated(before) == ungenerated(told.files[WEB])


def ungenerated(content: str) -> str:
    """A file without generations: an edit of the spec and its restoration are two."""
    return re.sub(r"[gG]eneration: \d+", "", content)


def test_a_revert_of_a_decision_is_a_rollback() -> None:
    """The earlier file comes back whole, its digest with it: nothing is left to do."""
    told = placed_story()
    before = told.files[WEB]
    told.put(policy(placement={"replicaScheduling": DYNAMIC}))
    told.run(10)
    told.files[WEB] = before
    told.run(20)

    assert {"a": 2, "b": 2} == told.placed()


def test_a_removed_output_is_written_again() -> None:
    """As for a workload that is new."""
    told = placed_story()
    del told.files[WEB]
    told.run(10)

    assert {"a": 2, "b": 2} == told.placed()
