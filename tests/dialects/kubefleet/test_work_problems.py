"""Which resources failed, drifted or differ, as Works say it of each of them."""

from collections.abc import Sequence

import pytest

from tests.builders import Body
from tests.dialects.kubefleet.fleet import bindings, files
from tests.dialects.kubefleet.test_work_reports import (
    AT,
    MARK,
    conditions,
    placed,
    says,
    snapshot_of,
    work,
)
from tests.stories import Story

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
