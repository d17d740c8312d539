"""Faulty documents: the last good version stays in force, and nothing else is disturbed."""

import json

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from tests.builders import (
    after,
    cluster,
    configmap,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    text,
)
from tests.stories import (
    BINDINGS,
    Story,
    story,
)

BROKEN = "apiVersion: v1\nkind: [\n"
WEB = f"{BINDINGS}/default/web-deployment.yaml"


def placed_story() -> Story:
    """A cluster, a policy, and web placed on the cluster."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    return told


def rules(told: Story) -> list[tuple[str, str]]:
    """Path and rule of each fault."""
    return [(fault.path, fault.rule) for fault in told.world().faults]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(BROKEN, id="not-yaml"),
        pytest.param(text({**policy(), "spec": {}}), id="not-valid"),
        pytest.param(
            text(policy(placement=groups(["a"], clusterAffinity={}))), id="refused-by-admission"
        ),
        pytest.param(
            text({**policy(), "apiVersion": "policy.karmada.io/v9"}), id="unknown-version"
        ),
    ],
)
def test_a_broken_policy_keeps_its_last_good_meaning(body: str) -> None:
    """The binding stays as it is, and the fault is reported."""
    told = placed_story()
    before = told.files[WEB]
    told.files[path_of(policy())] = body
    outcome = told.run(10)

    assert [path_of(policy())] == [fault.path for fault in outcome.faults]
    assert before == told.files[WEB]
    assert [path_of(policy())] == [held.path for held in told.world().held]


def test_it_is_held_across_passes_and_other_edits() -> None:
    """The record of each pass names the version in force."""
    told = placed_story()
    told.files[path_of(policy())] = BROKEN
    told.run(10)
    told.put(deployment("api"))
    told.run(20)
    told.put(deployment("web", replicas=5))
    told.run(30)

    assert {"a": 5} == told.placed()
    assert {"a": 2} == told.placed("api-deployment")


def test_the_version_held_is_that_of_the_last_pass() -> None:
    """Never one in between, which no pass has seen."""
    told = placed_story()
    told.put(deployment(replicas=9))
    told.world()
    told.files[path_of(deployment())] = BROKEN
    told.run(10)

    assert {"a": 2} == told.placed()


def test_without_an_earlier_version_it_does_not_exist() -> None:
    """And comes into being when it is mended."""
    told = story(cluster(), policy())
    told.files[path_of(deployment())] = BROKEN
    told.run(0)
    assert WEB not in told.files
    told.put(deployment())
    told.run(10)

    assert {"a": 2} == told.placed()
    assert "status/faults.yaml" not in told.files


def test_the_other_documents_of_the_file_go_on() -> None:
    """One document is held, its neighbour takes its edit."""
    told = story(cluster(), policy()).put(deployment(), deployment("api"), path="apps.yaml")
    told.run(0)
    odd = {**deployment(), "metadata": {"name": "web", "namespace": ["?"]}}
    told.files["apps.yaml"] = text(odd, deployment("api", replicas=7))
    told.run(10)

    assert ({"a": 2}, {"a": 7}) == (told.placed(), told.placed("api-deployment"))


def test_a_removed_file_is_removed() -> None:
    """Also while it is held."""
    told = placed_story()
    told.files[path_of(deployment())] = BROKEN
    told.run(10)
    told.drop(deployment())
    told.run(20)

    assert WEB not in told.files
    assert () == told.world().held


def test_a_document_removed_from_a_faulty_file_stays_out() -> None:
    """Where the faulty documents say who they are, the others are taken by their absence."""
    told = story(cluster(), policy()).put(deployment(), deployment("api"), path="apps.yaml")
    told.run(0)
    told.files["apps.yaml"] = text({**rebalancer("api"), "spec": {}})
    told.run(10)

    assert WEB not in told.files


def test_an_object_written_twice_keeps_the_version_of_its_file() -> None:
    """Both places are named, neither takes effect anew."""
    told = placed_story()
    told.files["copy.yaml"] = text(deployment(replicas=8))
    outcome = told.run(10)

    assert {"a": 2} == told.placed()
    assert ["identity-duplicate"] * 2 == [fault.rule for fault in outcome.faults]
    assert "copy.yaml:1" in outcome.faults[1].message


def test_an_owned_kind_written_by_a_person_is_a_fault() -> None:
    """A binding outside the output root has no effect."""
    told = placed_story()
    told.files["binding.yaml"] = told.files[WEB]
    before = told.files[WEB]
    told.run(10)

    assert [("binding.yaml", "owned-kind")] == rules(told)
    assert before == told.files[WEB]


def test_a_configuration_elsewhere_is_a_fault() -> None:
    """There is one place for it."""
    told = placed_story().put(configuration(suspend=True), path="apps/reconciler.yaml")

    assert [("apps/reconciler.yaml", "configuration-path")] == rules(told)


def test_broken_yaml_of_other_projects_is_not_ours() -> None:
    """A file that never mentions apiVersion is passed over."""
    told = placed_story()
    told.files["playbook.yaml"] = "a: [\n"
    told.files["notes.yaml"] = "just: text\n"

    assert [] == rules(told)


def test_an_unknown_kind_is_a_workload() -> None:
    """It needs no schema; one of our groups does."""
    odd = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}}
    told = placed_story().put(odd)

    assert [] == rules(told)


def test_an_unreadable_output_is_left_as_it_is() -> None:
    """It is reported until a person restores or removes it; the others go on."""
    told = placed_story()
    told.files[WEB] = BROKEN
    told.put(deployment("api"))
    outcome = told.run(10)
    assert (BROKEN, {"a": 2}) == (told.files[WEB], told.placed("api-deployment"))
    assert ["output-unreadable"] == [fault.rule for fault in outcome.faults]
    assert () == told.run(11).changes
    del told.files[WEB]
    told.run(20)

    assert {"a": 2} == told.placed()


@pytest.mark.parametrize("name", ["reconciler", "faults"])
def test_without_its_own_record_a_pass_holds_everything(name: str) -> None:
    """What is held is not known then, and would be unscheduled."""
    told = placed_story()
    told.files[path_of(policy())] = BROKEN
    told.run(10)
    told.files[f"status/{name}.yaml"] = BROKEN
    outcome = told.run(20)

    assert () == outcome.changes
    assert "output-unreadable" in {fault.rule for fault in outcome.faults}


def test_a_file_that_is_no_output_is_removed_from_the_root() -> None:
    """The root is ours alone."""
    told = placed_story()
    told.files["status/mine.yaml"] = text(configmap())
    told.run(10)

    assert "status/mine.yaml" not in told.files


def test_suspend_leaves_everything() -> None:
    """Faults are told all the same."""
    told = placed_story().put(configuration(suspend=True), deployment(replicas=7))
    told.files["copy.yaml"] = text(deployment())
    outcome = told.run(10)

    assert () == outcome.changes
    assert 2 == len(outcome.faults)


def test_a_broken_configuration_keeps_its_last_good_meaning() -> None:
    """If a pass committed while it was good."""
    told = placed_story().put(configuration(feedback={"assumeAfterSeconds": 5}))
    told.put(deployment(replicas=3)).run(1)
    told.files["reconciler.yaml"] = json.dumps(configuration(feedback={"assumeAfterSeconds": "x"}))

    assert told.run(2).changes
    assert [False, True] == [
        "FullyAppliedAssumed" in str([one.body for one in as_of(told.world(), at).outputs.values()])
        for at in (after(4), after(5))
    ]
