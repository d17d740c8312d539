"""No message holds an object: whatever is wrong with a Secret, what it holds is told nowhere."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.message import commit_message
from reconciler.model.text import LONGEST_MESSAGE_BYTES
from tests.bounded import examples
from tests.builders import NOW, Body, cluster, cluster_policy, configuration, metadata, selector
from tests.delivery.test_folders import FOLDERS
from tests.dialects.kubefleet.fleet import GROUP, member, placement
from tests.stories import Story, story

HELD = "hunter2-of-the-shop"
WANTED = "hunter3-of-an-override"
MARKS = (HELD, WANTED)
FIELDS = ("data", "stringData", "note", "type", "immutable", "sops")
PATHS = (
    "",
    "/",
    "/data",
    "/data/a",
    "/data/a/b",
    "/data/-",
    "/data/none/b",
    "/stringData/a",
    "/stringData/a/0",
    "/note",
    "/note/0",
    "/metadata/annotations/a",
    "no-slash",
)
OPERATORS = ("add", "remove", "replace")

held = st.sampled_from(
    [HELD, f"{{{HELD}", f'{{"a": "{HELD}"}}', f"a: [{HELD}", f"- {HELD}\n- b: c"]
)
wanted = st.sampled_from([WANTED, f"${{MEMBER-CLUSTER-LABEL-KEY-{WANTED}}}", f"${{{WANTED}"])
values = st.one_of(wanted, st.dictionaries(st.just("a"), wanted), st.lists(wanted, max_size=2))


@st.composite
def secrets(draw: st.DrawFn) -> Body:
    """A Secret with marks wherever a value, or a value in the wrong place, may stand."""
    found: dict[str, object] = {
        field: draw(st.one_of(held, st.dictionaries(st.sampled_from("ab"), held, min_size=1)))
        for field in draw(st.sets(st.sampled_from(FIELDS), min_size=1))
    }
    annotations = {"annotations": {"a": draw(held)}} if draw(st.booleans()) else {}
    named = {**metadata("token", "default"), **annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named, **found}


@st.composite
def patches(draw: st.DrawFn, name: str) -> Body:
    """A change by path; `name` is what the API calls the operation."""
    one: dict[str, object] = {name: draw(st.sampled_from(OPERATORS)), "path": draw(paths)}
    return one if one[name] == "remove" else {**one, "value": draw(values)}


paths = st.sampled_from(PATHS)


@st.composite
def overriders(draw: st.DrawFn) -> Body:
    """What an override of Karmada has."""
    if draw(st.booleans()):
        return {"plaintext": [draw(patches("operator"))]}
    operator = draw(st.sampled_from(OPERATORS))
    change = {"subPath": draw(paths), "operator": operator, "value": draw(values)}
    kind = draw(st.sampled_from(["json", "yaml"]))
    return {"fieldOverrider": [{"fieldPath": draw(paths), kind: [change]}]}


def told_by(told: Story, outcome: Outcome) -> Iterator[str]:
    """Yield all that a pass tells of a repository without what upstream copies of overrides."""
    for fault in outcome.faults:
        assert len(fault.message.encode()) <= LONGEST_MESSAGE_BYTES
        yield repr(fault)
    yield from (trace.text for trace in outcome.traces)
    yield from (str(decision) for decision in outcome.decisions)
    if outcome.changes:
        yield commit_message(outcome, told.world(), now=NOW, version="0")
    for path, data in told.files.items():
        if path.startswith(("status/", "delivery/")) and "overridesnapshot" not in path:
            yield data


def assert_hidden(told: Story, *, passes: int = 2) -> None:
    """Hold some passes over a repository to it."""
    for second in range(passes):
        outcome = told.run(second)
        for said in told_by(told, outcome):
            assert not [mark for mark in MARKS if mark in said], said


@settings(max_examples=examples(150), deadline=None)
@given(secret=secrets(), overrider=overriders(), sops=st.booleans())
def test_karmada_tells_nothing_that_a_secret_holds(
    secret: Body, overrider: Body, *, sops: bool
) -> None:
    """An override that does not fit, or a Secret that is none, is told by its place."""
    override: Body = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata("o", "default"),
        "spec": {
            "resourceSelectors": [selector("Secret", apiVersion="v1")],
            "overrideRules": [{"overriders": overrider}],
        },
    }
    delivery = {**FOLDERS, **({"secrets": "encrypted"} if sops else {})}
    told = story(cluster("a"), configuration(delivery=delivery))
    told.put(cluster_policy(selectors=[selector("Secret", apiVersion="v1")]), secret, override)

    assert_hidden(told)


@settings(max_examples=examples(150), deadline=None)
@given(secret=secrets(), patch=patches("op"), enveloped=st.booleans())
def test_kubefleet_tells_nothing_that_a_secret_holds(
    secret: Body, patch: Body, *, enveloped: bool
) -> None:
    """What its status says of an override that fails is upstream's text, without any value."""
    chosen = {"group": "", "version": "v1", "kind": "Secret", "name": "token"}
    rule = {"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": [patch]}
    override: Body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceOverride",
        "metadata": metadata("o", namespace="default"),
        "spec": {"resourceSelectors": [chosen], "policy": {"overrideRules": [rule]}},
    }
    envelope: Body = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": metadata("e", namespace="default"),
        "data": {"token.yaml": secret},
    }
    told = story(
        member("a"), configuration(delivery=FOLDERS), placement({"placementType": "PickAll"})
    )
    told.put(envelope if enveloped else secret, override)

    assert_hidden(told)
