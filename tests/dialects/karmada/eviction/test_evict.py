"""NoExecute taints and graceful eviction beyond upstream's vectors: defaults and moments."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.cluster import decode_cluster
from reconciler.dialects.karmada.eviction import Action, assess_tasks, evict
from reconciler.model.moments import parse_moment

NOW = parse_moment("2026-11-20T12:00:00Z")
ADDED = "2026-11-20T11:59:00Z"
NOT_READY = "cluster.karmada.io/not-ready"


def binding(
    applied: str = "{}", tasks: tuple[Mapping[str, object], ...] = (), generation: int = 1
) -> Binding:
    """A Deployment with four replicas on cluster a."""
    return decode_binding(
        {
            "metadata": {
                "name": "web-deployment",
                "generation": generation,
                "annotations": {"policy.karmada.io/applied-placement": applied},
            },
            "spec": {
                "replicas": 4,
                "clusters": [{"name": "a", "replicas": 4}],
                "gracefulEvictionTasks": list(tasks),
            },
        }
    )


@pytest.mark.parametrize(
    ("key", "applied", "default_seconds", "action", "until"),
    [
        pytest.param(NOT_READY, "{}", None, Action.EVICT, None, id="no-default"),
        pytest.param(NOT_READY, "{}", 300, Action.AFTER, "2026-11-20T12:04:00Z", id="default"),
        pytest.param(NOT_READY, "{}", 60, Action.EVICT, None, id="default-just-over"),
        pytest.param("other", "{}", 300, Action.EVICT, None, id="other-taint-has-no-default"),
        pytest.param(
            NOT_READY,
            f'{{"clusterTolerations":[{{"key":"{NOT_READY}","operator":"Exists"}}]}}',
            300,
            Action.NONE,
            None,
            id="placement-names-it",
        ),
        pytest.param(NOT_READY, "{nonsense", 300, Action.ERROR, None, id="unreadable"),
    ],
)
def test_default_toleration(
    key: str, applied: str, default_seconds: int | None, action: Action, until: str | None
) -> None:
    """Not-ready clusters are left after a while, unless the placement says otherwise."""
    taint = {"key": key, "effect": "NoExecute", "timeAdded": ADDED}
    cluster = decode_cluster({"metadata": {"name": "a"}, "spec": {"taints": [taint]}})
    found = evict(binding(applied), [cluster], NOW, default_toleration_seconds=default_seconds)

    assert [action] == [decision.action for decision in found.decisions]
    assert found.until == (None if until is None else parse_moment(until))


@pytest.mark.parametrize(
    ("age_seconds", "kept"),
    [pytest.param(600, 1, id="last-second"), pytest.param(601, 0, id="just-over")],
)
def test_task_ends_strictly_after_its_time(age_seconds: int, kept: int) -> None:
    """A task that is exactly as old as its time stays, and is dropped a second later."""
    created = (NOW - timedelta(seconds=age_seconds)).isoformat()
    task = {"fromCluster": "b", "creationTimestamp": created}
    found = assess_tasks(binding(tasks=(task,)), NOW)

    assert kept == len(found.tasks)
    assert found.until == (NOW + timedelta(seconds=1) if kept else None)
