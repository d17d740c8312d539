"""What is delivered, held against what upstream's CRDs say of it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.moments import parse_moment
from tests.builders import NOW, cluster, configuration, deployment, policy, text
from tests.crds.facts import KindVersion
from tests.crds.object_facts import metadata_refusals, refusals
from tests.crds.tables import read_tables
from tests.delivery.story import DeliveryStory
from tests.delivery.test_story import STORIES
from tests.dialects.kubefleet.fleet import member, placement
from tests.dialects.ocm.sets import replica_set
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as managed
from tests.dialects.ocm.worlds import placement as ocm_placement
from tests.golden import case_of, files_in, steps, stories
from tests.shell.fleet import EXAMPLE
from tests.stories import Story

FACTS = read_tables().fields
ALL: Body = {
    "folders": {},
    "decisions": {},
    "manifestworks": {},
    "works": {"hubsWithoutControllers": True},
}
WORK = KindVersion("work.karmada.io", "v1alpha1", "Work")
MANIFEST_WORK = KindVersion("work.open-cluster-management.io", "v1", "ManifestWork")
FLEET_WORK = KindVersion("placement.kubernetes-fleet.io", "v1beta1", "Work")


def with_delivery(files: Mapping[str, str]) -> dict[str, str]:
    """Files whose configuration delivers by all transports, and is otherwise as it was."""
    options: dict[str, object] = {}
    if "reconciler.yaml" in files:
        data = files["reconciler.yaml"].encode()
        options = dict(cast(Body, read(data, "reconciler.yaml").documents[0].body["spec"]))
    return {**files, "reconciler.yaml": text(configuration(**{**options, "delivery": ALL}))}


def golden(folder: Path) -> Iterator[Story]:
    """A golden story after each of its passes, each begun anew."""
    for step in steps(folder):
        told = Story(with_delivery(files_in(step / "before")))
        told.now = parse_moment(str(case_of(step)["now"]))
        told.run(int((told.now - NOW).total_seconds()))
        yield told


def walked(story: DeliveryStory) -> Iterator[Story]:
    """A story of delivery after each of its steps."""
    told = Story(with_delivery(story.files))
    for step in story.steps:
        told.files |= with_delivery({**told.files, **step.files})
        told.run(step.seconds)
        yield told


def example() -> Iterator[Story]:
    """The example after a pass."""
    files = {path: one for path, one in EXAMPLE.items() if path.endswith(".yaml")}
    told = Story(with_delivery({path: one for path, one in files.items() if path[0] != "."}))
    told.run(0)
    yield told


def options() -> Iterator[Story]:
    """What placements say of how their content is applied goes into what carries it."""
    apply: Body = {"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}}
    strategy: Body = {"type": "RollingUpdate", "applyStrategy": apply}
    kept = policy(preserveResourcesOnDeletion=True, conflictResolution="Overwrite")
    told = Story(with_delivery({})).put(cluster("a"), kept, deployment(), member("b"))
    told.put(placement(strategy=strategy), cluster_set(), binding(), ocm_placement())
    told.put(managed("c"), tuned_set()).run(0)
    yield told


def tuned_set() -> Body:
    """A set whose template has all that a ManifestWork may say beside manifests."""
    found = replica_set()
    spec = cast(Body, found["spec"])
    named = {"group": "", "resource": "configmaps", "name": "settings", "namespace": "shop"}
    path: Body = {"name": "v", "path": ".data.v"}
    template: Body = {
        **cast(Body, spec["manifestWorkTemplate"]),
        "deleteOption": {"propagationPolicy": "Orphan"},
        "manifestConfigs": [
            {
                "resourceIdentifier": named,
                "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [path]}],
                "updateStrategy": {"type": "CreateOnly"},
            }
        ],
    }
    return {**found, "spec": {**spec, "manifestWorkTemplate": template}}


CONTENTS = [one for one in stories() if one.parent.name != "ocm"]  # OCM's decide, and bring nothing
TOLD: Mapping[str, Callable[[], Iterator[Story]]] = {
    **{f"{one.parent.name}-{one.name}": partial(golden, one) for one in CONTENTS},
    "options": options,
    **{name: partial(walked, one) for name, one in STORIES.items()},
    "example": example,
}


def delivered(told: Story) -> Iterator[tuple[str, Body]]:
    """Each object in the files of clusters, with its path."""
    for path, data in told.files.items():
        if path.startswith(("delivery/", "manifestworks/", "works/")) and path.endswith(".yaml"):
            for document in read(data.encode(), path).documents:
                if document.body["kind"] != "Kustomization":
                    yield path, document.body


def kind_of(body: Body) -> KindVersion:
    """The kind of an object, in its version."""
    group, _, version = str(body["apiVersion"]).rpartition("/")
    return KindVersion(group, version, str(body["kind"]))


def wrong(body: Body) -> list[str]:
    """What an API server would refuse of an object, and of all that a Work carries."""
    fields = FACTS.get(kind_of(body))
    return [*(metadata_refusals(body) if fields is None else refusals(body, fields))]


@pytest.mark.parametrize("name", TOLD)
def test_every_object_that_is_delivered_is_one_of_its_crd(name: str) -> None:
    """Those that carry manifests, and the manifests themselves."""
    found = {path: wrong(body) for told in TOLD[name]() for path, body in delivered(told)}

    assert {} == {path: told for path, told in found.items() if told}


def test_works_of_all_three_apis_are_held_against_facts() -> None:
    """Each occurs in a story, and its facts are kept."""
    found = {
        kind_of(body) for name in STORIES for told in TOLD[name]() for _, body in delivered(told)
    }

    assert {WORK, MANIFEST_WORK, FLEET_WORK} <= found & FACTS.keys()
