"""Identity of documents: names, paths, labels, admission, and what servers have built in."""

import re
import subprocess
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.audit.findings import finding_of
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.index import index_inputs
from reconciler.manifests.admission import admit, digest
from reconciler.manifests.identity import (
    Identity,
    Unidentified,
    identify,
    is_built_in,
    namespace_for,
    scopes_of_crds,
)
from reconciler.manifests.paths import RECORD, blob_id, matches_any, output_path, selects
from reconciler.manifests.selectors import LabelIndex
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.labels import LabelSelector, Requirement, matches
from reconciler.model.text import is_api_version, is_kind, is_label, is_loose_name, is_subdomain
from tests.builders import NOW, Body, after, cluster, deployment, policy, rebalancer
from tests.manifests.text.test_reader import faults, validated
from tests.stories import story

BAD = ("", ".", "..", "../a", "a/b", "a\n", "a\x00", "-a", "a-", "ä", "a" * 254, "a b", "~", "%2e")


@pytest.mark.parametrize("name", BAD)
def test_no_name_leaves_its_folder(name: str) -> None:
    """Neither for our kinds nor for workloads."""
    assert not is_subdomain(name)
    assert not is_loose_name(name)
    assert not is_label(name)


def test_names_by_their_rules() -> None:
    """Workloads may have upper case and colons, ours may not."""
    assert is_loose_name("system:Node_x.y")
    assert not is_subdomain("system:node")
    assert is_subdomain("a.b-c.d" + "e" * 200)
    assert (True, False) == (is_label("a" * 63), is_label("a" * 64))
    assert (True, False, False) == (is_kind("ConfigMap"), is_kind("configMap"), is_kind("A/b"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v1", True),
        ("apps/v1", True),
        ("example.org/v1beta2", True),
        ("../v1", False),
        ("a/b/v1", False),
        ("/v1", False),
        ("apps/", False),
        ("", False),
    ],
)
def test_api_versions(text: str, expected: bool) -> None:  # noqa: FBT001
    """VERSION or GROUP/VERSION."""
    assert expected == is_api_version(text)


def test_documents_of_other_projects_are_ignored() -> None:
    """Without apiVersion and kind, or of a foreign kind without metadata."""
    assert identify({"a": 1}, KINDS) is None
    assert identify({"apiVersion": "x/v1", "kind": "Config"}, KINDS) is None
    assert isinstance(
        identify({"apiVersion": "work.karmada.io/v1alpha2", "kind": "Work"}, KINDS), Unidentified
    )


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        pytest.param({"apiVersion": None}, "/apiVersion", id="api-version"),
        pytest.param({"kind": 7}, "/kind", id="kind"),
        pytest.param({"metadata": {}}, "/metadata/name", id="name-missing"),
        pytest.param({"metadata": {"name": "../x"}}, "/metadata/name", id="name"),
        pytest.param(
            {"metadata": {"name": "x", "namespace": "a/b"}}, "/metadata/namespace", id="namespace"
        ),
    ],
)
def test_what_is_wrong_is_pointed_at(change: dict[str, object], pointer: str) -> None:
    """By JSON pointer."""
    found = identify(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, **change}, KINDS
    )

    assert isinstance(found, Unidentified)
    assert pointer == found.pointer


def test_an_identity_is_as_written() -> None:
    """The namespace is filled in later, by the scope of the kind."""
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}

    assert Identity("apps/v1", "Deployment", "", "web") == identify(body, KINDS)


def test_scope_of_kinds() -> None:
    """The built-in table first, then CRDs, then what the manifest says."""
    crd = {"spec": {"group": "x.org", "names": {"kind": "Widget"}, "scope": "Namespaced"}}
    scopes = {**scopes_of_crds([crd, {}, {"spec": {"names": 7}}]), **KINDS.scopes}

    assert "default" == namespace_for("x.org", "Widget", "", scopes)
    assert "" == namespace_for("x.org", "Other", "", scopes)
    assert "n" == namespace_for("x.org", "Other", "n", scopes)
    assert "" == namespace_for("rbac.authorization.k8s.io", "ClusterRole", "n", scopes)


def test_long_names_have_files_of_their_own() -> None:
    """A file name has at most 255 bytes."""
    keys = [
        ObjectKey("work.karmada.io", "ResourceBinding", "ns", f"{'a' * 250}{end}") for end in "xy"
    ]
    paths = [output_path("status", key) for key in keys]

    assert 2 == len(set(paths))
    assert all(len(path.rpartition("/")[2]) <= 255 for path in paths)


def test_the_record_stands_at_the_root() -> None:
    """Not in a folder of its kind."""
    assert "out/reconciler.yaml" == output_path("out", RECORD)


def test_blob_ids_are_those_of_git() -> None:
    """In the object format of the repository."""
    found = subprocess.run(
        ["git", "hash-object", "--stdin"], input=b"text\n", capture_output=True, check=True
    ).stdout

    assert found.decode().strip() == blob_id(b"text\n", like="0" * 40)
    assert 64 == len(blob_id(b"", like="0" * 64))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.yaml", True),
        ("deep/er/a.json", True),
        ("a.yml", True),
        ("a.txt", False),
        (".github/a.yaml", False),
        ("x/.hidden.yaml", False),
        ("chart/templates/a.yaml", False),
        ("templates/deep/a.yaml", False),
        ("x/kustomization.yaml", False),
        ("Chart.yaml", False),
        ("x/values-prod.yaml", False),
        ("x/revalues.yaml", True),
    ],
)
def test_which_files_are_read(path: str, expected: bool) -> None:  # noqa: FBT001
    """Helm, Kustomize and hidden files are not ours."""
    assert expected == selects(path, include=(), exclude=())


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("a/b.yaml", "a/*", True),
        ("a/b/c.yaml", "a/*", False),
        ("a/b/c.yaml", "a/**", True),
        ("a/b/c.yaml", "a/", True),
        ("a/b/c.yaml", "/a/**", True),
        ("a/b/c.yaml", "**/c.yaml", True),
        ("c.yaml", "**/c.yaml", True),
        ("a/xc.yaml", "**/c.yaml", False),
        ("a/b.yaml", "?.yaml", True),
        ("a/b.yaml", "b**", True),
        ("a/b.yaml", "a**", False),
        ("a/b.yaml", "a/?.yaml", True),
        ("a/b.yaml", "a.b.yaml", False),
        ("a/b+.yaml", "a/b+.yaml", True),
        ("a/[b].yaml", "a/[b].yaml", True),
    ],
)
def test_globs(path: str, glob: str, expected: bool) -> None:  # noqa: FBT001
    """`*` and `?` stay within a folder, everything else is literal."""
    assert expected == matches_any(path, (glob,))


@pytest.mark.parametrize(
    "glob",
    ["**/" * 30 + "x", "**a" * 30 + "/x", "*/" * 50 + "x", "/" + "*a" * 50 + "x", "**/*a?*a*b/**x"],
)
@pytest.mark.parametrize("path", ["a/" * 100 + "b.yaml", "a" * 255, ("a" * 60 + "/") * 8 + "b"])
def test_no_glob_keeps_a_path_waiting(glob: str, path: str) -> None:
    """Whoever opens a pull request writes globs; each is decided in a moment."""
    assert not matches_any(path, (glob,))


@given(
    glob=st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?"])).map("".join),
    path=st.text("ab/", min_size=1, max_size=9),
)
def test_a_glob_means_what_it_says(glob: str, path: str) -> None:
    """Every way to spread its wildcards over the path is tried, one by one."""
    anywhere = glob if "/" in glob else f"**/{glob.replace('**', '*')}"
    whole = anywhere.removeprefix("/") + ("**" if anywhere[1:].endswith("/") else "")

    assert spread(re.findall(r"(?:(?<=/)|^)\*\*/|\*\*|.", whole), path) == matches_any(
        path, (glob,)
    )


def spread(tokens: list[str], path: str) -> bool:
    """Return whether tokens match a path, one way of many."""
    if not tokens:
        return not path
    first, rest = tokens[0], tokens[1:]
    ends = range(len(path) + 1)
    match first:
        case "**/":
            taken = [0, *(i for i in ends if path[:i].endswith("/"))]
        case "**":
            taken = list(ends)
        case "*":
            taken = [i for i in ends if "/" not in path[:i]]
        case "?":
            taken = [1] if path and path[0] != "/" else []
        case _:
            taken = [1] if path.startswith(first) else []
    return any(spread(rest, path[i:]) for i in taken)


def test_include_and_exclude() -> None:
    """Include replaces everything, exclude comes on top of the built-in globs."""
    assert selects("a/x.yaml", include=("a/**",), exclude=())
    assert not selects("b/x.yaml", include=("a/**",), exclude=())
    assert not selects("a/x.yaml", include=("a/**",), exclude=("x.yaml",))
    assert not selects("a/templates/x.yaml", include=("a/**",), exclude=())


KEY = ObjectKey("apps.karmada.io", "WorkloadRebalancer", "", "demo")


def test_creation_is_the_moment_first_seen() -> None:
    """And so is the generation's."""
    admitted, record = admit(KEY, {"x": 1}, None, NOW)

    assert (NOW, 1, NOW) == (
        admitted.created_at,
        admitted.generation,
        admitted.generation_seen_at,
    )
    assert (uid_of(KEY), "2026-11-20T12:00:00Z") == (record["uid"], record["creationTimestamp"])


def test_generation_counts_edits_of_the_spec() -> None:
    """An equal spec, in whatever order of keys, is none."""
    _, first = admit(KEY, {"x": 1, "y": 2}, None, NOW)
    same, second = admit(KEY, {"y": 2, "x": 1}, first, after(10))
    edited, third = admit(KEY, {"x": 2}, second, after(20))

    assert (1, NOW, NOW) == (same.generation, same.created_at, same.generation_seen_at)
    assert (2, NOW, after(20)) == (edited.generation, edited.created_at, edited.generation_seen_at)
    assert first == second
    assert 2 == third["generation"]


def test_a_record_without_its_parts_counts_as_none() -> None:
    """The object is admitted anew."""
    _, record = admit(KEY, {}, None, NOW)
    for garbled in ({}, {**record, "creationTimestamp": "yesterday"}, {**record, "annotations": 1}):
        admitted, _ = admit(KEY, {}, garbled, after(5))

        assert after(5) == admitted.created_at


def test_what_a_person_writes_there_is_ignored() -> None:
    """creationTimestamp, generation, uid and status are ours."""
    body = dict(rebalancer())
    body["metadata"] = {
        "name": "demo",
        "uid": "mine",
        "generation": 9,
        "creationTimestamp": "2000-01-01T00:00:00Z",
    }
    body["status"] = {"observedGeneration": 9, "finishTime": "2000-01-01T00:00:00Z"}
    told, plain = (
        story(cluster(), policy(), deployment(), found) for found in (body, rebalancer())
    )
    told.run(0)
    plain.run(0)
    path = "status/workloadrebalancers.apps.karmada.io/demo.yaml"

    assert plain.files[path] == told.files[path]
    assert 1 == cast(Body, told.output(path)["metadata"])["generation"]


def test_digest_does_not_depend_on_the_order_of_keys() -> None:
    """But on that of lists."""
    assert digest({"a": [1, 2], "b": 1}) == digest({"b": 1, "a": [1, 2]})
    assert digest([1, 2]) != digest([2, 1])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(
            "kind: Deployment\nmetadata: {name: a}\n", "identity-api-version", id="no-version"
        ),
        pytest.param("apiVersion: apps/v1\nmetadata: {name: a}\n", "identity-kind", id="no-kind"),
        pytest.param("kind: Deployment\n", "identity-api-version", id="known-kind-alone"),
        pytest.param("apiVersion: apps/v1\nreplicas: 1\n", "identity-kind", id="known-group-alone"),
        pytest.param("kind: Widget\nspec: {}\n", "identity-api-version", id="spec"),
        pytest.param("kind: List\nitems: []\n", "identity-api-version", id="list"),
        pytest.param("apiVersion: v1\nitems: []\n", "identity-kind", id="list-without-kind"),
        pytest.param("kind: Widget\nmetadata: {name: a}\n", "identity-api-version", id="metadata"),
    ],
)
def test_it_is_an_error_though_it_is_alone_in_its_file(text: str, rule: str) -> None:
    """A whole folder does not pass it over."""
    file = validated(text)
    index = index_inputs([file], KINDS)

    assert [rule] == [found for _, _, _, found in faults(file)]
    assert frozenset() == index.foreign
    assert ["error"] == [str(finding_of(one).severity) for one, _ in index.broken["a.yaml"]]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: 1\nproviders: []\n", id="grafana"),
        pytest.param("kind: pipeline\nname: default\n", id="drone"),
        pytest.param("apiVersion: v2\nname: chart\n", id="helm"),
        pytest.param("version: 1\n", id="neither"),
        pytest.param("apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n", id="kind"),
    ],
)
def test_other_programs_are_left_alone(text: str) -> None:
    """They use one of the words for something else."""
    file = validated(text)

    assert ([], 1) == (faults(file), file.ignored)


KEYS = st.sampled_from(["app", "tier", "example.org/team", "not a key"])
VALUES = st.sampled_from(["", "1", "7", "web", "api", "-wrong-"])
OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "=", "!=", "Near"]

LABELS = st.dictionaries(KEYS, VALUES, max_size=4)
REQUIREMENTS = st.builds(
    Requirement,
    KEYS,
    st.sampled_from(OPERATORS),
    st.none() | st.lists(VALUES, max_size=3).map(tuple),
)
SELECTORS = st.builds(
    LabelSelector,
    st.none() | LABELS.map(lambda labels: tuple(sorted(labels.items()))),
    st.none() | st.lists(REQUIREMENTS, max_size=3).map(tuple),
)


@given(st.lists(LABELS, max_size=8), st.lists(SELECTORS, max_size=8))
def test_an_index_finds_what_asking_each_finds(
    objects: Sequence[dict[str, str]], selectors: Sequence[LabelSelector]
) -> None:
    """Whatever the operators, and for selectors that cannot be judged; objects in their order."""
    by_label = LabelIndex((labels, number) for number, labels in enumerate(objects))

    for selector in selectors:
        found = [number for number, labels in enumerate(objects) if matches(selector, labels)]
        assert found == list(by_label.selected(selector))


def test_no_selector_finds_all() -> None:
    """Which is not the same as an empty one only for those who ask how it is written."""
    index = LabelIndex([({}, "a"), ({"app": "web"}, "b")])

    assert ["a", "b"] == list(index.selected(None)) == list(index.selected(LabelSelector()))


RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param(("", "Namespace", "", "default"), True, id="namespace-default"),
        pytest.param(("", "Namespace", "", "kube-node-lease"), True, id="namespace-of-kubernetes"),
        pytest.param(("", "Namespace", "", "shop"), False, id="namespace-of-people"),
        pytest.param(("", "ConfigMap", "shop", "kube-root-ca.crt"), True, id="root-certificates"),
        pytest.param(("", "ConfigMap", "shop", "default"), False, id="config-map-of-people"),
        pytest.param(("", "ServiceAccount", "shop", "default"), True, id="service-account"),
        pytest.param(("", "Service", "default", "kubernetes"), True, id="service"),
        pytest.param(("", "Service", "shop", "kubernetes"), False, id="service-of-people"),
        pytest.param((RBAC, "ClusterRole", "", "system:node"), True, id="system-role"),
        pytest.param((RBAC, "ClusterRole", "", "cluster-admin"), True, id="cluster-admin"),
        pytest.param((RBAC, "ClusterRole", "", "edit"), True, id="edit"),
        pytest.param((RBAC, "ClusterRole", "", "editor"), False, id="role-of-people"),
        pytest.param((RBAC, "ClusterRoleBinding", "", "system:node"), True, id="system-binding"),
        pytest.param((RBAC, "ClusterRoleBinding", "", "edit"), False, id="binding-of-people"),
        pytest.param(("apps", "Deployment", "kube-system", "web"), False, id="workload"),
        pytest.param(
            ("scheduling.k8s.io", "PriorityClass", "", "system-node-critical"), True, id="priority"
        ),
    ],
)
def test_what_every_api_server_has(key: tuple[str, str, str, str], *, expected: bool) -> None:
    """By kind and name."""
    assert expected == is_built_in(ObjectKey(*key))
