"""Names that are built from others: what we write under them we can read again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.dialects.karmada.binding.works import work_name
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.manifests.paths import portable_stem
from reconciler.model.identity import ObjectKey
from reconciler.model.text import LONGEST_NAME, built_name, is_loose_name, is_subdomain
from tests.builders import cluster, cluster_policy, metadata, policy, selector
from tests.stories import story

RBAC = "rbac.authorization.k8s.io"
NAMES = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.:]{0,260}[A-Za-z0-9])?", fullmatch=True).filter(
    is_loose_name
)
ODD = ("system::leader", "shop_reader", "a..b", "A", "x.-y", f"{'n' * 251}:b", "a:_:b")


@given(NAMES, st.sampled_from(["Role", "ClusterRole", "Deployment"]))
def test_every_admitted_name_has_a_binding_and_a_work_that_can_be_read(
    name: str, kind: str
) -> None:
    """Whatever admission lets through."""
    namespace = "" if kind == "ClusterRole" else "default"

    assert is_subdomain(binding_key(ObjectKey(RBAC, kind, namespace, name)).name)
    assert is_subdomain(work_name(kind, namespace, name))


@given(NAMES)
def test_a_name_that_is_valid_is_kept(name: str) -> None:
    """Names that were read before keep their bytes."""
    found = built_name(name, f"Role {name}")

    assert (found == name) == is_subdomain(name)
    assert len(found) <= LONGEST_NAME


@settings(max_examples=200)
@given(NAMES, NAMES)
def test_two_names_share_no_file_on_a_disk_that_folds_case(one: str, other: str) -> None:
    """Nor does any file name hold a colon."""
    stems = {portable_stem(name).casefold() for name in (one, other)}

    assert len({one, other}) == len(stems)
    assert not any(":" in stem for stem in stems)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("namespace", ["", "default"])
def test_what_a_pass_writes_the_next_one_reads(name: str, namespace: str) -> None:
    """An object of any admitted name is placed once, and nothing is told of it."""
    kind = "Role" if namespace else "ClusterRole"
    role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata(name, namespace)}
    selectors = [selector(kind, apiVersion=f"{RBAC}/v1")]
    claims = policy(selectors=selectors) if namespace else cluster_policy(selectors=selectors)
    told = story(cluster("a"), claims).put({**role, "rules": []}, path="role.yaml")
    first = told.run(0)
    second = told.run(60)

    assert [((), (("a", 0),))] == [(one.before, one.after) for one in first.decisions]
    assert ((), ()) == (first.faults, second.faults)
    assert () == second.changes
