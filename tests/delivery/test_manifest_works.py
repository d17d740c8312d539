"""Sets of ManifestWorks delivered: as folders of manifests, and as the ManifestWorks themselves."""

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import WORKS
from reconciler.manifests.text.reader import read
from tests.builders import Body, configuration
from tests.dialects.ocm.sets import (
    SHOP,
    fleet,
    progressive,
    replica_set,
    settings_map,
    succeed,
    templates,
)
from tests.dialects.ocm.worlds import placement
from tests.stories import Story

SETTINGS = "shop/configmaps/settings.yaml"


def delivered(delivery: Body, *bodies: Body) -> Story:
    """Two clusters, a set that goes to both, and delivery; nothing is assumed."""
    options = configuration(delivery=delivery, feedback={"assumeAfterSeconds": None})
    told = fleet("a", "b").put(options, *(bodies or (replica_set(),)))
    told.run(0)
    return told


def below(told: Story, root: str) -> list[str]:
    """The files below a folder but for kustomization.yaml, sorted."""
    found = (path.removeprefix(f"{root}/") for path in told.files if path.startswith(f"{root}/"))
    return sorted(path for path in found if not path.endswith("kustomization.yaml"))


def value(told: Story, path: str) -> object:
    """What a delivered ConfigMap holds."""
    data = read(told.files[path].encode(), path).documents[0].body["data"]
    assert isinstance(data, dict)
    return data["v"]


def works(told: Story) -> list[Body]:
    """The ManifestWorks that are delivered, by path."""
    paths = [path for path in sorted(told.files) if path.startswith("manifestworks/")]
    return [read(told.files[path].encode(), path).documents[0].body for path in paths]


def test_folders_hold_the_manifests_of_a_set() -> None:
    """A folder a cluster, with what its template says."""
    told = delivered({"folders": {}})

    assert [f"a/{SETTINGS}", f"b/{SETTINGS}"] == below(told, "delivery")


def test_a_manifest_work_is_its_own_carrier() -> None:
    """In the namespace of its cluster, with upstream's labels."""
    told = delivered({"manifestworks": {}})
    metadata = works(told)[0]["metadata"]
    assert isinstance(metadata, dict)

    assert "a" == metadata["namespace"]
    assert {
        "team": "web",
        f"{WORKS}/manifestworkreplicaset": "ns1.shop",
        f"{WORKS}/placementname": "p",
    } == metadata["labels"]


def test_a_manifest_work_holds_the_template() -> None:
    """With all that the template says beside the manifests."""
    told = delivered({"manifestworks": {}})

    assert {"workload": {"manifests": [settings_map()]}} == works(told)[0]["spec"]


def test_names_of_manifest_works_are_stable() -> None:
    """A new template is written over the old one."""
    told = delivered({"manifestworks": {}})
    before = below(told, "manifestworks")
    told.put(replica_set(settings_map("2"))).run()

    assert before == below(told, "manifestworks")


def test_a_cluster_before_its_turn_keeps_what_is_there() -> None:
    """The folder of the next one holds the old template."""
    told = delivered({"folders": {}})
    told.put(replica_set(settings_map("2"), strategy=progressive())).run()

    assert ("2", "1") == tuple(value(told, f"delivery/{name}/{SETTINGS}") for name in "ab")


def test_an_object_that_a_template_lost_stays_until_the_turn_comes() -> None:
    """Then it goes."""
    told = delivered({"folders": {}}, replica_set(settings_map(), settings_map(name="old")))
    told.put(replica_set(strategy=progressive())).run()
    old = "shop/configmaps/old.yaml"
    early = [path for path in below(told, "delivery") if path.endswith(old)]
    succeed(told, "a").run()

    assert [f"b/{old}"] == early
    assert not any(path.endswith(old) for path in below(told, "delivery"))


def test_a_moved_decision_moves_what_is_delivered() -> None:
    """Its files go with the cluster."""
    told = delivered({"manifestworks": {}})
    told.put(placement(numberOfClusters=1)).run()

    assert 1 == len(templates(told)) == len(works(told))


def test_a_set_that_stays_leaves_every_file_alone() -> None:
    """Bytes are stable."""
    told = delivered({"folders": {}, "manifestworks": {}})

    assert ((), ()) == ((outcome := told.run()).changes, outcome.delivered)


def test_a_removal_that_is_held_back_keeps_what_is_delivered() -> None:
    """Twelve sets of twelve are more than the limit."""
    told = delivered({"folders": {}}, *(_numbered(number) for number in range(12)))
    before = below(told, "delivery")
    rules = {one.rule for one in told.drop(*map(_numbered, range(12))).run().faults}

    assert "removal-braked" in rules
    assert before == below(told, "delivery")


def _numbered(number: int) -> Body:
    """A set with a ConfigMap of its own."""
    body = replica_set(settings_map(name=f"settings-{number}"))
    return {**body, "metadata": {"name": f"shop-{number}", "namespace": "ns1"}}


def test_a_cluster_in_two_placements_of_a_set_is_shown_once() -> None:
    """It has a work for each, as upstream has it, and the pass says what that means."""
    told = fleet("a").put(placement(name="q"), replica_set(placements=("p", "q")))
    outcome = told.put(configuration(delivery={"folders": {}})).run(0)
    copies = CopiesOf(told.world(), told.now)(SHOP)

    assert ["a"] == [one.status.cluster for one in copies]
    assert 1 == len([one for one in outcome.warnings if "by several of its placements (p" in one])
