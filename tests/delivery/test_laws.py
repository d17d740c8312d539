"""Laws of delivery: nothing runs away unasked, paths are portable, no message holds a Secret."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.message import commit_message
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.renderer import Instruction
from reconciler.manifests.paths import portable_stem
from reconciler.model.records import replace
from reconciler.model.text import LONGEST_MESSAGE_BYTES
from tests.bounded import examples
from tests.builders import NOW, Body, cluster, cluster_policy, configuration, metadata, selector
from tests.delivery.test_carriage import (
    AWHILE,
    CASES,
    OUTLIVING,
    PRUNE,
    Run,
    annotations_of,
    effect,
)
from tests.delivery.test_transports import FOLDERS
from tests.dialects.kubefleet.fleet import GROUP, member, placement
from tests.stories import Story, story

ASKED, GONE = st.booleans(), st.booleans()
STEPS = st.lists(st.tuples(ASKED, st.sampled_from("12"), GONE), min_size=1, max_size=6)


def told_of(outcome: Outcome) -> Outcome:
    """All that an outcome says; explanations are functions, which are never equal."""
    return replace(outcome, explanations={})


@pytest.mark.cpu_seconds(60)
@settings(max_examples=examples(300), deadline=None)
@given(instruction=st.sampled_from(sorted(CASES)), steps=STEPS)
def test_what_runs_goes_only_where_its_removal_may_take_it(
    instruction: Instruction, steps: list[tuple[bool, str, bool]]
) -> None:
    """And a pass that remembers earlier ones says what one without any memory says."""
    ran, memo = Run(instruction), Memo()
    for asked, version, gone in steps:
        live = ran.version is not None
        marked = _is_marked(ran)
        ran.told.put(*ran.case.write(asked, version))
        if gone:
            ran.told.drop(*ran.case.removed())
        for _ in range(3):
            ran.told.now += AWHILE
            world = ran.told.world()
            now = ran.told.now + timedelta(seconds=1)
            warm = told_of(reconcile(world, now, memo=memo))
            assert warm == told_of(ran.told.run())
            ran.flux.sync(ran.told)

        if live and not gone:
            assert ran.version is not None
        if live and gone and asked and effect(instruction) in OUTLIVING and _may_outlive(ran):
            assert ran.version is not None
        if live and gone and marked:
            assert ran.version is not None


def _is_marked(ran: Run) -> bool:
    """Whether what runs has the mark by which Flux does not prune it."""
    member = ran.flux.members.get("a")
    live = None if member is None else member.live.get(ran.case.live)
    return live is not None and annotations_of(live).get(PRUNE) == "disabled"


def _may_outlive(ran: Run) -> bool:
    """Whether what asks is still there once the object's decision is gone.

    A placement or a set that goes takes along what it asks, if it asked only in that very merge.
    """
    return ran.case is CASES[Instruction.PRESERVED]


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
