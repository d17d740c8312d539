"""Edits that an API server would refuse: what was in force stays, until they are taken back."""

from typing import cast

import pytest

from tests.builders import Body, cluster, configmap, deployment, path_of, policy, text
from tests.stories import Story, story

FILE = path_of(policy())
AFFINITY = {"clusterAffinity": {"clusterNames": ["b"]}}


def given_to(scheduler: str | None, placement: Body | None = None) -> Body:
    """The policy p for a scheduler, `None` for one that is not named."""
    body = policy(placement=placement)
    if scheduler is None:
        return body
    return {**body, "spec": {**cast(Body, body["spec"]), "schedulerName": scheduler}}


def placed(scheduler: str | None = None) -> Story:
    """Web on cluster a, by the policy p for a scheduler."""
    told = story(cluster("a"), cluster("b"), deployment(), given_to(scheduler))
    told.run(0)
    return told


def faults(told: Story) -> list[tuple[str, str, str]]:
    """Path, field and rule of each fault."""
    return [(fault.path, fault.field, fault.rule) for fault in told.world().faults]


REFUSED = [(FILE, "/spec/schedulerName", "policy-immutable")]


def scheduler_of(told: Story) -> object:
    """The scheduler of web's binding."""
    return cast(Body, told.binding()["spec"])["schedulerName"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("one", "two", REFUSED, id="another"),
        pytest.param(None, "one", REFUSED, id="from-the-default"),
        pytest.param("one", None, REFUSED, id="back-to-the-default"),
        pytest.param(None, "default-scheduler", [], id="the-default-by-name"),
        pytest.param("", "default-scheduler", [], id="the-default-for-an-empty-name"),
        pytest.param("one", "one", [], id="the-same"),
    ],
)
def test_a_policy_stays_with_its_scheduler(
    before: str | None, after: str | None, expected: list[tuple[str, str, str]]
) -> None:
    """By the name that an API server stores."""
    told = placed(before)
    told.put(given_to(after, placement=AFFINITY))

    assert expected == faults(told)


def test_a_refused_edit_takes_no_effect_at_all() -> None:
    """Nor does what else the same edit changes, and for no other workload either."""
    told = placed()
    told.put(given_to("two", placement=AFFINITY), deployment("api"), cluster("b"))
    outcome = told.run(10)

    [fault] = outcome.faults
    assert '`schedulerName` must stay "default-scheduler" while the policy exists' == fault.message
    assert ("default-scheduler", {"a": 2, "b": 2}) == (scheduler_of(told), told.placed())
    assert {"a": 2, "b": 2} == told.placed("api-deployment")


def test_a_refused_edit_stays_refused_in_later_passes() -> None:
    """Other commits come and go; what was in force stands in the record of the faults."""
    told = placed()
    told.put(given_to("two")).run(10)
    told.put(deployment("api")).run(20)
    told.put(deployment("job")).run(30)

    assert REFUSED == faults(told)
    assert "default-scheduler" == scheduler_of(told)
    assert () == told.run(40).changes


def test_a_refused_edit_that_breaks_afterwards_is_not_taken_for_good() -> None:
    """The last good version is the one that was in force."""
    told = placed()
    told.put(given_to("two")).put(deployment("api")).run(10)
    told.files[FILE] = "kind: [\n"
    told.put(deployment("job")).run(20)

    assert "default-scheduler" == scheduler_of(told)
    assert {"a": 2, "b": 2} == told.placed("job-deployment")


def test_an_edit_that_is_taken_back_is_no_fault() -> None:
    """And what else it says takes effect."""
    told = placed()
    told.put(given_to("two"), deployment("api")).run(10)
    told.put(given_to(None, placement=AFFINITY)).run(20)

    assert ([], {"b": 2}) == (faults(told), told.placed())


def test_a_policy_that_moves_to_another_file_is_the_same_policy() -> None:
    """The fault is told where it stands now."""
    told = placed()
    del told.files[FILE]
    told.put(given_to("two"), path="moved/policy.yaml")
    told.put(deployment("api")).run(10)

    assert [("moved/policy.yaml", *REFUSED[0][1:])] == faults(told)
    assert "default-scheduler" == scheduler_of(told)


def test_a_policy_that_was_removed_may_come_again() -> None:
    """It is another one then, for an API server as well."""
    told = placed()
    told.drop(policy()).run(10)
    told.put(given_to("two"))

    assert [] == faults(told)


def test_a_policy_of_another_name_may_be_for_another_scheduler() -> None:
    """As the fault says; it takes the place of the one that goes."""
    told = placed()
    told.drop(policy()).put(policy("q", schedulerName="two")).run(10)

    assert ([], "two") == (faults(told), scheduler_of(told))


def test_other_documents_of_the_file_take_effect() -> None:
    """Only the edit of the policy is refused; a document that is no manifest any more is missed."""
    told = story(cluster("a"), deployment())
    told.put(given_to(None), configmap("c"), path="all.yaml").run(0)
    told.put(given_to("two"), configmap("d"), path="all.yaml")
    kinds = {key.name for key in told.world().inputs if key.kind == "ConfigMap"}

    assert [("all.yaml", *REFUSED[0][1:])] == faults(told)
    assert {"d"} == kinds
    told.files["all.yaml"] = text(given_to("two")) + "---\nno: manifest\n"
    assert ["file-unrecognized", "policy-immutable"] == sorted(one[2] for one in faults(told))
