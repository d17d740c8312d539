"""Law 12 with several demands on one target: who is Successful has the whole goal in force."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.audit.fleet.placed import decided_on, placed_on
from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada import decide as karmada
from reconciler.dialects.karmada import plan as bindings
from reconciler.dialects.karmada.api.names import WORK_GROUP
from reconciler.imports.importers import report_of
from reconciler.manifests.admission import GENERATION_SEEN_AT
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from reconciler.rebalance.rebalancer_files import decode_reference
from reconciler.rebalance.target import Reference
from tests.bounded import examples
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    deployment,
    groups,
    live,
    path_of,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
    text,
)
from tests.core.test_law_rebalanced import ROOMY, ask_by_hand, finished, hear, prepared, standing
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import PLACEMENT, member, pick
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.kubefleet.test_decide import ALL_AT_ONCE, PREFER_NEW
from tests.dialects.ocm.test_decide import HUB_OF_TWO as HUB
from tests.dialects.ocm.test_decide import STEADY
from tests.dialects.ocm.worlds import GROUP as OCM
from tests.dialects.ocm.worlds import placement, score
from tests.stories import BINDINGS, Story, applied, story
from tests.strategies import SECONDS

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

Goal = Mapping[str, int]
WEB, API = target(), target(name="api")
BATCH = {"maxMoves": 1, "intervalSeconds": 30}
LARGER = {"maxMoves": 3, "intervalSeconds": 30}
FIRST = {"makeBeforeBreak": {"deadlineSeconds": 30, "maxSurgePercent": 50}}
BOTH = {"kind": "Deployment"}
NAMES = ("r", "s", "t")
DEMANDS: tuple[Body, ...] = tuple(
    demand
    for name in NAMES
    for demand in (
        rebalancer(name, WEB),
        rebalancer(name, WEB, API, limits=BATCH),
        rebalancer(name, WEB, API, limits=LARGER),
        rebalancer(name, selector=BOTH, limits=BATCH, ttl=0),
        rebalancer(name, API, WEB, ttl=60),
        rebalancer(name, selector=BOTH, schedule="* * * * *", limits=BATCH),
        rebalancer(name, selector=BOTH, schedule="* * * * *"),
        schedule_trigger(name, WEB),
        schedule_trigger(name, policies=["p"], autoCleanAfterMinutes=1),
        rebalancer(name, WEB, API, limits=FIRST),
        schedule_trigger(name, WEB, limits=FIRST),
    )
)


@dataclass
class Answers:
    """What Karmada's scheduler answered last for each binding, and when it did so afresh.

    A schedule afresh that fails has no goal, `None`: everything stays, and it counts as done.
    `reached` is the latest schedule afresh whose whole goal came into force.
    """

    goals: dict[ObjectKey, Goal | None] = field(default_factory=dict)
    afresh: dict[ObjectKey, datetime] = field(default_factory=dict)
    reached: dict[ObjectKey, datetime] = field(default_factory=dict)
    _asked: ObjectKey | None = None

    def decide(self, real: Any, draft: Any, *args: Any) -> Any:
        """Note which binding is decided; what is asked beside that, of causes, decides nothing."""
        self._asked = draft.key
        try:
            return real(draft, *args)
        finally:
            self._asked = None

    def schedule(self, real: Any, binding: Any, members: Any, now: datetime, **options: Any) -> Any:
        """Note the answer."""
        verdict = real(binding, members, now, **options)
        if self._asked is None:
            return verdict
        if verdict.triggered and verdict.clusters is not None:
            self.goals[self._asked] = dict(verdict.clusters)
        elif verdict.triggered and binding.reschedule_required:
            self.goals[self._asked] = None
        first = binding.last_scheduled_time is None and not binding.clusters
        if verdict.triggered and (binding.reschedule_required or first):
            self.afresh[self._asked] = now
        return verdict

    def look(self, told: Story) -> None:
        """Note which goals are in force after a pass."""
        for key, moment in self.afresh.items():
            if is_in_force(key, told, self):
                self.reached[key] = moment


@contextmanager
def listening() -> Iterator[Answers]:
    """Listen to the scheduler while the block lasts."""
    heard = Answers()
    with pytest.MonkeyPatch.context() as patch:
        hear(patch, bindings, "decide", heard.decide)
        hear(patch, karmada, "schedule", heard.schedule)
        yield heard


def succeeded(body: Body) -> dict[Reference, str]:
    """The targets that a rebalancer or a trigger calls successful, each with its run.

    A trigger tells only what failed: what it names and does not list was rescheduled.
    """
    if body["kind"] == "WorkloadRebalancer":
        return finished(body)
    status = cast(Mapping[str, Any], body.get("status", {}))
    if status.get("phase") != "Success":
        return {}
    digest = str(cast(Any, body)["metadata"]["annotations"])
    return dict.fromkeys(map(decode_reference, (WEB, API)), digest)


def is_in_force(key: ObjectKey, told: Story, heard: Answers) -> bool:
    """Whether the last goal for a binding is in force whole."""
    file = told.files.get(f"{BINDINGS}/default/{key.name}.yaml")
    if file is None or "moving-to" in file:
        return False
    goal = heard.goals.get(key, {})
    return goal is None or goal == told.placed(key.name)


def assert_in_force(reference: Reference, told: Story, heard: Answers, body: Body) -> None:
    """Hold a target against the last answer of its scheduler.

    A trigger is over with its last target. What was reached of the others may have moved on since,
    for whoever asked later.
    """
    key = decided_on(reference)
    assert WORK_GROUP == key.group
    if body["kind"] == "ScheduleTrigger":
        annotations = cast(Any, body)["metadata"]["annotations"]
        assert heard.reached[key] >= parse_moment(annotations[GENERATION_SEEN_AT])
    else:
        assert key in heard.afresh
        assert is_in_force(key, told, heard)


def run(told: Story, heard: Answers) -> int:
    """Run a pass, and hold to the law what became successful in it; return how many did."""
    before = told.world()
    outcome = reconcile(before, told.now)
    told.files = applied(told.files, outcome)
    heard.look(told)
    count = 0
    for key, body in standing(told.world(), outcome).items():
        known = before.outputs.get(key)
        done = {} if known is None else succeeded(known.body)
        wanted = named(before.inputs[key].body)
        for reference, run_of in succeeded(body).items():
            if done.get(reference) != run_of and reference.name in wanted:
                assert_in_force(reference, told, heard, body)
                count += 1
    return count


def named(body: Body) -> frozenset[str]:
    """The workloads that a manifest means."""
    spec = cast(Mapping[str, Any], body["spec"])
    listed = (*spec.get("workloads", ()), *spec.get("targetRefResource", ()))
    everything = "selector" in spec or "targetRefPolicy" in spec
    return frozenset(("web", "api")) if everything else frozenset(one["name"] for one in listed)


workloads = st.sampled_from(("web", "api"))
PLACEMENTS: tuple[Body, ...] = (
    groups(["a"], ["b"], replicaScheduling=DYNAMIC),
    groups(["a"], ["b"]),
    {"replicaScheduling": DYNAMIC},
    {
        "replicaScheduling": DYNAMIC,
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3}],
    },
    groups(["gone"], replicaScheduling=DYNAMIC),
)
ACTIONS: st.SearchStrategy[tuple[str, Any, Any]] = st.one_of(
    st.tuples(st.just("demand"), st.sampled_from(DEMANDS), st.none()),
    st.tuples(st.just("demand"), st.sampled_from(DEMANDS), st.none()),
    st.tuples(st.just("withdraw"), st.sampled_from(DEMANDS), st.none()),
    st.tuples(st.just("break"), workloads, st.none()),
    st.tuples(st.just("put"), workloads, st.sampled_from((2, 4))),
    st.tuples(st.just("policy"), st.sampled_from(PLACEMENTS), st.none()),
    st.tuples(st.just("hand"), workloads, st.sampled_from(("", "2126-01-01T00:00:00Z"))),
    st.tuples(
        st.just("cluster"),
        st.sampled_from(("a", "b")),
        st.sampled_from(("", "", "NoSchedule", "NoExecute")),
    ),
)


def act(told: Story, what: str, whom: Any, how: Any) -> None:
    """Do one thing that people and clusters do; of one name there is one demand of a kind."""
    match what:
        case "demand":
            told.put(whom)
        case "withdraw":
            told.files.pop(path_of(whom), None)
        case "break":
            told.files[path_of(deployment(whom))] = "a: [\n"
        case "put":
            told.put(deployment(whom, replicas=how))
        case "policy":
            told.put(policy(placement=whom))
        case "hand":
            ask_by_hand(told, whom, how)
        case "cluster":
            told.put(cluster(whom, taints=[taint(effect=how)] if how else (), status=ROOMY))


def several() -> Story:
    """Two workloads of four replicas on cluster b, since a was tainted."""
    told = prepared()
    told.put(policy(placement=PLACEMENTS[0]))
    for name in ("web", "api"):  # so that replicas may be made before others go
        told.files[f"feedback/b/{name}.yaml"] = text(report_of(live(deployment(name, replicas=4))))
    return told.drop(deployment("job")).put(*(deployment(n, replicas=4) for n in ("web", "api")))


@settings(LAW, max_examples=examples(100))
@given(
    st.lists(st.sampled_from(DEMANDS), min_size=2, max_size=4),
    st.lists(st.tuples(st.lists(ACTIONS, max_size=4), SECONDS), min_size=2, max_size=8),
)
def test_whoever_is_successful_has_its_whole_goal_in_force(
    first: list[Body], steps: list[tuple[list[tuple[str, Any, Any]], int]]
) -> None:
    """Whoever else demands something of the same workload, with whatever limit."""
    told = several()
    with listening() as heard:
        run(told, heard)
        told.put(cluster("a", status=ROOMY), *first)
        for actions, seconds in ((), 0), *steps:
            told.now += timedelta(seconds=1 + seconds)
            for action in actions:
                act(told, *action)
            event(f"{run(told, heard)} became Successful")


def test_this_law_can_be_broken() -> None:
    """A part of a goal, or one that nobody scheduled, is not the whole of it."""
    told = several()
    with listening() as heard:
        run(told, heard)
        told.put(cluster("a", status=ROOMY), rebalancer("r", WEB, limits=BATCH))
        told.now += timedelta(seconds=10)
        run(told, heard)

        for answers in (heard, Answers()):
            with pytest.raises(AssertionError):
                assert_in_force(decode_reference(WEB), told, answers, rebalancer("r"))


HUBS = {"apiVersion": f"{OCM}/v1beta1", "kind": "Placement", "name": "p", "namespace": "ns1"}
WEB_PLACEMENT = {"apiVersion": f"{FLEET}/v1beta1", "kind": PLACEMENT, "name": "web"}

PLACEMENT_DEMANDS: tuple[Body, ...] = tuple(
    demand
    for name in ("r", "s", "t")
    for demand in (
        rebalancer(name, HUBS, WEB_PLACEMENT),
        rebalancer(name, WEB_PLACEMENT, HUBS, limits=BATCH),
        rebalancer(name, HUBS, ttl=0),
        rebalancer(name, HUBS, WEB_PLACEMENT, schedule="* * * * *", limits=BATCH),
        schedule_trigger(name, HUBS, WEB_PLACEMENT, autoCleanAfterMinutes=1),
    )
)
PLACEMENT_ACTIONS: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PLACEMENT_DEMANDS)),
    st.tuples(st.just("withdraw"), st.sampled_from(PLACEMENT_DEMANDS)),
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


def run_placements(told: Story) -> int:
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


REFERENCES = (decode_reference(HUBS), decode_reference(WEB_PLACEMENT))


def _successes(record: Body, manifest: Body) -> dict[Reference, str]:
    """The placements that are successful, each with its run."""
    if manifest["kind"] == "WorkloadRebalancer":
        return succeeded(record)
    found = next(iter(succeeded(record).values()), None)
    named = (one for one in REFERENCES if one.kind in names_of(manifest))
    return {} if found is None else dict.fromkeys(named, found)


@settings(LAW, max_examples=examples(60))
@given(
    st.lists(st.sampled_from(PLACEMENT_DEMANDS), min_size=1, max_size=3),
    st.lists(st.tuples(st.lists(PLACEMENT_ACTIONS, max_size=4), SECONDS), min_size=2, max_size=5),
)
def test_whoever_is_successful_finds_the_choice_of_an_empty_repository(
    first: list[Body], steps: list[tuple[list[tuple[str, Any]], int]]
) -> None:
    """In whatever order demands come, are edited, withdrawn and expire."""
    told = both()
    run_placements(told)
    told.put(score("b", 50), member("b", labels={"new": "yes"}), *first)
    for actions, seconds in ((), 0), *steps:
        told.now += timedelta(seconds=1 + seconds)
        for what, whom in actions:
            if what == "put":
                told.put(whom)
            else:
                told.files.pop(path_of(whom), None)
        event(f"{run_placements(told)} became Successful")
