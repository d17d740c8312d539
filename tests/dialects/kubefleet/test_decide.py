"""Why a placement is where it is: what it reads, rebalancers, and room that is protected."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.kubefleet.api.names import CLUSTER_SCOPED, PLACEMENT_GROUP
from reconciler.dialects.kubefleet.dialect import KUBEFLEET
from reconciler.model.decision import (
    CauseKind,
    ClusterAnswer,
    ClusterVerdict,
    Explanation,
    ScorePart,
)
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings
from reconciler.rebalance.target import Reference, Target
from tests.builders import NOW, Body, configuration, deployment, metadata, rebalancer, text
from tests.dialects.kubefleet.fleet import (
    EAST,
    PLACEMENT,
    bindings,
    fixed,
    member,
    path_of_binding,
    pick,
    placement,
    states,
)
from tests.dialects.kubefleet.rollout.test_works import report
from tests.dialects.recorded_reads import Changes, RememberedStory, after_the_change, overlook
from tests.stories import Story, applied, story

PLACEMENT_KIND, BINDING = CLUSTER_SCOPED.placement, CLUSTER_SCOPED.binding
POLICY_SNAPSHOT = CLUSTER_SCOPED.policy_snapshot
KEY = ObjectKey(PLACEMENT_GROUP, PLACEMENT_KIND, "", "web")
PROD = {
    "affinity": {
        "clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"env": "prod"}}}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 7, "preference": {"labelSelector": {"matchLabels": {"fast": "yes"}}}}
            ],
        }
    }
}


def explained(told: Story, key: ObjectKey = KEY) -> Explanation:
    """What the next pass explains; the pass is made, too."""
    told.now += timedelta(seconds=1)
    outcome = reconcile(told.world(), told.now, asked=frozenset({key}))
    told.files = applied(told.files, outcome)
    return outcome.explanations[key]()


def prod(name: str, *, fast: str = "no", **more: object) -> Body:
    """A cluster of env prod."""
    return member(name, labels={"env": "prod", "fast": fast}, **more)  # type: ignore[arg-type]


def mixed_story() -> Story:
    """Two of four clusters are wanted; one is tainted and of the wrong env at once."""
    taint = {"key": "old", "value": "yes", "effect": "NoSchedule"}
    told = story(prod("a"), prod("b", fast="yes"), prod("c"), member("d", taints=[taint]))
    return told.put(placement(pick(2, **PROD)), deployment())


def answers(explanation: Explanation) -> dict[str, ClusterAnswer]:
    """Answers by cluster."""
    return {answer.cluster: answer for answer in explanation.clusters}


def test_every_filter_scores_and_ranks_of_every_cluster() -> None:
    """A cluster that two filters turn away has two verdicts, each with its remedy."""
    found = explained(mixed_story())
    by_name = answers(found)

    assert ("web", "the best 2 cluster(s)") == (found.subject, found.question)
    assert "found 2 cluster(s)" in found.result
    assert (
        ClusterVerdict(
            "ClusterAffinity",
            "cluster does not match with any of the required cluster affinity terms",
            "match [env In (prod)]: have label env=prod (it has none)",
        ),
        ClusterVerdict(
            "TaintToleration",
            "taint &{Key:old Value:yes Effect:NoSchedule} cannot be tolerated",
            "tolerate old=yes:NoSchedule",
        ),
    ) == by_name["d"].verdicts
    assert {"a": 3, "b": 1, "c": 2, "d": None} == {n: a.rank for n, a in by_name.items()}
    assert {"b", "c"} == {name for name, answer in by_name.items() if answer.picked}
    assert ScorePart("ClusterAffinity", 7) in by_name["b"].scores
    assert "2 more cluster(s) wanted, 3 pass the filters; picked: b, c." == found.steps[0]


def test_a_placement_that_nothing_made_the_scheduler_look_at_is_explained_all_the_same() -> None:
    """What is placed stays, whatever the filters say; they are told."""
    told = mixed_story()
    explained(told)
    told.put(member("c", labels={"env": "dev"}))
    found = explained(told)
    by_name = answers(found)

    assert found.steps[0].startswith("Nothing made the scheduler look")
    assert by_name["c"].picked
    assert ["ClusterAffinity"] == [verdict.plugin for verdict in by_name["c"].verdicts]
    assert "stays" in by_name["c"].note


def test_topology_is_told_cycle_by_cycle() -> None:
    """One cluster at a time; the ranks are the order of picking."""
    constraint = {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1}]}
    clusters = [member(n, labels={"zone": z}) for n, z in ("ax", "bx", "cy", "dy")]
    found = explained(story(*clusters, placement(pick(3, **constraint)), deployment()))
    by_name = answers(found)

    assert "Cycle 1 of 3: 3 more cluster(s) wanted, 1 at a time" in found.steps[0]
    assert {"d": 1, "b": 2, "c": 3} == {n: a.rank for n, a in by_name.items() if a.picked}
    assert ScorePart("TopologySpreadConstraints", 1) in by_name["b"].scores


def test_pick_fixed_tells_names_that_no_cluster_has() -> None:
    """Only names and eligibility count."""
    told = story(member("a"), member("b"), member("c", status={"agentStatus": []}))
    by_name = answers(explained(told.put(placement(fixed("a", "c", "x")), deployment())))

    assert ["a"] == [name for name, answer in by_name.items() if answer.picked]
    assert {"b": "be named", "x": "exist"} == {
        name: by_name[name].verdicts[0].remedy for name in "bx"
    }
    assert "ClusterEligibility" == by_name["c"].verdicts[0].plugin


@pytest.mark.parametrize("kind", [PLACEMENT_KIND, POLICY_SNAPSHOT, BINDING])
def test_any_file_of_a_placement_may_be_asked_about(kind: str) -> None:
    """The explanation is that of the placement."""
    told = mixed_story()
    explained(told)
    binding = path_of_binding(told, "b").rpartition("/")[2].removesuffix(".yaml")
    name = {PLACEMENT_KIND: "web", POLICY_SNAPSHOT: "web-0", BINDING: binding}[kind]

    assert KEY == explained(told, ObjectKey(PLACEMENT_GROUP, kind, "", name)).key


def test_asking_changes_no_decision() -> None:
    """The outcome is the same but for the explanations."""
    told = mixed_story()
    for _ in range(3):
        world = told.world()
        plain = reconcile(world, told.now)
        asked = reconcile(world, told.now, asked=frozenset({KEY}))
        asked.explanations[KEY]()

        assert (plain.changes, plain.decisions) == (asked.changes, asked.decisions)
        assert plain.recheck_at == asked.recheck_at
        told.files = applied(told.files, plain)
        told.now += timedelta(seconds=60)


def test_a_placement_that_cannot_be_scheduled_says_why() -> None:
    """There is an explanation all the same."""
    told = story(member("a.b"), placement(), deployment())

    assert "DNS-1123" in explained(told).result


WEB_KEY = ObjectKey(PLACEMENT_GROUP, PLACEMENT, "", "web")
REFERENCE = Reference(f"{PLACEMENT_GROUP}/v1beta1", PLACEMENT, "", "web")
ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
ONE_BY_ONE = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
PREFER_NEW = {
    "affinity": {
        "clusterAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 9, "preference": {"labelSelector": {"matchLabels": {"new": "yes"}}}}
            ]
        }
    }
}


def moved_story(strategy: Body, number: int = 2) -> Story:
    """Web on the best of a and b; then x and y join, which it prefers."""
    wanted = placement(pick(number, **PREFER_NEW), strategy=strategy)
    told = story(member("a"), member("b"), wanted, deployment())
    for seconds in (0, 60, 120, 180):
        told.run(seconds)
    told.put(member("x", labels={"new": "yes"}), member("y", labels={"new": "yes"}))
    told.run(200)
    return told


def demand(of: str = "web") -> Body:
    """A rebalancer of a placement."""
    return rebalancer(
        "demo", {"apiVersion": f"{PLACEMENT_GROUP}/v1beta1", "kind": PLACEMENT, "name": of}
    )


def test_clusters_are_chosen_as_if_nothing_were_placed() -> None:
    """Those that the fresh choice does not keep leave, and the next pass leaves it so."""
    told = moved_story(ALL_AT_ONCE)
    assert {"a": "Bound", "b": "Bound"} == states(told)
    told.put(demand())
    [decision] = told.run(300).decisions

    assert (CauseKind.REBALANCED, "WorkloadRebalancer demo") == (
        decision.cause.kind,
        decision.cause.detail,
    )
    assert {"x": "Bound", "y": "Bound"} == states(told)
    for seconds in (301, 400, 500):
        assert () == told.run(seconds).decisions
    assert {"x": "Bound", "y": "Bound"} == states(told)
    assert "Successful" in told.files["status/workloadrebalancers.apps.karmada.io/demo.yaml"]


def test_what_the_fresh_choice_keeps_stays() -> None:
    """One of two moves, the binding of the other is the same."""
    told = moved_story(ALL_AT_ONCE)
    told.drop(member("y"))
    told.put(demand()).run(300)

    assert {"b": "Bound", "x": "Bound"} == states(told)


def test_rollout_limits_are_kept() -> None:
    """With one unavailable at most, clusters are exchanged one after the other."""
    told = moved_story(ONE_BY_ONE)
    told.put(demand()).run(300)
    seen = [states(told)]
    for seconds in (360, 420, 480, 540):
        told.run(seconds)
        seen.append(states(told))

    assert {"x": "Bound", "y": "Bound"} == seen[-1]
    for found in seen:
        assert 1 <= list(found.values()).count("Bound")
        assert 2 >= sum(state in ("Bound", "Unscheduled") for state in found.values())


def test_topology_is_spread_anew() -> None:
    """A placement that took one cluster a zone before zones changed is spread over the new ones."""
    constraint = {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1}]}
    wanted = placement(pick(2, **constraint), strategy=ALL_AT_ONCE)
    told = story(*(member(name, labels={"zone": zone}) for name, zone in ("ax", "by")), wanted)
    told.run(0)
    told.run(60)
    told.put(member("b", labels={"zone": "x"}), member("c", labels={"zone": "y"}))
    told.run(100)
    assert {"a", "b"} == set(states(told))
    told.put(demand()).run(200)

    assert {"b", "c"} == set(states(told))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param(REFERENCE, Target(WEB_KEY, stepped=True), id="placement"),
        pytest.param(
            Reference(f"{PLACEMENT_GROUP}/v1", PLACEMENT, "", "web"),
            Target(WEB_KEY, stepped=True),
            id="version",
        ),
        pytest.param(Reference("v1", PLACEMENT, "", "web"), None, id="group"),
        pytest.param(
            Reference(f"{PLACEMENT_GROUP}/v1beta1", PLACEMENT, "", "api"), None, id="nobody"
        ),
        pytest.param(
            Reference(f"{PLACEMENT_GROUP}/v1beta1", PLACEMENT, "ns", "web"), None, id="namespace"
        ),
        pytest.param(Reference("apps/v1", "Deployment", "default", "web"), None, id="workload"),
    ],
)
def test_target(reference: Reference, expected: Target | None) -> None:
    """Group, kind and name decide."""
    world = story(member("a"), placement(), deployment()).world()

    assert expected == KUBEFLEET.prepare(world, Settings(), NOW).target(reference)


@pytest.mark.parametrize("broken", ["input", "output"])
def test_a_placement_that_cannot_be_settled_waits(broken: str) -> None:
    """Its file is faulty, or what stands in its outputs cannot be read."""
    told = story(member("a"), placement(), deployment())
    told.run(0)
    folder = "clusterresourceplacement/web" if broken == "input" else "status/clusterresourceb"
    path = next(path for path in told.files if path.startswith(folder))
    told.files[path] = told.files[path].replace("Name", "Nome").replace('"policy', '"polity')
    told.files[path] += "---\nkind: [\n"
    if broken == "input":
        told.files[path] = told.files[path].replace("resourceSelectors", "selectors")

    found = KUBEFLEET.prepare(told.world(), Settings(), NOW).target(REFERENCE)
    why = {
        "input": f"it is faulty ({path}:1)",
        "output": "what stands in its outputs cannot be read (clusterresourceplacement/web.yaml:1)",
    }
    assert Target(WEB_KEY, waits_for=why[broken]) == found


def test_trigger_of_another_object_changes_nothing() -> None:
    """Only the placement that is named is chosen anew."""
    told = moved_story(ALL_AT_ONCE)
    world = told.world()
    fleets = KUBEFLEET.prepare(world, Settings(), told.now)
    other = ObjectKey(PLACEMENT_GROUP, PLACEMENT, "", "other")
    triggers: Mapping[ObjectKey, RescheduleTrigger] = {other: RescheduleTrigger(told.now, "demo")}

    assert fleets.plan({}, frozenset(), {}) == fleets.plan(triggers, frozenset(), {})


def test_a_rebalancer_of_nobody_fails() -> None:
    """As for a workload without a binding."""
    told = moved_story(ALL_AT_ONCE)
    told.put(demand(of="nobody"))
    told.run(300)

    assert "Failed" in told.files["status/workloadrebalancers.apps.karmada.io/demo.yaml"]
    assert {"a": "Bound", "b": "Bound"} == states(told)


AGENT = {
    "type": "MemberAgent",
    "conditions": [
        {
            "type": name,
            "status": "True",
            "reason": "Told",
            "message": "",
            "lastTransitionTime": "2026-11-01T00:00:00Z",
        }
        for name in ("Joined", "Healthy")
    ],
    "lastReceivedHeartbeat": "2026-11-23T00:00:00Z",
}


def room(
    name: str, cpu: str = "2", *, whole: str = "64", seen: str = "2026-11-23T00:00:00Z"
) -> Body:
    """A member that reports so much cpu as available, of the whole that it has."""
    usage = {
        "capacity": {"cpu": whole},
        "allocatable": {"cpu": whole},
        "available": {"cpu": cpu},
        "observationTime": seen,
    }
    return member(name, status={"agentStatus": [AGENT], "resourceUsage": usage})


def web(name: str, replicas: int = 2) -> tuple[Body, Body]:
    """A namespace and its Deployment, which asks for a cpu each."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name)}
    return space, deployment(namespace=name, replicas=replicas, cpu="1")


def selecting(name: str, policy: Body | None = None) -> Body:
    """A placement of a namespace of its own name."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": name}
    return {
        "apiVersion": f"{PLACEMENT_GROUP}/v1beta1",
        "kind": PLACEMENT,
        "metadata": metadata(name),
        "spec": {"resourceSelectors": [selector], **({} if policy is None else {"policy": policy})},
    }


def protected(*found: Body) -> Story:
    """A repository where room is protected, with two applications, of which x is placed."""
    on = configuration(capacity={"protect": True})
    return story(on, *web("x"), *web("y"), selecting("x"), *found)


def placed(told: Story, name: str) -> list[str]:
    """The clusters of a placement."""
    folder = f"status/clusterresourcebindings.{PLACEMENT_GROUP}/"
    found = [told.output(path) for path in sorted(told.outputs) if path.startswith(folder)]
    return sorted(
        str(mapping(one, "spec")["targetCluster"])
        for one in found
        if mapping(mapping(one, "metadata"), "labels")["kubernetes-fleet.io/parent-CRP"] == name
    )


def reserved(told: Story, where: str) -> dict[str, str]:
    """What is reserved of a cluster, by placement."""
    path = f"status/clusterledgers.reconciler.dev/{where}.yaml"
    if path not in told.files:
        return {}
    listed = bodies(mapping(told.output(path), "status"), "reservations")
    return {str(one["object"]).rpartition(" ")[2]: str(one["resources"]) for one in listed}


POLICIES = [
    pytest.param(None, [], id="PickAll"),
    pytest.param(pick(1), [], id="PickN"),
    pytest.param(fixed("a"), [], id="PickFixed"),
]


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_the_second_is_refused_with_what_is_missing(
    policy: Body | None, expected: list[str]
) -> None:
    """And told as not fulfilled."""
    told = protected(room("a", "3"), selecting("y", policy))
    told.run(0)

    assert (["a"], expected) == (placed(told, "x"), placed(told, "y"))
    assert {"x": "cpu 2, pods 2"} == reserved(told, "a")
    snapshot = f"status/clusterschedulingpolicysnapshots.{PLACEMENT_GROUP}/y-0.yaml"
    status = mapping(told.output(snapshot), "status")
    assert ["False"] == [one["status"] for one in bodies(status, "conditions")]
    assert "missing cpu 1" in str(bodies(status, "targetClusters")[0]["reason"])
    assert not told.run(60).changes


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
def test_it_is_placed_once_there_is_room(policy: Body | None, expected: list[str]) -> None:
    """The member reports that what is there takes no more than before."""
    told = protected(room("a", "3"), selecting("y", policy))
    told.run(0)
    body = {**deployment(namespace="x"), "status": {"replicas": 2, "availableReplicas": 2}}
    told.files["feedback/a/web.yaml"] = text(body)
    told.put(room("a", "4", seen="2026-11-23T00:01:00Z"))
    told.run(60)

    assert expected != placed(told, "y")
    assert {"y"} == reserved(told, "a").keys()


def test_a_cluster_with_room_is_picked_in_place_of_a_full_one() -> None:
    """PickN takes the greater name of two that are alike."""
    told = protected(room("a", "3"), room("b", "2"), selecting("y", pick(1)))
    told.run(0)

    assert (["a", "b"], []) == (placed(told, "x"), placed(told, "y"))
    told.put(room("a", "9"))
    told.run(60)
    assert ["a"] == placed(told, "y")


def test_where_all_fits_all_is_placed() -> None:
    """To the last cpu."""
    told = protected(room("a", "4"), selecting("y"))
    told.run(0)

    assert (["a"], ["a"]) == (placed(told, "x"), placed(told, "y"))


def test_another_observation_of_the_same_is_no_other_capacity() -> None:
    """Its moment is a heartbeat."""
    told = protected(room("a", "9"))
    told.run(0)
    body = {**deployment(namespace="x"), "status": {"replicas": 2}}
    told.files["feedback/a/web.yaml"] = text(body)
    told.put(room("a", "9", seen="2026-11-23T00:01:00Z"))
    told.run(60)

    assert {"x"} == reserved(told, "a").keys()
    assert {"a": "Bound"} == states(told)


def test_declared_members_have_no_limit() -> None:
    """Nor has one that tells nothing of what is available."""
    told = protected(member("a"), selecting("y"))
    told.run(0)

    assert (["a"], ["a"]) == (placed(told, "x"), placed(told, "y"))
    assert {} == reserved(told, "a")


def test_a_growth_that_does_not_fit_stays_on_the_earlier_resources() -> None:
    """Its rollout waits for room, and says what is missing."""
    told = protected(room("a", "4"))
    told.run(0)
    told.put(*web("x", replicas=5))
    told.run(60)

    (bound,) = bindings(told)
    assert "x-0-snapshot" == mapping(bound, "spec")["resourceSnapshotName"]
    messages = [one["message"] for one in bodies(mapping(bound, "status"), "conditions")]
    assert any("missing cpu 1" in str(one) for one in messages)
    assert {"x": "cpu 2, pods 2"} == reserved(told, "a")
    assert not told.run(120).changes

    told.put(room("a", "5"))
    told.run(180)
    (bound,) = bindings(told)
    assert "x-1-snapshot" == mapping(bound, "spec")["resourceSnapshotName"]
    assert {"x": "cpu 5, pods 5"} == reserved(told, "a")


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
