"""Law 13 for placements of both other APIs: all that is edited, together and in turn."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.manifests.admission import SUSPEND
from reconciler.manifests.text.emitter import encode
from reconciler.model.decision import CauseKind, Decision
from tests.bounded import OTHER_EXAMPLES, examples, is_bounded
from tests.builders import Body, configuration, path_of, rebalancer
from tests.core.caused_moves import HAND, At, Edits, Rules, Seen, Undo, hold
from tests.core.test_law_joined_demands import HUBS, WEB_PLACEMENT, both
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import BINDINGS, eviction, member, pick
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.kubefleet.scheduler.test_plugins import PREFER_SCORE
from tests.dialects.kubefleet.test_decide import ALL_AT_ONCE, PREFER_NEW
from tests.dialects.ocm.test_decide import DECISION_FILE, STEADY
from tests.dialects.ocm.worlds import GROUP, cluster, placement, score
from tests.stories import Story

pytestmark = pytest.mark.cpu_seconds(300)  # many examples of whole passes, with every subset

DOWN: Body = {"key": "down", "effect": "NoSelect"}
ON = configuration(scores={"extend": True})
KEPT_AWAY: Body = {"key": "down", "effect": "NoSchedule"}


@dataclass(frozen=True)
class Gone:
    """An object whose file goes."""

    body: Body


@dataclass(frozen=True)
class HandEdit:
    """Another cluster in a decision, of the one API or of the other."""

    cluster: str
    hub: bool


def suspended(body: Body) -> Body:
    """A placement that is left where it is."""
    metadata = cast(Body, body["metadata"])
    return {**body, "metadata": {**metadata, "annotations": {SUSPEND: "true"}}}


counts = st.sampled_from((0, 1, 2))
names = st.sampled_from("ab")
plain_placements = st.one_of(
    counts.map(lambda n: placement(numberOfClusters=n, prioritizerPolicy=STEADY)),
    counts.map(lambda n: fleet_placement(pick(n, **PREFER_NEW), strategy=ALL_AT_ONCE)),
    counts.map(lambda n: fleet_placement(pick(n, **PREFER_SCORE), strategy=ALL_AT_ONCE)),
)
placements = st.one_of(plain_placements, plain_placements, plain_placements.map(suspended))
clusters = st.one_of(
    st.builds(score, names, st.sampled_from((-50, 0, 50, 90))),
    st.builds(cluster, names) | st.builds(lambda name: cluster(name, DOWN), names),
    st.builds(
        member,
        names,
        labels=st.sampled_from(({}, {"new": "yes"})),
        taints=st.sampled_from(([], [KEPT_AWAY])),
        leaving=st.sampled_from((False, False, True)),
    ),
)
gone = st.one_of(clusters, plain_placements).map(Gone)
hand_edits = st.builds(HandEdit, names, st.booleans())
evictions = st.builds(lambda name, n: eviction(name, name=f"e{n}"), names, st.integers(0, 3))
demands = st.sampled_from(
    (rebalancer("r", HUBS, WEB_PLACEMENT), rebalancer("s", WEB_PLACEMENT), rebalancer("t", HUBS))
)
Action = Body | Gone | HandEdit
Step = tuple[Sequence[Action], Sequence[Action], int]
steps = st.lists(
    st.tuples(
        st.lists(
            st.one_of(placements, clusters, clusters, gone, gone, hand_edits, hand_edits),
            max_size=4,
        ),
        st.lists(st.one_of(demands, evictions), max_size=2),
        st.sampled_from((7, 400)),
    ),
    min_size=2,
    max_size=5,
)
FOLDERS = {
    "workloadrebalancer": "rebalancer",
    "placement": "placement",
    "clusterresourceplacement": "placement",
    "clusterresourceplacementeviction": "eviction",
    "addonplacementscore": "scores",
    "managedcluster": "clusters",
    "membercluster": "clusters",
}
NAMED: dict[CauseKind, str] = {
    CauseKind.CREATED: "placement",
    CauseKind.REMOVED: "placement",
    CauseKind.PLACEMENT_CHANGED: "placement",
    CauseKind.RESUMED: "suspension",
    CauseKind.REBALANCED: "rebalancer",
    CauseKind.EVICTED: "clusters",
    CauseKind.CLUSTER_GONE: "clusters",
    CauseKind.CLUSTERS_CHANGED: "clusters",
    CauseKind.SCORES_CHANGED: "scores",
    CauseKind.EDITED: HAND,
}
"""Whose edit a cause stands for; KubeFleet is asked to evict."""


def named(decision: Decision, _edits: Edits) -> frozenset[str]:
    """Whose edits the causes of a decision stand for."""
    found = {NAMED[kind] for kind in decision.cause.kinds - {CauseKind.EVICTED}}
    if CauseKind.EVICTED in decision.cause.kinds:
        found.add("clusters" if decision.key.group == GROUP else "eviction")
    return frozenset(found)


def pending(told: Story, decision: Decision) -> Mapping[str, Undo]:
    """The demands of rebalancers and the evictions, new or not."""
    del decision
    found = {whose(path) for path in told.files} & {"rebalancer", "eviction"}
    return {name: forgetting(name) for name in found}


def forgetting(name: str) -> Undo:
    """What takes all files of one sort out of the repository."""

    def undo(files: dict[str, str]) -> None:
        for path in [path for path in files if whose(path) == name]:
            del files[path]

    return undo


def whose(path: str) -> str:
    """Whose edit the edit of a file is."""
    return FOLDERS.get(path.partition("/")[0], "")


FIELDS: dict[str, At] = {
    "placement": ("", "spec"),
    "suspension": ("metadata", "annotations"),
}


def decided(decision: Decision) -> str:
    """Where the files of a decision are; there is one placement of each API."""
    return DECISION_FILE if decision.key.group == GROUP else f"{BINDINGS}/"


RULES = Rules(whose, named, pending, {"placement": FIELDS}, decided)


def act(told: Story, action: Action) -> None:
    """Do to the files what somebody does."""
    match action:
        case Gone(body):
            told.files.pop(path_of(body), None)
        case HandEdit(name, hub):
            edit_by_hand(told, name, hub=hub)
        case _:
            told.put(action)


def edit_by_hand(told: Story, name: str, *, hub: bool) -> None:
    """Write another cluster into a decision, if there is one."""
    paths = [path for path in sorted(told.files) if path.startswith(f"{BINDINGS}/")]
    if hub and DECISION_FILE in told.files:
        body = told.output(DECISION_FILE)
        listed = [{"clusterName": name, "reason": ""}]
        status = {**cast(Body, body["status"]), "decisions": listed}
        told.files[DECISION_FILE] = encode({**body, "status": status})
    elif not hub and paths:
        body = told.output(paths[0])
        spec = {**cast(Body, body["spec"]), "targetCluster": name}
        told.files[paths[0]] = encode({**body, "spec": spec})


def edited_story(edits: Sequence[Step], seen: dict[bool, Seen]) -> None:
    """Let people edit, step after step, and hold each pass to the law."""
    told = both().put(ON)
    told.run(0)
    before: Mapping[str, str] = dict(told.files)
    for people, asking, seconds in edits:
        for action in (*people, *asking):
            act(told, action)
        told.now += timedelta(seconds=seconds)
        before = hold(told, before, RULES, lambda decision: seen[decision.key.group == GROUP])


FLEET, FLEETS = (
    fleet_placement(pick(count, **PREFER_NEW), strategy=ALL_AT_ONCE) for count in (1, 2)
)
BEST = fleet_placement(pick(1, **PREFER_SCORE), strategy=ALL_AT_ONCE)
HUBS_OF_TWO = placement(numberOfClusters=2, prioritizerPolicy=STEADY)
SELDOM: tuple[list[Step], ...] = (
    [([score("a", -50), score("b", 90)], [], 1000)],
    [([Gone(FLEET)], [], 7), ([FLEET], [], 7)],
    [([Gone(HUBS_OF_TWO)], [], 7), ([HUBS_OF_TWO], [], 7)],
    [([suspended(FLEETS), Gone(cluster("a"))], [], 7), ([FLEETS], [], 7)],
    [([suspended(HUBS_OF_TWO), FLEETS], [], 7), ([HUBS_OF_TWO], [], 7)],
    [([HandEdit("b", hub=True), cluster("b", DOWN)], [], 7)],
    [([HandEdit("a", hub=False), member("a", leaving=True)], [], 7)],
    [([member("a", labels={"new": "yes"})], [], 7), ([], [eviction("b", name="e")], 7)],
    [([BEST], [], 7), ([score("b", 90)], [rebalancer("s", WEB_PLACEMENT)], 7)],
)
"""What chance brings up too seldom to count on."""


def test_the_cause_of_a_placement_is_the_cause() -> None:
    """Of placements, clusters, scores, evictions, rebalancers and outputs, in either API.

    Each cause comes up, so that none is lost from what is generated.
    """
    seen = {True: Seen(), False: Seen()}

    @settings(LAW, max_examples=examples(150))
    @given(steps)
    def law(edits: list[Step]) -> None:
        edited_story(edits, seen)

    law()
    for seldom in SELDOM:
        edited_story(seldom, seen)

    others = {True: {CauseKind.CLUSTER_GONE}, False: set[CauseKind]()}
    missed = [
        (hub, kind)
        for hub, found in seen.items()
        for kind in NAMED
        if not found.total(kind) and kind not in others[hub]
    ]
    assert [] == missed or is_bounded() or OTHER_EXAMPLES in os.environ  # few need not have all


def test_a_rebalance_that_something_else_would_do_names_both() -> None:
    """The placement leaves a cluster that is tainted, whether a rebalancer asks or not."""
    told = both()
    told.run(0)
    told.put(cluster("a", DOWN), rebalancer("t", HUBS), member("a", taints=[KEPT_AWAY]))
    causes = {str(one.cause) for one in told.run(10).decisions}

    why = "evicted (a: cluster(s) had untolerated taint {down:NoSelect})"
    assert {f"rebalanced (WorkloadRebalancer t), {why}", "clusters changed"} >= causes
    assert f"rebalanced (WorkloadRebalancer t), {why}" in causes
