"""Law 13: the cause is the cause, for chains of edits, several in one pass.

The same pass (same state, same moment) without what a decision names changes that decision; with
that alone it is the same, and no more is named than that takes. What a cause stands for is taken
back in the files.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.manifests.admission import SUSPEND
from reconciler.manifests.text.emitter import encode
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.records import replace
from tests.bounded import OTHER_EXAMPLES, examples, is_bounded
from tests.builders import (
    BY_SCORE,
    DYNAMIC,
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    divided,
    groups,
    path_of,
    policy,
    rebalancer,
    taint,
    target,
)
from tests.core.caused_moves import HAND, At, Edits, Rules, Seen, Undo, assert_caused, hold
from tests.core.test_laws import LAW
from tests.dialects.ocm.worlds import score
from tests.stories import BINDINGS, Story, story

pytestmark = pytest.mark.cpu_seconds(300)  # many examples of whole passes, with every subset

NAMES = ("api", "web")
STATIC = divided(
    weightPreference={
        "staticWeightList": [
            {"targetCluster": {"clusterNames": ["a"]}, "weight": 2},
            {"targetCluster": {"clusterNames": ["b", "c"]}, "weight": 1},
        ]
    }
)
STAYS: Body = {"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": 30}]}
PLACEMENTS: tuple[Body, ...] = (
    {},
    {"clusterAffinity": {"clusterNames": ["a", "b"]}},
    {"clusterAffinity": {"clusterNames": ["b", "c"]}},
    {"clusterAffinity": {"clusterNames": ["c"]}},
    {"replicaScheduling": DYNAMIC},
    {"replicaScheduling": DYNAMIC, **STAYS},
    {"replicaScheduling": STATIC, **STAYS},
    {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
    groups(["a"], ["b"]),
    groups(["a"], ["b"], replicaScheduling=DYNAMIC),
    {"replicaScheduling": divided("Aggregated")},
    {"replicaScheduling": BY_SCORE},
    {"replicaScheduling": BY_SCORE},
)
ROOMY, SMALL = cluster_status(pods=100), cluster_status(cpu="2")
EVICTING = taint(effect="NoExecute")
NAMED: dict[CauseKind, str] = {
    CauseKind.CREATED: "rebalancer",
    CauseKind.REMOVED: "workload",
    CauseKind.REPLICAS_CHANGED: "replicas",
    CauseKind.REQUESTS_CHANGED: "requests",
    CauseKind.PLACEMENT_CHANGED: "policy",
    CauseKind.RESUMED: "suspension",
    CauseKind.SUSPENDED: "suspension",
    CauseKind.REBALANCED: "rebalancer",
    CauseKind.RETRIED: "trigger",
    CauseKind.EVICTED: "clusters",
    CauseKind.CLUSTER_GONE: "clusters",
    CauseKind.CLUSTERS_CHANGED: "clusters",
    CauseKind.SCORES_CHANGED: "scores",
    CauseKind.EDITED: HAND,
}
"""Whose edit a cause stands for."""
SUSPENSIONS = (CauseKind.RESUMED, CauseKind.SUSPENDED)
POLICY_SUSPENSION = "suspension of a policy"
FIELDS: dict[str, dict[str, At]] = {
    "workload": {
        "replicas": ("spec", "replicas"),
        "requests": ("spec", "template"),
        "suspension": ("metadata", "annotations"),
    },
    "policy": {
        "policy": ("", "spec"),
        POLICY_SUSPENSION: ("metadata", "annotations"),
    },
}
FOLDERS = {
    "deployment": "workload",
    "propagationpolicy": "policy",
    "workloadrebalancer": "rebalancer",
    "cluster": "clusters",
    "addonplacementscore": "scores",
}


@dataclass(frozen=True)
class Gone:
    """An object whose file goes."""

    body: Body


@dataclass(frozen=True)
class HandEdit:
    """An edit of the clusters that a binding says."""

    name: str
    clusters: Mapping[str, int]


def binding_path(name: str) -> str:
    """The file of a workload's binding."""
    return f"{BINDINGS}/default/{name}-deployment.yaml"


def pending(told: Story, decision: Decision) -> Mapping[str, Undo]:
    """The demands of rebalancers, new or not, and a trigger that stands in the binding."""
    path = f"{BINDINGS}/{decision.key.namespace}/{decision.key.name}.yaml"

    def forget_trigger(files: dict[str, str]) -> None:
        body = replace(told, files=files).output(path)
        spec = {k: v for k, v in cast(Body, body["spec"]).items() if k != "rescheduleTriggeredAt"}
        files[path] = encode({**body, "spec": spec})

    found: dict[str, Undo] = {}
    if any(FOLDERS.get(one.partition("/")[0]) == "rebalancer" for one in told.files):
        found["rebalancer"] = forget_rebalancers
    if path in told.files and "rescheduleTriggeredAt" in told.files[path]:
        found["trigger"] = forget_trigger
    return found


def forget_rebalancers(files: dict[str, str]) -> None:
    """Take all rebalancers out of the repository."""
    for path in [path for path in files if path.startswith("workloadrebalancer/")]:
        del files[path]


def named(decision: Decision, edits: Edits) -> frozenset[str]:
    """Whose edits the causes of a decision stand for; time and reports may evict, too."""
    edited = set(edits.paths())
    return frozenset(suspensions(decision, edits)).union(
        NAMED[cause.kind]
        for cause in (decision.cause, *decision.cause.also)
        if cause.kind not in SUSPENSIONS
        and (
            cause.kind is not CauseKind.EVICTED
            or any(f"cluster/{key.name}.yaml" in edited for key in cause.sources)
        )
    )


def suspensions(decision: Decision, edits: Edits) -> Iterator[str]:
    """What a cause of suspension stands for: that of the workload itself, or of a policy."""
    own = f"/{decision.key.name.removesuffix('-deployment')}.yaml"
    for path in edits.paths() if not decision.cause.kinds.isdisjoint(SUSPENSIONS) else ():
        then, now = (SUSPEND in files.get(path, "") for files in (edits.before, edits.now))
        if then != now and path.startswith("propagationpolicy/"):
            yield POLICY_SUSPENSION
        elif then != now and path.startswith("deployment/") and path.endswith(own):
            yield NAMED[CauseKind.SUSPENDED]


RULES = Rules(
    lambda path: FOLDERS.get(path.partition("/")[0], ""),
    named,
    pending,
    FIELDS,
    lambda decision: f"{BINDINGS}/{decision.key.namespace}/{decision.key.name}.yaml",
)


def suspended(body: Body) -> Body:
    """A workload that is left where it is, or a policy whose workloads are."""
    metadata = cast(Body, body["metadata"])
    return {**body, "metadata": {**metadata, "annotations": {SUSPEND: "true"}}}


clusters = st.builds(
    cluster,
    st.sampled_from("abc"),
    taints=st.sampled_from(([], [taint()], [EVICTING], [EVICTING])),
    status=st.sampled_from((ROOMY, cluster_status(pods=3), SMALL)),
)
deployments = st.builds(
    deployment,
    st.sampled_from(NAMES),
    replicas=st.sampled_from((1, 2, 4, 5)),
    cpu=st.sampled_from(("", "", "500m", "1")),
)
workloads = st.one_of(deployments, deployments, deployments.map(suspended))
placements = st.builds(lambda placement: policy(placement=placement), st.sampled_from(PLACEMENTS))
policies = st.one_of(placements, placements, placements, placements.map(suspended))
demands = st.sampled_from(
    (rebalancer(), rebalancer("demo", target(name="api"), target()), rebalancer("more"))
)
hand_edits = st.builds(
    HandEdit,
    st.sampled_from(NAMES),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from((1, 2, 4)), min_size=1, max_size=2),
)
scores = st.builds(score, st.sampled_from("abc"), st.sampled_from((-5, 0, 10, 30)))
gone = st.one_of(clusters, deployments, scores).map(Gone)
Action = Body | Gone | HandEdit
Step = tuple[Sequence[Action], Sequence[Action], int]
starts = st.sampled_from(("roomy", "small", "failed"))
actions = st.one_of(workloads, policies, demands, hand_edits)
steps = st.lists(
    st.tuples(
        st.lists(actions, min_size=1, max_size=3),
        st.lists(clusters | scores | gone, max_size=2),
        st.sampled_from((7, 7, 7, 400)),
    ),
    min_size=1,
    max_size=4,
)


def act(told: Story, action: Action) -> None:
    """Do to the files what somebody does."""
    match action:
        case Gone(body):
            told.files.pop(path_of(body), None)
        case HandEdit(name, chosen) if binding_path(name) in told.files:
            body = told.binding(f"{name}-deployment")
            listed = [{"name": one, "replicas": count} for one, count in sorted(chosen.items())]
            spec = {**cast(Body, body["spec"]), "clusters": listed}
            told.files[binding_path(name)] = encode({**body, "spec": spec})
        case HandEdit():
            pass
        case _:
            told.put(action)


def begun(first: Body, start: str) -> Story:
    """A fleet on which all is placed; it may be small, or a rebalance may just have failed."""
    status = SMALL if start == "small" else ROOMY
    first = policy(placement={"replicaScheduling": DYNAMIC}) if start == "small" else first
    told = story(*(cluster(name, status=status) for name in "abc"), first)
    told.put(*map(deployment, NAMES))
    settings = configuration(feedback={"assumeAfterSeconds": None}, scores={"extend": True})
    told.put(settings, path="reconciler.yaml")
    told.run(0)
    if start == "failed":
        closed = (cluster(name, taints=[taint()], status=status) for name in "abc")
        told.put(*closed, rebalancer("first", target(name="api"), target()))
        told.run(7)
    return told


def edited_story(first: Body, start: str, edits: Sequence[Step], seen: Seen) -> None:
    """Let people edit, step after step, and hold each pass to the law."""
    told = begun(first, start)
    before: Mapping[str, str] = dict(told.files)
    for people, fleet, seconds in edits:
        for action in (*people, *fleet):
            act(told, action)
        told.now += timedelta(seconds=seconds)
        before = hold(told, before, RULES, lambda _: seen)


NEW: Body = {"clusterAffinity": {"clusterNames": ["d"]}}
SELDOM: tuple[tuple[str, list[Step]], ...] = (
    (
        "roomy",  # a rebalance that failed is tried again
        [
            ([policy(placement=NEW)], [], 7),
            ([rebalancer("again")], [], 7),
            ([], [cluster("d", status=ROOMY)], 7),
        ],
    ),
    ("small", [([deployment(replicas=5, cpu="1")], [cluster("a", status=ROOMY)], 7)]),  # requests
    (
        "roomy",  # what leaves a cluster comes to no other one, since its scheduling is suspended
        [
            ([policy(placement={"replicaScheduling": DYNAMIC})], [], 7),
            ([suspended(deployment())], [cluster("a", taints=[EVICTING], status=ROOMY)], 7),
        ],
    ),
    ("roomy", [([Gone(deployment())], [], 7), ([deployment()], [], 7)]),  # it comes back
    (
        "roomy",  # a toleration goes that has kept it where a taint is
        [
            ([policy(placement={"replicaScheduling": DYNAMIC, **STAYS})], [], 7),
            ([], [cluster("b", taints=[EVICTING], status=ROOMY)], 7),
            ([policy(placement={"replicaScheduling": DYNAMIC})], [], 7),
        ],
    ),
    (
        "roomy",  # a score comes that lets replicas somewhere
        [
            ([policy(placement={"replicaScheduling": BY_SCORE})], [], 7),
            ([deployment(replicas=5)], [], 7),
            ([], [score("a", 10)], 7),
        ],
    ),
)
"""What chance brings up too seldom to count on."""


def test_the_cause_is_the_cause() -> None:
    """Of workloads, policies, rebalancers, clusters and outputs, together and one by one.

    Each cause comes up, so that none is lost from what is generated.
    """
    seen = Seen()

    @settings(LAW, max_examples=examples(150))
    @given(policies, starts, steps)
    def law(first: Body, start: str, edits: list[Step]) -> None:
        edited_story(first, start, edits, seen)

    law()
    for start, edits in SELDOM:
        edited_story(policy(), start, edits, seen)

    missed = [kind for kind in NAMED if not seen.total(kind)]
    assert [] == missed or is_bounded() or OTHER_EXAMPLES in os.environ  # few need not have all


@pytest.mark.parametrize(
    ("placement", "edit", "expected"),
    [
        pytest.param({}, deployment(replicas=5), "replicas changed", id="no-replica-scheduling"),
        pytest.param(
            {"replicaScheduling": DYNAMIC}, deployment(replicas=5), "replicas changed", id="divided"
        ),
        pytest.param(
            {},
            policy(placement=PLACEMENTS[1]),
            "placement changed",
            id="no-replica-scheduling-policy",
        ),
        pytest.param({}, cluster("d"), "clusters changed", id="a-new-cluster"),
    ],
)
def test_an_edit_alone_is_the_cause(placement: Body, edit: Body, expected: str) -> None:
    """Whatever rule of the scheduler it was that looked at the binding."""
    told = story(*map(cluster, "abc"), policy(placement=placement), deployment())
    told.run(0)
    [decision] = told.put(edit).run(10).decisions

    assert expected == str(decision.cause)


def test_what_is_suspended_is_not_told_as_resumed() -> None:
    """It leaves its cluster, and comes to no other one."""
    placement = {"replicaScheduling": DYNAMIC}
    told = story(*map(cluster, "ab"), policy(placement=placement), deployment())
    told.run(0)
    told.put(suspended(deployment()), cluster("a", taints=[EVICTING]))
    [decision] = told.run(10).decisions

    assert "evicted (a: spot:NoExecute), suspended" == str(decision.cause)


def test_a_cluster_that_would_have_been_left_is_named() -> None:
    """A taint that is edited keeps a workload there, beside an edit of its binding."""
    placement = {"replicaScheduling": STATIC, **STAYS}
    told = story(cluster("a"), cluster("b"), policy(placement=placement), deployment())
    told.run(0)
    told.put(cluster("b", taints=[EVICTING])).run(7)
    act(told, HandEdit("web", {"a": 4, "b": 4}))
    told.put(cluster("b", taints=[taint()]))
    [decision] = told.run(400).decisions

    assert "edited by hand, clusters changed" == str(decision.cause)


def test_edits_that_suffice_each_are_both_named() -> None:
    """So are those that are needed together; what changes nothing is not."""
    told = story(*map(cluster, "abc"), policy(placement=PLACEMENTS[1]), deployment())
    told.run(0)
    told.put(deployment(replicas=5), policy(placement=PLACEMENTS[2]))
    [together] = told.run(10).decisions
    told.put(deployment(replicas=2, labels={"app": "web"}), policy(placement=PLACEMENTS[2]))
    [alone] = told.run(20).decisions

    assert ("placement changed, replicas changed", "replicas changed") == (
        str(together.cause),
        str(alone.cause),
    )


def test_this_law_can_be_broken() -> None:
    """A decision that names something else, or too little, does not hold."""
    told = story(*map(cluster, "abc"), policy(placement=PLACEMENTS[1]), deployment())
    told.run(0)
    before = dict(told.files)
    told.put(deployment(replicas=5), policy(placement=PLACEMENTS[2]))
    told.now += timedelta(seconds=7)
    [decision] = reconcile(told.world(), told.now).decisions
    assert_caused(told, before, decision, RULES)

    for kind in (CauseKind.REPLICAS_CHANGED, CauseKind.REBALANCED):
        with pytest.raises(AssertionError):
            assert_caused(told, before, replace(decision, cause=Cause(kind)), RULES)
