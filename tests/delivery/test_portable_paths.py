"""Delivered files whose names a disk may fold, or refuse: they move in one commit, and never go."""

from reconciler.manifests.paths import portable_stem
from tests.builders import cluster, cluster_policy, configuration, metadata, selector
from tests.stories import Story, story

RBAC = "rbac.authorization.k8s.io"
ROLES = f"delivery/a/_cluster/clusterroles.{RBAC}"
NAMES = [f"system:{number}" for number in range(12)]


def delivered() -> Story:
    """A dozen ClusterRoles in the folder of a cluster."""
    told = story(
        configuration(delivery={"folders": {}}),
        cluster("a"),
        cluster_policy(selectors=[selector("ClusterRole")]),
    )
    for name in NAMES:
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata(name)}
        told.put({**role, "rules": []}, path=f"roles/{portable_stem(name)}.yaml")
    told.run(0)
    return told


def test_no_delivered_file_has_a_colon() -> None:
    """Such as Windows refuses, and no checkout there can have."""
    told = delivered()

    assert not any(":" in path for path in told.files)
    assert {f"{ROLES}/{portable_stem(name)}.yaml" for name in NAMES} < told.files.keys()


def test_what_earlier_versions_delivered_moves_in_one_pass() -> None:
    """However many there are, no limit on removals holds some of them back at both places."""
    told = delivered()
    wanted = dict(told.files)
    for path in [one for one in told.files if one.startswith("delivery/")]:
        content, place = told.files.pop(path), path
        for name in NAMES:
            content = content.replace(f"{portable_stem(name)}.yaml", f"{name}.yaml")
            place = place.replace(f"{portable_stem(name)}.yaml", f"{name}.yaml")
        told.files[place] = content
    assert f"{ROLES}/system:3.yaml" in told.files
    outcome = told.run(60)

    assert () == outcome.faults
    expected = {one: text for one, text in wanted.items() if one.startswith("delivery/")}
    assert expected == {one: told.files[one] for one in told.files if one.startswith("delivery/")}
