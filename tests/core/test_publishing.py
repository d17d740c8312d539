"""What passes publish of decisions: all of them, as they are, and nothing of what is gone."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.audit.references import check_references
from reconciler.core.changes import WriteFile
from reconciler.core.dialects import DIALECTS, KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.world import World
from reconciler.multicluster.cluster_profile import MEMBER_LABEL
from reconciler.shell.resources import load_schemas
from tests.bounded import examples
from tests.builders import (
    Body,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    policy,
    profile,
    selector,
    taint,
)
from tests.core.inputs.test_world import managed, pick_all
from tests.core.test_law_memo import told_of
from tests.core.test_laws import LAW
from tests.dialects.ocm.test_decide import DECISION_FILE
from tests.dialects.ocm.worlds import BY_SCORE, binding, cluster_set, placement
from tests.multicluster.test_cluster_profile import namespace
from tests.shell.fleet import ROOT
from tests.stories import Story, applied, linked, story
from tests.strategies import SECONDS, edit, objects, report, reported

pytestmark = pytest.mark.cpu_seconds(120)  # many examples of whole passes

SET = {"multicluster.x-k8s.io/clusterset": "s"}
PROFILES = "status/clusterprofiles.multicluster.x-k8s.io/"
FOLDER = "status/placementdecisions.multicluster.x-k8s.io/"
DECISION_KEY, PLACEMENT_KEY = (
    f"multicluster.x-k8s.io/{name}" for name in ("decision-key", "placement-key")
)


def publishing(**options: object) -> Body:
    """A configuration that publishes, on clusters that are profiles."""
    publish = {"namespace": "decisions", **options}
    return configuration(inventory={"project": True}, decisions={"publish": publish})


def publishing_both(*, project: bool = True) -> Body:
    """A configuration that publishes clusters, too."""
    return configuration(
        inventory={"project": project, "publish": {"namespace": "inventory", "manager": "us"}},
        decisions={"publish": {"namespace": "decisions"}},
    )


def profiles(told: Story) -> Mapping[str, Any]:
    """The profiles that are published, by name."""
    paths = [path for path in told.files if path.startswith(PROFILES)]
    return {path.rpartition("/")[2].removesuffix(".yaml"): told.output(path) for path in paths}


def slices(told: Story) -> Mapping[str, Body]:
    """The slices by name."""
    paths = [path for path in told.files if path.startswith(FOLDER)]
    return {path.rpartition("/")[2].removesuffix(".yaml"): told.output(path) for path in paths}


def published(told: Story) -> Mapping[str, list[str]]:
    """Of each placement the clusters and why, as a consumer collects them: by key and index."""
    found: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for body in slices(told).values():
        metadata = cast(Any, body["metadata"])
        index = int(metadata["labels"].get("multicluster.x-k8s.io/decision-index", "0"))
        found[metadata["annotations"]["reconciler.dev/placement"]].append((index, body))
    return {
        about: [
            f"{one['clusterProfileRef']['name']}: {one['reason']}"
            for _, body in sorted(listed, key=lambda pair: pair[0])
            for one in body["decisions"]
        ]
        for about, listed in sorted(found.items())
    }


def of_all_apis() -> Story:
    """Two profiles, and a policy of each API."""
    told = story(publishing(), profile("a"), profile("b"), namespace(**SET), namespace("x"))
    told.put(deployment(), policy(), pick_all())
    return told.put(cluster_set(), binding(), placement(prioritizerPolicy=BY_SCORE))


def test_decisions_of_all_three_apis_are_published() -> None:
    """In one form; each reference leads to a profile."""
    told = of_all_apis()
    told.run(0)

    assert {
        "clusterresourceplacement.placement.kubernetes-fleet.io/base": ["a: chosen", "b: chosen"],
        "deployment.apps/default/web": ["a: chosen (policy p)", "b: chosen (policy p)"],
        "placement.cluster.open-cluster-management.io/ns1/p": ["a: chosen", "b: chosen"],
    } == published(told)
    references = [
        one["clusterProfileRef"]
        for body in slices(told).values()
        for one in cast(Any, body["decisions"])
    ]
    assert {"fleet"} == {one["namespace"] for one in references}
    assert () == told.run(0).changes


def test_nothing_is_published_unless_asked_for_and_goes_when_it_no_longer_is() -> None:
    """In one commit."""
    told = of_all_apis()
    told.run(0)
    before = len(slices(told))
    told.put(configuration(inventory={"project": True})).run(1)

    assert (3, 0) == (before, len(slices(told)))


def test_what_only_follows_others_is_left_out() -> None:
    """A dependency is where its workload is; that workload's decision says so."""
    volumes = {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}
    web = deployment()
    spec = cast(Any, web["spec"])
    pod = {"spec": {**spec["template"]["spec"], **volumes}}
    told = story(
        publishing(), profile("a"), configmap(), {**web, "spec": {**spec, "template": pod}}
    )
    told.put(policy(propagateDeps=True)).run(0)
    told.run(1)

    assert 2 == sum("resourcebindings" in path for path in told.outputs)
    assert ["deployment.apps/default/web"] == [*published(told)]


def test_a_cluster_that_is_left_gracefully_is_in_until_its_copy_may_go() -> None:
    """With why; a consumer takes the workload away no sooner than delivery does."""
    bodies = [cluster("a", status=cluster_status()), cluster("b", status=cluster_status())]
    told = story(publishing(), *bodies, deployment(), policy(failover={}))
    told.run(0)
    told.put(cluster("a", status=cluster_status(), taints=[taint("gone", "NoExecute")])).run(1)

    assert ["a: leaving (TaintUntolerated)", "b: chosen (policy p)"] == (
        published(told)["deployment.apps/default/web"]
    )


def test_when_a_placement_goes_all_its_slices_go_in_one_commit() -> None:
    """More than a hundred clusters take two."""
    names = [f"c{number:03}" for number in range(101)]
    told = story(publishing(), *map(profile, names), deployment(), policy())
    told.run(0)
    before = [len(cast(Any, body["decisions"])) for body in slices(told).values()]
    indexes = [cast(Any, body["metadata"])["labels"] for body in slices(told).values()]
    told.drop(deployment(), policy()).put(
        configuration(
            inventory={"project": True},
            decisions={"publish": {"namespace": "decisions"}},
            safety={"maxRemovedPercent": 100},
        )
    ).run(1)

    assert [100, 1] == before
    assert ["0", "1"] == [one["multicluster.x-k8s.io/decision-index"] for one in indexes]
    assert {} == slices(told)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"for": {"ocm": {}}}, ["placement.cluster.open-"], id="one-api"),
        pytest.param({"for": {}}, [], id="none"),
        pytest.param(
            {"for": {"karmada": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}},
            [],
            id="labels-that-it-lacks",
        ),
    ],
)
def test_apis_and_labels_choose_what_is_published(
    options: Mapping[str, object], expected: list[str]
) -> None:
    """The labels are those of the workload, or of the placement."""
    told = of_all_apis().put(publishing(**options))
    told.run(0)

    assert expected == [one[:23] for one in published(told)]


def test_a_workload_whose_labels_come_to_match_is_published_by_a_warm_pass() -> None:
    """Though nothing else of its decision differs."""
    gold = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    told, memo = of_all_apis().put(publishing(**{"for": {"karmada": gold}})), Memo()
    told.files = applied(told.files, reconcile(told.world(), told.now, memo=memo))
    told.put(deployment(labels={"tier": "gold"}))
    told.files = applied(told.files, reconcile(told.world(), told.now, memo=memo))

    assert ["deployment.apps/default/web"] == [*published(told)]


def test_replicas_are_told_in_an_annotation_if_asked_for() -> None:
    """Upstream has no word for them."""
    told = of_all_apis().put(publishing(replicas=True))
    told.run(0)

    notes = [cast(Any, body["metadata"])["annotations"] for body in slices(told).values()]
    assert ["a=2,b=2"] == [one["reconciler.dev/replicas"] for one in notes if len(one) == 3]


def test_an_edited_slice_is_put_right() -> None:
    """Also one that nobody decided anything for."""
    told, memo = of_all_apis(), Memo()
    told.files = applied(told.files, reconcile(told.world(), told.now, memo=memo))
    good = dict(told.files)
    (path,) = [path for path in told.files if path.startswith(f"{FOLDER}decisions/base-")]
    told.files[path] = told.files[path].replace("name: b\n", "name: z\n")
    told.files[path.replace("/base-", "/other-")] = good[path].replace(
        "name: base-", "name: other-"
    )
    told.files = applied(told.files, reconcile(told.world(), told.now, memo=memo))

    assert {p: t for p, t in good.items() if p.startswith(FOLDER)} == (
        {p: t for p, t in told.files.items() if p.startswith(FOLDER)}
    )


def test_each_cluster_of_any_api_has_one_profile() -> None:
    """Those of one name are one; what the first API says counts."""
    told = story(publishing_both(), cluster("a", region="eu"), managed("a", of="ocm"), managed("b"))
    told.put(profile("c")).run(0)

    found = profiles(told)

    assert ["a", "b", "c"] == [*found]
    assert {"us"} == {one["spec"]["clusterManager"]["name"] for one in found.values()}
    assert [{"name": "topology.kubernetes.io/region", "value": "eu"}] == (
        found["a"]["status"]["properties"]
    )
    assert "of" not in found["a"]["metadata"]["labels"]
    assert () == told.run(60).changes


def test_a_profile_changes_only_when_a_fact_does() -> None:
    """Its other conditions keep their moments; a heartbeat is no fact."""
    status = {**cluster_status(), "kubernetesVersion": "v1"}
    told = story(publishing_both(), cluster("a", status=status), cluster("b"))
    told.run(0)
    before = profiles(told)
    beats = [{**one, "lastHeartbeatTime": "2026-11-20T13:00:00Z"} for one in status["conditions"]]  # type: ignore[attr-defined]
    told.put(cluster("a", status={**status, "conditions": beats}))
    quiet = told.run(5)
    told.put(cluster("a", status={**status, "kubernetesVersion": "v2"})).run(10)
    after = profiles(told)

    assert [] == [one.path for one in quiet.changes if one.path.startswith(PROFILES)]
    assert before["b"] == after["b"]
    assert before["a"]["status"]["conditions"] == after["a"]["status"]["conditions"]
    assert {"kubernetes": "v2"} == after["a"]["status"]["version"]


def test_a_profile_stays_until_no_slice_names_its_cluster() -> None:
    """A cluster that is gone may hold copies for a while."""
    told = story(publishing_both(), cluster("a"), cluster("b"), deployment(), policy())
    told.run(0)
    told.drop(cluster("b"))
    left, seen = [], []
    for _ in range(12):
        outcome = told.run()
        left.append("b" in profiles(told))
        seen.append(any("b:" in one for one in published(told)["deployment.apps/default/web"]))
        if outcome.recheck_at is not None:
            told.now = max(told.now, outcome.recheck_at)

    assert left == seen
    assert not left[-1]


def test_a_profile_of_another_manager_at_the_same_place_is_left_alone() -> None:
    """And decisions name it."""
    told = story(publishing_both(), profile("a", namespace="inventory"), profile("b"))
    told.put(deployment(), policy()).run(0)

    (body,) = slices(told).values()

    assert ["b"] == [*profiles(told)]
    assert [{"name": name, "namespace": "inventory"} for name in "ab"] == (
        [one["clusterProfileRef"] for one in cast(Any, body["decisions"])]
    )


def test_ours_goes_once_another_manager_has_a_profile_at_the_place() -> None:
    """Whatever was published first: the same files make the same outputs."""
    late = story(publishing_both(), profile("b"), deployment(), policy())
    late.run(0)
    late.put(profile("b", namespace="inventory")).run(60)

    assert [] == [*profiles(late)]
    assert () == late.run(120).changes


def test_profiles_of_our_own_manager_are_no_clusters() -> None:
    """A copy of what we publish does not make clusters of itself."""
    told = story(publishing_both(), profile("a"), profile("z", manager="us"))
    told.run(0)

    assert ["a"] == [*profiles(told)]


def test_ways_to_reach_a_cluster_are_copied_without_secrets() -> None:
    """With the member id and the name for people that others gave it."""
    fine = {"name": "fine", "cluster": {"server": "https://a"}}
    extension = {"name": "x", "extension": {"token": "hunter2"}}
    secret = {"name": "bad", "cluster": {"server": "https://a", "extensions": [extension]}}
    told = story(publishing_both(), cluster("a"))
    told.put(profile("a", labels={MEMBER_LABEL: "m1"}, accessProviders=[fine, secret])).run(0)

    (found,) = profiles(told).values()

    assert [fine] == found["status"]["accessProviders"]
    assert "m1" == found["metadata"]["labels"][MEMBER_LABEL]
    assert "hunter2" not in str(told.outputs)


def chosen_in(world: World) -> dict[str, list[str]]:
    """What decisions say, of each object that is published."""
    found = {}
    for dialect in DIALECTS:
        for one in world.outputs_of(sorted(dialect.placed)):
            chosen = dialect.view().world.chosen(world, one.key)
            if chosen is not None:
                about = dialect.view().outputs.workload_of(one.body)
                key = one.key if about is None else about.key
                found[_called(key)] = sorted(f"{each.name}: {each.reason}" for each in chosen)
    return found


def _called(key: ObjectKey) -> str:
    kind = f"{key.kind.lower()}.{key.group}" if key.group else key.kind.lower()
    return "/".join(filter(None, (kind, key.namespace, key.name)))


@settings(LAW, max_examples=examples(200))
@given(
    objects(),
    st.lists(st.tuples(objects(), st.integers(0, 15), reported, SECONDS), max_size=3),
    st.booleans(),
)
def test_consumers_see_what_decisions_say_through_any_history(
    bodies: list[Body],
    edits: list[tuple[list[Body], int, tuple[str, Body] | None, int]],
    project: bool,  # noqa: FBT001  # drawn
) -> None:
    """And a warm pass publishes what a cold one does; a second pass changes nothing."""
    told, memo = story(*bodies), Memo()
    for fresh, share, said, seconds in [([], 0, None, 0), *edits]:
        edit(told, fresh, share)
        report(told, said)
        told.put(publishing_both(project=project))
        told.now += timedelta(seconds=1 + seconds)
        world = told.world()
        outcome = reconcile(world, told.now, memo=memo)
        assert told_of(reconcile(world, told.now)) == told_of(outcome)
        told.files = applied(told.files, outcome)

        after = told.world()
        seen = {about: sorted(names) for about, names in published(told).items()}
        assert chosen_in(after) == seen
        known = {"inventory/" + name for name in profiles(told)}
        assert known >= {
            f"{one['clusterProfileRef']['namespace']}/{one['clusterProfileRef']['name']}"
            for body in slices(told).values()
            for one in cast(Any, body["decisions"])
        }
        assert () == reconcile(after, told.now).changes


GENERATOR = re.compile(r"<!-- generator -->\n```yaml\n(.*?)```", re.DOTALL)


def generated_today(body: Body, list_key: str, match_key: str) -> list[str]:
    """The clusters that Argo CD's generator clusterDecisionResource takes from a resource.

    Source: argo-cd@v3.3 applicationset/generators/duck_type.go: a resource without a status, or
    without that list in it, gives none; of each item it takes one text.
    """
    status = body.get("status")
    listed = status.get(list_key, ()) if isinstance(status, Mapping) else ()
    return [item[match_key] for item in listed if match_key in item]


def test_argo_cd_of_today_passes_over_the_neutral_kind() -> None:
    """It reads the one of a hub, by the settings that the page shows."""
    page = (ROOT / "docs/one-system.md").read_text(encoding="utf-8")
    found = GENERATOR.search(page)
    assert found is not None
    settings_map, application_set = yaml.safe_load_all(found[1])
    keys = settings_map["data"]
    (generator,) = application_set["spec"]["generators"]
    told = of_all_apis()
    told.run(0)
    own = told.output(DECISION_FILE)
    labels = generator["clusterDecisionResource"]["labelSelector"]["matchLabels"]

    assert (own["apiVersion"], f"{str(own['kind']).lower()}s") == (
        keys["apiVersion"],
        keys["kind"],
    )
    assert labels.keys() <= cast(Any, own["metadata"])["labels"].keys()
    assert ["a", "b"] == generated_today(own, keys["statusListKey"], keys["matchKey"])
    for body in slices(told).values():
        assert [] == generated_today(body, keys["statusListKey"], keys["matchKey"])
        assert "status" not in body


def test_argo_cd_reads_files_of_the_transport_for_all_apis() -> None:
    """A list a decision, with one flat name for each cluster."""
    told = of_all_apis().put(configuration(inventory={"project": True}, delivery={"decisions": {}}))
    delivered = reconcile(told.world(), told.now).delivered
    lists = {one.path: json.loads(one.content) for one in delivered if isinstance(one, WriteFile)}

    (path,) = [path for path in lists if path.endswith("web-deployment.json")]
    assert ["a", "b"] == [one["cluster"] for one in lists[path]]


def generated_as_proposed(
    hub: Iterable[Body], there: Collection[str], selected: Mapping[str, str]
) -> list[dict[str, str]]:
    """What a generator of the neutral kind gives a template, one mapping for each cluster.

    It lists the slices that labels select, joins those of one decision in the order of their
    indexes, and resolves each reference to a ClusterProfile, whose name is the destination.

    Source: KEP-5313, the guide for consumers; argo-cd#27663.
    """

    def place(body: Body) -> tuple[str, int]:
        labels = cast(Any, body)["metadata"]["labels"]
        return labels[DECISION_KEY], int(labels.get("multicluster.x-k8s.io/decision-index", "0"))

    chosen = [one for one in hub if selected.items() <= labels_of(one).items()]
    listed = [cast(Any, one)["decisions"] for one in sorted(chosen, key=place)]
    references = [one["clusterProfileRef"] for decisions in listed for one in decisions]
    assert {one["name"] for one in references} <= set(there)
    return references


@pytest.mark.parametrize("label", [DECISION_KEY, PLACEMENT_KEY])
def test_the_proposed_generator_reads_a_decision_whole(label: str) -> None:
    """By the label of the decision, or of what it is about, whatever order a hub lists it in."""
    names = [f"c{number:03}" for number in range(130)]
    told = story(publishing_both(), deployment(), policy(), *map(cluster, names))
    told.run(0)
    hub = list(slices(told).values())
    value = labels_of(hub[0])[label]

    generated = generated_as_proposed(reversed(hub), profiles(told), {label: value})

    assert 2 == len(hub)
    assert [{"name": name, "namespace": "inventory"} for name in names] == generated
    assert [] == generated_as_proposed(hub, (), {label: "other"})


def test_a_decision_without_profiles_is_told() -> None:
    """Unless passes publish the profiles, or somebody wrote them."""
    decisions = {"publish": {"namespace": "decisions"}}
    told = story(configuration(decisions=decisions), cluster("a"), cluster("b"), profile("b"))

    assert ["decision-without-profile: a has no ClusterProfile"] == [
        found.split(",")[0] for found in warned(told)
    ]
    assert [] == warned(told.put(profile("a")))
    assert [] == warned(story(publishing_both(), cluster("a")))
    assert [] == warned(story(configuration(), cluster("a")))


def warned(told: Story) -> list[str]:
    """What `validate` warns of."""
    found = check_references(told.world(), {})
    return [f"{one.fault.rule}: {one.fault.message}" for one in found]


FEW, MANY = 10, 40


def fleet_of(groups: int, *, publishes: bool) -> Story:
    """Three clusters and six workloads a group, which a policy puts onto them."""
    options = {
        "inventory": {"publish": {"namespace": "inventory", "manager": "us"}},
        "decisions": {"publish": {"namespace": "decisions"}},
    }
    told = story(configuration(**(options if publishes else {})))
    for number in range(groups):
        cell = {"cell": f"g{number}"}
        told.put(*(cluster(f"c{number}-{i}", labels=cell, status=cluster_status()) for i in "abc"))
        names = [f"w{number}-{i}" for i in range(6)]
        told.put(*(deployment(name, replicas=2) for name in names))
        chosen = {"clusterAffinity": {"labelSelector": {"matchLabels": cell}}}
        selectors = [selector("Deployment", name=name) for name in names]
        told.put(policy(f"p{number}", selectors=selectors, placement=chosen))
    return told


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of ours a piece of work calls."""
    called = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal called
        called += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return called


def cost(groups: int, *, publishes: bool) -> tuple[int, int]:
    """The calls of a first pass, its reading included, and of one after a change of a workload."""
    told, memo = fleet_of(groups, publishes=publishes), Memo()
    world, rules = told.world(), Rules(load_schemas(), ADMISSIONS, KINDS)
    files = [(path, data.encode()) for path, data in told.inputs.items()]
    first = calls_of(lambda: [validate_file(path, "", data, rules) for path, data in files])
    first += calls_of(lambda: reconcile(world, told.now))
    for _ in range(4):
        told.files = applied(told.files, reconcile(world, told.now, memo=memo))
        told.now += timedelta(seconds=1)
        world = linked(told.world(), world)
    reconcile(world, told.now, memo=memo)
    told.put(deployment("w1-1", replicas=5))
    changed = linked(told.world(), world)
    return first, calls_of(lambda: reconcile(changed, told.now, memo=memo))


def test_publishing_costs_little_of_a_pass_and_no_more_in_a_larger_fleet() -> None:
    """Of a first pass a seventh, with twice as many placements as clusters; of a change a tenth."""
    for publishes in (True, False):
        cost(1, publishes=publishes)  # what is loaded late is loaded
    plain, publishing = (cost(MANY, publishes=publishes) for publishes in (False, True))
    small = cost(FEW, publishes=True)

    assert publishing[0] <= 1.15 * plain[0]
    assert publishing[1] <= 1.10 * plain[1]
    assert publishing[1] <= 1.02 * small[1]
