"""A typo in a number of replicas takes nothing away."""

from collections.abc import Mapping

import pytest

from reconciler.core.inputs.admissions import ADMISSIONS
from tests.builders import Body, cluster, deployment, metadata, policy
from tests.stories import story


def job(**spec: object) -> Body:
    """A Job."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata("once"), "spec": spec}


@pytest.mark.parametrize("replicas", ["three", "3", -3, 2**31, 1.5, True, [3]])
def test_a_workload_keeps_its_clusters_while_its_replicas_cannot_be_read(replicas: object) -> None:
    """The fault has file, field and rule; the last good number stays."""
    told = story(cluster("a"), deployment(replicas=2), policy())
    told.run()
    told.put({**deployment(), "spec": {"replicas": replicas}})
    outcome = told.run()

    assert {"a": 2} == told.placed()
    assert [("/spec/replicas", "workload-replicas")] == [
        (fault.field, fault.rule) for fault in outcome.faults
    ]


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (-1, "0 or more"),
        (2**31, "2147483647 or less"),
        (1.5, "a whole number"),
        ("3", "a number without quotes"),
        (True, "a number without quotes"),
    ],
)
def test_what_would_be_right_fits_what_is_wrong(replicas: object, expected: str) -> None:
    """Quotes are the mistake of a text only."""
    body = {**deployment(), "spec": {"replicas": replicas}}

    assert [expected] == [one.expected for one in ADMISSIONS["apps", "Deployment"](body)]


@pytest.mark.parametrize("spec", [{}, {"replicas": None}, {"replicas": 0}, {"replicas": 2**31 - 1}])
def test_what_is_a_number_of_replicas(spec: Mapping[str, object]) -> None:
    """Or none at all."""
    assert () == ADMISSIONS["apps", "Deployment"]({**deployment(), "spec": spec})


def test_a_job_has_two_numbers() -> None:
    """Each is judged."""
    found = ADMISSIONS["batch", "Job"](job(parallelism="2", completions=-1))

    assert ["/spec/parallelism", "/spec/completions"] == [violation.pointer for violation in found]
