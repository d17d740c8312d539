"""What cannot be delivered holds a transport or a cluster; everything else goes on."""

from collections.abc import Callable
from pathlib import Path

import pytest

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
from tests.delivery.test_folders import FOLDERS, WEB, below, delivered
from tests.shell.fleet import decisions, load_world, reconciler, run_pass
from tests.shell.repositories import Checkout, git, new_checkout
from tests.stories import Story

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
