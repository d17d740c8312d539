"""What is assumed of silent clusters: never written, told to whoever reads it, counted with."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.model.identity import ObjectKey
from tests.builders import (
    Body,
    after,
    cluster,
    configuration,
    deployment,
    metadata,
    policy,
    taint,
    text,
    text_of,
)
from tests.older_outputs import older_outputs
from tests.stories import BINDINGS, Story, story

WEB = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
FILE = f"{BINDINGS}/default/web-deployment.yaml"
ASSUMED = {"applied": True, "health": "Healthy"}


def web(*names: str, seconds: int | None = 60) -> Story:
    """A Deployment, placed now."""
    told = story(*map(cluster, names), policy(), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Body:
    """The status of the binding as it is at a moment."""
    return cast(Body, as_of(told.world(), at).outputs[WEB].body["status"])


def applied(status: Body) -> Mapping[str, str]:
    """Its condition FullyApplied."""
    conditions = cast(Sequence[Mapping[str, str]], status["conditions"])
    return next(one for one in conditions if one["type"] == "FullyApplied")


def aggregated(status: Body) -> dict[str, Body]:
    """What is told of each cluster."""
    listed = cast(Sequence[Body], status.get("aggregatedStatus", ()))
    return {str(one["clusterName"]): {k: one[k] for k in ASSUMED} for one in listed}


@pytest.mark.parametrize("seconds", [0, 60])
def test_silent_clusters_are_assumed_healthy_without_a_pass(seconds: int) -> None:
    """From that second on, not earlier; the moment does not depend on who looks when."""
    told = web("a", "b", seconds=seconds)
    due = after(seconds)
    for at in (due, after(9_000)):
        status = shown(told, at)

        assert {"a": ASSUMED, "b": ASSUMED} == aggregated(status)
        assert ("True", "FullyAppliedAssumed", text_of(due)) == (
            applied(status)["status"],
            applied(status)["reason"],
            applied(status)["lastTransitionTime"],
        )
    if seconds:
        assert told.binding()["status"] == shown(told, after(seconds - 1))


def test_of_one_object_the_same_is_assumed_as_of_all() -> None:
    """What nobody asks about stays as it is written."""
    told = web("a", "b")
    whole, one, none = (as_of(told.world(), after(60), only) for only in (None, (WEB,), ()))

    assert whole.outputs[WEB].body == one.outputs[WEB].body
    assert told.world().outputs[WEB].body == none.outputs[WEB].body


def test_nothing_is_written_for_it_and_no_pass_waits_for_it() -> None:
    """The file says for whom is waited, as long as nobody reports."""
    told = web("a")
    before = dict(told.files)

    assert told.run(30).recheck_at is None
    assert () == told.run(90_000).changes
    assert before == told.files
    assert ("False", "AwaitingFeedback") == (
        told.condition("FullyApplied")["status"],
        told.condition("FullyApplied")["reason"],
    )


def test_nothing_is_assumed_where_that_is_switched_off() -> None:
    """At no moment."""
    told = web("a", seconds=None)

    assert told.binding()["status"] == shown(told, after(90_000))


def test_the_assumption_counts_anew_for_a_new_cluster_only() -> None:
    """The clusters that were there keep their moment; what follows has that of the last one."""
    told = web("a")
    told.put(cluster("b"), deployment(replicas=2)).run(30)

    assert {"a": ASSUMED} == aggregated(shown(told, after(89)))
    assert "No report yet from b" == applied(shown(told, after(89)))["message"]
    assert text_of(after(90)) == applied(shown(told, after(500)))["lastTransitionTime"]


def test_a_cluster_that_reports_is_not_assumed_about() -> None:
    """It is as it says, and the others are assumed."""
    told = web("a", "b")
    status = {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}
    body = {**deployment(), "metadata": metadata("web", "default"), "status": status}
    told.files["feedback/a/web.yaml"] = text(body)
    told.run(30)

    assert {"a": {"applied": True, "health": "Unhealthy"}, "b": ASSUMED} == (
        aggregated(shown(told, after(60)))
    )
    message = applied(shown(told, after(60)))["message"]
    assert "b are assumed to have applied it 60 s after they were chosen" == message


def test_an_eviction_that_waits_for_health_ends_at_the_assumed_moment() -> None:
    """That is when a pass looks again, and all that is written is the end of the eviction."""
    told = web("a")
    told.put(cluster("a", taints=[taint(effect="NoExecute")]), cluster("b"))

    assert after(160) == told.run(100).recheck_at
    outcome = told.run(160)

    assert outcome.recheck_at is None
    assert {} == aggregated(cast(Body, told.binding()["status"]))
    assert "gracefulEvictionTasks" not in cast(Body, told.binding()["spec"])


def test_what_an_older_release_wrote_of_it_stays_while_it_holds() -> None:
    """So an upgrade rewrites nothing, until something else is known."""
    told = web("a", "b")
    told.files |= older_outputs("karmada")
    written = told.binding()

    assert "FullyAppliedAssumed" == told.condition("FullyApplied")["reason"]
    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert cast(Body, written["status"]) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "AwaitingFeedback" == told.condition("FullyApplied")["reason"]


def test_an_assumption_that_a_person_writes_early_does_not_stand() -> None:
    """It is taken back, as every other edit of the status."""
    told = web("a")
    item = {"clusterName": "a", "applied": True, "health": "Healthy"}
    status = {**cast(Body, told.binding()["status"]), "aggregatedStatus": [item]}
    told.files[FILE] = text({**told.binding(), "status": status})
    told.run(59)

    assert {} == aggregated(cast(Body, told.binding()["status"]))
