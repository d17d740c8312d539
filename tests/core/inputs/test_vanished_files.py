"""What cannot be understood is never a removal; what a person removes plainly is one."""

import re

import pytest

from tests.builders import (
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
WEB_FILE = path_of(deployment())
NOTHING_THERE = "# moved elsewhere\n---\n\n---\n# nothing\n"


def placed_story(*more: object) -> Story:
    """Two clusters, a policy that prefers the first, and web placed there."""
    told = story(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())
    told.put(*more)  # type: ignore[arg-type]  # manifests
    told.run(0)
    assert {"a": 2} == told.placed()
    return told


def faults(told: Story) -> list[tuple[str, str]]:
    """Path and rule of each fault."""
    return [(fault.path, fault.rule) for fault in told.world().faults]


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
    told = placed_story()
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
    told = placed_story()
    told.files[WEB_FILE] = IN_BLOCKS
    told.run(5)
    told.files[WEB_FILE] = IN_BLOCKS[:cut]
    told.run(10)

    assert {"a": 2} == told.placed()


@pytest.mark.parametrize("link", [WEB_FILE, WEB_FILE.rpartition("/")[0]], ids=["file", "folder"])
def test_a_link_in_the_place_of_a_file_removes_nothing(link: str) -> None:
    """It is never followed, and what stood behind it is kept until it is gone."""
    told = placed_story()
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
    told = placed_story()
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
    told = placed_story()
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
    told = placed_story()
    told.drop(cluster("a")).files["members/a.yaml"] = BROKEN
    told.run(10)

    assert {"a": 2} == told.placed()


def test_a_rename_that_breaks_the_schema_belongs_to_the_object() -> None:
    """Its last good version is found by identity; one fault tells it."""
    told = placed_story()
    broken = {**policy(placement=groups(["b"])), "spec": {"resourceSelectors": "all"}}
    told.drop(policy()).files["elsewhere.yaml"] = text(broken)
    told.run(10)
    told.put(deployment("api")).run(20)

    assert ["elsewhere.yaml"] == sorted({path for path, _ in faults(told)})
    assert ({"a": 2}, {"a": 2}) == (told.placed(), told.placed("api-deployment"))


def test_what_vanished_goes_with_the_file_that_may_hold_it() -> None:
    """Deleting the unreadable file says that the removal was meant."""
    told = placed_story()
    told.drop(deployment()).files["apps/web.yaml"] = BROKEN
    told.run(10)
    del told.files["apps/web.yaml"]
    told.run(20)

    assert WEB not in told.files
    assert () == told.world().held


def test_what_vanished_goes_when_the_file_turns_out_to_hold_something_else() -> None:
    """Then it was a removal."""
    told = placed_story()
    told.drop(deployment()).files["apps/web.yaml"] = BROKEN
    told.run(10)
    told.files["apps/web.yaml"] = text(configmap())
    told.run(20)

    assert WEB not in told.files


def test_an_unreadable_file_may_be_renamed_again() -> None:
    """What it may hold follows it."""
    told = placed_story()
    told.drop(deployment()).files["apps/web.yaml"] = BROKEN
    told.run(10)
    told.files["services/web.yaml"] = told.files.pop("apps/web.yaml")
    told.run(20)

    assert {"a": 2} == told.placed()
    assert ("services/web.yaml",) == told.world().held[0].beside


def test_a_broken_file_may_be_renamed() -> None:
    """Its object was held at its path, and is held beside the new one."""
    told = placed_story()
    told.files[WEB_FILE] = BROKEN
    told.run(10)
    told.files["apps/web.yaml"] = told.files.pop(WEB_FILE)
    told.run(20)

    assert {"a": 2} == told.placed()


def test_two_files_merged_into_one_that_breaks_keep_both_objects() -> None:
    """The file was there before; that it cannot be read any more is what counts."""
    told = placed_story(deployment("api"))
    told.drop(deployment("api")).files[WEB_FILE] += "---\n" + BROKEN
    told.run(10)

    assert ({"a": 2}, {"a": 2}) == (told.placed(), told.placed("api-deployment"))


def test_a_removal_beside_a_file_that_was_broken_before_is_a_removal() -> None:
    """Only what breaks in the same step may be a rename."""
    told = placed_story()
    told.files["old.yaml"] = BROKEN
    told.run(10)
    told.drop(deployment()).run(20)

    assert WEB not in told.files


def test_a_person_lets_go_of_what_vanished() -> None:
    """The digest that the fault names lets exactly these objects go."""
    told = placed_story(deployment("api"))
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
    told = placed_story()
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
    told = placed_story()
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
    told = placed_story()
    told.put(rebalancer("once", ttl=0)).run(10)
    assert path_of(rebalancer("once")) not in told.files
    told.files["broken.yaml"] = BROKEN
    outcome = told.run(20)

    assert [("broken.yaml", "yaml-syntax")] == faults(told)
    assert () == outcome.decisions


def test_a_document_that_a_pass_took_out_is_not_brought_back() -> None:
    """Also where its file stayed and breaks now."""
    told = placed_story()
    told.put(rebalancer("once", ttl=0), configmap("kept"), path="mixed.yaml").run(10)
    assert "WorkloadRebalancer" not in told.files["mixed.yaml"]
    told.files["mixed.yaml"] += "---\n" + BROKEN
    outcome = told.run(20)

    assert [("mixed.yaml", "yaml-syntax")] == faults(told)
    assert () == outcome.decisions


def test_a_finished_rebalancer_renamed_with_a_syntax_error_does_not_run_again() -> None:
    """Its record stays with it, also when the file is mended."""
    told = placed_story()
    told.put(rebalancer("once")).run(10)
    whole = told.files.pop(path_of(rebalancer("once")))
    told.files["done.yaml"] = BROKEN
    told.run(20)
    told.files["done.yaml"] = whole
    outcome = told.run(30)

    assert () == outcome.decisions
    assert [] == faults(told)
