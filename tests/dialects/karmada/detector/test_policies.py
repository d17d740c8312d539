"""Which policy claims a workload, followed through any changes, and when its change arrives."""

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.karmada.api.policy import (
    Implicit,
    Policy,
    Template,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.dialects.karmada.detector import policies as known_policies
from reconciler.dialects.karmada.detector.policies import (
    GroupedSelector,
    KnownPolicies,
    Policies,
    SelectorIndex,
)
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, matches
from reconciler.model.remembered import Versioned, patched
from reconciler.model.world import Manifest
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    configmap,
    deployment,
    divided,
    manifest,
    metadata,
    policies_among,
    policy,
    rebalancer,
    selector,
)
from tests.manifests.test_identity import LABELS, SELECTORS
from tests.stories import story

WEB = template_of(manifest(deployment(labels={"app": "web"})))


def winner(*policies: Body, present: ObjectKey | None = None, namespace: str = "default") -> str:
    """The name of the policy that claims web, `""` for none."""
    template = template_of(manifest(deployment(namespace=namespace)))
    claimed = policies_among(map(manifest, policies)).claim(template, present)
    return "" if claimed is None else claimed.key.name


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(selector(), Implicit.ALL, id="all"),
        pytest.param(selector(name="web"), Implicit.NAME, id="name"),
        pytest.param(selector(name="api"), Implicit.NO_MATCH, id="other-name"),
        pytest.param(selector(labelSelector={}), Implicit.LABELS, id="empty-labels"),
        pytest.param(
            selector(labelSelector={"matchLabels": {"app": "api"}}), Implicit.NO_MATCH, id="labels"
        ),
        pytest.param(
            selector(name="web", labelSelector={"matchLabels": {"app": "api"}}),
            Implicit.NAME,
            id="name-makes-labels-irrelevant",
        ),
        pytest.param(selector(namespace="other"), Implicit.NO_MATCH, id="other-namespace"),
        pytest.param(selector("ConfigMap"), Implicit.NO_MATCH, id="other-kind"),
    ],
)
def test_closeness_of_a_selector(body: Body, expected: Implicit) -> None:
    """A name beats labels, labels beat all."""
    found = decode_policy(manifest(policy(selectors=[body])), ())

    assert expected == implicit_priority(found, WEB)


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        pytest.param([policy("b"), policy("a")], "a", id="lesser-name"),
        pytest.param([policy("a"), policy("b", priority=1)], "b", id="priority"),
        pytest.param(
            [policy("a", priority=1), policy("b", selectors=[selector(name="web")])],
            "a",
            id="priority-before-closeness",
        ),
        pytest.param([policy("a"), policy("b", selectors=[selector(name="web")])], "b", id="close"),
        pytest.param([policy("z"), cluster_policy("a", priority=9)], "z", id="own-namespace-first"),
        pytest.param([policy("a", namespace="other"), cluster_policy("c")], "c", id="wide"),
        pytest.param([], "", id="none"),
    ],
)
def test_election(policies: list[Body], expected: str) -> None:
    """Greater priority, closer match, lesser name; the namespace's own policies first."""
    assert expected == winner(*policies) == winner(*reversed(policies))


def test_a_claim_sticks() -> None:
    """A better policy that appears later does not take over, unless the claim ends."""
    told = story(cluster(), policy("b"), deployment())
    told.run(0)
    told.put(policy("a", priority=9))
    told.run(10)
    assert "propagationpolicy.karmada.io/name: b\n" in told.files[_binding()]
    told.put(policy("b", selectors=[selector(name="api")]))
    told.run(20)

    assert "propagationpolicy.karmada.io/name: a\n" in told.files[_binding()]


def _binding() -> str:
    return "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"


def test_a_policy_being_deleted_claims_nothing() -> None:
    """Neither anew nor any longer."""
    body = policy("a")
    leaving = {
        **body,
        "metadata": {
            "name": "a",
            "namespace": "default",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        },
    }

    assert "" == winner(leaving)
    assert "b" == winner(leaving, policy("b"), present=manifest(body).key)


def test_a_workload_owned_elsewhere_is_passed_over() -> None:
    """The label of another controller keeps policies away."""
    owned = deployment(labels={"resourcetemplate.karmada.io/claimed-by": "federatedhpa"})

    assert policies_among([manifest(policy())]).claim(template_of(manifest(owned)), None) is None


NAMES = st.sampled_from(["a", "b", "c"])
PLACES = st.sampled_from(["default", "other", ""])
SELECTED = st.sampled_from(
    [
        selector(),
        selector(name="web"),
        selector(labelSelector={"matchLabels": {"team": "a"}}),
        selector(labelSelector={"matchExpressions": [{"key": "team", "operator": "Exists"}]}),
        selector(labelSelector={"matchExpressions": [{"key": "team", "operator": "Near"}]}),
        {"apiVersion": "apps/v1"},
    ]
)
BROKEN = {**policy("a"), "spec": {"resourceSelectors": [selector(labelSelector="team")]}}
POLICIES = st.builds(
    lambda name, namespace, selectors, priority, needs: policy(
        name, namespace=namespace, selectors=selectors, priority=priority, dependentOverrides=needs
    ),
    NAMES,
    PLACES,
    st.lists(SELECTED, min_size=1, max_size=3),
    st.integers(0, 1),
    st.lists(NAMES, max_size=2, unique=True),
)


def override(name: str, namespace: str) -> Body:
    """An override policy that a policy may wait for."""
    kind = "OverridePolicy" if namespace else "ClusterOverridePolicy"
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"overrideRules": []},
    }


CHANGES = st.lists(
    st.tuples(st.booleans(), POLICIES | st.builds(override, NAMES, PLACES)),
    max_size=6,
)
TEMPLATES: Sequence[Template] = tuple(
    template_of(manifest(deployment(name, labels=labels)))
    for name in ("web", "api")
    for labels in ({}, {"team": "a"}, {"team": "b"})
)


def told(policies: Policies) -> list[object]:
    """What is asked of policies: which there are, what is wrong with others, and who claims."""
    every = (None, *sorted(policies.by_key))
    claims = [
        claimed and claimed.key
        for template in TEMPLATES
        for present in every
        for preempting in (False, True)
        for claimed in (policies.claim(template, present, preempting=preempting),)
    ]
    return [dict(policies.by_key), dict(policies.failed), policies.waiting, claims]


@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_following_is_reading_for_the_first_time(steps: list[list[tuple[bool, Body]]]) -> None:
    """In what order the faulty and the waiting ones are told, too."""
    known, inputs = KnownPolicies(), Versioned[ObjectKey, Manifest]({})
    for step in steps:
        inputs = after(inputs, step)

        assert told(KnownPolicies().follow(dict(inputs))) == told(known.follow(inputs))


def after(
    inputs: Versioned[ObjectKey, Manifest], step: list[tuple[bool, Body]]
) -> Versioned[ObjectKey, Manifest]:
    """The inputs once some objects were written, and others removed."""
    objects = {one.key: (stays, one) for stays, one in ((s, manifest(b)) for s, b in step)}
    came = {key: one for key, (stays, one) in objects.items() if stays}
    next_version = patched(inputs, came, [key for key in objects if key not in came])
    assert isinstance(next_version, Versioned)
    return next_version


def test_an_edit_decodes_the_policy_that_was_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    """And an override policy the ones that wait for it; all others are the very same."""
    decoded: list[str] = []

    def listened(found: Manifest, known: Mapping[ObjectKey, Manifest]) -> Policy:
        decoded.append(found.key.name)
        return decode_policy(found, known)

    monkeypatch.setattr(known_policies, "decode_policy", listened)
    bodies = [policy(f"p{number}") for number in range(20)]
    bodies.append(policy("waits", dependentOverrides=["o"]))
    objects = {one.key: one for one in map(manifest, bodies)}
    known = KnownPolicies()
    first = dict(known.follow(inputs := Versioned(objects)).by_key)
    put = partial(after, inputs)

    decoded.clear()
    second = known.follow(inputs := put([(True, policy("p7", priority=3))]))
    assert ["p7"] == decoded
    assert 20 == sum(second.by_key[key] is one for key, one in first.items())

    third = known.follow(after(inputs, [(True, override("o", "default"))]))
    assert (["p7", "waits"], ()) == (decoded, third.waiting)


@pytest.mark.usefixtures("contained")
def test_a_policy_that_cannot_be_decoded_is_told_until_it_is_mended() -> None:
    """What stands beside it is claimed all the while."""
    known, mended = KnownPolicies(), policy("a")
    broken = known.follow(inputs := after(Versioned({}), [(True, BROKEN), (True, policy("b"))]))
    key = manifest(mended).key

    assert ([key], ["b"]) == ([*broken.failed], [one.name for one in broken.by_key])
    assert ({}, 2) == (
        (now := known.follow(after(inputs, [(True, mended)]))).failed,
        len(now.by_key),
    )


GROUPS = st.sampled_from(["a", "b"])
ENTRIES = st.dictionaries(
    st.integers(0, 9), st.none() | st.builds(GroupedSelector, GROUPS, SELECTORS), max_size=6
)


@given(st.lists(ENTRIES, max_size=4), st.lists(LABELS, min_size=1, max_size=4))
def test_whatever_came_and_went_it_finds_what_asking_each_finds(
    steps: Sequence[Mapping[int, GroupedSelector[str] | None]], objects: Sequence[dict[str, str]]
) -> None:
    """Of the group that is asked alone; a number without a selector is one that goes."""
    index, there = SelectorIndex[str, int](), dict[int, GroupedSelector[str]]()
    for step in steps:
        came = {number: one for number, one in step.items() if one is not None}
        index.drop(number for number in step if number in there)
        index.put(came)
        there = {number: one for number, one in there.items() if number not in step} | came
        for group in ("a", "b"):
            for labels in objects:
                asked = sorted(
                    number
                    for number, one in there.items()
                    if one.group == group and matches(one.selector, labels)
                )
                assert asked == sorted(index.selecting(group, labels))


class _Counted(dict[str, str]):
    """Labels that count how often a selector asks for one."""

    asked = 0

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        """Count, and answer."""
        self.asked += 1
        return super().get(key, default)


def test_a_question_asks_only_the_selectors_that_share_a_label_with_it() -> None:
    """A hundred policies of a hundred applications cost one of them as much as one does."""
    asked = []
    for count in (1, 100):
        index = SelectorIndex[str, int]()
        index.put({n: GroupedSelector("", LabelSelector((("app", str(n)),))) for n in range(count)})
        labels = _Counted(app="0")
        assert [0] == list(index.selecting("", labels))
        asked.append(labels.asked)

    assert asked[0] == asked[1]


def on(*names: str) -> Body:
    """A placement on these clusters."""
    return {"clusterAffinity": {"clusterNames": list(names)}}


def suspended(body: Body, value: str = "true") -> Body:
    """The object with the annotation that suspends it."""
    found = body["metadata"]
    assert isinstance(found, dict)
    return {**body, "metadata": {**found, "annotations": {"reconciler.dev/suspend": value}}}


def test_a_lazy_policy_waits_for_the_workload() -> None:
    """Its change takes effect with the workload's next change, not before."""
    told = story(
        cluster("a"),
        cluster("b"),
        deployment(),
        policy(placement=on("a"), activationPreference="Lazy"),
    )
    told.run()
    told.put(policy(placement=on("b"), activationPreference="Lazy"))
    told.run()

    assert {"a": 2} == told.placed()

    told.put(deployment(labels={"version": "2"}))
    told.run()

    assert {"b": 2} == told.placed()


def test_a_policy_that_becomes_lazy_with_a_change_withholds_it() -> None:
    """What it said before it was lazy stays."""
    told = story(cluster("a"), cluster("b"), deployment(), policy(placement=on("a")))
    told.run()
    told.put(policy(placement=on("b"), activationPreference="Lazy"))
    told.run()

    assert {"a": 2} == told.placed()


def test_a_rebalance_under_a_lazy_policy_uses_the_bindings_own_placement() -> None:
    """As both proposals note: rescheduling follows the binding, not the policy."""
    told = story(
        cluster("a"),
        cluster("b"),
        deployment(),
        policy(placement=on("a"), activationPreference="Lazy"),
    )
    told.run()
    told.put(policy(placement=on("b"), activationPreference="Lazy"), rebalancer())
    told.run()

    assert {"a": 2} == told.placed()
    assert "rescheduleTriggeredAt" in str(told.binding()["spec"])


def test_a_missing_priority_class_is_told_and_the_binding_kept() -> None:
    """Once the class is there, the policy is applied with its value."""
    wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"}
    told = story(cluster("a"), deployment(), policy(placement=on("a")))
    told.run()
    told.put(policy(placement=on("a"), schedulePriority=wanted), deployment(replicas=5))
    outcome = told.run()

    assert {"a": 2} == told.placed()
    assert ["policy-priority-class"] == [fault.rule for fault in outcome.faults]

    told.put(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": metadata("high"),
            "value": 1000,
        }
    )
    told.run()

    assert {"a": 5} == told.placed()
    assert "'schedulePriority': {'priority': 1000}" in str(told.binding()["spec"])


@pytest.mark.parametrize(
    ("name", "priority"),
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)],
)
def test_the_priority_classes_of_every_api_server_are_known(name: str, priority: int) -> None:
    """No manifest says what they are worth; one that does counts."""
    wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": name}
    told = story(cluster("a"), deployment(), policy(placement=on("a"), schedulePriority=wanted))

    assert () == told.run().faults
    assert f"'schedulePriority': {{'priority': {priority}}}" in str(told.binding()["spec"])

    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    told.put({**kind, "metadata": metadata(name), "value": 7})
    told.run()
    assert "'schedulePriority': {'priority': 7}" in str(told.binding()["spec"])


def test_a_suspended_policy_schedules_nothing_until_it_is_resumed() -> None:
    """New workloads get a binding that waits, placed ones stay; a rebalance waits, too."""
    told = story(cluster("a"), cluster("b"), deployment(), policy(placement=on("a")))
    told.run()
    told.put(suspended(policy(placement=on("b"))), deployment("new"), rebalancer())
    told.run()

    assert ({"a": 2}, {}) == (told.placed(), told.placed("new-deployment"))
    assert "Successful" not in str(told.rebalancer())

    told.put(policy(placement=on("b")))
    told.run()

    assert ({"b": 2}, {"b": 2}) == (told.placed(), told.placed("new-deployment"))
    assert "Successful" in str(told.rebalancer())


def test_a_suspended_workload_stays_while_its_neighbour_moves() -> None:
    """Only `true` suspends."""
    placement = {**on("a", "b"), "replicaScheduling": divided()}
    told = story(cluster("a"), cluster("b"), policy(placement=placement))
    told.put(suspended(deployment()), suspended(deployment("api"), value="false"), configmap())
    told.run()

    assert ({}, {"a": 1, "b": 1}) == (told.placed(), told.placed("api-deployment"))


def test_a_lazy_policy_places_what_was_only_attached() -> None:
    """No policy has placed it yet, so there is nothing to be lazy about."""
    told = story(
        cluster("a"), cluster("b"), configmap(), policy(placement=on("a"), propagateDeps=True)
    )
    body = deployment()
    volumes = [{"name": "v", "configMap": {"name": "settings"}}]
    told.put({**body, "spec": {"replicas": 2, "template": {"spec": {"volumes": volumes}}}})
    told.run()
    own = policy(
        "own",
        selectors=[selector("ConfigMap")],
        placement=on("b"),
        activationPreference="Lazy",
    )
    told.put(own)
    told.run()

    assert {"b": 0} == told.placed("settings-configmap")
