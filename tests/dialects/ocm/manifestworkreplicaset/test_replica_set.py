"""Sets of ManifestWorks from creation to end: where they go, how fast, and what is said of them."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.dialects.ocm.api.placement import WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    SET_LABEL,
    SET_PLACEMENT_LABEL,
    WorkRecord,
    decode_record,
    decode_work,
    work_name,
)
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    DeleteWork,
)
from reconciler.model.decision import CauseKind
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName
from tests.builders import Body, configmap, configuration, deployment, metadata, text
from tests.conformance.direct.ocm import FINALIZER, SetFinalizers, look_at
from tests.core.test_staged_deliveries import (
    FOLDERS,
    STAGES,
    hear,
    images,
    managed,
    reason,
    run_of,
    staged_delivery,
    version,
)
from tests.dialects.kubefleet.fleet import stage, strategy
from tests.dialects.ocm import worlds
from tests.dialects.ocm.worlds import (
    SHOP,
    STATUS,
    at,
    cluster,
    condition,
    fleet,
    placement,
    progressive,
    replica_set,
    report,
    settings_map,
    succeed,
    templates,
)
from tests.stories import Story, story

NEVER = configuration(feedback={"assumeAfterSeconds": None})


def test_a_set_goes_to_the_clusters_of_its_placement() -> None:
    """In the very pass that decides them."""
    told = fleet("a", "b").put(replica_set())
    told.run(0)

    assert ["a", "b"] == sorted(templates(told))


def test_a_set_without_its_placement_goes_nowhere() -> None:
    """And its status says what is missing."""
    told = fleet("a").put(replica_set(placements=("other",)))
    told.run(0)

    assert {} == templates(told)
    assert ("False", "PlacementDecisionNotFound") == condition(told, "PlacementVerified")


def test_a_second_pass_changes_nothing() -> None:
    """A set that is where it belongs leaves every file alone."""
    told = fleet("a", "b").put(replica_set(strategy=progressive()))
    told.run(0)

    assert () == told.run().changes


def test_a_moved_decision_moves_the_work() -> None:
    """What a cluster has goes when the placement leaves it."""
    told = fleet("a", "b").put(placement(numberOfClusters=1), replica_set())
    told.run(0)
    told.drop(cluster("a")).run()

    assert ["b"] == sorted(templates(told))


def test_what_moved_is_a_decision() -> None:
    """So that the commit says it."""
    told = fleet("a").put(replica_set())
    found = {one.subject: one for one in told.run(0).decisions}["ns1/shop"]

    assert CauseKind.CREATED is found.cause.kind
    assert (("a", 0),) == found.after


def test_progressive_begins_with_so_many() -> None:
    """The others wait, as nothing says yet that the first has succeeded."""
    told = fleet("a", "b", "c").put(replica_set(strategy=progressive()), NEVER)
    told.run(0)

    assert ["a"] == sorted(templates(told))


def test_progressive_goes_on_as_clusters_succeed() -> None:
    """By what their agents report."""
    told = fleet("a", "b", "c").put(replica_set(strategy=progressive()), NEVER)
    told.run(0)
    succeed(told, "a").run()

    assert ["a", "b"] == sorted(templates(told))


def test_too_many_failures_stop_a_rollout() -> None:
    """With no failure allowed, the one that is taken for failed holds all others back."""
    strategy = progressive(progressDeadline="10s")
    told = fleet("a", "b").put(replica_set(strategy=strategy), NEVER)
    told.run(0)
    report(told, "a", Applied="True", Progressing="True", Degraded="True").run()
    told.run(60)

    assert ["a"] == sorted(templates(told))


def test_tolerated_failures_do_not_stop_a_rollout() -> None:
    """One of two may fail."""
    strategy = progressive(progressDeadline="10s", maxFailures=1)
    told = fleet("a", "b").put(replica_set(strategy=strategy), NEVER)
    told.run(0)
    report(told, "a", Applied="True", Progressing="True", Degraded="True").run()
    told.run(60)

    assert ["a", "b"] == sorted(templates(told))


def test_a_deadline_is_a_moment_to_look_again() -> None:
    """A pass says when the cluster will count as failed."""
    told = fleet("a", "b").put(replica_set(strategy=progressive(progressDeadline="10s")), NEVER)
    told.run(0)
    reported_at = told.now
    outcome = report(told, "a", Applied="True", Progressing="True").run()

    assert outcome.recheck_at is not None
    assert 10 == (outcome.recheck_at - reported_at).total_seconds()


def test_a_soak_holds_the_next_cluster_back() -> None:
    """A cluster must have succeeded for so long."""
    strategy = progressive(minSuccessTime="30s")
    told = fleet("a", "b").put(replica_set(strategy=strategy), NEVER)
    told.run(0)
    succeed(told, "a").run()
    early = sorted(templates(told))
    told.run(30)

    assert (["a"], ["a", "b"]) == (early, sorted(templates(told)))


def test_a_new_template_goes_on_from_cluster_to_cluster() -> None:
    """Those before their turn keep the one that they have."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    before = templates(told)
    told.put(replica_set(settings_map("2"), strategy=progressive())).run()
    after = templates(told)

    assert (True, False) == (before["b"] == after["b"], before["a"] == after["a"])


def test_a_report_of_an_earlier_template_is_no_success() -> None:
    """An agent that has not seen the new template yet says nothing about it."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    succeed(told, "a")
    told.put(replica_set(settings_map("2"), strategy=progressive()))
    told.run()
    after = templates(told)

    assert after["a"] != after["b"]


def test_without_reports_a_rollout_goes_on() -> None:
    """A silent cluster is assumed to have what it got after a while."""
    told = fleet("a", "b").put(replica_set(strategy=progressive()))
    outcome = told.run(0)
    told.run(60)

    assert outcome.recheck_at is not None
    assert ["a", "b"] == sorted(templates(told))


def test_an_assumption_is_told() -> None:
    """The reason of the condition says that nothing was reported."""
    told = fleet("a").put(replica_set())
    told.run(0)
    told.run(60)

    assert ("True", "AssumedAsExpected") == condition(told, "ManifestworkApplied")


def test_reports_are_summed_up() -> None:
    """As the controller does."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    succeed(told, "a").run()
    status = told.output(STATUS)["status"]
    assert isinstance(status, dict)

    assert (2, 1) == (status["summary"]["total"], status["summary"]["available"])


def test_a_work_of_an_old_template_goes_with_its_cluster() -> None:
    """Unlike upstream, which forgets it."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    told.put(replica_set(settings_map("2"), strategy=progressive())).drop(cluster("b")).run()

    assert ["a"] == sorted(templates(told))


def test_a_suspended_set_stays_as_it_is() -> None:
    """Until a person lets it go on."""
    told = fleet("a").put(replica_set())
    told.run(0)
    held = replica_set(settings_map("2"))
    before = templates(told)
    metadata = {**_metadata(held), "annotations": {"reconciler.dev/suspend": "true"}}
    told.put({**held, "metadata": metadata}).run()

    assert before == templates(told)


def test_a_removed_set_takes_its_works_along() -> None:
    """Its status file goes."""
    told = fleet("a").put(replica_set())
    told.run(0)
    told.drop(replica_set()).run()

    assert STATUS not in told.files


@pytest.mark.parametrize("size", ["2", "abc"])
def test_a_strategy_that_cannot_be_followed_is_a_fault(size: str) -> None:
    """A number in quotes is no percentage; what a schema refuses does not even get there."""
    told = fleet("a").put(replica_set(strategy=progressive(maxConcurrency=size)))
    rules = {fault.rule for fault in told.run(0).faults}

    assert {"replica-set-rollout" if size == "2" else "schema-pattern"} == rules


def _metadata(body: Body) -> Body:
    found = body["metadata"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("metadata", [True, 1.5, "x", {"name": 7}])
def test_a_manifest_without_readable_metadata_is_refused(metadata: object) -> None:
    """It is a fault like one without a name, and stops nothing."""
    broken = replica_set()
    template = {
        "workload": {"manifests": [{"apiVersion": "v1", "kind": "A", "metadata": metadata}]}
    }
    spec = {**cast(Body, broken["spec"]), "manifestWorkTemplate": template}
    faults = fleet("a").put({**broken, "spec": spec}).world().faults

    assert ["replica-set-manifest-name"] == [fault.rule for fault in faults]


WORKS = [
    decode_work(
        {
            "metadata": {
                "name": "w",
                "namespace": name,
                "labels": {SET_LABEL: "ns1.demo", SET_PLACEMENT_LABEL: "gone"},
            },
            "spec": {},
        }
    )
    for name in ("c1", "c2")
]


def looked(finalizers: Sequence[str], policy: str, *, deleted: bool, works: int) -> list[object]:
    """What one look does: clusters that lose their work, and the finalizers that are set."""
    metadata: dict[str, object] = {"name": "demo", "namespace": "ns1", "finalizers": [*finalizers]}
    metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    spec: Body = {"cascadeDeletionPolicy": policy} if policy else {}
    look = look_at({"metadata": metadata, "spec": spec}, {}, WORKS[:works], at(0))

    assert () == look.outcome.conditions
    told: list[object] = []
    for action in look.actions:
        match action:
            case DeleteWork(work):
                told.append(work.cluster)
            case SetFinalizers(left):
                told.append(left)
            case _:
                told.append(action)
    return told


@pytest.mark.parametrize(
    ("finalizers", "policy", "works", "expected"),
    [
        pytest.param([FINALIZER], "Background", 2, ["c1", "c2", ()], id="at-once"),
        pytest.param([FINALIZER], "", 2, ["c1", "c2", ()], id="background-is-the-default"),
        pytest.param([FINALIZER], "Foreground", 2, ["c1", "c2"], id="waits-for-the-works"),
        pytest.param([FINALIZER], "Foreground", 0, [()], id="none-is-left"),
        pytest.param(["a", FINALIZER, "b"], "", 0, [("a", "b")], id="others-stay"),
        pytest.param(["a"], "", 2, ["c1", "c2"], id="without-its-own"),
        pytest.param([], "Foreground", 0, [], id="nothing-to-do"),
    ],
)
def test_a_deleted_set_takes_its_works_along(
    finalizers: Sequence[str], policy: str, works: int, expected: list[object]
) -> None:
    """All works go, of whichever placement; the policy says when the set goes."""
    assert expected == looked(finalizers, policy, deleted=True, works=works)


@pytest.mark.parametrize("others", [[], ["a"]])
def test_a_new_set_gets_its_finalizer_before_anything_else(others: list[str]) -> None:
    """Works are made by the next look."""
    assert [(*others, FINALIZER)] == looked(others, "", deleted=False, works=2)


def test_a_set_whose_name_fits_into_no_label_says_so() -> None:
    """It brings nothing anywhere."""
    written = replica_set()
    told = fleet("a").put(
        {**written, "metadata": {**mapping(written, "metadata"), "name": "x" * 70}}
    )
    told.run(0)
    file = told.files[f"status/manifestworkreplicasets.{WORK_GROUP}/ns1/{'x' * 70}.yaml"]

    assert "reason: InvalidManifestWorkName\n" in file
    assert "has 74 characters" in file
    assert "work.reconciler.dev/a" not in file


def test_a_file_is_a_set_that_stands() -> None:
    """What an API server writes into its metadata means nothing in a file."""
    written = replica_set()
    metadata = {**mapping(written, "metadata"), "deletionTimestamp": "2026-01-01T00:00:00Z"}
    told = fleet("a").put({**written, "metadata": {**metadata, "finalizers": ["other"]}})
    told.run(0)

    assert ["a"] == sorted(templates(told))


LIVE = "shop7x2kq"
A = ClusterName("a")


def adopted() -> Story:
    """A set on one cluster, where its work has the name that a hub gave."""
    told = fleet("a").put(replica_set())
    told.run(0)
    record = f"work.reconciler.dev/a: p {templates(told)['a']}"
    before, _, after = told.files[STATUS].partition(record)
    moment, line, rest = after.partition("\n")
    told.files[STATUS] = f"{before}{record}{moment} named={LIVE}{line}{rest}"
    return told


def work(told: Story) -> WorkRecord:
    """The one work of the set."""
    (one,) = decode_record(told.output(STATUS)).works
    return one


def test_a_pass_leaves_it_as_it_is() -> None:
    """Nothing else of the record is read otherwise."""
    told = adopted()

    assert ((), LIVE) == (told.run().changes, work(told).name(SHOP))
    assert "" == work(told).seen


def test_it_stays_with_a_new_template() -> None:
    """What is there is written over."""
    told = adopted()
    before = work(told).template
    told.put(replica_set(settings_map("2"))).run()

    assert (LIVE, True) == (work(told).name(SHOP), before != work(told).template)


def test_it_ends_with_the_work() -> None:
    """One that is made later has the name that we give."""
    told = adopted()
    told.drop(cluster("a")).run()
    told.put(cluster("a")).run()

    assert work_name(SHOP, "p", A) == work(told).name(SHOP)


RULE = {
    "resourceIdentifier": {
        "group": "apps",
        "resource": "deployments",
        "namespace": "default",
        "name": "web",
    },
    "conditionRules": [
        {
            "type": "CEL",
            "condition": "Progressing",
            "celExpressions": ["object.status.readyReplicas < 2"],
        }
    ],
}


def shop(replicas: int = 2, *, rule: Body | None = RULE, **strategy: object) -> Body:
    """A set of a Deployment that one cluster after the other gets."""
    body = replica_set(deployment(replicas=replicas), strategy=progressive(**strategy))
    spec = body["spec"]
    assert isinstance(spec, dict)
    if rule is not None:
        spec["manifestWorkTemplate"]["manifestConfigs"] = [rule]
    return body


def says(told: Story, cluster: str, ready: int, generation: int = 1, *, name: str = "web") -> Story:
    """Let a cluster report a Deployment, as `reconciler import` writes it."""
    own = metadata(name, "default", generation=generation)
    status = {"readyReplicas": ready, "observedGeneration": generation}
    report = {**deployment(), "metadata": own, "status": status}
    del report["spec"]
    told.files[f"feedback/{cluster}/web.yaml"] = text(report)
    return told


def rolling(*bodies: Body) -> Story:
    """Two clusters, of which the first has the set; nothing is assumed."""
    told = fleet("a", "b").put(*(bodies or (shop(),)), NEVER)
    told.run(0)
    return told


def test_a_rollout_goes_on_as_plain_reports_say_that_it_is_done() -> None:
    """The condition rule of the template is asked of the object that is reported."""
    told = says(rolling(), "a", 1)
    told.run(10)

    assert ["a"] == sorted(templates(told))

    says(told, "a", 2).run(20)

    assert ["a", "b"] == sorted(templates(told))


def test_reports_from_before_the_template_say_nothing_of_it() -> None:
    """A cluster that ran well before it got the template has to say so again."""
    told = says(rolling(), "a", 2)
    told.run(10)
    says(told, "b", 2).run(20)
    told.put(shop(3)).run(30)
    first = {name for name, one in templates(told).items() if one != templates(told)["b"]}
    told.run(40)

    assert {"a"} == first
    assert templates(told)["a"] != templates(told)["b"]

    says(told, "a", 3, generation=2).run(50)

    assert templates(told)["a"] == templates(told)["b"]


def test_a_soak_begins_when_reports_first_say_that_it_is_done() -> None:
    """It is not begun anew by another report that says the same."""
    told = says(rolling(shop(minSuccessTime="1m")), "a", 2)
    told.run(10)
    says(told, "a", 3).run(40)
    told.run(69)

    assert ["a"] == sorted(templates(told))

    told.run(70)

    assert ["a", "b"] == sorted(templates(told))


def test_a_second_pass_over_plain_reports_changes_nothing() -> None:
    """What was observed stands in the status file."""
    told = says(rolling(), "a", 1)
    told.run(10)

    assert () == told.run(20).changes


def test_a_manifest_work_counts_more_than_plain_reports() -> None:
    """It is what the agent says itself."""
    told = says(rolling(), "a", 1)
    succeed(told, "a").run(10)

    assert ["a", "b"] == sorted(templates(told))


def test_without_a_rule_progress_is_assumed_as_ever() -> None:
    """Upstream would wait for ever, since no rule says when it is done."""
    told = fleet("a", "b").put(shop(rule=None))
    told.run(0)
    says(told, "a", 2).run(59)

    assert ["a"] == sorted(templates(told))

    told.run(60)

    assert ["a", "b"] == sorted(templates(told))


def test_reports_of_other_objects_say_nothing_of_a_set() -> None:
    """Its cluster is as silent as before."""
    told = says(rolling(), "a", 2, name="other")
    told.run(10)

    assert ["a"] == sorted(templates(told))


def test_what_plain_reports_say_is_summed_up() -> None:
    """Both clusters have it and are done."""
    told = says(rolling(), "a", 2)
    told.run(10)
    says(told, "b", 2).run(20)

    assert ("True", "AsExpected") == condition(told, "ManifestworkApplied")


STAGED = {"kind": REPLICA_SET}


def staged(*manifests: Body, delivery: Body = FOLDERS) -> Story:
    """Version 1 of web in a set, on clusters of two stages, seen by a staged delivery."""
    told = story(worlds.cluster_set(), worlds.binding(), worlds.placement())
    told.put(configuration(feedback={"assumeAfterSeconds": None}, delivery=delivery))
    told.put(*(managed(name, where) for name, where in STAGES.items()))
    told.put(replica_set(version("1"), *manifests), strategy(stage("canary"), stage("prod")))
    told.put(staged_delivery(selector=STAGED))
    told.run(0)
    return told


def test_without_a_strategy_of_its_own_a_set_is_staged() -> None:
    """Cluster by cluster; with the replicas of now everywhere, and what has no health beside it."""
    told = staged(configmap())
    told.put(replica_set(version("2"), configmap())).run(10)

    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)

    told.put(replica_set(version("2", replicas=5), configmap())).run(20)

    assert {"a": "2 x5", "b": "1 x5", "c": "1 x5"} == images(told)

    hear(told, "a").put(managed("d", "canary"), managed("e", "prod"), managed("f", "none"))
    told.run(30)

    assert {"a": "2 x5", "b": "2 x5", "c": "1 x5", "d": "2 x5", "e": "1 x5", "f": "1 x5"} == (
        images(told)
    )


def test_what_a_held_cluster_reports_is_of_its_version() -> None:
    """So that a set does not count as rolled out while most of its clusters wait."""
    told = staged()
    told.put(replica_set(version("2"))).run(10)
    for name in STAGES:
        hear(told, name)
    told.run(20)

    assert "waits for b in stage prod" == reason(told)
    assert ("False", "Progressing") == condition(told, "PlacementRolledOut")


def test_what_an_earlier_version_brings_stays_with_it() -> None:
    """A version without an object takes it from the clusters that have that version."""
    told = staged(configmap())
    told.put(replica_set(version("2"))).run(10)
    settings = [f"clusters/{name}/default/configmaps/settings.yaml" for name in STAGES]

    assert [False, True, True] == [path in told.files for path in settings]

    told.drop(staged_delivery()).run(20)

    assert [False, True, True] == [path in told.files for path in settings]

    told.put(replica_set(version("3"))).run(30)

    assert {"a": "3 x3", "b": "3 x3", "c": "3 x3"} == images(told)
    assert [False, False, False] == [path in told.files for path in settings]


def test_a_set_with_a_strategy_of_its_own_is_left_to_it() -> None:
    """One that gets it in the middle is held; one that asks for all at once has none."""
    told = staged()
    at_once = replica_set(version("2"), strategy={"type": "All"})

    assert () == told.put(at_once).run(10).faults
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)

    held, by_itself = told.put(replica_set(version("2"), strategy=progressive())).run(20).faults

    assert "the ManifestWorkReplicaSet ns1/shop rolls it out by itself" in by_itself.message
    assert "the next change of content, which is rolled out by itself" == held.expected
    assert {"a": "2 x3", "b": "1 x3", "c": "1 x3"} == images(told)


@pytest.mark.parametrize(
    ("conditions", "told_reason"),
    [
        pytest.param({"Applied": "True", "Available": "True"}, "b in stage prod", id="runs"),
        pytest.param({"Applied": "True"}, "a in stage canary", id="says nothing yet"),
        pytest.param({"Applied": "True", "Available": "False"}, "a in stage", id="not yet"),
        pytest.param({"Applied": "False"}, "a: it is not applied", id="not applied"),
        pytest.param(
            {"Applied": "True", "Progressing": "True", "Degraded": "True"},
            "a: Degraded",
            id="degraded",
        ),
    ],
)
def test_a_manifest_work_that_is_reported_speaks_for_what_is_in_it(
    conditions: Mapping[str, str], told_reason: str
) -> None:
    """The agent of a hub knows of which template it is."""
    told = staged(delivery={"manifestworks": {}})
    told.put(replica_set(version("2"))).run(10)
    report(told, "a", **conditions).run(20)

    assert told_reason in reason(told)
    assert told_reason.startswith("a: ") == ("Stopped" == run_of(told)["state"])


def test_a_set_is_staged_where_its_kind_is_named_only() -> None:
    """Labels alone select workloads."""
    told = staged()
    told.put(staged_delivery(selector={"labelSelector": {"matchLabels": {"team": "web"}}}))
    told.put(replica_set(version("2"))).run(10)

    assert {"a": "2 x3", "b": "2 x3", "c": "2 x3"} == images(told)
