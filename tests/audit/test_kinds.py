"""Kinds of the APIs that control nothing here: which are warned of, and which are not."""

import json
from pathlib import Path

import pytest

from reconciler.audit.findings import Finding
from reconciler.cli.validate import check
from reconciler.core.dialects import DIALECTS, READ
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.reading.checked import FolderSource
from reconciler.shell.resources import load_schemas
from tests.builders import cluster, policy, text
from tests.shell.fleet import EXAMPLE
from tests.stories import story

SHOP = EXAMPLE["policies/shop.yaml"]
UPSTREAM = [
    (group, kind)
    for dialect in DIALECTS
    for group, kinds in dialect.crds().items()
    for kind in kinds
]
CONTENT = {
    ("config.karmada.io", "ResourceInterpreterCustomization"),  # its own rule tells of it
    ("multicluster.x-k8s.io", "ServiceExport"),
    ("multicluster.x-k8s.io", "ServiceImport"),
    ("placement.kubernetes-fleet.io", "ClusterResourceEnvelope"),
    ("placement.kubernetes-fleet.io", "ResourceEnvelope"),
}
WORKS = {
    ("work.karmada.io", "Work"): "v1alpha1",
    ("placement.kubernetes-fleet.io", "Work"): "v1beta1",
}
JUDGED: dict[str, dict[str, object]] = {
    "ClusterOverridePolicy": {},
    "ClusterResourcePlacementDisruptionBudget": {},
    "ClusterResourcePlacementEviction": {"placementName": "a", "clusterName": "b"},
    "ManifestWork": {"workload": {"manifests": [{"kind": "Pod", "metadata": {"name": "a"}}]}},
    "OverridePolicy": {},
}
"""A spec of each kind that is held against its schema and its webhooks, and controls nothing."""
UNREAD = sorted(set(UPSTREAM) - READ - CONTENT)


def is_judged(group: str, kind: str) -> bool:
    """Whether there is a schema of a kind."""
    return load_schemas().versions_of(group, kind) != ()


def found_in(folder: Path, document: str) -> list[Finding]:
    """What is said of one document that is checked by itself."""
    (folder / "a.yaml").write_text(document)
    asked = [Path("a.yaml")]
    source = FolderSource(folder, RepositoryLayout())
    return list(check(source, asked, references=None, forced=True).findings)


def told(folder: Path, group: str, kind: str, version: str = "v1alpha1") -> list[tuple[str, ...]]:
    """Severity, pointer and rule of what is said of a kind."""
    body = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "a"}}
    found = found_in(folder, text(body))
    return [(str(one.severity), one.fault.field, one.fault.rule) for one in found]


@pytest.mark.parametrize(("group", "kind"), [one for one in UNREAD if not is_judged(*one)])
def test_a_kind_of_upstream_that_is_not_read_is_a_warning(
    tmp_path: Path, group: str, kind: str
) -> None:
    """Nothing else: as content it may be meant."""
    assert [("warning", "/kind", "kind-not-read")] == told(tmp_path, group, kind)


@pytest.mark.parametrize(
    ("group", "kind"), [one for one in UNREAD if is_judged(*one) and one not in WORKS]
)
def test_a_kind_that_is_not_read_is_judged_in_each_version(
    tmp_path: Path, group: str, kind: str
) -> None:
    """What is right is a warning, and what upstream's CRD refuses is an error."""
    for version in load_schemas().versions_of(group, kind):
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
        right = found_in(tmp_path, text({**body, "spec": JUDGED[kind]}))
        wrong = found_in(tmp_path, text({**body, "spec": {"what": 1}}))

        assert ["kind-not-read"] == [one.fault.rule for one in right]
        assert "schema-unknown-field" in [one.fault.rule for one in wrong]


@pytest.mark.parametrize(("kind", "version"), WORKS.items())
def test_a_work_is_held_against_its_schema_and_controls_nothing(
    tmp_path: Path, kind: tuple[str, str], version: str
) -> None:
    """Upstream's controllers write it; here it decides nothing."""
    body = {
        "apiVersion": f"{kind[0]}/{version}",
        "kind": "Work",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"workload": {"manifests": []}},
    }

    assert ["kind-not-read"] == [one.fault.rule for one in found_in(tmp_path, text(body))]


def test_many_kinds_of_upstream_are_not_read() -> None:
    """The list of the CRDs, and what of it is read; every one of these has a schema."""
    schemas = load_schemas()

    assert (68, 28) == (len(set(UPSTREAM)), len(UNREAD))
    assert [] == [kind for kind in READ if not schemas.versions_of(*kind)]


@pytest.mark.parametrize(("group", "kind"), sorted(CONTENT))
def test_what_is_content_by_nature_is_not_warned_of(tmp_path: Path, group: str, kind: str) -> None:
    """It controls nothing upstream either."""
    assert [] == told(tmp_path, group, kind)


@pytest.mark.parametrize(
    "group",
    [
        "new.karmada.io",
        "search.karmada.io",
        "policy.open-cluster-management.io",
        "apps.open-cluster-management.io",
        "new.kubernetes-fleet.io",
        "placement.kubefleet.dev",
    ],
)
def test_a_group_of_these_domains_is_warned_of(tmp_path: Path, group: str) -> None:
    """Also of a kind that no CRD of ours has."""
    assert [("warning", "/kind", "kind-not-read")] == told(tmp_path, group, "Novelty")


@pytest.mark.parametrize(
    "group", ["example.org", "cluster.x-k8s.io", "notkarmada.io", "karmada.io.example.org"]
)
def test_other_groups_are_other_peoples(tmp_path: Path, group: str) -> None:
    """Their kinds are workloads; a domain ends at a dot."""
    assert [] == told(tmp_path, group, "Cluster")


@pytest.mark.parametrize(
    ("group", "kind", "pointer"),
    [
        pytest.param("policy.karmada.io", "PropagationPolicyy", "/kind", id="end"),
        pytest.param("policy.karmada.io", "PropagationPolicys", "/kind", id="plural"),
        pytest.param("policy.karmada.io", "PropagationPolcy", "/kind", id="middle"),
        pytest.param("cluster.open-cluster-management.io", "Placements", "/kind", id="placements"),
        pytest.param("policy.karmada.oi", "PropagationPolicy", "/apiVersion", id="group"),
        pytest.param("polcy.karmada.io", "PropagationPolicy", "/apiVersion", id="group-of-domain"),
        pytest.param(
            "cluster.open-cluster-managment.io", "Placement", "/apiVersion", id="long-group"
        ),
        pytest.param("cluster.karmada.io", "PropagationPolicy", "/apiVersion", id="wrong-group"),
        pytest.param("apps.karmada.io", "Cluster", "/apiVersion", id="other-group"),
    ],
)
def test_a_slip_of_the_pen_is_told(tmp_path: Path, group: str, kind: str, pointer: str) -> None:
    """At the end of a kind and in a group, too."""
    assert [("warning", pointer, "identity-kind-unknown")] == told(tmp_path, group, kind)


def test_a_slip_says_what_was_meant(tmp_path: Path) -> None:
    """The kind, or the group."""
    of_kind = SHOP.replace("kind: PropagationPolicy", "kind: PropagationPolicyy")
    of_group = SHOP.replace("policy.karmada.io", "policy.karmda.io")

    assert ['did you mean "PropagationPolicy"?'] == [
        one.fault.expected for one in found_in(tmp_path, of_kind)
    ]
    assert ["did you mean policy.karmada.io?"] == [
        one.fault.expected for one in found_in(tmp_path, of_group)
    ]


def test_a_longer_kind_is_no_slip(tmp_path: Path) -> None:
    """Upstream may have made it since."""
    found = told(tmp_path, "policy.karmada.io", "PropagationPolicySet")

    assert [("warning", "/kind", "kind-not-read")] == found


def test_a_version_that_is_not_read_is_an_error(tmp_path: Path) -> None:
    """Of a kind that is read, nothing else is said."""
    found = told(tmp_path, "policy.karmada.io", "PropagationPolicy", "v2")

    assert [("error", "/apiVersion", "schema-version")] == found


def test_an_item_of_a_list_is_warned_of_at_its_place(tmp_path: Path) -> None:
    """As any other finding."""
    item = {"apiVersion": "remedy.karmada.io/v1alpha1", "kind": "Remedy", "metadata": {"name": "a"}}
    body = {"apiVersion": "v1", "kind": "List", "items": [cluster(), item]}
    (found,) = found_in(tmp_path, json.dumps(body))

    assert ("/items/1/kind", "kind-not-read") == (found.fault.field, found.fault.rule)


def test_a_kind_that_is_not_read_is_a_workload() -> None:
    """A policy may select it, and it is placed as before."""
    group, kind = "addon.open-cluster-management.io", "ManagedClusterAddOn"
    body = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": "default"},
    }
    selector = {"apiVersion": f"{group}/v1alpha1", "kind": kind}
    told = story(cluster(), policy(selectors=[selector]), body)
    outcome = told.run(0)

    assert () == outcome.faults
    assert ["a"] == list(told.placed("a-managedclusteraddon"))
