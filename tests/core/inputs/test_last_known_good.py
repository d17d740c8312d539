"""What cannot be understood, or is refused, leaves in force what was, and is never a removal."""

import json
import re
from typing import cast

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from tests.builders import (
    Body,
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
from tests.stories import BINDINGS, Story, story

BROKEN = "apiVersion: v1\nkind: [\n"
WEB = f"{BINDINGS}/default/web-deployment.yaml"


def faults(told: Story) -> list[tuple[str, str]]:
    """Path and rule of each fault."""
    return [(fault.path, fault.rule) for fault in told.world().faults]


def placed_story() -> Story:
    """A cluster, a policy, and web placed on the cluster."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    return told


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

    assert [("binding.yaml", "owned-kind")] == faults(told)
    assert before == told.files[WEB]


def test_a_configuration_elsewhere_is_a_fault() -> None:
    """There is one place for it."""
    told = placed_story().put(configuration(suspend=True), path="apps/reconciler.yaml")

    assert [("apps/reconciler.yaml", "configuration-path")] == faults(told)


def test_broken_yaml_of_other_projects_is_not_ours() -> None:
    """A file that never mentions apiVersion is passed over."""
    told = placed_story()
    told.files["playbook.yaml"] = "a: [\n"
    told.files["notes.yaml"] = "just: text\n"

    assert [] == faults(told)


def test_an_unknown_kind_is_a_workload() -> None:
    """It needs no schema; one of our groups does."""
    odd = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}}
    told = placed_story().put(odd)

    assert [] == faults(told)


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


WEB_FILE = path_of(deployment())
NOTHING_THERE = "# moved elsewhere\n---\n\n---\n# nothing\n"


def placed_on_first(*more: object) -> Story:
    """Two clusters, a policy that prefers the first, and web placed there."""
    told = story(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())
    told.put(*more)  # type: ignore[arg-type]  # manifests
    told.run(0)
    assert {"a": 2} == told.placed()
    return told


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        pytest.param("[" * 1010 + "\n" + text(deployment()), "yaml-depth", id="nested-too-deep"),
        pytest.param("[" * 990 + "\n" + text(deployment()), "yaml-syntax", id="nested-deep"),
        pytest.param("apiVersion: apps/v1\n", "identity-kind", id="cut-behind-apiVersion"),
        pytest.param("apiV", "file-unrecognized", id="cut-to-a-word"),
        pytest.param("- web\n", "file-unrecognized", id="a-list"),
        pytest.param("spec: {replicas: 2}\n", "file-unrecognized", id="its-head-is-gone"),
        pytest.param("version https://git-lfs", "file-unrecognized", id="half-a-pointer"),
    ],
)
def test_a_path_that_held_an_object_holds_it_until_it_parses(content: str, rule: str) -> None:
    """The file is not somebody else's all of a sudden; across passes and restarts."""
    told = placed_on_first()
    told.files[WEB_FILE] = content
    told.run(10)
    told.put(deployment("api")).run(20)

    assert [(WEB_FILE, rule)] == faults(told)
    assert ({"a": 2}, {"a": 2}) == (told.placed(), told.placed("api-deployment"))

    told.put(deployment(replicas=5)).run(30)

    assert [] == faults(told)
    assert {"a": 5} == told.placed()


IN_BLOCKS = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  template: {spec: {containers: [{name: main, image: example.org/web}]}}
"""


@pytest.mark.parametrize("cut", range(1, IN_BLOCKS.index("web")))
def test_a_file_cut_before_its_name_keeps_its_object(cut: int) -> None:
    """Each byte may be the last one that was written."""
    told = placed_on_first()
    told.files[WEB_FILE] = IN_BLOCKS
    told.run(5)
    told.files[WEB_FILE] = IN_BLOCKS[:cut]
    told.run(10)

    assert {"a": 2} == told.placed()


@pytest.mark.parametrize("link", [WEB_FILE, WEB_FILE.rpartition("/")[0]], ids=["file", "folder"])
def test_a_link_in_the_place_of_a_file_removes_nothing(link: str) -> None:
    """It is never followed, and what stood behind it is kept until it is gone."""
    told = placed_on_first()
    del told.files[WEB_FILE]
    told.links.add(link)
    told.run(10)
    told.put(deployment("api"), path="api.yaml").run(20)

    assert [(link, "file-link")] == faults(told)
    assert {"a": 2} == told.placed()

    told.links.clear()
    told.run(30)

    assert [] == faults(told)
    assert WEB not in told.files


def test_a_link_beside_the_moved_file_is_no_fault() -> None:
    """The object stands elsewhere, so nothing is missing."""
    told = placed_on_first()
    told.files["moved.yaml"] = told.files.pop(WEB_FILE)
    told.links.add(WEB_FILE)

    assert [] == faults(told)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(BROKEN, id="not-yaml"),
        pytest.param(text({**deployment(), "metadata": {"nane": "web"}}), id="nameless"),
        pytest.param("apiVersion: apps/v1\n<<<<<<< HEAD\n", id="conflict"),
    ],
)
def test_a_rename_with_a_syntax_error_removes_nothing(content: str) -> None:
    """The object stays until the file can be understood."""
    told = placed_on_first()
    told.drop(deployment()).files["apps/web.yaml"] = content
    told.run(10)
    told.put(deployment("api")).run(20)

    assert {"a": 2} == told.placed()
    assert ("apps/web.yaml", (WEB_FILE, "file-vanished")) == (
        told.world().held[0].beside[0],
        next(found for found in faults(told) if found[0] == WEB_FILE),
    )

    told.files["apps/web.yaml"] = text(deployment(replicas=4))
    told.run(30)

    assert ({"a": 4}, []) == (told.placed(), faults(told))


def test_a_cluster_renamed_with_a_syntax_error_moves_nothing() -> None:
    """Clusters above all: every workload on it would move."""
    told = placed_on_first()
    told.drop(cluster("a")).files["members/a.yaml"] = BROKEN
    told.run(10)

    assert {"a": 2} == told.placed()


def test_a_rename_that_breaks_the_schema_belongs_to_the_object() -> None:
    """Its last good version is found by identity; one fault tells it."""
    told = placed_on_first()
    broken = {**policy(placement=groups(["b"])), "spec": {"resourceSelectors": "all"}}
    told.drop(policy()).files["elsewhere.yaml"] = text(broken)
    told.run(10)
    told.put(deployment("api")).run(20)

    assert ["elsewhere.yaml"] == sorted({path for path, _ in faults(told)})
    assert ({"a": 2}, {"a": 2}) == (told.placed(), told.placed("api-deployment"))


def test_what_vanished_goes_with_the_file_that_may_hold_it() -> None:
    """Deleting the unreadable file says that the removal was meant."""
    told = placed_on_first()
    told.drop(deployment()).files["apps/web.yaml"] = BROKEN
    told.run(10)
    del told.files["apps/web.yaml"]
    told.run(20)

    assert WEB not in told.files
    assert () == told.world().held


def test_what_vanished_goes_when_the_file_turns_out_to_hold_something_else() -> None:
    """Then it was a removal."""
    told = placed_on_first()
    told.drop(deployment()).files["apps/web.yaml"] = BROKEN
    told.run(10)
    told.files["apps/web.yaml"] = text(configmap())
    told.run(20)

    assert WEB not in told.files


def test_an_unreadable_file_may_be_renamed_again() -> None:
    """What it may hold follows it."""
    told = placed_on_first()
    told.drop(deployment()).files["apps/web.yaml"] = BROKEN
    told.run(10)
    told.files["services/web.yaml"] = told.files.pop("apps/web.yaml")
    told.run(20)

    assert {"a": 2} == told.placed()
    assert ("services/web.yaml",) == told.world().held[0].beside


def test_a_broken_file_may_be_renamed() -> None:
    """Its object was held at its path, and is held beside the new one."""
    told = placed_on_first()
    told.files[WEB_FILE] = BROKEN
    told.run(10)
    told.files["apps/web.yaml"] = told.files.pop(WEB_FILE)
    told.run(20)

    assert {"a": 2} == told.placed()


def test_two_files_merged_into_one_that_breaks_keep_both_objects() -> None:
    """The file was there before; that it cannot be read any more is what counts."""
    told = placed_on_first(deployment("api"))
    told.drop(deployment("api")).files[WEB_FILE] += "---\n" + BROKEN
    told.run(10)

    assert ({"a": 2}, {"a": 2}) == (told.placed(), told.placed("api-deployment"))


def test_a_removal_beside_a_file_that_was_broken_before_is_a_removal() -> None:
    """Only what breaks in the same step may be a rename."""
    told = placed_on_first()
    told.files["old.yaml"] = BROKEN
    told.run(10)
    told.drop(deployment()).run(20)

    assert WEB not in told.files


def test_a_person_lets_go_of_what_vanished() -> None:
    """The digest that the fault names lets exactly these objects go."""
    told = placed_on_first(deployment("api"))
    told.drop(deployment(), deployment("api")).files["apps.yaml"] = BROKEN
    told.run(10)
    asked = next(f.expected for f in told.world().faults if f.rule == "file-vanished")
    found = re.search(r"allow: (\S+)`", asked)
    assert found
    told.put(configuration(safety={"allow": "sha256:" + "0" * 64})).run(20)
    assert {"a": 2} == told.placed()
    told.put(configuration(safety={"allow": found[1]})).run(30)

    assert (WEB in told.files, () == told.world().held) == (False, True)
    assert [("apps.yaml", "yaml-syntax")] == faults(told)


@pytest.mark.parametrize(
    "content", [NOTHING_THERE, "", "# gone\n", "---\n"], ids=["rests", "empty", "comment", "dashes"]
)
def test_a_file_of_blanks_and_comments_holds_nothing(content: str) -> None:
    """That is a removal, said plainly."""
    told = placed_on_first()
    told.files[WEB_FILE] = content
    told.run(10)

    assert WEB not in told.files
    assert [] == faults(told)


def test_a_document_taken_out_of_a_file_that_parses_is_removed() -> None:
    """Another program's document may stand in it, too, if it did before."""
    told = story(cluster("a"), policy())
    told.files["apps.yaml"] = text(deployment(), deployment("api")) + "---\nvalues: {}\n"
    told.run(0)
    told.files["apps.yaml"] = text(deployment("api")) + "---\nvalues: {}\n"
    told.run(10)

    assert WEB not in told.files
    assert [] == faults(told)


def test_a_fault_of_the_pass_does_not_cost_the_last_good_version() -> None:
    """A policy that the pass found fault with was in force as it was, and stays so."""
    told = placed_on_first()
    told.put(policy(placement=groups(["a"], ["b"]), schedulePriority=PRIORITY)).run(10)
    assert ["policy-priority-class"] == [f.rule for f in told.run(11).faults]
    told.files[path_of(policy())] = BROKEN
    told.put(deployment(replicas=6)).run(20)

    assert {"a": 2} == told.placed()


PRIORITY = {
    "priorityClassSource": "KubePriorityClass",
    "priorityClassName": "absent",
}


def test_a_rebalancer_that_a_pass_removed_is_not_brought_back() -> None:
    """Its file is in the inputs of that pass, and gone by that pass itself."""
    told = placed_on_first()
    told.put(rebalancer("once", ttl=0)).run(10)
    assert path_of(rebalancer("once")) not in told.files
    told.files["broken.yaml"] = BROKEN
    outcome = told.run(20)

    assert [("broken.yaml", "yaml-syntax")] == faults(told)
    assert () == outcome.decisions


def test_a_document_that_a_pass_took_out_is_not_brought_back() -> None:
    """Also where its file stayed and breaks now."""
    told = placed_on_first()
    told.put(rebalancer("once", ttl=0), configmap("kept"), path="mixed.yaml").run(10)
    assert "WorkloadRebalancer" not in told.files["mixed.yaml"]
    told.files["mixed.yaml"] += "---\n" + BROKEN
    outcome = told.run(20)

    assert [("mixed.yaml", "yaml-syntax")] == faults(told)
    assert () == outcome.decisions


def test_a_finished_rebalancer_renamed_with_a_syntax_error_does_not_run_again() -> None:
    """Its record stays with it, also when the file is mended."""
    told = placed_on_first()
    told.put(rebalancer("once")).run(10)
    whole = told.files.pop(path_of(rebalancer("once")))
    told.files["done.yaml"] = BROKEN
    told.run(20)
    told.files["done.yaml"] = whole
    outcome = told.run(30)

    assert () == outcome.decisions
    assert [] == faults(told)


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


def faults_by_field(told: Story) -> list[tuple[str, str, str]]:
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

    assert expected == faults_by_field(told)


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

    assert REFUSED == faults_by_field(told)
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

    assert ([], {"b": 2}) == (faults_by_field(told), told.placed())


def test_a_policy_that_moves_to_another_file_is_the_same_policy() -> None:
    """The fault is told where it stands now."""
    told = placed()
    del told.files[FILE]
    told.put(given_to("two"), path="moved/policy.yaml")
    told.put(deployment("api")).run(10)

    assert [("moved/policy.yaml", *REFUSED[0][1:])] == faults_by_field(told)
    assert "default-scheduler" == scheduler_of(told)


def test_a_policy_that_was_removed_may_come_again() -> None:
    """It is another one then, for an API server as well."""
    told = placed()
    told.drop(policy()).run(10)
    told.put(given_to("two"))

    assert [] == faults_by_field(told)


def test_a_policy_of_another_name_may_be_for_another_scheduler() -> None:
    """As the fault says; it takes the place of the one that goes."""
    told = placed()
    told.drop(policy()).put(policy("q", schedulerName="two")).run(10)

    assert ([], "two") == (faults_by_field(told), scheduler_of(told))


def test_other_documents_of_the_file_take_effect() -> None:
    """Only the edit of the policy is refused; a document that is no manifest any more is missed."""
    told = story(cluster("a"), deployment())
    told.put(given_to(None), configmap("c"), path="all.yaml").run(0)
    told.put(given_to("two"), configmap("d"), path="all.yaml")
    kinds = {key.name for key in told.world().inputs if key.kind == "ConfigMap"}

    assert [("all.yaml", *REFUSED[0][1:])] == faults_by_field(told)
    assert {"d"} == kinds
    told.files["all.yaml"] = text(given_to("two")) + "---\nno: manifest\n"
    assert ["file-unrecognized", "policy-immutable"] == sorted(
        one[2] for one in faults_by_field(told)
    )
