"""How verbs name kinds and objects of all APIs, and what they show of those that place nothing."""

from pathlib import Path

import pytest

from reconciler.audit.fleet.copy_counts import NO_TRANSPORT
from tests.builders import (
    Body,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    metadata,
    policy,
    selector,
    text,
)
from tests.cli.history import answer, answer_json, told_fleet
from tests.delivery.story import files_of
from tests.dialects.kubefleet.fleet import (
    APPROVAL,
    EXTERNAL,
    member,
    placement,
    run,
    stage,
    strategy,
    waits,
)
from tests.dialects.ocm.worlds import binding, cluster_set, progressive, replica_set
from tests.dialects.ocm.worlds import cluster as managed
from tests.dialects.ocm.worlds import fleet as worlds_fleet
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.shell.fleet import decided_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

AN_HOUR_LATER = pytest.mark.usefixtures("an_hour_later")
Capsys = pytest.CaptureFixture[str]
POLICY = policy(selectors=[selector(name="web")])
OF_ONE_API = "placements.cluster.open-cluster-management.io"
FILES = {
    "clusters/karmada.yaml": text(cluster("a", status=cluster_status(cpu="8")), cluster("b")),
    "clusters/fleet.yaml": text(member("a"), member("c")),
    "clusters/hub.yaml": text(cluster_set(), binding(), managed("d")),
    "policies/web.yaml": text(POLICY),
    "placements/fleet.yaml": text(placement(name="everything")),
    "placements/hub.yaml": text(hub_placement(numberOfClusters=1)),
    "placements/set.yaml": text(replica_set(deployment())),
    "workloads/web.yaml": text(deployment(cpu="1")),
}


def placed(folder: Path, files: dict[str, str]) -> Checkout:
    """A repository after a pass."""
    checkout = new_checkout(folder)
    checkout.commit(files, "Start")
    run_pass(folder, 0)
    return checkout


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A workload that all three APIs place; two of them declare the cluster a."""
    return placed(tmp_path_factory.mktemp("apis") / "fleet", FILES)


def warned(tmp_path: Path, capsys: Capsys, *but: str, more: tuple[Body, ...] = ()) -> list[str]:
    """The first lines of the warnings, without the files of some paths."""
    files = {path: data for path, data in FILES.items() if path not in but}
    files |= {"workloads/more.yaml": text(*more)} if more else {}
    checkout = new_checkout(tmp_path / "fleet", files)
    _, out, _ = answer(checkout, capsys, "validate", "-o", "text")
    return [line for line in out.splitlines() if "placed-by-two-apis" in line]


@AN_HOUR_LATER
def test_an_object_that_several_apis_place_is_one_warning(tmp_path: Path, capsys: Capsys) -> None:
    """It stands at the selector of the first, and names the files of the others."""
    [line] = warned(tmp_path, capsys)

    assert line.startswith("policies/web.yaml:1:")
    assert (
        "warning: manifestworkreplicaset/shop in namespace ns1 (placements/set.yaml:1) and "
        "clusterresourceplacement/everything (placements/fleet.yaml:1) put deployment/web in "
        "namespace default onto clusters, too: where both do, each undoes the other "
    ) in line


@AN_HOUR_LATER
@pytest.mark.parametrize(
    ("but", "where"),
    [
        pytest.param("policies/web.yaml", "placements/set.yaml:1:", id="set-and-placement"),
        pytest.param("placements/set.yaml", "policies/web.yaml:1:", id="policy-and-placement"),
        pytest.param("placements/fleet.yaml", "policies/web.yaml:1:", id="policy-and-set"),
    ],
)
def test_any_two_apis_are_told(tmp_path: Path, capsys: Capsys, but: str, where: str) -> None:
    """Whichever they are."""
    [line] = warned(tmp_path, capsys, but)

    assert line.startswith(where)
    assert " puts deployment/web in namespace default onto clusters, too: " in line


@AN_HOUR_LATER
@pytest.mark.parametrize("left", ["policies/web.yaml", "placements/fleet.yaml"])
def test_one_api_places_as_often_as_it_likes(tmp_path: Path, capsys: Capsys, left: str) -> None:
    """Of its own policies its own rules tell."""
    others = {"policies/web.yaml", "placements/fleet.yaml", "placements/set.yaml"} - {left}

    assert [] == warned(tmp_path, capsys, *others)


@AN_HOUR_LATER
def test_objects_on_which_the_same_two_meet_are_told_together(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A policy of all Deployments is not a page of warnings."""
    more = tuple(deployment(name) for name in ("api", "job", "shop", "zoo"))
    files = {**FILES, "policies/web.yaml": text(policy()), "workloads/more.yaml": text(*more)}
    del files["placements/set.yaml"]
    checkout = new_checkout(tmp_path / "fleet", files)
    _, out, _ = answer(checkout, capsys, "validate")

    [line] = [line for line in out.splitlines() if "placed-by-two-apis" in line]
    assert "shop in namespace default and 2 more onto clusters, too" in line


@AN_HOUR_LATER
def test_objects_that_others_place_are_no_meeting(tmp_path: Path, capsys: Capsys) -> None:
    """The policy takes one, the placement takes it with all that is beside it."""
    lines = warned(tmp_path, capsys, "placements/set.yaml", more=(configmap(),))

    assert 1 == len(lines)
    assert "settings" not in lines[0]


@AN_HOUR_LATER
def test_placements_of_all_apis_are_one_table(fleet: Checkout, capsys: Capsys) -> None:
    """In the order in which a pass asks the APIs, each with the clusters that it has."""
    code, out, _ = answer(fleet, capsys, "get", "placements", "-A")

    assert 0 == code
    assert out == (
        "NAMESPACE   NAME                                                                "
        "CLUSTERS   ON\n"
        "default     propagationpolicy.policy.karmada.io/p                               "
        "2          a, b\n"
        "ns1         placement.cluster.open-cluster-management.io/p                      "
        "1          d\n"
        "ns1         manifestworkreplicaset.work.open-cluster-management.io/shop         "
        "1          d\n"
        "            clusterresourceplacement.placement.kubernetes-fleet.io/everything   "
        "2          a, c\n"
    )


@AN_HOUR_LATER
def test_those_of_one_api_have_their_full_name(fleet: Checkout, capsys: Capsys) -> None:
    """So has one that is named, and so have they all where there are no others."""
    table = answer(fleet, capsys, "get", OF_ONE_API, "-n", "ns1")

    assert table[1].startswith("NAME   SUCCEEDED")
    assert table == answer(fleet, capsys, "get", "placements", "p", "-n", "ns1")


@AN_HOUR_LATER
def test_where_one_api_has_placements_they_are_shown_as_its_own(
    tmp_path: Path, capsys: Capsys
) -> None:
    """As kubectl does."""
    kept = ("clusters/hub.yaml", "placements/hub.yaml")
    hub = placed(tmp_path / "hub", {path: FILES[path] for path in kept})
    table = answer(hub, capsys, "get", "placements", "-n", "ns1")

    assert table == answer(hub, capsys, "get", OF_ONE_API, "-n", "ns1")


@AN_HOUR_LATER
def test_placements_of_all_apis_are_chosen_and_printed_as_others(
    fleet: Checkout, capsys: Capsys
) -> None:
    """By labels, with labels, as names and as a List."""
    chosen = answer(fleet, capsys, "get", "placements", "-A", "-l", "team=web", "-L", "team")
    names = answer(fleet, capsys, "get", "placements", "-A", "-o", "name")[1].splitlines()
    code, listed = answer_json(fleet, capsys, ["get", "placements", "-A"])

    assert ["NAMESPACE", "NAME", "CLUSTERS", "ON", "TEAM"] == chosen[1].splitlines()[0].split()
    assert chosen[1].splitlines()[1].endswith("web")
    assert 4 == len(names) == len(listed["items"])
    assert 0 == code


@AN_HOUR_LATER
def test_a_cluster_that_two_apis_declare_is_one_line(fleet: Checkout, capsys: Capsys) -> None:
    """Its room counts once, and all that is placed on it together."""
    _, out, _ = answer(fleet, capsys, "top", "clusters")
    rows = [line.split()[:8] for line in out.splitlines()[1:]]

    assert ["a", "Cluster,MemberCluster", "True,Declared", "2", "2", "2", "6", "8"] == rows[0]
    assert ["a", "b", "c", "d"] == [name for name, *_ in rows]


@AN_HOUR_LATER
def test_both_declarations_are_told_for_machines(fleet: Checkout, capsys: Capsys) -> None:
    """The others are listed beside the first."""
    _, told = answer_json(fleet, capsys, ["top", "clusters"])
    others = [[key["kind"] for key in one["alsoDeclaredBy"]] for one in told["clusters"]]

    assert [["MemberCluster"], [], [], []] == others


@AN_HOUR_LATER
def test_a_tree_of_a_workload_has_all_that_places_it(fleet: Checkout, capsys: Capsys) -> None:
    """Its binding, the placement that carries it, and the set that has it in its template."""
    code, out, _ = answer(fleet, capsys, "tree", "deployment/web")
    _, told = answer_json(fleet, capsys, ["tree", "deployment/web"])

    roots = [part.split()[0] for part in out.split("\n\n")[:3]]
    assert 0 == code
    assert [
        "resourcebinding/web-deployment",
        "clusterresourceplacement/everything",
        "manifestworkreplicaset/shop",
    ] == roots
    assert roots[1:] == [
        f"{one['object']['kind'].lower()}/{one['object']['name']}" for one in told["alsoPlacedBy"]
    ]


@AN_HOUR_LATER
def test_a_workload_without_a_policy_has_the_tree_of_what_carries_it(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Before, nothing was said to be placed."""
    files = {path: data for path, data in FILES.items() if "web.yaml" not in path}
    checkout = placed(tmp_path / "fleet", {**files, "workloads/api.yaml": text(deployment("api"))})
    code, out, _ = answer(checkout, capsys, "tree", "deployment/api")

    assert (0, "clusterresourceplacement/everything") == (code, out.split()[0])


@AN_HOUR_LATER
def test_what_is_kept_of_a_projected_cluster_is_no_cluster(tmp_path: Path, capsys: Capsys) -> None:
    """Its one file is listed once, under its own kind."""
    tainted = member("t", taints=[{"key": "x", "value": "v", "effect": "NoSchedule"}])
    options = configuration(inventory={"project": True})
    fleet = placed(
        tmp_path / "fleet",
        {
            "reconciler.yaml": text(options),
            "clusters/fleet.yaml": text(member("a"), tainted),
            "policies/web.yaml": text(POLICY),
            "workloads/web.yaml": text(deployment()),
        },
    )
    assert (fleet.folder / "status/clusters.cluster.karmada.io/t.yaml").exists()

    assert (
        "no clusters; its API sees 2 memberclusters" in answer(fleet, capsys, "get", "clusters")[2]
    )
    listed = answer(fleet, capsys, "get", "memberclusters", "-o", "name")[1]
    assert ["a", "t"] == [line.rpartition("/")[2] for line in listed.splitlines()]
    assert 1 == answer(fleet, capsys, "describe", "clusters.cluster.karmada.io/t")[0]


SLOW: Body = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "ClusterTaintPolicy",
    "metadata": metadata("slow"),
    "spec": {
        "targetClusters": {"clusterNames": ["k1", "k2"]},
        "taints": [{"key": "slow", "effect": "NoSchedule"}],
        "addOnConditions": [
            {"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}
        ],
        "removeOnConditions": [
            {"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}
        ],
    },
}
STAGES = (
    stage("canary", beforeStageTasks=[APPROVAL], afterStageTasks=[waits("10m")]),
    stage("prod"),
)
WAITS = "waits for an approval of canary: reconciler approve first canary"


@pytest.fixture(scope="module")
def staged_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A run that waits for an approval, and a policy that has put a taint on a cluster."""
    made = new_checkout(
        tmp_path_factory.mktemp("kinds") / "fleet",
        files_of(
            member("a", labels={"stage": "canary"}),
            member("b", labels={"stage": "prod"}),
            placement(strategy=EXTERNAL),
            deployment(),
            strategy(*STAGES),
            run(),
            cluster("k1", status=cluster_status("False")),
            cluster("k2", status=cluster_status()),
            cluster("k3", status=cluster_status("False")),
            SLOW,
        ),
    )
    run_pass(made.folder, 0)
    return made


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        pytest.param("get clustertaintpolicies", ["TAINTS", "slow:NoSchedule"], id="get-policy"),
        pytest.param(
            "tree clustertaintpolicy/slow",
            ["k1   ", "slow:NoSchedule since 2026-11-20T12:00:00Z", "k2   ", "taints: none"],
            id="tree-policy",
        ),
        pytest.param("describe clustertaintpolicy/slow", ["Add On Conditions:"], id="of-policy"),
        pytest.param("explain clustertaintpolicy.spec", ["addOnConditions"], id="explain-policy"),
        pytest.param("get csus", ["STAGES", "canary, prod"], id="get-strategy"),
        pytest.param("tree csus/careful", ["clusterstagedupdaterun/first", WAITS], id="tree-csus"),
        pytest.param("describe csus/careful", ["Wait Time:", "10m"], id="describe-strategy"),
        pytest.param("explain csus.spec.stages", ["maxConcurrency"], id="explain-strategy"),
        pytest.param("get csur", ["PLACEMENT", "web", "False"], id="get-run"),
        pytest.param("why csur/first", ["web is on a, b", "Rollout:", WAITS], id="why-run"),
        pytest.param(
            "events csur/first",
            ["StageTaskApprovalRequestCreated", "Stage canary waits for an approval"],
            id="events-run",
        ),
        pytest.param("tree csur/first", ["clusterresourceplacement/web", WAITS], id="tree-run"),
        pytest.param(
            "describe csur/first",
            ["Conditions:", "StageTaskApprovalRequestCreated", "clusterstagedupdaterun-controller"],
            id="describe-run",
        ),
        pytest.param("explain csur.spec", ["stagedRolloutStrategyName"], id="explain-run"),
        pytest.param("get careq", ["UPDATE-RUN", "first", "canary"], id="get-request"),
        pytest.param("why careq/first-before-canary", ["web is on a, b", WAITS], id="why-request"),
        pytest.param("tree careq/first-before-canary", ["placement/web", WAITS], id="tree-request"),
        pytest.param("events careq/first-before-canary", ["PlacementScheduleSuccess"], id="events"),
        pytest.param("describe careq/first-before-canary", ["Target Stage:"], id="of-request"),
    ],
)
def test_verbs_answer(
    staged_fleet: Checkout, capsys: Capsys, words: str, pieces: list[str]
) -> None:
    """Each as a user of the kind expects."""
    code, out, _ = answer(staged_fleet, capsys, *words.split())

    assert 0 == code
    assert [] == [piece for piece in pieces if piece not in out]


@pytest.mark.parametrize("word", ["clustertaintpolicy/slow", "csus/careful"])
def test_what_places_nothing_has_no_why(staged_fleet: Checkout, capsys: Capsys, word: str) -> None:
    """It says what has one."""
    code, _, err = answer(staged_fleet, capsys, "why", word)

    assert 2 == code
    assert "is not placed; name a workload, a binding or a placement" in err


def test_a_plan_says_what_a_run_would_do(staged_fleet: Checkout, capsys: Capsys) -> None:
    """Approving it, for one."""
    code, out, _ = answer(staged_fleet, capsys, "approve", "first", "--dry-run")

    assert 0 == code
    assert "run: ClusterStagedUpdateRun first: stage canary is approved" in out
    assert "run: ClusterStagedUpdateRun first: stage canary begins" in out


@pytest.fixture(scope="module")
def words_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    return told_fleet(tmp_path_factory.mktemp("words") / "fleet")


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        pytest.param("blame", [], id="blame"),
        pytest.param("events", ["-o", "json"], id="events"),
        pytest.param("history", [], id="history"),
        pytest.param("rebalance", ["--dry-run", "-o", "yaml"], id="rebalance"),
        pytest.param("suspend", ["--dry-run"], id="suspend"),
        pytest.param("tree", [], id="tree"),
        pytest.param("why", ["-o", "json"], id="why"),
    ],
)
def test_an_object_may_be_two_words(
    words_fleet: Checkout, capsys: Capsys, verb: str, options: list[str]
) -> None:
    """As kubectl takes `deployment shop`."""
    one = answer(words_fleet, capsys, verb, "deployment/shop", *options)

    assert (0, True) == (one[0], bool(one[1]))
    assert one == answer(words_fleet, capsys, verb, "deployment", "shop", *options)


def test_a_cluster_follows_either_spelling(words_fleet: Checkout, capsys: Capsys) -> None:
    """The third of three words is the cluster."""
    one = answer(words_fleet, capsys, "why", "deployment/shop", "backup1")

    assert (0, True, False) == (one[0], "backup1" in one[1], "member2" in one[1])
    assert one == answer(words_fleet, capsys, "why", "deployment", "shop", "backup1")


def test_several_targets_may_share_their_kind(words_fleet: Checkout, capsys: Capsys) -> None:
    """As in `kubectl rollout restart deployment shop frontend`."""
    options = ("--dry-run", "-o", "yaml")
    one = answer(words_fleet, capsys, "rebalance", "deploy/shop", "deploy/frontend", *options)

    assert (0, 2) == (one[0], one[1].count("kind: Deployment"))
    assert one == answer(words_fleet, capsys, "rebalance", "deploy", "shop", "frontend", *options)


def test_a_word_too_many_is_said(words_fleet: Checkout, capsys: Capsys) -> None:
    """Rather than passed over."""
    expected = 'reconciler: "frontend" is unexpected; name only one object\n'

    assert (2, "", expected) == answer(words_fleet, capsys, "history", "deploy", "shop", "frontend")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["why", "deploy/shop"], 1, id="why"),
        pytest.param(["history", "deploy/shop"], 1, id="history"),
        pytest.param(["blame", "deploy/shop"], 1, id="blame"),
        pytest.param(["tree", "deploy/shop"], 2, id="tree"),
        pytest.param(["events", "deploy/shop"], 2, id="events"),
        pytest.param(["suspend", "deploy/shop", "--dry-run"], 2, id="suspend"),
        pytest.param(["rebalance", "deploy/shop", "--dry-run"], 2, id="rebalance"),
        pytest.param(["simulate", "--rebalance", "deploy/shop"], 2, id="simulate"),
        pytest.param(["get", "deploy/shop"], 1, id="get"),
    ],
)
def test_an_object_in_another_namespace_is_said(
    words_fleet: Checkout, capsys: Capsys, arguments: list[str], code: int
) -> None:
    """With the option to add, by every verb that looks for one."""
    found, out, err = answer(words_fleet, capsys, *arguments, "-n", "staging")

    assert (code, "") == (found, out)
    assert "it is in namespace default: add -n default" in err


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("hisotry", 'there is no verb "hisotry"; did you mean history?', id="slip"),
        pytest.param("resme", 'there is no verb "resme"; did you mean resume?', id="letter"),
        pytest.param("diff", 'there is no verb "diff"; did you mean plan?', id="another-tool"),
        pytest.param("xyz", 'there is no verb "xyz"; reconciler --help lists them', id="nothing"),
    ],
)
def test_a_verb_that_is_meant_is_named(
    tmp_path: Path, capsys: Capsys, word: str, expected: str
) -> None:
    """In one line."""
    checkout = Checkout(tmp_path)

    assert (2, "", f"reconciler: {expected}\n") == answer(checkout, capsys, word)


WORK = "apiVersion: work.karmada.io/v1alpha1\nkind: Work\nmetadata: {name: w}\nspec: {}\n"
CLUSTERS = "cluster.open-cluster-management.io"
BINDING = f"mclsetbinding,mclsetbindings {CLUSTERS}/v1beta2 true ManagedClusterSetBinding people"


def lines(checkout: Checkout, capsys: Capsys, *options: str) -> list[str]:
    """Return what is printed, each line with single blanks."""
    code, out, err = answer(checkout, capsys, "api-resources", *options)
    assert (0, "") == (code, err)
    return [" ".join(line.split()) for line in out.splitlines()]


def test_kinds_are_listed_without_a_repository(tmp_path: Path, capsys: Capsys) -> None:
    """With kubectl's columns, and who writes them."""
    assert [
        "NAME SHORTNAMES APIVERSION NAMESPACED KIND WRITTEN BY",
        f"addonplacementscores {CLUSTERS}/v1alpha1 true AddOnPlacementScore people",
        f"managedclusters mcl,mcls {CLUSTERS}/v1 false ManagedCluster people, status by passes",
        f"managedclustersetbindings {BINDING}",
        f"managedclustersets mclset,mclsets {CLUSTERS}/v1beta2 false ManagedClusterSet people",
        f"placementdecisions {CLUSTERS}/v1beta1 true PlacementDecision passes",
        f"placements {CLUSTERS}/v1beta1 true Placement people, status by passes",
    ] == lines(Checkout(tmp_path), capsys, "--api-group", CLUSTERS)


def test_workloads_of_the_repository_are_listed(tmp_path: Path, capsys: Capsys) -> None:
    """By what they are called there; before any pass, too."""
    fleet = told_fleet(tmp_path / "fleet")
    found = lines(fleet, capsys, "--no-headers")

    assert "deployments deploy apps/v1 true Deployment people" in found
    assert "workloadrebalancers wr apps.karmada.io/v1alpha1 false" in " ".join(found)


def test_a_kind_that_controls_nothing_is_told_apart(tmp_path: Path, capsys: Capsys) -> None:
    """It is one of an API's kinds, and nothing here reads it."""
    checkout = new_checkout(tmp_path / "works", {"work.yaml": WORK})
    found = lines(checkout, capsys, "--api-group", "work.karmada.io", "--no-headers")

    assert "works wk work.karmada.io/v1alpha1 true Work people, not read" in found


@pytest.mark.parametrize(
    ("namespaced", "expected"),
    [
        pytest.param("true", ["resourcebindings"], id="yes"),
        pytest.param("false", ["clusterresourcebindings"], id="no"),
    ],
)
def test_names_may_be_listed_by_scope(
    tmp_path: Path, capsys: Capsys, namespaced: str, expected: list[str]
) -> None:
    """One a line, for a shell to go over."""
    options = ("--api-group", "work.karmada.io", "--namespaced", namespaced, "-o", "name")

    found = lines(Checkout(tmp_path), capsys, *options)
    assert [f"{name}.work.karmada.io" for name in expected] == found


def test_a_revision_that_is_not_there_is_refused(tmp_path: Path, capsys: Capsys) -> None:
    """Only the default is passed over where there is no repository."""
    code, out, _ = answer(Checkout(tmp_path), capsys, "api-resources", "--at", "v9")

    assert (2, "") == (code, out)


SLOW_SET = replica_set(strategy=progressive())


def placed_set(folder: Path, body: Body = SLOW_SET) -> Checkout:
    """Two clusters, a set over both, and a pass."""
    checkout = new_checkout(folder, worlds_fleet("a", "b").put(body).files)
    run_pass(checkout.folder, 0)
    return checkout


def test_a_set_is_valid(tmp_path: Path, capsys: Capsys) -> None:
    """With its placement beside it."""
    checkout = new_checkout(tmp_path / "fleet", worlds_fleet("a").put(SLOW_SET).files)

    assert 0 == answer(checkout, capsys, "validate", "--fail-level", "warning")[0]


def test_a_missing_placement_is_a_warning(tmp_path: Path, capsys: Capsys) -> None:
    """It may come with the next merge."""
    body = replica_set(placements=["other"])
    checkout = new_checkout(tmp_path / "fleet", worlds_fleet("a").put(body).files)
    code, out, _ = answer(checkout, capsys, "validate", "--fail-level", "warning")

    assert (1, True) == (code, "replica-set-placement" in out)


def test_get_shows_the_columns_of_kubectl(tmp_path: Path, capsys: Capsys) -> None:
    """Those of the CRD."""
    _, out, _ = answer(placed_set(tmp_path / "fleet"), capsys, "get", "mwrs", "-A")

    assert ["NAMESPACE", "NAME", "PLACEMENT", "FOUND", "MANIFESTWORKS", "APPLIED"] == (
        out.splitlines()[0].split()
    )


def test_the_tree_of_a_set_ends_at_its_clusters(tmp_path: Path, capsys: Capsys) -> None:
    """By way of a ManifestWork each."""
    words = ("tree", "manifestworkreplicaset/shop", "-n", "ns1")
    _, out, _ = answer(placed_set(tmp_path / "fleet"), capsys, *words)

    assert "cluster/a" in out
    assert "cluster/b" not in out


def test_why_says_who_waits_for_its_turn(tmp_path: Path, capsys: Capsys) -> None:
    """The cluster that a rollout has not reached."""
    _, out, _ = answer(placed_set(tmp_path / "fleet"), capsys, "why", "mwrs/shop", "-n", "ns1")

    assert "Why not b:\n  Rollout: it waits for its turn" in out


def test_a_plan_says_where_a_set_would_go(tmp_path: Path, capsys: Capsys) -> None:
    """Before it is merged."""
    checkout = new_checkout(tmp_path / "fleet", worlds_fleet("a", "b").files)
    run_pass(checkout.folder, 0)
    base = checkout.head()
    checkout.commit(worlds_fleet("a", "b").put(SLOW_SET).files)
    _, out, _ = answer(checkout, capsys, "plan", "--base", base, "--head", "HEAD")

    assert "ns1/shop" in out


PATH = "placements/front.yaml"
FRONT = """\
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata:
  name: front
  namespace: shop
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: ConfigMap}
  policy:
    placementType: PickN
    numberOfClusters: 1
---
apiVersion: v1
kind: ConfigMap
metadata: {name: colors, namespace: shop}
data: {front: blue}
"""
REPORT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: colors, namespace: shop}
"""
TREE = """\
resourceplacement/front (shop)                  Available: True
├── resourcesnapshot/front-0-snapshot           latest: true
│   └── resourcebinding/front-fleet2-2e378c63   state: Bound, Available: True
│       └── cluster/fleet2
└── schedulingpolicysnapshot/front-0            latest: true
"""
IN_SHOP = ("-n", "shop")


@pytest.fixture(scope="module")
def namespaced_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The example with a placement of the namespace `shop`, which is reported; tests only read."""
    told = decided_fleet(tmp_path_factory.mktemp("namespaced") / "fleet", {PATH: FRONT})
    told.commit({"feedback/fleet2/colors.yaml": REPORT}, "Report")
    run_pass(told.folder, 90)
    return told


@AN_HOUR_LATER
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param(
            "rp",
            "NAMESPACE|NAME|GEN|TYPE|SCHEDULED|SCHEDULED-GEN|AVAILABLE|AVAILABLE-GEN|AGE",
            id="placement",
        ),
        pytest.param(
            "rb.placement.kubernetes-fleet.io",
            "NAMESPACE|NAME|CLUSTER|STATE|PLACEMENT|WORKSYNCHRONIZED|RESOURCESAPPLIED|AGE",
            id="binding",
        ),
        pytest.param("rs", "NAMESPACE|NAME|GEN|PLACEMENT|AGE", id="resource-snapshot"),
        pytest.param("sps", "NAMESPACE|NAME|GEN|PLACEMENT|AGE", id="policy-snapshot"),
    ],
)
def test_short_names_and_columns_are_upstreams(
    namespaced_fleet: Checkout, capsys: Capsys, word: str, expected: str
) -> None:
    """Those of its kinds of the whole fleet."""
    code, out, _ = answer(namespaced_fleet, capsys, "get", word, "-A")

    assert (0, expected.split("|")) == (code, out.splitlines()[0].split())


@AN_HOUR_LATER
def test_its_tree_goes_down_to_the_clusters(namespaced_fleet: Checkout, capsys: Capsys) -> None:
    """Snapshots and bindings are those of its namespace."""
    assert (0, f"{TREE}\n{NO_TRANSPORT}\n", "") == answer(
        namespaced_fleet, capsys, "tree", "rp/front", *IN_SHOP
    )


@AN_HOUR_LATER
def test_why_explains_it(namespaced_fleet: Checkout, capsys: Capsys) -> None:
    """By its namespace and name."""
    _, out, _ = answer(namespaced_fleet, capsys, "why", "rp/front", *IN_SHOP)

    assert ["shop/front is on fleet2", "  asked    the best 1 cluster(s)"] == out.splitlines()[:2]


@AN_HOUR_LATER
def test_its_events_are_those_of_upstream(namespaced_fleet: Checkout, capsys: Capsys) -> None:
    """One a stage."""
    found = answer_json(namespaced_fleet, capsys, ["events", "rp/front", *IN_SHOP])[1]["events"]

    stages = ("ScheduleSuccess", "RolloutStarted", "OverriddenSucceeded", "WorkSynchronized")
    ends = ("Applied", "Available", "RolloutCompleted")
    assert [f"Placement{stage}" for stage in (*stages, *ends)] == [one["reason"] for one in found]


@AN_HOUR_LATER
def test_its_history_says_where_it_came(namespaced_fleet: Checkout, capsys: Capsys) -> None:
    """The pass that created it."""
    _, out, _ = answer(namespaced_fleet, capsys, "history", "rp/front", *IN_SHOP)

    assert ["nowhere", "fleet2", "created"] == out.splitlines()[1].split()[2:5]


@AN_HOUR_LATER
def test_a_simulation_moves_it(namespaced_fleet: Checkout, capsys: Capsys) -> None:
    """Its cluster goes, so the other one is next."""
    _, out, _ = answer(namespaced_fleet, capsys, "simulate", "--remove", "fleet2")

    assert "~ shop/front (changed): cluster gone\n" in out


@AN_HOUR_LATER
def test_its_decisions_are_proven(namespaced_fleet: Checkout, capsys: Capsys) -> None:
    """Each commit follows from its inputs, byte for byte."""
    code, out, _ = answer(namespaced_fleet, capsys, "verify")

    assert (0, "2 of 2 decision commits verified") == (code, out.splitlines()[-1][:32])


@AN_HOUR_LATER
def test_it_can_be_suspended(tmp_path: Path, capsys: Capsys) -> None:
    """A line in its file, and it stays where it is."""
    told = decided_fleet(tmp_path / "fleet", {PATH: FRONT})
    assert 0 == answer(told, capsys, "suspend", "rp/front", *IN_SHOP)[0]
    text = (told.folder / PATH).read_text()
    told.commit({PATH: text.replace("numberOfClusters: 1", "numberOfClusters: 2")}, "Want two")
    run_pass(told.folder, 90)

    out = answer(told, capsys, "why", "rp/front", *IN_SHOP)[1]
    assert "shop/front is on fleet2\n" in out
