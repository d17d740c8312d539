"""What manifests say of one another: what is told, and above all what is not."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from reconciler.cli.validate import check
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.reading.checked import FolderSource
from tests.shell.fleet import EXAMPLE

REBALANCER = """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: gone
spec:
  workloads:
  - apiVersion: apps/v1
    kind: Deployment
    name: gone
    namespace: default
"""
DONE = """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: gone
status:
  observedWorkloads:
  - workload:
      apiVersion: apps/v1
      kind: Deployment
      name: gone
      namespace: default
    result: Successful
"""
VIEWER = """\
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata:
  name: viewer
spec:
  resourceSelectors:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    name: view
  - apiVersion: v1
    kind: ConfigMap
    name: kube-root-ca.crt
    namespace: shop
  placement: {}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata:
  name: viewer
spec:
  resourceSelectors:
  - group: rbac.authorization.k8s.io
    version: v1
    kind: ClusterRole
    name: view
"""
QUOTA = """\
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata:
  name: shop
spec:
  overall:
    cpu: "8"
  staticAssignments:
  - clusterName: member1
    hard:
      cpu: "4"
  # no such cluster
  - clusterName: membr2
    hard:
      cpu: "4"
"""


def told(
    folder: Path,
    files: Mapping[str, str],
    paths: Sequence[str] = (),
    *,
    references: bool | None = None,
) -> list[str]:
    """What is found in the example with other files on top, as path, line and rule."""
    for path, content in {**EXAMPLE, **files}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    asked = [Path(path) for path in paths]
    checked = check(
        FolderSource(folder, RepositoryLayout()), asked, references=references, forced=True
    )
    faults = [finding.fault for finding in checked.findings]
    return [f"{fault.path}:{fault.line} {fault.rule}" for fault in faults]


def edited(path: str, *pairs: tuple[str, str]) -> dict[str, str]:
    """One file of the example, with some texts replaced."""
    text = EXAMPLE[path]
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return {path: text}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, [], id="example"),
        pytest.param(
            edited("policies/shop.yaml", ("- member1", "- membr1")),
            ["policies/shop.yaml:16 policy-cluster-unknown"],
            id="affinity-group",
        ),
        pytest.param(
            edited("policies/frontend.yaml", ("- member2", "- membr2")),
            ["policies/frontend.yaml:30 policy-cluster-unknown"],
            id="static-weight",
        ),
        pytest.param(
            {"policies/quota.yaml": QUOTA},
            ["policies/quota.yaml:13 policy-cluster-unknown"],
            id="static-assignment",
        ),
        pytest.param(
            edited("policies/shop.yaml", ("kind: PropagationPolicy", "kind: PropagationPolcy")),
            ["policies/shop.yaml:4 identity-kind-unknown"],
            id="kind",
        ),
        pytest.param(
            edited("policies/shop.yaml", ("kind: PropagationPolicy", "kind: FederatedHPA")),
            ["policies/shop.yaml:4 kind-not-read"],
            id="kind-of-upstream-alone",
        ),
        pytest.param(
            edited("policies/shop.yaml", ("    name: shop", "    name: shpo")),
            ["policies/shop.yaml:8 policy-selects-nothing"],
            id="selector",
        ),
        pytest.param(
            edited("policies/shop.yaml", ("    kind: Deployment\n", "")),
            ["policies/shop.yaml:9 policy-selects-nothing"],
            id="selector-without-kind",
        ),
        pytest.param(
            edited(
                "policies/shop.yaml", ("  name: shop\nspec", "  name: shop\n  namespace: b\nspec")
            ),
            ["policies/shop.yaml:9 policy-selects-nothing"],
            id="policy-of-another-namespace",
        ),
        pytest.param(
            edited(
                "clusters/edge.yaml", ("    cluster.open-cluster-management.io/clusterset", "    x")
            ),
            ["clusters/edge.yaml:24 set-selects-nothing"],
            id="empty-set",
        ),
        pytest.param(
            edited("clusters/edge.yaml", ("  namespace: default", "  namespace: other")),
            ["placements/reports.yaml:4 placement-set-missing"],
            id="nothing-bound",
        ),
        pytest.param(
            edited("scores/edge1.yaml", ("namespace: edge1", "namespace: edge3")),
            ["scores/edge1.yaml:6 score-cluster-unknown"],
            id="score",
        ),
        pytest.param(
            edited("placements/tools.yaml", ("name: tools\n  policy", "name: tolos\n  policy")),
            ["placements/tools.yaml:7 placement-selects-nothing"],
            id="placement",
        ),
        pytest.param({"placements/viewer.yaml": VIEWER}, [], id="what-every-cluster-has"),
        pytest.param(
            {"placements/viewer.yaml": VIEWER.replace("name: view\n", "name: viewer-of-ours\n")},
            [
                "placements/viewer.yaml:9 policy-selects-nothing",
                "placements/viewer.yaml:21 placement-selects-nothing",
            ],
            id="what-no-cluster-has",
        ),
        pytest.param(
            {"rebalancers/gone.yaml": REBALANCER},
            ["rebalancers/gone.yaml:9 rebalancer-target-unknown"],
            id="rebalancer",
        ),
        pytest.param(
            {
                "rebalancers/gone.yaml": REBALANCER,
                "status/workloadrebalancers.apps.karmada.io/gone.yaml": DONE,
            },
            [],
            id="finished-rebalancer",
        ),
        pytest.param(
            {
                "rebalancers/a.yaml": REBALANCER.replace("apps/v1", "example.org/v2")
                .replace("Deployment", "ClusterRole")
                .replace("    namespace: default\n", ""),
                "workloads/gone.yaml": "apiVersion: rbac.authorization.k8s.io/v1\n"
                "kind: ClusterRole\nmetadata: {name: gone}\n",
            },
            [],
            id="the-version-of-a-target-does-not-count",
        ),
    ],
)
def test_what_leads_nowhere_is_told(
    tmp_path: Path, files: Mapping[str, str], expected: list[str]
) -> None:
    """Each with its place in the file, and nothing else of the example."""
    assert expected == told(tmp_path, files)


@pytest.mark.parametrize(
    ("path", "pair", "expected"),
    [
        pytest.param(
            "clusters/member1.yaml",
            ("kind: Cluster\n", "kind: Cluster\ntypo: 1\n"),
            ["clusters/member1.yaml:3 schema-unknown-field"],
            id="cluster",
        ),
        pytest.param(
            "clusters/edge.yaml",
            ("  clusterSet: edge", "  clusterSet: other"),
            ["clusters/edge.yaml:33 set-binding-name"],
            id="set-binding",
        ),
    ],
)
def test_a_faulty_object_is_told_once(
    tmp_path: Path, path: str, pair: tuple[str, str], expected: list[str]
) -> None:
    """It is there, if faulty; those who name it are not told of it as well."""
    found = told(tmp_path, edited(path, pair))

    assert [line.partition(":")[0] for line in expected] == [f.partition(":")[0] for f in found]
    assert [line.partition(" ")[2] for line in expected] == [f.partition(" ")[2] for f in found]


def test_nothing_is_said_of_references_while_a_document_cannot_be_read(tmp_path: Path) -> None:
    """What it holds may be what the others name."""
    files = {
        **edited("policies/shop.yaml", ("- member1", "- membr1")),
        "a.yaml": "apiVersion: v1\n]",
    }

    assert ["a.yaml:2 yaml-syntax"] == told(tmp_path, files)


def test_single_files_are_checked_by_themselves_unless_asked_otherwise(tmp_path: Path) -> None:
    """With `references` the rest of the folder is read, and only the files named are told of."""
    wrong = edited("policies/shop.yaml", ("- member1", "- membr1"))
    wrong |= edited("policies/frontend.yaml", ("- member2", "- membr2"))
    expected = ["policies/shop.yaml:16 policy-cluster-unknown"]

    assert [] == told(tmp_path, wrong, ["policies/shop.yaml"])
    assert expected == told(tmp_path, wrong, ["policies/shop.yaml"], references=True)
    assert [] == told(tmp_path, wrong, references=False)
    assert 2 == len(told(tmp_path, wrong, ["."]))


REPORT = EXAMPLE["workloads/shop.yaml"] + "status:\n  readyReplicas: 1\n"


@pytest.mark.parametrize(
    ("clusters", "found"),
    [
        pytest.param(["member1", "backup1"], [], id="karmada"),
        pytest.param(["edge1", "fleet1"], [], id="other-apis"),
        pytest.param(["membr1"], ["feedback/membr1/a.yaml:1"], id="misspelt"),
        pytest.param(["gone", "x"], ["feedback/gone/a.yaml:1", "feedback/x/a.yaml:1"], id="two"),
    ],
)
def test_reports_of_a_cluster_that_is_not_there_are_told_once(
    tmp_path: Path, clusters: Sequence[str], found: Sequence[str]
) -> None:
    """At the first document of its folder, however many there are, whatever kind a cluster has."""
    files = {f"feedback/{name}/{part}.yaml": REPORT for name in clusters for part in "ab"}
    files = {path: text.replace("name: shop", f"name: {path[-6]}") for path, text in files.items()}

    assert [f"{place} feedback-cluster-unknown" for place in found] == told(tmp_path, files)


def test_a_faulty_cluster_may_report(tmp_path: Path) -> None:
    """It is told of as such."""
    wrong = edited("clusters/member1.yaml", ("kind: Cluster\n", "kind: Cluster\ntypo: 1\n"))

    assert ["clusters/member1.yaml:4 schema-unknown-field"] == told(
        tmp_path, {**wrong, "feedback/member1/a.yaml": REPORT}
    )
