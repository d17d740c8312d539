"""What leaves a folder, Flux and Argo CD delete: only decisions take files away by themselves."""

import re

import pytest

from reconciler.core.changes import DeleteFile, Outcome
from tests.builders import Body, cluster, cluster_policy, configuration, deployment
from tests.delivery.test_folders import FOLDERS, WEB, below, delivered
from tests.stories import Story, story


def digest_in(outcome: Outcome) -> str:
    """The digest that lets go what is held."""
    (fault,) = outcome.faults
    found = re.search(r"sha256:[0-9a-f]{64}", fault.expected)
    assert found is not None
    assert fault.rule == "delivery-pruning-held"
    return found.group()


def deleted(outcome: Outcome) -> list[str]:
    """The files that a pass takes away."""
    return [one.path for one in outcome.delivered if isinstance(one, DeleteFile)]


CHANGED: dict[str, Body] = {
    "switched-off": {},
    "another-transport": {"manifestworks": {}},
    "another-path": {"folders": {"path": "elsewhere/{cluster}"}},
}


@pytest.mark.parametrize("delivery", CHANGED.values(), ids=CHANGED.keys())
def test_a_changed_configuration_takes_nothing_away(delivery: Body) -> None:
    """What is there stays, and the report has a digest that lets exactly it go."""
    told = delivered(deployment())
    there = below(told)
    told.put(configuration(delivery=delivery))
    outcome = told.run()

    assert [] == deleted(outcome)
    assert there == below(told)
    told.put(configuration(delivery=delivery, safety={"allow": digest_in(outcome)})).run()
    assert [] == below(told)


def test_a_transport_that_is_off_stays_recorded_while_its_files_are_there() -> None:
    """Or else they would be read as manifests of people."""
    told = delivered(deployment())
    told.put(configuration(delivery={})).run()
    told.run()

    assert 'path: "delivery/{cluster}"' in told.files["status/delivery.yaml"]
    assert 1 == sum(path.startswith("status/resourcebindings") for path in told.files)


def test_a_transport_without_files_is_forgotten() -> None:
    """The record goes with the last of them."""
    told = delivered(deployment())
    told.put(configuration(delivery={}))
    digest = digest_in(told.run())
    told.put(configuration(delivery={}, safety={"allow": digest})).run()

    assert "status/delivery.yaml" not in told.files


def test_a_first_delivery_waits_where_files_are() -> None:
    """It lists them; nothing is written beside them until they are let go."""
    told = story(cluster("a"), cluster_policy(), deployment(), configuration(delivery=FOLDERS))
    told.files["delivery/a/notes.yaml"] = "note: of a person\n"
    outcome = told.run(0)
    allow = digest_in(outcome)

    assert "delivery/a/notes.yaml" in outcome.faults[0].message
    assert ["a/notes.yaml"] == below(told)
    told.put(configuration(delivery=FOLDERS, safety={"allow": allow})).run()
    assert [f"a/{WEB}", "a/kustomization.yaml"] == below(told)


def test_a_first_delivery_does_not_write_over_a_persons_file() -> None:
    """A file at the very place of a manifest is listed as well."""
    told = story(cluster("a"), cluster_policy(), deployment(), configuration(delivery=FOLDERS))
    told.files[f"delivery/a/{WEB}"] = "kind: Mine\n"
    digest_in(told.run(0))

    assert "kind: Mine\n" == told.files[f"delivery/a/{WEB}"]


def test_one_stray_file_goes_from_a_folder_that_is_delivered_to() -> None:
    """It is delivery's own folder, and one of many files is below the limit."""
    told = delivered(*(deployment(f"w{number}") for number in range(12)))
    told.files["delivery/a/default/deployments.apps/stray.yaml"] = "kind: Stray\n"
    told.run()

    assert "delivery/a/default/deployments.apps/stray.yaml" not in told.files


def strayed(count: int) -> Story:
    """Ten delivered files in each folder, and beside them so many that nobody wants."""
    told = delivered(*(deployment(f"w{number}") for number in range(10)))
    for number in range(count):
        told.files[f"delivery/a/default/deployments.apps/x{number}.yaml"] = f"kind: X{number}\n"
    return told


def test_a_folder_that_would_lose_more_than_the_limit_is_kept() -> None:
    """For another reason than a decision; the limit is that of removals."""
    told = strayed(15)
    outcome = told.run()

    assert "delivery/a would lose 15 of 25 files" in outcome.faults[0].message
    assert [] == deleted(outcome)
    told.put(configuration(delivery=FOLDERS, safety={"allow": digest_in(outcome)})).run()
    assert 15 == len(deleted_between(told))


def deleted_between(told: Story) -> list[str]:
    """The stray files that are not there any more."""
    names = (f"delivery/a/default/deployments.apps/x{number}.yaml" for number in range(15))
    return [name for name in names if name not in told.files]


def test_moving_everything_is_a_decision() -> None:
    """However many files a folder loses by it."""
    told = delivered(*(deployment(f"w{number}") for number in range(20)))
    told.put(cluster_policy(placement={"clusterAffinity": {"clusterNames": ["a"]}}))
    outcome = told.run()

    assert 20 == len(deleted(outcome))
    assert () == outcome.faults


def test_a_held_removal_keeps_its_delivered_files() -> None:
    """The brake on removals keeps the bindings, and so what is delivered of them."""
    bodies = [deployment(f"w{number}") for number in range(20)]
    told = delivered(*bodies)
    there = below(told)
    told.drop(*bodies)
    outcome = told.run()

    assert "removal-braked" in [fault.rule for fault in outcome.faults]
    assert there == below(told)


def test_a_path_of_delivery_may_not_be_that_of_the_outputs() -> None:
    """It is a fault, and nothing is delivered."""
    told = delivered(deployment(), delivery={"folders": {"path": "status/{cluster}"}})
    (fault,) = told.run().faults

    assert ("delivery-path", "/spec/delivery/folders/path") == (fault.rule, fault.field)


def test_an_output_that_cannot_be_read_keeps_what_is_delivered_of_it() -> None:
    """It is left as it is, and so are the files that may be its own."""
    told = delivered(deployment())
    there = below(told)
    told.files["status/resourcebindings.work.karmada.io/default/web-deployment.yaml"] = "kind: [\n"
    outcome = told.run()

    assert ["output-unreadable"] == [fault.rule for fault in outcome.faults]
    assert there == below(told)
