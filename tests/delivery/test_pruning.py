"""Only decisions take files away, and what cannot be delivered holds nothing but itself."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.core.changes import DeleteFile, Outcome
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    configuration,
    deployment,
    metadata,
    path_of,
    selector,
    text,
)
from tests.delivery.test_transports import FOLDERS, WEB, below, delivered
from tests.shell.fleet import decisions, load_world, reconciler, run_pass
from tests.shell.repositories import Checkout, git, new_checkout
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


BOTH: Body = {"folders": {}, "decisions": {}}


def renaming(name: str, target: str, to: str, clusters: list[str]) -> Body:
    """An OverridePolicy that gives a workload another name on some clusters."""
    replaced = {"path": "/metadata/name", "operator": "replace", "value": to}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata(name, "default"),
        "spec": {
            "resourceSelectors": [{**selector(), "name": target}],
            "overrideRules": [
                {
                    "targetCluster": {"clusterNames": clusters},
                    "overriders": {"plaintext": [replaced]},
                }
            ],
        },
    }


def same_object_faults(told: Story) -> list[tuple[str, str]]:
    """Path and message of each."""
    faults = told.run().faults
    return [(one.path, one.message) for one in faults if one.rule == "delivery-same-object"]


def test_two_objects_of_one_identity_hold_the_cluster() -> None:
    """The fault names both; that cluster keeps what it had, the other one goes on."""
    told = delivered(deployment("web"), deployment("other"))
    before = {path: told.files[path] for path in told.files if path.startswith("delivery/b/")}

    told.put(renaming("o", "other", "web", ["b"]), deployment("new"))
    outcome = told.run()
    faults = same_object_faults(told)

    assert ["delivery/a/default/deployments.apps/new.yaml", "delivery/a/kustomization.yaml"] == [
        one.path for one in outcome.delivered
    ]
    assert before == {path: told.files[path] for path in before}
    ((path, message),) = faults
    assert path == f"delivery/b/{WEB}"
    assert "default/web-deployment and ResourceBinding" in message.replace("other", "web", 1)
    assert "the cluster keeps what it had" in message

    del told.files[path_of(renaming("o", "other", "web", ["b"]))]
    told.run()

    assert "b/default/deployments.apps/new.yaml" in below(told)
    assert [] == same_object_faults(told)


def test_two_renamed_objects_hold_the_cluster_too() -> None:
    """Neither has the place of its new name."""
    told = delivered(deployment("web"), deployment("other"))

    told.put(renaming("o", "other", "same", ["b"]), renaming("w", "web", "same", ["b"]))
    told.run()

    assert 1 == len(same_object_faults(told))
    assert all("same" not in told.files[path] for path in told.files if "delivery/b" in path)


def test_objects_that_swap_their_names_are_delivered() -> None:
    """Each is one object all the same."""
    told = delivered(deployment("web"), deployment("other"))

    told.put(renaming("o", "other", "web", ["b"]), renaming("w", "web", "other", ["b"]))
    told.run()

    assert [] == same_object_faults(told)
    assert "  name: other\n" in told.files[f"delivery/b/{WEB}"]


def fleet_with(tmp_path: Path, delivery: Body, *more: Body) -> Checkout:
    """A fleet in a repository."""
    bodies = (cluster("a"), cluster("b"), cluster_policy(), deployment(), *more)
    files = {path_of(body): text(body) for body in (*bodies, configuration(delivery=delivery))}
    return new_checkout(tmp_path / "fleet", files)


def a_file(fleet: Checkout, path: str) -> None:
    """Put a plain file at a path."""
    fleet.commit({path: "mine\n"})


def a_link(fleet: Checkout, path: str) -> None:
    """Put a symbolic link at a path."""
    place = fleet.folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to("/tmp")  # noqa: S108  # nobody follows it
    fleet.git("add", path)
    fleet.git("commit", "--quiet", "--message=Link")


@pytest.mark.parametrize("put", [a_file, a_link])
@pytest.mark.parametrize("path", ["delivery", "delivery/a", f"delivery/a/{WEB.rpartition('/')[0]}"])
def test_what_is_in_the_way_holds_its_transport_only(
    tmp_path: Path, put: Callable[[Checkout, str], None], path: str
) -> None:
    """Decisions are made, the other transport delivers; once it is moved away, all is there."""
    fleet = fleet_with(tmp_path, BOTH)
    put(fleet, path)

    told = reconciler(fleet.folder, "reconcile", "--now", "2026-11-20T12:00:00Z")

    assert 1 == told.code
    assert f"{path}: nothing is delivered as folders" in told.stderr
    assert 1 == len(decisions(load_world(fleet.folder)))
    assert (fleet.folder / "decisions").is_dir()
    assert (fleet.folder / path).read_text() == "mine\n" if put is a_file else True
    assert run_pass(fleet.folder, 5).commit is None

    fleet.git("rm", "--quiet", path)
    fleet.git("commit", "--quiet", "--message=Move it away")
    done = run_pass(fleet.folder, 10)

    assert () == done.outcome.faults
    assert (fleet.folder / f"delivery/a/{WEB}").is_file()
    assert 0 == reconciler(fleet.folder, "verify", "HEAD").code


def test_what_comes_into_the_way_later_deletes_nothing(tmp_path: Path) -> None:
    """A folder of a cluster that a person replaced by a file: the others keep their files."""
    fleet = fleet_with(tmp_path, FOLDERS)
    run_pass(fleet.folder, 0)
    fleet.git("rm", "-r", "--quiet", "delivery/a")
    a_file(fleet, "delivery/a")

    held = run_pass(fleet.folder, 5)

    assert ["delivery-path"] == [fault.rule for fault in held.outcome.faults]
    assert (fleet.folder / f"delivery/b/{WEB}").is_file()
    assert "delivery/{cluster}" in (fleet.folder / "status/delivery.yaml").read_text()

    fleet.git("rm", "--quiet", "delivery/a")
    fleet.git("commit", "--quiet", "--message=Move it away")
    run_pass(fleet.folder, 10)

    assert (fleet.folder / f"delivery/a/{WEB}").is_file()


def test_notes_of_a_person_are_not_in_the_way(tmp_path: Path) -> None:
    """A README beside delivered files is nobody's business."""
    fleet = fleet_with(tmp_path, FOLDERS)
    fleet.commit({"delivery/README.md": "Do not edit.\n", "delivery/a/notes.txt": "mine\n"})

    assert () == run_pass(fleet.folder, 0).outcome.faults
    assert (fleet.folder / f"delivery/a/{WEB}").is_file()


def test_a_file_in_the_way_on_another_branch_holds_that_delivery(tmp_path: Path) -> None:
    """The decision is committed; the branch follows once the way is free."""
    fleet = fleet_with(tmp_path, {"folders": {"branch": "fleet"}})
    fleet.git("checkout", "--quiet", "--orphan", "fleet")
    fleet.git("rm", "-r", "--quiet", "--force", ".")
    fleet.commit({"delivery": "mine\n"})
    fleet.git("checkout", "--quiet", "main")

    told = reconciler(fleet.folder, "reconcile", "--now", "2026-11-20T12:00:00Z")

    assert 1 == len(decisions(load_world(fleet.folder)))
    assert "nothing is delivered as folders" in told.stderr
    assert "mine" == git(fleet.folder, "show", "fleet:delivery")
