"""What manifests say of one another: what is warned of, what is not, and at what cost."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.work_counters import counted
from reconciler.audit.findings import Finding
from reconciler.audit.references import check_references
from reconciler.cli.validate import check
from reconciler.core.dialects import DIALECTS, READ
from reconciler.dialects.karmada.api.policy import (
    closeness,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.dialects.karmada.detector.detect import ClaimMemory, claim_workloads
from reconciler.dialects.karmada.detector.propagation import DetectorOptions
from reconciler.manifests.selectors import LabelIndex
from reconciler.model.identity import RepositoryLayout
from reconciler.model.labels import matches
from reconciler.model.world import World
from reconciler.shell.reading.checked import FolderSource
from reconciler.shell.resources import load_schemas
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    deployment,
    manifest,
    policies_among,
    policy,
    selector,
    text,
)
from tests.shell.fleet import EXAMPLE
from tests.stories import story, world

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
FOUND = REBALANCER.replace("name: gone\n    n", "name: shop\n    n")
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
                "rebalancers/gone.yaml": REBALANCER.replace(
                    "name: gone\n    n", "name: shop\n    n"
                )
                + "  leaving: [member9]\n  limits: {makeBeforeBreak: {}}\n"
            },
            ["rebalancers/gone.yaml:11 rebalancer-target-unknown"],
            id="cluster-that-is-left",
        ),
        pytest.param(
            {
                "rebalancers/gone.yaml": REBALANCER.replace(
                    "name: gone\n    n", "name: shop\n    n"
                )
                + "  reschedule: {preserveAvailableReplicas: true}\n"
            },
            ["rebalancers/gone.yaml:11 rebalancer-preserves"],
            id="what-runs-while-that-is-off",
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
        pytest.param(
            edited(
                "workloads/shop.yaml",
                (
                    "  name: shop\n  l",
                    '  name: shop\n  annotations: {reconciler.dev/restore: ""}\n  l',
                ),
            ),
            ["workloads/shop.yaml:5 restore-in-vain"],
            id="a-restoration-as-of-no-commit",
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


def told_of_kind(
    folder: Path, group: str, kind: str, version: str = "v1alpha1"
) -> list[tuple[str, ...]]:
    """Severity, pointer and rule of what is said of a kind."""
    body = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "a"}}
    found = found_in(folder, text(body))
    return [(str(one.severity), one.fault.field, one.fault.rule) for one in found]


@pytest.mark.parametrize(("group", "kind"), [one for one in UNREAD if not is_judged(*one)])
def test_a_kind_of_upstream_that_is_not_read_is_a_warning(
    tmp_path: Path, group: str, kind: str
) -> None:
    """Nothing else: as content it may be meant."""
    assert [("warning", "/kind", "kind-not-read")] == told_of_kind(tmp_path, group, kind)


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
    assert [] == told_of_kind(tmp_path, group, kind)


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
    assert [("warning", "/kind", "kind-not-read")] == told_of_kind(tmp_path, group, "Novelty")


@pytest.mark.parametrize(
    "group", ["example.org", "cluster.x-k8s.io", "notkarmada.io", "karmada.io.example.org"]
)
def test_other_groups_are_other_peoples(tmp_path: Path, group: str) -> None:
    """Their kinds are workloads; a domain ends at a dot."""
    assert [] == told_of_kind(tmp_path, group, "Cluster")


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
    assert [("warning", pointer, "identity-kind-unknown")] == told_of_kind(tmp_path, group, kind)


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
    found = told_of_kind(tmp_path, "policy.karmada.io", "PropagationPolicySet")

    assert [("warning", "/kind", "kind-not-read")] == found


def test_a_version_that_is_not_read_is_an_error(tmp_path: Path) -> None:
    """Of a kind that is read, nothing else is said."""
    found = told_of_kind(tmp_path, "policy.karmada.io", "PropagationPolicy", "v2")

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


FEW, MANY = 20, 200
SELECTED = 5  # workloads of a policy


def labelled(policies: int, *, wide: bool = False, scattered: bool = False) -> World:
    """Policies that each select some workloads by a label, beside one that all of these have.

    Args:
        policies: How many.
        wide: Whether they are ClusterPropagationPolicies.
        scattered: Whether each policy, with its workloads, is in a namespace of its own.
    """
    bodies: list[Body] = []
    for number in range(policies):
        namespace, app = f"n{number}" if scattered else "default", f"a{number}"
        labels = {
            "matchLabels": {"managed": "yes"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": [app]}],
        }
        selectors = [selector() if scattered else selector(labelSelector=labels)]
        of = partial(cluster_policy if wide else partial(policy, namespace=namespace), f"p{number}")
        bodies.append(of(selectors=selectors))
        bodies += (
            deployment(f"{app}-{copy}", namespace=namespace, labels={"app": app, "managed": "yes"})
            for copy in range(SELECTED)
        )
    return world(*bodies)


def claim_all(found: World) -> None:
    """Claim all workloads of a world for the first time."""
    claims = claim_workloads(found, ClaimMemory(), DetectorOptions())
    drafted = {draft.policy.key for draft in claims.drafts.values() if draft.policy is not None}
    assert len(claims.drafts) == SELECTED * len(drafted)


def check_all(found: World) -> None:
    """Look for references that lead nowhere; all lead somewhere."""
    assert not check_references(found, {})


def compared(calls: Counter[CodeType]) -> int:
    """How often a selector was held against a workload, or asked the index of workloads."""
    asked = (closeness, matches, LabelIndex.selected)
    return sum(calls[one.__code__] for one in asked)


@pytest.mark.parametrize("ask", [claim_all, check_all])
@pytest.mark.parametrize(
    "fleet", [{}, {"wide": True}, {"scattered": True}], ids=["own", "wide", "scattered"]
)
def test_policies_by_label_are_held_against_what_they_select(
    ask: Callable[[World], None], fleet: dict[str, bool]
) -> None:
    """Ten times the policies and workloads are ten times the comparisons."""
    told = []
    for policies in (FEW, MANY):
        found = labelled(policies, **fleet)
        with counted() as calls:
            ask(found)
        told.append(compared(calls))

    assert 0 < told[1] <= told[0] * MANY / FEW
    assert told[1] <= 6 * SELECTED * MANY


APPS = st.sampled_from(["web", "api"])
SELECTORS = st.builds(
    selector,
    st.sampled_from(["Deployment", "ConfigMap"]),
    name=st.sampled_from(["", "", "web"]),
    namespace=st.sampled_from(["", "default", "other"]),
    labelSelector=st.none()
    | st.builds(lambda app: {"matchLabels": {"app": app}}, APPS)
    | st.builds(
        lambda app, operator: {
            "matchExpressions": [{"key": "app", "operator": operator, "values": [app]}]
        },
        APPS,
        st.sampled_from(["In", "NotIn"]),
    ),
)
POLICIES = st.builds(
    policy,
    st.sampled_from("abcd"),
    namespace=st.sampled_from(["", "default", "other"]),
    selectors=st.lists(SELECTORS, min_size=1, max_size=3),
    priority=st.integers(0, 1),
)


@given(st.lists(POLICIES, max_size=6), APPS, st.sampled_from(["default", "other"]))
def test_the_index_elects_whom_trying_all_elects(
    policies: Sequence[Body], app: str, namespace: str
) -> None:
    """The namespace's own first, then by priority, closeness and name."""
    manifests = {found.key: found for found in map(manifest, policies)}
    template = template_of(manifest(deployment("web", namespace=namespace, labels={"app": app})))
    tried = (decode_policy(found, manifests) for found in manifests.values())
    ranked = [
        (not one.key.namespace, -one.priority, -implicit_priority(one, template), one.key.name)
        for one in tried
        if one.key.namespace in {"", namespace} and implicit_priority(one, template)
    ]

    claimed = policies_among(manifests.values()).claim(template, None)

    assert (min(ranked)[-1] if ranked else None) == (claimed and claimed.key.name)
