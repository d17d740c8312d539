"""What clusters report of a placement's resources, or is assumed of them, drives its rollout."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.fields import mapping, without
from reconciler.model.identity import ObjectKey
from tests.builders import (
    Body,
    after,
    configmap,
    configuration,
    deployment,
    live,
    metadata,
    text,
    text_of,
)
from tests.dialects.kubefleet.fleet import (
    GROUP,
    bindings,
    condition,
    files,
    member,
    namespaced_placement,
    path_of_binding,
    pick,
    placement,
)
from tests.golden import older_outputs
from tests.stories import Story, applied, linked, story

MARK = "kubernetes-fleet.io"
AT = "2026-11-20T12:00:00Z"


def snapshot_of(told: Story, cluster: str = "a") -> str:
    """The snapshot that a cluster's binding is at."""
    specs = (body["spec"] for body in bindings(told))
    found = [one for one in specs if isinstance(one, dict) and one["targetCluster"] == cluster]
    return str(found[0]["resourceSnapshotName"])


def conditions(observed: int, statuses: dict[str, str], reason: str) -> list[Body]:
    """Conditions of a generation."""
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "",
            "observedGeneration": observed,
            "lastTransitionTime": AT,
        }
        for kind, status in statuses.items()
    ]


def work(
    snapshot: str,
    cluster: str = "a",
    name: str = "web-work",
    *,
    observed: int = 1,
    reason: str = "Reported",
    **statuses: str,
) -> Body:
    """A Work of the placement web with conditions, of its first generation."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": f"fleet-member-{cluster}",
            "generation": 1,
            "labels": {f"{MARK}/parent-CRP": "web"},
            "annotations": {f"{MARK}/parent-resource-snapshot-name": snapshot},
        },
        "spec": {},
        "status": {"conditions": conditions(observed, statuses, reason)},
    }


def says(told: Story, body: Body, cluster: str = "a", file: str = "work") -> Story:
    """Put what a cluster's agent reports into its folder."""
    told.files[f"feedback/{cluster}/{file}.yaml"] = text(body)
    return told


def placed(*names: str, strategy: Body | None = None) -> Story:
    """A Deployment on some clusters, of which nothing is assumed."""
    told = story(*map(member, names or ("a",)), placement(strategy=strategy), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": None}))
    told.run(0)
    return told


def said(told: Story, stage: str) -> tuple[object, object, object] | None:
    """Status, reason and message of a stage of the binding, `None` if it is not there."""
    status = bindings(told)[0]["status"]
    assert isinstance(status, dict)
    for one in status["conditions"]:
        if one["type"] == stage:
            return one["status"], one["reason"], one["message"]
    return None


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_works_say_that_all_is_applied_and_available(version: str) -> None:
    """In upstream's words, and in each version that kubectl may print."""
    told = placed()
    body = work(snapshot_of(told), Applied="True", Available="True")
    outcome = says(told, {**body, "apiVersion": f"{GROUP}/{version}"}).run(1)

    assert () == outcome.faults
    done = "All corresponding work objects are"
    assert ("True", "AllWorkHaveBeenApplied", f"{done} applied") == said(told, "Applied")
    assert ("True", "AllWorkAreAvailable", f"{done} available") == said(told, "Available")
    assert "True" == condition(told, "Available")["status"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"Applied": "False"}, "Work object web-work has failed to apply", id="failed"),
        pytest.param(
            {"Applied": "Unknown"},
            "Work object web-work has not yet completed the apply op",
            id="unknown",
        ),
        pytest.param({}, "Work object web-work has not yet completed the apply op", id="silent"),
        pytest.param(
            {"Applied": "True", "observed": 0},
            "Work object web-work has not yet completed the apply op",
            id="stale-generation",
        ),
    ],
)
def test_a_work_that_is_not_applied_is_named(body: dict[str, str], expected: str) -> None:
    """What is not applied is not asked for its availability."""
    told = placed()
    says(told, work(snapshot_of(told), **body)).run(1)  # type: ignore[arg-type]  # observed is a number

    assert ("False", "NotAllWorkHaveBeenApplied", expected) == said(told, "Applied")
    assert None is said(told, "Available")


def test_each_work_must_be_available() -> None:
    """That of a later part of the snapshot, too."""
    told = placed()
    snapshot = snapshot_of(told)
    says(told, work(snapshot, Applied="True", Available="True"))
    says(told, work(snapshot, name="web-1", Applied="True", Available="False"), file="more").run(1)
    expected = "Work object web-1 is not yet available"

    assert ("False", "NotAllWorkAreAvailable", expected) == said(told, "Available")


def test_what_cannot_be_tracked_is_ready_after_a_while() -> None:
    """The rollout waits for `unavailablePeriodSeconds` then."""
    told = placed()
    body = work(snapshot_of(told), reason="WorkNotTrackable", Applied="True", Available="True")
    says(told, body).run(1)
    expected = "The availability of work object web-work is not trackable"

    assert ("True", "NotAllWorkAreAvailabilityTrackable", expected) == said(told, "Available")


def test_works_of_an_earlier_snapshot_say_that_the_present_one_is_being_applied() -> None:
    """However well the earlier one runs."""
    told = placed()
    says(told, work("web-9-snapshot", Applied="True", Available="True")).run(1)

    assert ("False", "ApplyInProgress", "Resources are being applied") == said(told, "Applied")


def test_works_of_another_placement_say_nothing() -> None:
    """They know their placement by a label."""
    told = placed()
    body = work(snapshot_of(told), Applied="True")
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    metadata["labels"] = {f"{MARK}/parent-CRP": "other"}
    before = told.outputs
    says(told, body).run(1)

    assert before == told.outputs


def test_works_of_a_placement_in_a_namespace_name_it() -> None:
    """A placement of the same name elsewhere is another one."""
    told = story(member("a"), namespaced_placement(), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": None}))
    told.run(0)
    body = work("web-0-snapshot", Applied="True", Available="True")
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    metadata["annotations"] = {}
    before = told.outputs
    says(told, body).run(1)

    assert before == told.outputs

    metadata["labels"][f"{MARK}/parent-placement-namespace"] = "default"
    says(told, body).run(2)
    status = files(told, "resourcebindings")[0]["status"]
    assert isinstance(status, dict)

    assert {"AllWorkHaveBeenApplied", "AllWorkAreAvailable"} <= {
        one["reason"] for one in status["conditions"]
    }


def test_a_rollout_goes_on_once_works_are_available() -> None:
    """One cluster after the other, each waiting for the Works of the one before."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    told = placed("a", "b", strategy=rolling)
    first = snapshot_of(told)
    for name in ("a", "b"):
        says(told, work(first, name, Applied="True", Available="True"), name)
    told.run(1)
    told.put(configmap())
    told.run(100)
    second = {snapshot_of(told, "a"), snapshot_of(told, "b")} - {first}

    assert 1 == len(second)

    for name in ("a", "b"):
        says(told, work(snapshot_of(told, name), name, Applied="True", Available="True"), name)
    told.run(200)

    assert second == {snapshot_of(told, "a"), snapshot_of(told, "b")}


def test_a_rollout_goes_on_when_what_cannot_be_tracked_was_applied_long_enough() -> None:
    """Time alone makes it ready, a second after the period: the pass says when."""
    rolling = {"maxUnavailable": 1, "maxSurge": 0, "unavailablePeriodSeconds": 60}
    told = placed("a", "b", strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    first = snapshot_of(told)
    told.put(configmap())
    for name in ("a", "b"):
        body = work(first, name, reason="WorkNotTrackable", Applied="True", Available="True")
        says(told, body, name)
    told.run(10)
    waited = [told.run(69).recheck_at, told.run(70).recheck_at]

    assert [after(71)] * 2 == waited
    assert {first} == {snapshot_of(told, "a"), snapshot_of(told, "b")}

    told.run(71)

    assert 2 == len({snapshot_of(told, "a"), snapshot_of(told, "b")})


def test_a_work_that_goes_leaves_the_cluster_silent() -> None:
    """Nothing is remembered of it."""
    told = placed()
    says(told, work(snapshot_of(told), Applied="True", Available="True")).run(1)
    del told.files["feedback/a/work.yaml"]
    told.run(2)

    assert None is said(told, "Applied")


def test_a_warm_pass_follows_works() -> None:
    """As one says more, another one comes, and one goes."""
    told, memo, world = placed(), Memo(), None
    snapshot = snapshot_of(told)
    first, second = "feedback/a/work.yaml", "feedback/a/more.yaml"
    edits = (
        {first: text(work(snapshot, Applied="True", Available="False"))},
        {first: text(work(snapshot, Applied="True", Available="True"))},
        {second: text(work(snapshot, name="web-1", Applied="False"))},
        {second: ""},
    )
    for edit in edits:
        told.files |= edit
        world = linked(told.world(), world)
        warm, cold = reconcile(world, told.now, memo=memo), reconcile(world, told.now)

        assert cold.changes
        assert cold.changes == warm.changes

        told.files = applied(told.files, warm)
        world = linked(told.world(), world)

        assert () == reconcile(world, told.now, memo=memo).changes


FAILED, DRIFTED, DIFFED = "failedPlacements", "driftedPlacements", "diffedPlacements"
ALL = {FAILED: ["failed"], DRIFTED: ["drifted"], DIFFED: ["differs"]}


def manifest(name: str, kind: str = "ConfigMap", *, group: str = "", **more: object) -> Body:
    """What a Work says of one resource; `more` as the CRD has it."""
    named = {"group": group, "version": "v1", "kind": kind, "name": name, "namespace": "shop"}
    return {"identifier": {"ordinal": 0, **named}, "conditions": [], **more}


def failing(name: str, **statuses: str) -> Body:
    """A resource with conditions that the agent gave it."""
    return manifest(name, conditions=conditions(1, statuses, "Reported"))


def drifted(name: str, kind: str = "ConfigMap") -> Body:
    """A resource that was changed in the cluster."""
    found = [{"path": "/data/x", "valueInHub": "1", "valueInMember": "2"}]
    return manifest(
        name,
        kind,
        driftDetails={
            "observationTime": AT,
            "firstDriftedObservedTime": AT,
            "observedInMemberClusterGeneration": 7,
            "observedDrifts": found,
        },
    )


def differing(name: str) -> Body:
    """A resource that is not ours to change, and is not as it should be."""
    details = {"observationTime": AT, "firstDiffedObservedTime": AT}
    return manifest(name, diffDetails={**details, "observedDiffs": [{"path": "/data/x"}]})


def told_of(body: Body, *manifests: Body, **labels: str) -> Body:
    """A Work that says something of each resource."""
    metadata, status = body["metadata"], body["status"]
    assert isinstance(metadata, dict)
    assert isinstance(status, dict)
    metadata["labels"] |= {f"{MARK}/{name.replace('_', '-')}": v for name, v in labels.items()}
    return {**body, "status": {**status, "manifestConditions": list(manifests)}}


def lists(told: Story) -> dict[str, Sequence[Body]]:
    """The lists in the status of the binding."""
    status = bindings(told)[0]["status"]
    assert isinstance(status, dict)
    return {name: status[name] for name in (FAILED, DRIFTED, DIFFED) if name in status}


def names(told: Story) -> dict[str, list[object]]:
    """The names in the lists of the binding."""
    return {name: [one["name"] for one in listed] for name, listed in lists(told).items()}


def entry(told: Story) -> Body:
    """What the placement tells of its cluster."""
    status = files(told, "clusterresourceplacements")[0]["status"]
    assert isinstance(status, dict)
    (found,) = status["placementStatuses"]
    assert isinstance(found, dict)
    return found


EVERYTHING = (failing("failed", Applied="False"), drifted("drifted"), differing("differs"))


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param({"Applied": "False"}, ALL, id="not-applied"),
        pytest.param(
            {"Applied": "True", "Available": "False"},
            {FAILED: ["failed"], DRIFTED: ["drifted"]},
            id="not-available",
        ),
        pytest.param({"Applied": "True"}, {DRIFTED: ["drifted"]}, id="availability-unknown"),
        pytest.param(
            {"Applied": "True", "Available": "True"}, {DRIFTED: ["drifted"]}, id="available"
        ),
        pytest.param({"Applied": "Unknown"}, {}, id="not-finished"),
        pytest.param({"Applied": "False", "observed": 0}, {}, id="stale-generation"),
    ],
)
def test_what_is_told_follows_from_all_works(
    statuses: dict[str, str], expected: dict[str, list[object]]
) -> None:
    """The binding tells it only where it may not be of an earlier version."""
    told = placed()
    body = work(snapshot_of(told), **statuses)  # type: ignore[arg-type]  # observed is a number
    outcome = says(told, told_of(body, *EVERYTHING)).run(1)

    assert () == outcome.faults
    assert expected == names(told)


@pytest.mark.parametrize("reported", ["True", "False"])
def test_differences_are_told_once_all_are_reported(reported: str) -> None:
    """Nothing fails or drifts where differences are only reported."""
    told = placed(strategy={"applyStrategy": {"type": "ReportDiff"}})
    body = told_of(work(snapshot_of(told), DiffReported=reported), *EVERYTHING)
    says(told, body).run(1)
    expected = {DIFFED: ["differs"]} if reported == "True" else {}

    assert expected == names(told)
    assert expected.keys() == entry(told).keys() & ALL.keys()


def test_one_unfinished_work_holds_what_the_others_say() -> None:
    """Until all have answered."""
    told = placed()
    snapshot = snapshot_of(told)
    says(told, told_of(work(snapshot, Applied="False"), *EVERYTHING))
    says(told, work(snapshot, name="web-1"), file="more").run(1)

    assert {} == names(told)


def test_a_work_that_succeeded_names_no_failures() -> None:
    """Though another one of the cluster did not."""
    told = placed()
    snapshot = snapshot_of(told)
    says(told, told_of(work(snapshot, Applied="True", Available="True"), *EVERYTHING))
    failed = told_of(
        work(snapshot, name="web-1", Applied="False"), failing("other", Applied="False")
    )
    says(told, failed, file="more").run(1)

    assert ["other"] == names(told)[FAILED]


def test_works_of_another_snapshot_name_nothing() -> None:
    """What they say is of what was there before."""
    told = placed()
    says(told, told_of(work("web-9-snapshot", Applied="False"), *EVERYTHING)).run(1)

    assert {} == names(told)


def test_the_condition_that_failed_first_is_told() -> None:
    """Of what is not applied, availability says nothing."""
    told = placed()
    both = failing("both", Available="False", Applied="False")
    later = failing("later", Available="False", Applied="True")
    says(told, told_of(work(snapshot_of(told), Applied="False"), both, later)).run(1)

    assert [("both", "Applied"), ("later", "Available")] == [
        (one["name"], condition["type"])
        for one in lists(told)[FAILED]
        if isinstance(condition := one["condition"], dict)
    ]


def test_resources_of_an_envelope_name_it() -> None:
    """By the labels of its Work; a cluster-scoped one has no namespace."""
    told = placed()
    body = work(snapshot_of(told), name="web-work-envelope-1", Applied="False")
    envelope = {"envelope_work": "ClusterResourceEnvelope", "envelope_name": "roles"}
    says(told, told_of(body, failing("failed", Applied="False"), **envelope)).run(1)

    assert [{"name": "roles", "type": "ClusterResourceEnvelope"}] == [
        one["envelope"] for one in lists(told)[FAILED]
    ]


def test_a_list_holds_a_hundred() -> None:
    """Failures as they come, the others by what they are, where there are too many."""
    told = placed()
    numbers = [f"n{number:03}" for number in range(150, 0, -1)]
    everything = (
        *(failing(name, Applied="False") for name in numbers),
        *map(drifted, numbers),
        *map(differing, numbers),
    )
    says(told, told_of(work(snapshot_of(told), Applied="False"), *everything)).run(1)

    ascending = sorted(numbers)[:100]
    assert {FAILED: numbers[:100], DRIFTED: ascending, DIFFED: ascending} == names(told)


def test_values_of_a_secret_are_hidden() -> None:
    """Which of its fields drifted is told."""
    told = placed()
    body = work(snapshot_of(told), Applied="True", Available="True")
    says(told, told_of(body, drifted("password", "Secret"))).run(1)

    assert [[{"path": "/data/x", "valueInHub": "(hidden)", "valueInMember": "(hidden)"}]] == [
        one["observedDrifts"] for one in lists(told)[DRIFTED]
    ]


def test_a_placement_tells_what_its_bindings_tell() -> None:
    """Failures and differences go once all is available, drifts stay."""
    told = placed()
    snapshot = snapshot_of(told)
    says(told, told_of(work(snapshot, Applied="False"), *EVERYTHING)).run(1)

    assert lists(told) == {name: entry(told)[name] for name in ALL}

    says(told, told_of(work(snapshot, Applied="True", Available="True"), *EVERYTHING)).run(2)
    assert {DRIFTED} == entry(told).keys() & ALL.keys()


def test_what_a_person_writes_there_is_restored() -> None:
    """It follows from the Works alone."""
    told = placed()
    says(told, told_of(work(snapshot_of(told), Applied="False"), *EVERYTHING)).run(1)
    before = {**told.files}
    edited = [
        path
        for path in sorted(told.files)
        if path.startswith("status/") and "name: failed\n" in told.files[path]
    ]
    for path in edited:
        told.files[path] = told.files[path].replace("name: failed\n", "name: other\n")
    told.run(2)

    assert 2 == len(edited)
    assert [before[path] for path in edited] == [told.files[path] for path in edited]


def report(available: int) -> Body:
    """What a cluster says of web."""
    return live(deployment(), updatedReplicas=2, availableReplicas=available)


def placed_on_one() -> Story:
    """A Deployment on one cluster."""
    told = story(member("a"), placement(), deployment())
    told.run(0)
    return told


def test_a_healthy_report_is_available_at_once() -> None:
    """Nothing is assumed of a cluster that reports."""
    told = placed_on_one()
    told.files["feedback/a/web.yaml"] = text(report(2))
    outcome = told.run(1)

    assert "True" == condition(told, "Available")["status"]
    assert outcome.recheck_at is None


def test_an_unhealthy_report_is_not_assumed_away() -> None:
    """However long it takes; health ends it."""
    told = placed_on_one()
    told.files["feedback/a/web.yaml"] = text(report(1))
    told.run(1)
    told.run(1000)

    assert "True" == condition(told, "Applied")["status"]
    assert "False" == condition(told, "Available")["status"]

    told.files["feedback/a/web.yaml"] = text(report(2))
    told.run(1001)

    assert "True" == condition(told, "Available")["status"]


def test_a_report_of_something_else_is_none() -> None:
    """Then the silence is judged as ever."""
    told = placed_on_one()
    told.files["feedback/a/api.yaml"] = text({**report(0), "metadata": metadata("api", "default")})
    told.run(60)

    assert "True" == condition(told, "Available")["status"]


def test_a_report_that_lacks_what_says_it_is_not_available() -> None:
    """How many replicas are wanted is not known, so that all of them run is not, either."""
    told = placed_on_one()
    told.files["feedback/a/web.yaml"] = text(without(report(2), ("spec",)))
    told.run(1000)

    assert "False" == condition(told, "Available")["status"]


def test_what_has_no_health_is_available_as_soon_as_it_is_there() -> None:
    """A ConfigMap is not waited for."""
    told = story(member("a"), placement(), configmap())
    told.run(0)
    told.files["feedback/a/settings.yaml"] = text({**configmap(), "status": {"seen": True}})
    told.run(1)

    assert "True" == condition(told, "Available")["status"]


def test_what_is_silent_of_what_has_health_leaves_the_whole_unknown() -> None:
    """That its ConfigMap is there does not say that a Deployment runs; silence ends as ever."""
    told = story(member("a"), placement(), deployment(), configmap())
    told.run(0)
    told.files["feedback/a/settings.yaml"] = text({**configmap(), "status": {"seen": True}})
    told.run(1)

    assert [] == [kind for kind in conditions_that_hold(told) if kind.endswith("Available")]

    told.run(60)

    assert "True" == condition(told, "Available")["status"]


def conditions_that_hold(told: Story) -> list[str]:
    """The types of conditions of the placement that hold."""
    path = f"status/clusterresourceplacements.{GROUP}/web.yaml"
    status = told.output(path)["status"]
    assert isinstance(status, dict)
    return [one["type"] for one in status["conditions"] if one["status"] == "True"]


DIFF = {"applyStrategy": {"type": "ReportDiff"}}
ONE_BY_ONE = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
PLACEMENT = ObjectKey(GROUP, "ClusterResourcePlacement", "", "web")


def web(strategy: Body = ALL_AT_ONCE, *, seconds: int | None = 60) -> Story:
    """A Deployment that wants two of three clusters, placed now."""
    told = story(*map(member, "abc"), placement(pick(2), strategy=strategy), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Mapping[ObjectKey, Body]:
    """All outputs of the API as they are at a moment."""
    found = as_of(told.world(), at).outputs.items()
    return {key: one.body for key, one in found if key.group == GROUP}


def written(told: Story) -> Mapping[ObjectKey, Body]:
    """The same as they stand in their files."""
    found = told.world().outputs.items()
    return {key: one.body for key, one in found if key.group == GROUP}


def unlisted(outputs: Mapping[ObjectKey, Body]) -> dict[ObjectKey, Body]:
    """Outputs without the list of what a placement selects, which older releases did not write."""
    found: dict[ObjectKey, Body] = {}
    for key, body in outputs.items():
        status = {k: v for k, v in mapping(body, "status").items() if k != "selectedResources"}
        found[key] = {**body, "status": status}
    return found


def test_it_is_shown_as_older_releases_wrote_it() -> None:
    """Bindings and placement, to the letter, whoever looks when."""
    told, old = web(), web()
    old.files |= older_outputs("kubefleet")

    assert written(told) == shown(told, after(59))
    for at in (after(60), after(9_000)):
        assert unlisted(written(old)) == unlisted(shown(told, at))


def test_of_a_report_of_differences_it_is_assumed_that_there_is_one() -> None:
    """Nothing is applied there, so nothing becomes available."""
    found = str(shown(web(ALL_AT_ONCE | DIFF), after(60))[PLACEMENT])

    assert "DiffReportedAssumed" in found
    assert "AppliedAssumed" not in found


def test_nothing_is_written_for_it_and_no_pass_waits_for_it() -> None:
    """The rollout is done."""
    told = web()
    before = dict(told.files)

    assert told.run(1).recheck_at is None
    assert () == told.run(90_000).changes
    assert before == told.files
    assert "Assumed" not in str(written(told))


def test_nothing_is_assumed_where_that_is_switched_off() -> None:
    """At no moment."""
    told = web(seconds=None)

    assert written(told) == shown(told, after(90_000))


def test_a_rollout_that_waits_goes_on_at_the_assumed_moment() -> None:
    """To the second; what it counted with is in no file."""
    told = web(ONE_BY_ONE)
    told.put(deployment(labels={"tier": "new"}))
    for seconds, reached, next_seconds in (
        (10, "", 60),
        (59, "", 60),
        (60, "b", 120),
        (119, "b", 120),
        (120, "bc", None),
        (180, "bc", None),
    ):
        outcome = told.run(seconds)
        new = [n for n in "bc" if "Name: web-1-" in told.files[path_of_binding(told, n)]]

        assert [*reached] == new
        assert "Assumed" not in str(written(told))
        assert (None if next_seconds is None else after(next_seconds)) == outcome.recheck_at


def test_a_cluster_that_reports_is_not_assumed_about() -> None:
    """Of two the silent one is, and the placement is as far as the other one."""
    told = web()
    status = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}
    told.files["feedback/c/web.yaml"] = text({**deployment(), "status": status})
    told.run(30)
    bodies = {key.name.split("-")[1]: str(body) for key, body in shown(told, after(60)).items()
              if key.kind == "ClusterResourceBinding"}  # fmt: skip

    assert {"b": True, "c": False} == {name: "Assumed" in body for name, body in bodies.items()}
    assert "ResourceNotAvailableYet" in str(shown(told, after(60))[PLACEMENT])


def test_what_an_older_release_wrote_of_it_stays_while_it_holds() -> None:
    """So an upgrade rewrites nothing, until something else is known."""
    told = web()
    told.files |= older_outputs("kubefleet")
    before = dict(told.files)

    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert before == told.files
    assert written(told) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "Assumed" not in str(written(told))


def test_an_assumption_that_a_person_writes_early_does_not_stand() -> None:
    """It is taken back, as every other edit of the status."""
    told = web()
    path = path_of_binding(told, "b")
    told.files[path] = older_outputs("kubefleet")[path]

    outcome = told.run(59)
    assert [path] == [one.path for one in outcome.changes if "bindings" in one.path]
    assert "Assumed" not in told.files[path]
    assert text_of(after(0)) in told.files[path]
