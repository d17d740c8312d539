"""Law 12: a target is Successful only when it was scheduled afresh, not before its trigger.

The schedulers of all three APIs are listened to, over chains of passes with whatever comes between.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from types import ModuleType
from typing import Any, cast

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.audit.fleet.placed import decided_on
from reconciler.core.changes import Outcome
from reconciler.core.reconcile import reconcile
from reconciler.dialects.cluster_steps import MoveRequest
from reconciler.dialects.karmada import decide as karmada
from reconciler.dialects.karmada import plan as bindings
from reconciler.dialects.karmada.api.names import WORK_GROUP
from reconciler.dialects.kubefleet import decide as kubefleet
from reconciler.dialects.kubefleet.api.names import placement_key
from reconciler.dialects.ocm import decide as ocm
from reconciler.dialects.ocm.api.placement import CLUSTER_GROUP
from reconciler.manifests.admission import GENERATION_SEEN_AT
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from reconciler.model.world import World
from reconciler.rebalance.rebalancer_files import decode_reference
from reconciler.rebalance.target import Reference
from tests.bounded import examples
from tests.builders import (
    DYNAMIC,
    NOW,
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
    text,
)
from tests.core.test_laws import LAW
from tests.stories import BINDINGS, Story, applied, story
from tests.strategies import HARMS, SECONDS, TARGETS, edit, harm, objects, report, reported

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes


@dataclass
class Heard:
    """When each target was scheduled afresh, whatever came of it."""

    moments: dict[ObjectKey, list[datetime]] = field(default_factory=lambda: defaultdict(list))
    _asked: ObjectKey | None = None

    def decide(self, real: Any, draft: Any, *args: Any) -> Any:
        """Note which binding is decided; what is asked beside that, of causes, decides nothing."""
        self._asked = draft.key
        try:
            return real(draft, *args)
        finally:
            self._asked = None

    def schedule(
        self, real: Any, binding: Any, members: Any, now: datetime, **settings: Any
    ) -> Any:
        """Listen to Karmada's scheduler; what was never scheduled has nothing to disregard."""
        verdict = real(binding, members, now, **settings)
        first = binding.last_scheduled_time is None and not binding.clusters
        if self._asked and verdict.triggered and (binding.reschedule_required or first):
            self.moments[self._asked].append(now)
        return verdict

    def judge(self, real: Any, *args: Any, afresh: bool) -> Any:
        """Listen to OCM's."""
        verdict = real(*args, afresh=afresh)
        if verdict is not None and afresh:
            placement, now = args[0], args[3]
            key = ObjectKey(CLUSTER_GROUP, "Placement", placement.namespace, placement.name)
            self.moments[key].append(now)
        return verdict

    def converge(self, real: Any, *args: Any, moving: MoveRequest, **options: Any) -> Any:
        """Listen to KubeFleet's."""
        settled = real(*args, moving=moving, **options)
        if moving.demand is not None:
            self.moments[placement_key(args[0].namespace, args[0].name)].append(args[5])
        return settled


def hear(patch: pytest.MonkeyPatch, module: ModuleType, name: str, ear: Callable[..., Any]) -> None:
    """Let a function be heard; it does what it did before."""
    patch.setattr(module, name, partial(ear, getattr(module, name)))


@contextmanager
def listening() -> Iterator[Heard]:
    """Listen to all schedulers while the block lasts."""
    heard = Heard()
    with pytest.MonkeyPatch.context() as patch:
        hear(patch, bindings, "decide", heard.decide)
        hear(patch, karmada, "schedule", heard.schedule)
        hear(patch, ocm, "judge", heard.judge)
        hear(patch, kubefleet, "converge", heard.converge)
        yield heard


def run(told: Story, heard: Heard) -> int:
    """Run a pass, hold it to the law, and return how many targets became Successful."""
    count = 0
    before = told.world()
    outcome = reconcile(before, told.now)
    told.files = applied(told.files, outcome)
    world = told.world()
    for key, body in standing(world, outcome).items():
        known = before.outputs.get(key)
        done = finished({} if known is None else known.body)
        for reference, run_at in finished(body).items():
            if reference not in done or run_at != done[reference]:
                assert_rescheduled(
                    reference, parse_moment(run_at or first_seen(body)), world, heard
                )
                count += 1
    return count


def standing(world: World, outcome: Outcome) -> dict[ObjectKey, Body]:
    """What rebalancers say after a pass, those that went with it included."""
    kinds = ("WorkloadRebalancer", "ScheduleTrigger")
    stay = {key: item.body for key, item in world.outputs.items() if key.kind in kinds}
    return stay | {removal.key: removal.body for removal in outcome.removals}


def finished(body: Body) -> dict[Reference, str]:
    """The targets that are Successful, each with the run of a schedule, `""` without one.

    A later generation does not run again what is done.
    """
    status = cast(Mapping[str, Any], body.get("status", {}))
    items = status.get("observedWorkloads", ())
    return {
        decode_reference(item["workload"]): status.get("lastRunTime", "")
        for item in items
        if item.get("result") == "Successful"
    }


def first_seen(body: Body) -> str:
    """When the present generation of a rebalancer was first seen."""
    found = cast(Mapping[str, Any], body)
    return str(found["metadata"]["annotations"][GENERATION_SEEN_AT])


def assert_rescheduled(reference: Reference, run_at: datetime, world: World, heard: Heard) -> None:
    """Hold one Successful target against what the schedulers did."""
    key = decided_on(reference)
    moments = heard.moments[key]
    assert moments
    assert max(moments) >= run_at
    if key.group == WORK_GROUP:
        spec = cast(Mapping[str, str], world.outputs[key].body["spec"])
        triggered_at = parse_moment(spec["rescheduleTriggeredAt"])
        assert run_at <= triggered_at <= max(moments)


ROOMY = cluster_status(pods=100)
NAMES = ("api", "job", "web")
PLACEMENTS: tuple[Body, ...] = (
    groups(["a"], ["b"], replicaScheduling=DYNAMIC),
    groups(["a"], ["b"]),
    {"replicaScheduling": DYNAMIC},
    groups(["gone"], replicaScheduling=DYNAMIC),
)
REBALANCERS: tuple[Body, ...] = (
    rebalancer("r", *(target(name=name) for name in NAMES)),
    rebalancer("r", target(), target(name="api"), ttl=0),
    rebalancer("r", *(target(name=name) for name in NAMES), limits={"maxMoves": 1}),
    rebalancer("s", selector={"kind": "Deployment"}, limits={"maxMoves": 3}, ttl=30),
    rebalancer("s", selector={"kind": "Deployment"}, schedule="* * * * *"),
    rebalancer("s", selector={"kind": "Deployment"}, schedule="* * * * *", limits={"maxMoves": 2}),
    rebalancer("t", target()),
    schedule_trigger("t", target(), policies=["p"]),
)
SUSPENDED = {"annotations": {"reconciler.dev/suspend": "true"}}


def suspended(body: Body) -> Body:
    """An object that a person suspended."""
    return {**body, "metadata": {**cast(Body, body["metadata"]), **SUSPENDED}}


def ask_by_hand(told: Story, name: str, moment: str) -> None:
    """Let a person write a trigger, or take it away."""
    path = f"{BINDINGS}/default/{name}-deployment.yaml"
    lines = told.files.get(path, "").splitlines(keepends=True)
    kept = [line for line in lines if "rescheduleTriggeredAt" not in line]
    at = next((n for n, line in enumerate(kept) if line.startswith("spec:")), None)
    if at is not None and moment:
        kept.insert(at + 1, f'  rescheduleTriggeredAt: "{moment}"\n')
    if at is not None:
        told.files[path] = "".join(kept)


named = st.sampled_from(NAMES)
ACTIONS: st.SearchStrategy[tuple[str, Any, Any]] = st.one_of(
    st.tuples(st.just("rebalance"), st.sampled_from(REBALANCERS), st.none()),
    st.tuples(st.just("drop"), st.sampled_from(REBALANCERS), st.none()),
    st.tuples(st.just("break"), named, st.none()),
    st.tuples(st.just("put"), named, st.sampled_from((0, 1, 2, 4))),
    st.tuples(st.just("suspend"), named, st.none()),
    st.tuples(st.just("report"), named, st.sampled_from(("a", "b"))),
    st.tuples(st.just("policy"), st.sampled_from(PLACEMENTS), st.booleans()),
    st.tuples(
        st.just("cluster"),
        st.sampled_from(("a", "b")),
        st.sampled_from(("", "NoSchedule", "NoExecute")),
    ),
    st.tuples(
        st.just("hand"),
        named,
        st.sampled_from(("", "2020-01-01T00:00:00Z", "2126-01-01T00:00:00Z")),
    ),
    st.tuples(st.just("nothing"), st.none(), st.none()),
)


def act(told: Story, what: str, whom: Any, how: Any) -> None:
    """Do one thing that people and clusters do."""
    match what:
        case "rebalance":
            told.put(whom)
        case "drop":
            told.files.pop(path_of(whom), None)
        case "break":
            told.files[path_of(deployment(whom))] = "a: [\n"
        case "put":
            told.put(deployment(whom, replicas=how))
        case "suspend":
            told.put(suspended(deployment(whom)))
        case "report":
            body = {**deployment(whom), "status": {"updatedReplicas": 2, "availableReplicas": 2}}
            told.files[f"feedback/{how}/{whom}.yaml"] = text(body)
        case "policy":
            told.put(policy(placement=whom) if how else suspended(policy(placement=whom)))
        case "cluster":
            told.put(cluster(whom, taints=[taint(effect=how)] if how else (), status=ROOMY))
        case "hand":
            ask_by_hand(told, whom, how)


def prepared() -> Story:
    """Three workloads on cluster b, since a was tainted."""
    told = story(cluster("a", taints=[taint()], status=ROOMY), cluster("b", status=ROOMY))
    told.put(policy(placement=PLACEMENTS[0]), *(deployment(name) for name in NAMES))
    return told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")


@settings(LAW, max_examples=examples(100))
@given(
    st.sampled_from(REBALANCERS),
    st.lists(ACTIONS, min_size=1, max_size=3),
    st.lists(st.tuples(st.lists(ACTIONS, max_size=4), SECONDS), min_size=4, max_size=8),
)
def test_successful_means_rescheduled(
    first: Body,
    beside: list[tuple[str, Any, Any]],
    steps: list[tuple[list[tuple[str, Any, Any]], int]],
) -> None:
    """Whatever people, clusters and time do between the passes of batches and schedules."""
    told = prepared()
    with listening() as heard:
        run(told, heard)
        told.put(cluster("a", status=ROOMY), first)
        for actions, seconds in ((beside, 0), *steps):
            told.now += timedelta(seconds=1 + seconds)
            for action in actions:
                act(told, *action)
            event(f"{run(told, heard)} became Successful")


@settings(LAW, max_examples=examples(40))
@given(
    objects(),
    st.lists(
        st.tuples(
            objects(),
            st.sampled_from((0, 1, 3, 15)),
            st.sampled_from(HARMS),
            st.integers(0, 20),
            reported,
            SECONDS,
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_successful_means_rescheduled_in_every_api(
    first: list[Body],
    edits: list[tuple[list[Body], int, str, int, tuple[str, Body] | None, int]],
) -> None:
    """In repositories of all three, with files that break, get lost and are edited."""
    told = story(*first, rebalancer("r", *TARGETS))
    with listening() as heard:
        run(told, heard)
        for bodies, share, kind, number, found, seconds in edits:
            report(told, found)
            edit(told, bodies, share)
            harm(told, kind, number)
            told.now += timedelta(seconds=1 + seconds)
            event(f"{run(told, heard)} became Successful")


def test_the_law_can_be_broken() -> None:
    """Without a scheduler that was heard, or with one that was heard before, it does not hold."""
    told = prepared()
    web = Reference("apps/v1", "Deployment", "default", "web")
    with listening() as heard:
        run(told, heard)
        told.now = NOW + timedelta(seconds=10)
        told.put(rebalancer("r", target()))
        assert 1 == run(told, heard)

        assert_rescheduled(web, told.now, told.world(), heard)
        for broken in (Heard(), Heard({decided_on(web): [NOW]})):
            with pytest.raises(AssertionError):
                assert_rescheduled(web, told.now, told.world(), broken)
