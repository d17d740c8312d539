"""Law 12 with several demands on one placement, of Open Cluster Management and KubeFleet.

Whoever becomes successful finds the placement where a repository without any state would have it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.audit.fleet.placed import decided_on, placed_on
from reconciler.core.reconcile import reconcile
from reconciler.rebalance.rebalancer_files import decode_reference
from reconciler.rebalance.target import Reference
from tests.bounded import examples
from tests.builders import Body, deployment, path_of, rebalancer, schedule_trigger
from tests.core.test_law_joined_demands import succeeded
from tests.core.test_law_rebalanced import standing
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import PLACEMENT, member, pick
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.kubefleet.test_rebalance import ALL_AT_ONCE, PREFER_NEW
from tests.dialects.ocm.test_rebalance import HUB, STEADY
from tests.dialects.ocm.worlds import GROUP as OCM
from tests.dialects.ocm.worlds import placement, score
from tests.stories import Story, applied, story
from tests.strategies import SECONDS

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

HUBS = {"apiVersion": f"{OCM}/v1beta1", "kind": "Placement", "name": "p", "namespace": "ns1"}
WEB = {"apiVersion": f"{FLEET}/v1beta1", "kind": PLACEMENT, "name": "web"}
BATCH = {"maxMoves": 1, "intervalSeconds": 30}
DEMANDS: tuple[Body, ...] = tuple(
    demand
    for name in ("r", "s", "t")
    for demand in (
        rebalancer(name, HUBS, WEB),
        rebalancer(name, WEB, HUBS, limits=BATCH),
        rebalancer(name, HUBS, ttl=0),
        rebalancer(name, HUBS, WEB, schedule="* * * * *", limits=BATCH),
        schedule_trigger(name, HUBS, WEB, autoCleanAfterMinutes=1),
    )
)
ACTIONS: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(DEMANDS)),
    st.tuples(st.just("withdraw"), st.sampled_from(DEMANDS)),
    st.tuples(
        st.just("put"),
        st.builds(score, st.sampled_from(("a", "b")), st.sampled_from((-50, 0, 50, 90))),
    ),
    st.tuples(
        st.just("put"),
        st.builds(
            member, st.sampled_from(("a", "b")), labels=st.sampled_from(({}, {"new": "yes"}))
        ),
    ),
)


def both() -> Story:
    """A placement of each of the two APIs, each of one cluster out of two."""
    hub = placement(numberOfClusters=1, prioritizerPolicy=STEADY)
    fleet = fleet_placement(pick(1, **PREFER_NEW), strategy=ALL_AT_ONCE)
    return story(*HUB, hub, score("a", 10), score("b", 0), member("a"), member("b"), fleet).put(
        deployment()
    )


def names_of(body: Body) -> frozenset[str]:
    """The kinds that a manifest names."""
    spec = cast(Mapping[str, Any], body["spec"])
    listed = (*spec.get("workloads", ()), *spec.get("targetRefResource", ()))
    return frozenset(one["kind"] for one in listed)


def clusters_of(told: Story, reference: Reference) -> set[str]:
    """Where a placement is."""
    return {str(name) for name, _ in placed_on(told.world(), decided_on(reference))}


def from_nothing(told: Story) -> Story:
    """The same manifests, decided without any state."""
    fresh = Story(files=dict(told.inputs), now=told.now)
    fresh.run(0)
    return fresh


def run(told: Story) -> int:
    """Run a pass, and hold to the law what became successful in it; return how many did."""
    before, inputs = told.world(), Story(files=dict(told.inputs))
    outcome = reconcile(before, told.now)
    told.files = applied(told.files, outcome)
    wanted = {one.name: clusters_of(from_nothing(inputs), one) for one in REFERENCES}
    count = 0
    for key, body in standing(told.world(), outcome).items():
        known = before.outputs.get(key)
        done = {} if known is None else _successes(known.body, before.inputs[key].body)
        for reference, run_of in _successes(body, before.inputs[key].body).items():
            if done.get(reference) != run_of:
                assert wanted[reference.name] == clusters_of(told, reference)
                count += 1
    return count


REFERENCES = (decode_reference(HUBS), decode_reference(WEB))


def _successes(record: Body, manifest: Body) -> dict[Reference, str]:
    """The placements that are successful, each with its run."""
    if manifest["kind"] == "WorkloadRebalancer":
        return succeeded(record)
    found = next(iter(succeeded(record).values()), None)
    named = (one for one in REFERENCES if one.kind in names_of(manifest))
    return {} if found is None else dict.fromkeys(named, found)


@settings(LAW, max_examples=examples(60))
@given(
    st.lists(st.sampled_from(DEMANDS), min_size=1, max_size=3),
    st.lists(st.tuples(st.lists(ACTIONS, max_size=4), SECONDS), min_size=2, max_size=5),
)
def test_whoever_is_successful_finds_the_choice_of_an_empty_repository(
    first: list[Body], steps: list[tuple[list[tuple[str, Any]], int]]
) -> None:
    """In whatever order demands come, are edited, withdrawn and expire."""
    told = both()
    run(told)
    told.put(score("b", 50), member("b", labels={"new": "yes"}), *first)
    for actions, seconds in ((), 0), *steps:
        told.now += timedelta(seconds=1 + seconds)
        for what, whom in actions:
            if what == "put":
                told.put(whom)
            else:
                told.files.pop(path_of(whom), None)
        event(f"{run(told)} became Successful")
