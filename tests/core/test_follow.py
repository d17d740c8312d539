"""Following the files of a tree gives what looking at all of them gives."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import change_between, follow_inputs, index_inputs
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.core.state import follow_state, read_state
from reconciler.manifests.paths import blob_id
from reconciler.model.world import Kinds
from reconciler.shell.resources import load_schemas
from tests.core.test_laws import LAW

INPUTS = Rules(load_schemas(), ADMISSIONS, KINDS)
OUTPUTS = Rules(load_schemas(), {}, KINDS, status_only=True)

WEB = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: n}\n"
WIDGET = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: %s}\n"
CRD = (
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: widgets.example.org}\n"
    "spec: {group: example.org, names: {kind: Widget}, scope: Namespaced}\n"
)
REBALANCER = (
    "apiVersion: apps.karmada.io/v1alpha1\nkind: WorkloadRebalancer\nmetadata: {name: r}\n"
    "spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: a, namespace: n}]}\n"
)


def listed(*documents: str) -> str:
    """A List of these documents."""
    items = ("- " + "\n  ".join(one.strip().splitlines()) + "\n" for one in documents)
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(items)


CONTENTS = [
    *(WEB % "a", WEB % "b", WIDGET % "a", WIDGET % "b", CRD, REBALANCER, ""),
    *("not: ours\n", "a: [\n"),
    *(WEB % "a" + "---\n" + WEB % "c", WEB % "b" + "---\n" + WEB % "b", WEB % "A", "kind: [1\n"),
    WEB % "a" + "spec: {replicas: two}\n",
    listed(WEB % "a", WEB % "b"),
    listed(REBALANCER, WEB % "c", "kind: Half\n"),
    "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nmetadata: {name: a}\n",
]  # fmt: skip
PATHS = ["a.yaml", "b.yaml", "c.yaml", "feedback/m1/a.yaml", "feedback/x.yaml", "deep/d.yaml"]

BINDING = "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nmetadata:\n  name: %s\n"
RECORDED = [
    *(BINDING % "a" + "  namespace: n\n", BINDING % "a" + "  namespace: n # why\n", "a: [\n"),
    *(BINDING % "b" + "  namespace: n\n", "", BINDING % "a" + "  uid: '1'\n  namespace: n\n"),
]
FOLDER = "status/resourcebindings.work.karmada.io/n"
OUTPUT_PATHS = [f"{FOLDER}/a.yaml", f"{FOLDER}/b.yaml", "status/strange.yaml"]


def trees(paths: list[str], contents: list[str]) -> st.SearchStrategy[list[dict[str, str]]]:
    """A few trees, one after the other."""
    files = st.dictionaries(st.sampled_from(paths), st.sampled_from(contents))
    return st.lists(files, min_size=2, max_size=5)


def inspected(
    files: Mapping[str, str], rules: Rules, known: Mapping[str, FileValidation]
) -> dict[str, FileValidation]:
    """What files hold; of those that stayed the very same inspection."""
    found = {}
    for path, text in files.items():
        blob = blob_id(text.encode(), like="")
        kept = known.get(path)
        same = kept is not None and kept.blob == blob
        found[path] = kept if same and kept else validate_file(path, blob, text.encode(), rules)
    return found


@LAW
@given(trees(PATHS, CONTENTS))
def test_inputs_that_are_followed_are_surveyed_alike(told: list[dict[str, str]]) -> None:
    """Faults and scopes; kinds follow the manifests."""
    before: dict[str, FileValidation] = {}
    index, kinds = index_inputs((), KINDS), Kinds()
    for files in told:
        after = inspected(files, INPUTS, before)
        index = follow_inputs(index, change_between(before, after, {*before, *after}))
        whole = index_inputs(after.values(), KINDS)
        kinds = kinds.next()

        assert whole == index
        assert Kinds().of(whole.manifests) == kinds.of(index.manifests)
        before = after


@LAW
@given(trees(OUTPUT_PATHS, RECORDED))
def test_outputs_that_are_followed_are_read_alike(told: list[dict[str, str]]) -> None:
    """Readable, canonical, frozen or none of ours."""
    before: dict[str, FileValidation] = {}
    state = read_state((), "status", KINDS)
    for files in told:
        after = inspected(files, OUTPUTS, before)
        state = follow_state(
            state, change_between(before, after, {*before, *after}), "status", KINDS
        )

        assert read_state(after.values(), "status", KINDS) == state
        before = after
