"""What a placement selects, asked again only where it changed, in as many snapshots as it takes."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.dialects import KINDS
from reconciler.dialects.kubefleet.snapshots import resource_snapshots, selection
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import (
    SIZE_LIMIT,
    Resource,
    split,
    strip,
)
from reconciler.dialects.kubefleet.snapshots.selection import (
    PlacementQuestion,
    SelectionTable,
    select_resources,
)
from reconciler.errors import UserError
from reconciler.manifests.admission import SUSPEND
from reconciler.model.fields import bodies, mapping
from reconciler.model.records import replace
from reconciler.model.remembered import patched
from reconciler.model.world import World
from tests.builders import Body, configmap, deployment, manifest, metadata
from tests.dialects.kubefleet.fleet import (
    GROUP,
    PLACEMENT,
    RESOURCES,
    fixed,
    member,
    namespaced_placement,
    pick,
    placement,
    status_of,
    targets,
)
from tests.dialects.recorded_reads import overlook
from tests.golden import older_outputs
from tests.stories import Story, linked, story, world

NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace"}
DEFAULT = {**NAMESPACE, "name": "default"}
CHOSEN = {**DEFAULT, "selectionScope": "NamespaceWithResourceSelectors"}
DEPLOYMENTS = {"group": "apps", "version": "v1", "kind": "Deployment"}


def an(
    kind: str, name: str, *, api: str = "v1", namespace: str = "default", **more: object
) -> Body:
    """Any object."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": metadata(name, namespace="default"),
        **more,
    }


def namespace(name: str, **labels: str) -> Body:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, labels=labels)}


def selected(*bodies: Body, by: list[Body]) -> list[str]:
    """Kind and name of what is selected, in order."""
    found = select_resources(by, world(*bodies).inputs, {}, KINDS)
    metadatas = [(i.entry["kind"], i.entry["metadata"]) for i in found.resources]
    return [f"{kind} {item['name']}" for kind, item in metadatas]  # type: ignore[index]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param([DEFAULT], ["Namespace default", "ConfigMap settings", "Deployment web"]),
        pytest.param([{**DEFAULT, "selectionScope": "NamespaceOnly"}], ["Namespace default"]),
        pytest.param([CHOSEN, DEPLOYMENTS], ["Namespace default", "Deployment web"]),
        pytest.param(
            [{**NAMESPACE, "labelSelector": {"matchLabels": {"team": "a"}}}],
            ["Namespace other", "Deployment api"],
        ),
        pytest.param([{**DEPLOYMENTS, "name": "nothing"}], []),
    ],
)
def test_selectors(selectors: list[Body], expected: list[str]) -> None:
    """A namespace comes with its content, by itself, or with what other selectors name."""
    bodies = (
        namespace("default"),
        namespace("other", team="a"),
        deployment(),
        configmap(),
        deployment("api", namespace="other"),
    )

    assert expected == selected(*bodies, by=selectors)


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        pytest.param([DEFAULT, DEFAULT], "must be selected once", id="twice"),
        pytest.param([DEPLOYMENTS], "its namespace must be selected", id="without namespace"),
        pytest.param([{**NAMESPACE, "name": "kube-system"}], "reserved", id="of Kubernetes"),
        pytest.param([{**NAMESPACE, "name": "fleet-system"}], "reserved", id="of the fleet"),
        pytest.param(
            [{**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors"}],
            "there are 2",
            id="two namespaces",
        ),
        pytest.param(
            [{**CHOSEN, "name": "missing"}, DEPLOYMENTS],
            'the namespace "missing" must be in the repository',
            id="that is not there",
        ),
        pytest.param(
            [{**CHOSEN, "name": "going"}, DEPLOYMENTS], "and not be deleted", id="that goes"
        ),
    ],
)
def test_refused_selections(selectors: list[Body], message: str) -> None:
    """They are faults of the placement."""
    goes = {"name": "going", "deletionTimestamp": "2026-11-20T11:00:00Z"}
    going = {**namespace("going"), "metadata": goes}
    with pytest.raises(UserError, match=message):
        selected(namespace("default"), namespace("other"), going, deployment(), by=selectors)


def test_content_of_the_default_namespace_may_be_chosen_without_it() -> None:
    """Every cluster has it."""
    assert ["Deployment web"] == selected(deployment(), configmap(), by=[CHOSEN, DEPLOYMENTS])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(an("Pod", "p"), id="pod"),
        pytest.param(an("Event", "e", api="events.k8s.io/v1"), id="event"),
        pytest.param(an("Lease", "l", api="coordination.k8s.io/v1"), id="lease"),
        pytest.param(an("ConfigMap", "kube-root-ca.crt"), id="root-certificate"),
        pytest.param(an("ServiceAccount", "default"), id="default-account"),
        pytest.param(an("Secret", "s", type="kubernetes.io/service-account-token"), id="token"),
        pytest.param(an("Endpoints", "svc"), id="endpoints-of-a-service"),
    ],
)
def test_what_a_cluster_makes_itself_stays_there(body: Body) -> None:
    """It is neither selected nor a fault."""
    found = selected(an("Service", "svc"), body, by=[DEFAULT])

    assert ["Service svc"] == found


def test_envelopes_are_selected_and_counted() -> None:
    """They are the only objects of the scheduling APIs that are."""
    body = an("ResourceEnvelope", "e", api="placement.kubernetes-fleet.io/v1beta1", data={})
    found = select_resources([DEFAULT], world(body, member("a"), placement()).inputs, {}, KINDS)

    assert (1, ["ResourceEnvelope"]) == (
        found.envelopes,
        [item.entry["kind"] for item in found.resources],
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            an("Service", "s", spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}),
            {},
            id="address",
        ),
        pytest.param(
            an("Service", "s", spec={"clusterIP": "None", "clusterIPs": ["None"]}),
            {"clusterIP": "None", "clusterIPs": ["None"]},
            id="headless",
        ),
        pytest.param(
            an(
                "Service",
                "s",
                spec={"healthCheckNodePort": 1, "ports": [{"nodePort": 2}]},
            ),
            {"ports": [{}]},
            id="ports",
        ),
        pytest.param(
            an(
                "Job",
                "j",
                api="batch/v1",
                spec={"selector": {"matchLabels": {"controller-uid": "1", "a": "b"}}},
            ),
            {"selector": {"matchLabels": {"a": "b"}}},
            id="job",
        ),
        pytest.param(
            an(
                "Job",
                "j",
                api="batch/v1",
                spec={"manualSelector": True, "selector": {"matchLabels": {"controller-uid": "1"}}},
            ),
            {"manualSelector": True, "selector": {"matchLabels": {"controller-uid": "1"}}},
            id="job-selected-by-hand",
        ),
    ],
)
def test_stripped_specs(body: Body, expected: Body) -> None:
    """What the cluster gave is left out."""
    assert expected == strip(body)["spec"]


def test_stripped_metadata() -> None:
    """Identity, labels and annotations of people stay."""
    given: Mapping[str, object] = {
        "name": "a",
        "uid": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"deployment.kubernetes.io/revision": "1"},
        "finalizers": ["x"],
    }

    assert {"kind": "A", "metadata": {"name": "a", "finalizers": ["x"]}} == strip(
        {"kind": "A", "metadata": given, "status": {}}
    )


def test_a_reserved_namespace_is_a_fault_of_its_placement() -> None:
    """Others go on."""
    body = placement(name="system")
    told = story(member("a"), placement(), deployment())
    told.put({**body, "spec": {"resourceSelectors": [{**NAMESPACE, "name": "kube-system"}]}})
    outcome = told.run(0)

    assert ["/spec/resourceSelectors"] == [fault.field for fault in outcome.faults]
    assert ["web"] == [decision.subject for decision in outcome.decisions]


def scheduled(told: Story, name: str = "web") -> tuple[object, object]:
    """Reason and message of the condition Scheduled of a placement."""
    status = cast(Body, told.output(f"status/{PLACEMENT.lower()}s.{GROUP}/{name}.yaml")["status"])
    conditions = cast(Sequence[Body], status["conditions"])
    found = next(one for one in conditions if one["type"] == f"{PLACEMENT}Scheduled")
    return found["reason"], found["message"]


def selecting(*selectors: Body) -> Body:
    """The placement `web` with these selectors."""
    return {**placement(pick(1)), "spec": {"policy": pick(1), "resourceSelectors": list(selectors)}}


def test_refused_selectors_are_told_in_the_status_and_make_no_snapshot() -> None:
    """As upstream does; whoever mends them gets the decision in the next pass."""
    told = story(member("a"), deployment()).put(selecting(DEFAULT, DEFAULT))
    outcome = told.run(0)

    assert ["kubefleet-unexpected"] == [fault.rule for fault in outcome.faults]
    reason, message = scheduled(told)
    assert "InvalidResourceSelectors" == reason
    assert str(message).startswith("The resource selectors are invalid: ")
    assert [] == [path for path in told.outputs if "snapshots" in path or "bindings" in path]

    told.put(selecting(DEFAULT)).run()
    assert "SchedulingPolicyFulfilled" == scheduled(told)[0]


def test_refused_selectors_leave_what_was_decided() -> None:
    """Bindings and snapshots stay, and a further pass has nothing to write."""
    told = story(member("a"), deployment()).put(selecting(DEFAULT))
    told.run(0)
    before = {path: data for path, data in told.outputs.items() if "bindings" in path}

    told.put(selecting(DEFAULT, DEFAULT)).run()

    assert "InvalidResourceSelectors" == scheduled(told)[0]
    assert before == {path: data for path, data in told.outputs.items() if "bindings" in path}
    assert () == told.run().changes


def test_a_namespace_is_selected_by_the_label_of_its_name() -> None:
    """Every API server gives it to every Namespace."""
    wanted = {"matchLabels": {"kubernetes.io/metadata.name": "other"}}
    by: list[Body] = [{**NAMESPACE, "labelSelector": wanted, "selectionScope": "NamespaceOnly"}]

    assert ["Namespace other"] == selected(namespace("other"), namespace("shop"), by=by)


def test_a_cluster_is_meant_by_the_label_of_its_name() -> None:
    """Its hub gives it to every MemberCluster; one that comes later counts at once."""
    wanted = {"matchExpressions": [named_one_of("a", "c")]}
    required = {"clusterSelectorTerms": [{"labelSelector": wanted}]}
    affinity = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    told = story(member("a"), member("b"), configmap())
    told.put(placement({"placementType": "PickAll", "affinity": affinity})).run(0)
    assert ["a"] == targets(told)
    told.put(member("c")).run()

    assert ["a", "c"] == targets(told)


def named_one_of(*names: str) -> Body:
    """A term of clusters by name."""
    return {"key": "kubernetes-fleet.io/member-name", "operator": "In", "values": list(names)}


LABELLED = {"labelSelector": {"matchLabels": {"team": "a"}}}

ROLES = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole"}
ENDPOINTS = {"group": "", "version": "v1", "kind": "Endpoints"}
SELECTORS: Sequence[Sequence[Body]] = (
    [{**NAMESPACE, "name": "one"}],
    [{**NAMESPACE, "name": "two", "selectionScope": "NamespaceOnly"}],
    [{**NAMESPACE, **LABELLED}],
    [{**ROLES, "name": "x"}],
    [{**ROLES, **LABELLED}],
    [ROLES, {**NAMESPACE, "name": "two"}],
    [{**NAMESPACE, "name": "one", "selectionScope": "NamespaceWithResourceSelectors"}, ENDPOINTS],
    [DEPLOYMENTS],
    [ENDPOINTS],
)
SELECTED_KINDS = (
    ("v1", "Namespace"),
    ("apps/v1", "Deployment"),
    ("v1", "Endpoints"),
    ("v1", "Service"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
)


def labelled(api: str, kind: str, name: str, namespace: str = "", **labels: str) -> Body:
    """Any object."""
    named = metadata(name, **({"namespace": namespace} if namespace else {}), labels=labels)
    return {"apiVersion": api, "kind": kind, "metadata": named}


def role(name: str, **labels: str) -> Body:
    """A ClusterRole."""
    return labelled("rbac.authorization.k8s.io/v1", "ClusterRole", name, **labels)


def web(namespace: str, **spec: object) -> Body:
    """A Deployment."""
    return {**labelled("apps/v1", "Deployment", "web", namespace), "spec": spec}


def placement_selecting(name: str, *selectors: Body, namespace: str = "") -> Body:
    """A placement with selectors."""
    kind = "ResourcePlacement" if namespace else "ClusterResourcePlacement"
    group = "placement.kubernetes-fleet.io/v1beta1"
    return {**labelled(group, kind, name, namespace), "spec": {"resourceSelectors": [*selectors]}}


def question(body: Body) -> PlacementQuestion:
    """A placement as the table is asked for it."""
    selectors = bodies(mapping(body, "spec"), "resourceSelectors")
    return PlacementQuestion(manifest(body).key, body, selectors)


def asked_after(before: Iterable[Body], after: Iterable[Body], *placements: Body) -> int:
    """How many of the placements are asked again after a change."""
    table, first = SelectionTable(), world(*before)
    questions = [question(body) for body in placements]
    for item in questions:
        table.select(item, first)
    asked, then = table.drawn, linked(world(*after), first)
    for item in questions:
        table.select(item, then)
    return table.drawn - asked


def test_a_workload_asks_the_placement_of_its_namespace() -> None:
    """A thousand others are not looked at."""
    placements = [
        placement_selecting(name, {**NAMESPACE, "name": name}) for name in ("one", "two", "three")
    ]
    before = [web("one", replicas=1), web("two", replicas=1)]

    assert asked_after(before, [web("one", replicas=2), before[1]], *placements) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(role("x"), role("x", team="a"), id="it-gets-the-label"),
        pytest.param(role("x", team="a"), role("x"), id="it-loses-the-label"),
    ],
)
def test_a_label_asks_the_placements_that_look_for_it(before: Body, after: Body) -> None:
    """Those that look for another label or name of the same kind stay."""
    other = {**ROLES, "labelSelector": {"matchLabels": {"team": "b"}}}
    placements = [
        placement_selecting("labelled", {**ROLES, **LABELLED}),
        placement_selecting("other", other),
        placement_selecting("named", {**ROLES, "name": "y"}),
    ]

    assert asked_after([before], [after], *placements) == 1


def test_nothing_is_asked_where_nothing_changed() -> None:
    """A round on the same world costs a look at each placement."""
    before = [web("one")]

    assert (
        asked_after(before, before, placement_selecting("one", {**NAMESPACE, "name": "one"})) == 0
    )


def test_what_is_the_same_again_is_the_same_object() -> None:
    """So that nothing which depends on it is decided anew."""
    asked = question(placement_selecting("one", {**NAMESPACE, "name": "one"}))
    first = world(web("one"), labelled("v1", "Pod", "web", "one"))
    then = linked(world(web("one"), labelled("v1", "Pod", "web", "one", app="web")), first)
    table = SelectionTable()

    assert table.select(asked, first) is table.select(asked, then)
    assert table.drawn == 2


def blobs_of_another_version() -> list[object]:
    """Where a selection finds its content once another document of the file changed."""
    asked, first = question(placement_selecting("x", {**ROLES, "name": "x"})), world(role("x"))
    (path,) = first.blobs
    before = linked(first, first)
    table = SelectionTable()
    table.select(asked, before)
    later = replace(before, blobs=patched(before.blobs, {path: "2" * 40}))

    return [item.entry["blob"] for item in table.select(asked, later).resources]


def test_another_blob_of_a_file_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """And overlooked where it is not recorded that the selection looked for the file."""
    assert ["2" * 40] == blobs_of_another_version()
    overlook("file", monkeypatch)
    assert ["2" * 40] != blobs_of_another_version()


def answer_to_odd_labels() -> object:
    """What a selection by label says once labels cannot be read; a validated file has none such."""
    asked, first = question(placement_selecting("x", {**ROLES, **LABELLED})), world(role("x"))
    before = linked(first, first)
    table = SelectionTable()
    table.select(asked, before)
    odd = manifest({**role("x"), "metadata": {"name": "x", "labels": {"team": 1}}})
    return answer(asked, replace(before, inputs=patched(before.inputs, {odd.key: odd})), table)


def test_labels_that_cannot_be_read_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And overlooked where it is not recorded that the selection looked at labels."""
    assert isinstance(answer_to_odd_labels(), str)
    overlook("odd", monkeypatch)
    assert not isinstance(answer_to_odd_labels(), str)


def test_what_is_gone_is_forgotten() -> None:
    """A placement that comes back is asked again."""
    asked, first = question(placement_selecting("x", {**ROLES, "name": "x"})), world(role("x"))
    table = SelectionTable()
    table.select(asked, first)
    table.follow(first, [asked.key])
    table.select(asked, first)

    assert table.drawn == 2


def answer(item: PlacementQuestion, at: World, table: SelectionTable | None) -> object:
    """What a placement selects, or why nothing: of a table, or without one."""
    try:
        if table is not None:
            return table.select(item, at)
        namespace = item.key.namespace
        return select_resources(item.selectors, at.inputs, at.blobs, at.known, namespace)
    except UserError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(12))
def test_a_table_that_follows_answers_like_one_that_looks_at_all(seed: int) -> None:
    """Documents come, change their labels or their file, and go, one or some at a time."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    placements = [
        *(placement_selecting(f"p{number}", *chosen) for number, chosen in enumerate(SELECTORS)),
        *(placement_selecting(f"p{i}", *SELECTORS[i], namespace="one") for i in (3, 6, 7, 8)),
    ]
    questions = [question(body) for body in placements]
    documents: dict[tuple[str, str, str], Body] = {}
    table, before = SelectionTable(), None
    for _ in range(40):
        for _ in range(chance.choice((1, 1, 1, 4))):
            api, kind = chance.choice(SELECTED_KINDS)
            cluster_wide = kind in ("Namespace", "ClusterRole")
            space = "" if cluster_wide else chance.choice(("one", "two", "three"))
            name = chance.choice(("one", "two") if kind == "Namespace" else ("x", "y"))
            if chance.random() < 0.3:
                documents.pop((kind, space, name), None)
            else:
                labels = chance.choice(({}, {"team": "a"}, {"team": "b"}))
                documents[kind, space, name] = labelled(api, kind, name, space, **labels)
        before = linked(world(*documents.values()), before)
        table.follow(before, ())
        for item in questions:
            assert answer(item, before, None) == answer(item, before, table)


AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
NAMESPACE_BODY = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default")}
LISTED = [
    {"version": "v1", "kind": "Namespace", "name": "default"},
    {"version": "v1", "kind": "ConfigMap", "name": "cfg", "namespace": "default"},
    {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "name": "web",
        "namespace": "default",
    },
]


def test_a_placement_lists_what_it_selects() -> None:
    """In the order of application, as a recorded hub lists a Namespace with what is in it."""
    told = story(member("a"), placement(), NAMESPACE_BODY, deployment(), configmap("cfg"))
    told.run(0)

    assert LISTED == status_of(told)["selectedResources"]


def test_a_list_follows_what_is_selected() -> None:
    """What goes is not listed any more; without anything there is no list."""
    told = story(member("a"), placement(), NAMESPACE_BODY, deployment(), configmap("cfg"))
    told.run(0)
    told.drop(configmap("cfg")).run(100)

    assert [LISTED[0], LISTED[2]] == status_of(told)["selectedResources"]
    told.drop(NAMESPACE_BODY).drop(deployment()).run(100)
    assert "selectedResources" not in status_of(told)


def test_a_placement_of_a_namespace_lists_it_too() -> None:
    """With the namespace of each."""
    told = story(member("a"), namespaced_placement(), configmap("cfg"), deployment())
    told.run(0)
    path = next(path for path in told.outputs if "/resourceplacements." in path)
    status = told.output(path)["status"]

    assert isinstance(status, dict)
    assert LISTED[1:] == status["selectedResources"]


def test_a_file_without_a_list_stays_until_something_else_of_it_differs() -> None:
    """Older releases listed nothing, so an upgrade does not rewrite every placement."""
    told = story(*map(member, "abc"), placement(pick(2), strategy=AT_ONCE), deployment())
    told.run(0)
    told.files |= older_outputs("kubefleet")

    assert "selectedResources" not in status_of(told)
    assert () == told.run(100).changes
    told.put(configmap("cfg")).run(100)
    assert LISTED[1:] == status_of(told)["selectedResources"]


HALF = SIZE_LIMIT // 2
SCOPES = [
    pytest.param(placement(fixed("a")), "clusterresourcesnapshots", "", id="of-the-fleet"),
    pytest.param(
        namespaced_placement(fixed("a")), "resourcesnapshots", "default/", id="of-a-namespace"
    ),
]


def resource(size: int) -> Resource:
    """A resource whose JSON has so many bytes."""
    return Resource({}, "x" * size)


def large(name: str, size: int = HALF) -> Body:
    """A ConfigMap of so many bytes and a few more."""
    return {**configmap(name), "data": {"text": "x" * size}}


def snapshots(told: Story, plural: str, scope: str) -> dict[str, list[str]]:
    """Name of each snapshot to the names of the resources in it."""
    folder = f"status/{plural}.{GROUP}/{scope}"
    return {
        path.removeprefix(folder).removesuffix(".yaml"): names_in(told.output(path))
        for path in sorted(told.outputs)
        if path.startswith(folder)
    }


def names_in(snapshot: Body) -> list[str]:
    """The names of the resources in a snapshot."""
    resources = cast(Sequence[Body], cast(Body, snapshot["spec"])["selectedResources"])
    return [cast(Mapping[str, str], one["metadata"])["name"] for one in resources]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([], [[]], id="none"),
        pytest.param([HALF, HALF], [[HALF, HALF]], id="exactly"),
        pytest.param([HALF, HALF + 1], [[HALF], [HALF + 1]], id="one-byte-more"),
        pytest.param([1, SIZE_LIMIT + 1, 1], [[1], [SIZE_LIMIT + 1], [1]], id="too-large-alone"),
        pytest.param([HALF, 1, HALF, 1], [[HALF, 1], [HALF, 1]], id="in-order"),
    ],
)
def test_resources_are_packed_in_order(sizes: list[int], expected: list[list[int]]) -> None:
    """Each chunk has 800 KiB at most, but for a single resource that has more."""
    chunks = split([resource(size) for size in sizes])

    assert expected == [[len(one.content) for one in chunk] for chunk in chunks]


@pytest.mark.parametrize(("wanted", "plural", "scope"), SCOPES)
def test_a_large_selection_has_several_snapshots(wanted: Body, plural: str, scope: str) -> None:
    """The first is the master, the others are numbered from 0."""
    told = story(member("a"), wanted, *map(large, ("one", "two", "three")))
    told.run(0)

    assert {"web-0-0": ["three"], "web-0-1": ["two"], "web-0-snapshot": ["one"]} == snapshots(
        told, plural, scope
    )
    assert () == told.run(60).faults
    assert () == told.run(120).changes


@pytest.mark.parametrize(("wanted", "plural", "scope"), SCOPES)
def test_a_lost_part_of_a_group_is_made_again(wanted: Body, plural: str, scope: str) -> None:
    """The master says how many belong together."""
    told = story(member("a"), wanted, large("one"), large("two"))
    told.run(0)
    before = snapshots(told, plural, scope)
    del told.files[f"status/{plural}.{GROUP}/{scope}web-0-0.yaml"]
    told.run(60)

    assert before == snapshots(told, plural, scope)


@pytest.mark.parametrize(("wanted", "plural", "scope"), SCOPES)
def test_a_smaller_selection_is_a_group_of_its_own(wanted: Body, plural: str, scope: str) -> None:
    """The parts of the group before stay as long as their history does."""
    told = story(member("a"), wanted, large("one"), large("two"))
    told.run(0)
    told.drop(large("two")).run(60)

    assert {
        "web-0-0": ["two"],
        "web-0-snapshot": ["one"],
        "web-1-snapshot": ["one"],
    } == snapshots(told, plural, scope)


def noted(body: Body) -> Body:
    """An object with annotations for us."""
    found = cast(Body, body["metadata"])
    return {**body, "metadata": {**found, "annotations": {SUSPEND: "true"}}}


def test_suspending_what_is_selected_begins_no_rollout() -> None:
    """The annotation is for us: no snapshot has it, and no hash counts it."""
    told = story(member("a"), deployment(), placement(pick(1)))
    told.run(0)
    told.put(noted(deployment()))

    assert () == told.run(10).changes


def test_what_older_rules_counted_stays_until_something_else_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hash with an annotation for us is that of the same content."""
    told = story(member("a"), configmap(), noted(deployment()), placement(pick(1)))
    with monkeypatch.context() as older:
        for module in (resource_snapshots, selection):
            older.setattr(module, "without_ours", lambda body: body)
        told.run(0)

    assert () == told.run(10).changes

    told.put(noted(deployment(replicas=5))).run(20)
    assert 2 == sum(path.startswith(RESOURCES) for path in told.files)
