"""Names, identities, paths of outputs, and which files are read."""

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.dialects import KINDS
from reconciler.manifests.identity import (
    Identity,
    Unidentified,
    identify,
    namespace_for,
    scopes_of_crds,
)
from reconciler.manifests.paths import RECORD, blob_id, matches_any, output_path, selects
from reconciler.model.identity import ObjectKey
from reconciler.model.text import is_api_version, is_kind, is_label, is_loose_name, is_subdomain

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
