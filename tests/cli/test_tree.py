"""`reconciler tree` and `top`: what clusters have of objects, and what they have too much of."""

import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.audit.fleet.usage import usage_of
from reconciler.model.quantity import Quantity
from tests.builders import Body, cluster, configmap, configuration, deployment, policy, quota, text
from tests.cli.history import SCALED, answer, answer_json, told_fleet
from tests.cli.test_printing import ESCAPE, on_terminal
from tests.shell.fleet import EXAMPLE, decided_fleet, load_world, run_pass
from tests.shell.repositories import Checkout, new_checkout

AN_HOUR_LATER = pytest.mark.usefixtures("an_hour_later")
Capsys = pytest.CaptureFixture[str]
ROOMY = (
    EXAMPLE["clusters/member2.yaml"]
    + """\
  taints:
  - key: maintenance
    value: "soon"
    effect: PreferNoSchedule
status:
  apiEnablements:
  - groupVersion: apps/v1
    resources: [{name: deployments, kind: Deployment}]
  - groupVersion: v1
    resources: [{name: configmaps, kind: ConfigMap}]
  conditions:
  - type: Ready
    status: "True"
    reason: Up
    message: ""
    lastTransitionTime: "2026-11-20T11:00:00Z"
  resourceSummary:
    allocatable: {cpu: "8", memory: 16Gi, pods: "110"}
    allocated: {cpu: "1500m", memory: 2Gi, pods: "10"}
"""
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("tree") / "fleet")


UNDELIVERED = "\nNothing is delivered: the configuration names no transport (`spec.delivery`).\n"
TREES = {
    "pp/shop": """\
propagationpolicy/shop (default)
└── deployment/shop
    └── resourcebinding/shop-deployment   FullyApplied: True (FullyAppliedAssumed)
        ├── cluster/backup1               replicas: 5, applied: True, health: Healthy
        └── cluster/member1               leaving: since 2026-11-20T12:02:00Z (TaintUntolerated)
            └── waits for                 the next pass
"""
    + UNDELIVERED,
    "cpp/settings": """\
clusterpropagationpolicy/settings
└── configmap/settings (default)
    └── resourcebinding/settings-configmap   FullyApplied: True (FullyAppliedAssumed)
        ├── cluster/backup1                  applied: True, health: Healthy
        ├── cluster/member1                  applied: True, health: Healthy
        └── cluster/member2                  applied: True, health: Healthy
"""
    + UNDELIVERED
    + """
Coming:
  default/settings: member1 is not ready and tolerated until 2026-11-20T12:06:30Z, then it leaves \
member1, and it stays on backup1, member2
""",
    "placement/reports": """\
placement/reports (default)                PlacementMisconfigured: False, PlacementSatisfied: True
└── placementdecision/reports-decision-1
    └── cluster/edge2
""",
    "crp/tools": """\
clusterresourceplacement/tools                         Available: True
├── clusterresourcesnapshot/tools-0-snapshot           latest: true
│   ├── clusterresourcebinding/tools-fleet1-4dd492db   state: Bound, {assumed}
│   │   └── cluster/fleet1
│   └── clusterresourcebinding/tools-fleet2-3be08a14   state: Bound, {assumed}
│       └── cluster/fleet2
└── clusterschedulingpolicysnapshot/tools-0            latest: true
"""
    + UNDELIVERED,
}
TREES["crp/tools"] = TREES["crp/tools"].format(assumed="Available: True (AvailableAssumed)")


@AN_HOUR_LATER
@pytest.mark.parametrize("word", sorted(TREES))
def test_a_tree_goes_down_to_the_clusters(fleet: Checkout, capsys: Capsys, word: str) -> None:
    """Aligned, each level sorted, with what is known of each."""
    assert (0, TREES[word], "") == answer(fleet, capsys, "tree", word)


@AN_HOUR_LATER
def test_a_policy_that_came_late_says_who_holds_its_workloads(
    tmp_path: Path, capsys: Capsys
) -> None:
    """As upstream does, the first policy keeps what it has."""
    fleet = decided_fleet(tmp_path / "fleet")
    late = EXAMPLE["policies/shop.yaml"].replace("name: shop", "name: late", 1)
    fleet.commit({"policies/late.yaml": late}, "Add a second policy")
    run_pass(fleet.folder, 60)
    expected = """\
propagationpolicy/late (default)
└── deployment/shop                held by: PropagationPolicy default/shop
"""

    assert (0, expected, "") == answer(fleet, capsys, "tree", "pp/late")


@AN_HOUR_LATER
def test_a_tree_for_machines(fleet: Checkout, capsys: Capsys) -> None:
    """Nested, every condition told."""
    code, found = answer_json(fleet, capsys, ["tree", "deployment/shop"])

    assert (0, "ResourceBinding") == (code, found["object"]["kind"])
    assumed = "True (FullyAppliedAssumed)"
    assert {"Scheduled": "True", "FullyApplied": assumed} == found["facts"]
    assert [("backup1", 5), ("member1", 0)] == [
        (child["cluster"], child["replicas"]) for child in found["children"]
    ]


@AN_HOUR_LATER
def test_a_tree_of_an_earlier_revision(fleet: Checkout, capsys: Capsys) -> None:
    """As it was then."""
    assert (
        "cluster/member1"
        in answer(fleet, capsys, "tree", "rb/shop-deployment", "--at", "HEAD~4")[1]
    )


@AN_HOUR_LATER
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["shop"], 2, "must be KIND/NAME", id="no-kind"),
        pytest.param(["pp/shpo"], 2, "near it: shop", id="unknown"),
        pytest.param(["cluster/member1"], 2, "a Cluster places nothing", id="cluster"),
        pytest.param(["ns/tools", "--at", "HEAD~5"], 1, "no policy matches it", id="unclaimed"),
        pytest.param(["pp/shop", "--at", "v9"], 2, "no revision", id="revision"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], code: int, message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    found, out, err = answer(fleet, capsys, "tree", *arguments)

    assert (code, "") == (found, out)
    assert message in err
    assert 1 == err.count("\n")


def rows(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[str]:
    """The first column of the table."""
    code, out, _ = answer(fleet, capsys, "top", "clusters", "--no-headers", *arguments)
    assert 0 == code
    return [line.split()[0] for line in out.splitlines()]


@AN_HOUR_LATER
def test_clusters_of_each_api_are_listed(fleet: Checkout, capsys: Capsys) -> None:
    """By name; replicas and requests are summed up."""
    _, out, _ = answer(fleet, capsys, "top", "clusters")
    found = answer_json(fleet, capsys, ["top", "clusters"])[1]["clusters"]

    by_name: dict[str, Any] = {item["cluster"]: item for item in found}
    assert out.splitlines()[0].split()[:5] == ["CLUSTER", "KIND", "READY", "OBJECTS", "REPLICAS"]
    assert sorted(by_name) == rows(fleet, capsys) == [item["cluster"] for item in found]
    assert {"cpu": 1.25, "memory": 1280 * 2**20} == by_name["backup1"]["requested"]
    assert ("Declared", "False") == (by_name["backup1"]["ready"], by_name["member1"]["ready"])
    assert (1, 0) == (by_name["edge2"]["objectsPlaced"], by_name["edge1"]["objectsPlaced"])
    assert ["ManagedCluster", "MemberCluster"] == [
        by_name[n]["object"]["kind"] for n in ("edge1", "fleet1")
    ]


@AN_HOUR_LATER
def test_what_is_free_is_reported_less_what_is_reserved(tmp_path: Path, capsys: Capsys) -> None:
    """Allocatable less allocated, less two replicas; taints and readiness beside it."""
    fleet = decided_fleet(tmp_path / "fleet", {"clusters/member2.yaml": ROOMY})

    found = answer_json(fleet, capsys, ["top", "clusters"])[1]["clusters"]
    roomy = next(item for item in found if item["cluster"] == "member2")

    assert {"cpu": 8, "memory": 16 * 2**30, "pods": 110} == roomy["capacity"]
    assert {"cpu": 6, "memory": 13.5 * 2**30, "pods": 98} == roomy["free"]
    assert ("True", ["maintenance=soon:PreferNoSchedule"]) == (roomy["ready"], roomy["taints"])
    assert "member2" == rows(fleet, capsys, "--sort-by", "cpu")[0]
    assert "member1" == rows(fleet, capsys, "--sort-by", "replicas")[0]


@AN_HOUR_LATER
def test_quotas_are_listed_with_what_is_used(tmp_path: Path, capsys: Capsys) -> None:
    """In the format of the limit; what clusters say counts where nothing is refused."""
    limits = quota(overall={"cpu": "4", "memory": "1Gi", "pods": "10"})
    fleet = decided_fleet(tmp_path / "fleet", {"policies/quota.yaml": text(limits)})

    _, out, _ = answer(fleet, capsys, "top", "quotas")
    found = answer_json(fleet, capsys, ["top", "quota"])[1]["quotas"]

    assert [
        "NAMESPACE QUOTA RESOURCE USED FREE LIMIT REFUSES",
        "default quota cpu 0 4 4 no",
        "default quota memory 0 1Gi 1Gi no",
        "default quota pods 0 10 10 no",
    ] == [" ".join(line.split()) for line in out.splitlines()]
    assert [{"cpu": 4, "memory": 2**30, "pods": 10}] == [one["limits"] for one in found]


@AN_HOUR_LATER
def test_bad_words_are_refused(fleet: Checkout, capsys: Capsys) -> None:
    """Usage errors."""
    assert 2 == answer(fleet, capsys, "top", "nodes")[0]
    assert 2 == answer(fleet, capsys, "top", "quotas", "--sort-by", "cpu")[0]
    assert 2 == answer(fleet, capsys, "top", "clusters", "--at", "v9")[0]


@AN_HOUR_LATER
def test_colour_is_for_terminals_only(fleet: Checkout, capsys: Capsys) -> None:
    """A bold head on a terminal, plain text in a pipe."""
    assert ESCAPE in on_terminal(fleet.folder, ["top", "clusters"], {})
    assert ESCAPE not in answer(fleet, capsys, "top", "clusters")[1]


STATUS = """\
status:
  conditions:
  - type: Ready
    status: "True"
    reason: Up
    message: ""
    lastTransitionTime: "2026-11-20T11:00:00Z"
  resourceSummary:
    allocatable: {{cpu: {cpu}, memory: 16Gi, pods: "110"}}
    allocated: {{cpu: {taken}, memory: 2Gi, pods: "10"}}
"""
RED = "\x1b[31m"


def fleet_with(folder: Path, *, cpu: str, taken: str) -> Checkout:
    """Six replicas of 250m on member1, which says then what it has, and what is taken of it."""
    fleet = decided_fleet(folder)
    status = STATUS.format(cpu=cpu, taken=taken)
    path = "clusters/member1.yaml"
    fleet.commit({path: EXAMPLE[path] + status}, "Report what member1 has")
    return fleet


CAPACITIES = [
    pytest.param("8", "0", "1500m 6500m 8", id="nothing-reported-as-taken"),
    pytest.param("8", "2500m", "2500m 5500m 8", id="more-reported-than-placed"),
    pytest.param("1500m", "0", "1500m 0 1500m", id="full"),
    pytest.param("600m", "144m", "1500m 0 600m 900m (250 %)", id="over-committed"),
]


@pytest.mark.parametrize(("cpu", "taken", "expected"), CAPACITIES)
def test_used_and_free_are_all_and_over(
    tmp_path: Path, capsys: Capsys, cpu: str, taken: str, expected: str
) -> None:
    """Of every resource whose capacity is known; what is free is never below 0."""
    fleet = fleet_with(tmp_path / "fleet", cpu=cpu, taken=taken)
    world, nothing = load_world(fleet.folder), Quantity(0)

    for usage in usage_of(world):
        for name, capacity in (usage.capacity or {}).items():
            free, over = (usage.free or {})[name], usage.over.get(name, nothing)
            assert usage.used.get(name, nothing) + free == capacity + over
            assert 0 <= free
    row = answer(fleet, capsys, "top", "clusters", "--no-headers")[1].splitlines()[-2]
    told = f"member1 Cluster True 3 6 {expected}".split()
    assert told == row.split()[: len(told)]


def test_an_over_committed_cluster_is_red(tmp_path: Path, capsys: Capsys) -> None:
    """On a terminal; it has a column of its own, which is not there where nothing is over."""
    over = fleet_with(tmp_path / "over", cpu="600m", taken="0")
    roomy = fleet_with(tmp_path / "roomy", cpu="8", taken="0")

    shown = on_terminal(over.folder, ["top", "clusters"], {}).splitlines()

    assert [True] == [RED in line for line in shown if "member1" in line]
    assert [False] == [ESCAPE in line for line in shown if "member2" in line]
    assert RED not in on_terminal(roomy.folder, ["top", "clusters"], {})
    assert "CPU OVER" in answer(over, capsys, "top", "clusters")[1]
    assert "MEMORY OVER" not in answer(over, capsys, "top", "clusters")[1]
    assert "OVER" not in answer(roomy, capsys, "top", "clusters")[1]


def test_machines_are_told_what_is_over(tmp_path: Path, capsys: Capsys) -> None:
    """In cores, beside what is asked for and what is used."""
    fleet = fleet_with(tmp_path / "fleet", cpu="600m", taken="144m")

    found = answer_json(fleet, capsys, ["top", "clusters"])[1]["clusters"]
    by_name = {item["cluster"]: item for item in found}

    assert {"cpu": 0.9} == by_name["member1"]["over"]
    assert {} == by_name["member2"]["over"]
    assert (1.5, 1.5, 0) == tuple(
        by_name["member1"][part]["cpu"] for part in ("requested", "used", "free")
    )


PATH = "delivery/member1/default/deployments.apps/shop.yaml"
SILENT = {"assumeAfterSeconds": None}
FOLDERS = text(configuration(delivery={"folders": {}}, feedback=SILENT))
BRANCH = text(configuration(delivery={"folders": {"branch": "fleet"}}, feedback=SILENT))


@pytest.fixture(scope="module")
def delivered_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The example, delivered by one pass; tests only read it."""
    return decided_fleet(tmp_path_factory.mktemp("copies") / "fleet", {"reconciler.yaml": FOLDERS})


def columns(table: str, *titles: str) -> list[list[str]]:
    """The cells below some titles."""
    names, *rows = (re.split(r" {3,}", line) for line in table.splitlines())
    return [[row[names.index(title)] for title in titles] for row in rows]


def test_a_tree_goes_on_to_what_is_delivered(delivered_fleet: Checkout, capsys: Capsys) -> None:
    """Below each cluster."""
    expected = f"""\
resourcebinding/shop-deployment (default)   Scheduled: True, FullyApplied: False (AwaitingFeedback)
└── cluster/member1                         replicas: 2
    ├── folders                             {PATH}
    └── report                              no report yet
"""

    assert (0, expected, "") == answer(delivered_fleet, capsys, "tree", "deployment/shop")


def test_a_tree_for_machines_has_the_copy_of_each_cluster(
    delivered_fleet: Checkout, capsys: Capsys
) -> None:
    """With its files."""
    _, found = answer_json(delivered_fleet, capsys, ["tree", "deployment/shop"])
    copy = found["children"][0]["copy"]

    assert (True, "none", [PATH]) == (
        copy["delivered"],
        copy["report"],
        copy["files"][0]["paths"],
    )


def test_why_says_what_runs_where(delivered_fleet: Checkout, capsys: Capsys) -> None:
    """A row a cluster, or the one that is asked about."""
    _, out, _ = answer(delivered_fleet, capsys, "why", "deployment/shop")
    _, one, _ = answer(delivered_fleet, capsys, "why", "deployment/shop", "member2")
    table = out.partition("What runs there:\n")[2]

    assert [["member1", f"folders: {PATH}", "no report yet", "-"]] == (
        columns(table, "CLUSTER", "DELIVERED", "REPORTED", "WAITS FOR")
    )
    assert "What runs there" not in one


def test_wide_tables_count_clusters(delivered_fleet: Checkout, capsys: Capsys) -> None:
    """Of all those that an object is placed on."""
    _, workloads, _ = answer(delivered_fleet, capsys, "get", "deploy", "-o", "wide")
    _, placements, _ = answer(delivered_fleet, capsys, "get", "crp,placements", "-A", "-o", "wide")

    assert [["2/2", "0/2"], ["1/1", "0/1"]] == columns(workloads, "DELIVERED", "HEALTHY")
    assert [["2/2", "0/2"]] == columns(placements.partition("\n\n")[0], "DELIVERED", "HEALTHY")


def test_a_placement_without_content_has_no_copies(
    delivered_fleet: Checkout, capsys: Capsys
) -> None:
    """OCM's Placements say where, not what."""
    _, out, _ = answer(
        delivered_fleet,
        capsys,
        "get",
        "placements.cluster.open-cluster-management.io",
        "-A",
        "-o",
        "wide",
    )

    assert [["<none>", "<none>"]] == columns(out, "DELIVERED", "HEALTHY")


def test_status_counts_what_clusters_report(delivered_fleet: Checkout, capsys: Capsys) -> None:
    """All of them are silent."""
    _, out, _ = answer(delivered_fleet, capsys, "status")
    _, found = answer_json(delivered_fleet, capsys, ["status"])

    assert "Copies:      8 in clusters: 8 without a report yet" in out.splitlines()
    assert (8, 8) == (found["copies"]["all"], found["copies"]["silent"])


def test_what_is_on_another_branch_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """By the name of the branch; the branch of an origin counts, too."""
    fleet = decided_fleet(tmp_path / "fleet", {"reconciler.yaml": BRANCH})
    _, here, _ = answer(fleet, capsys, "get", "deploy", "shop", "-o", "wide")
    _, tree, _ = answer(fleet, capsys, "tree", "deployment/shop")
    fleet.git("update-ref", "refs/remotes/origin/fleet", "fleet")
    fleet.git("branch", "-D", "-q", "fleet")
    _, there, _ = answer(fleet, capsys, "get", "deploy", "shop", "-o", "wide")
    fleet.git("update-ref", "-d", "refs/remotes/origin/fleet")
    _, nowhere, _ = answer(fleet, capsys, "get", "deploy", "shop", "-o", "wide")

    assert f"fleet:{PATH}" in tree
    assert [["1/1"]] == columns(here, "DELIVERED") == columns(there, "DELIVERED")
    assert [["0/1"]] == columns(nowhere, "DELIVERED")


FILE = "workloads/shop.yaml"
PATHS = {"default": "delivery/{cluster}", "named": "rollout/of/{cluster}"}
VERBS = [
    pytest.param(["get", "deployment", "shop", "-o", "wide"], FILE, id="get"),
    pytest.param(["get", "deployment", "-o", "name"], "deployment.apps/shop", id="get-all"),
    pytest.param(["get", "deployment", "shop", "-o", "yaml"], "replicas: 5", id="get-yaml"),
    pytest.param(["describe", "deployment/shop"], FILE, id="describe"),
    pytest.param(["why", "deployment/shop"], "asked    5 replicas", id="why"),
    pytest.param(["history", "deployment/shop"], "member1(5)", id="history"),
    pytest.param(["blame", "deployment/shop"], "member1", id="blame"),
    pytest.param(["events", "deployment/shop"], "ScheduleBindingSucceed", id="events"),
    pytest.param(["tree", "deployment/shop"], "replicas: 5", id="tree"),
    pytest.param(["suspend", "deployment/shop", "--dry-run"], f"+++ {FILE}", id="suspend"),
    pytest.param(["rebalance", "deployment/shop", "--dry-run"], "name: shop", id="rebalance"),
    pytest.param(["validate"], "", id="validate"),
    pytest.param(["simulate", "--scale", "deployment/shop=7"], "2 replicas start", id="simulate"),
]


@pytest.fixture(scope="module", params=["default", "named", "switched-off"])
def scaled_fleet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Checkout:
    """The shop scaled to 5, delivered; in the end delivery may be off, and its files are kept."""
    path = PATHS.get(request.param, PATHS["named"])
    delivery = {"reconciler.yaml": text(configuration(delivery={"folders": {"path": path}}))}
    found = decided_fleet(tmp_path_factory.mktemp("copies") / "fleet", delivery)
    found.commit(SCALED, "Scale the shop")
    run_pass(found.folder, 60)
    if request.param == "switched-off":
        found.commit({"reconciler.yaml": text(configuration())}, "Switch delivery off")
        run_pass(found.folder, 120)
    return found


def copies(fleet: Checkout) -> list[str]:
    """The delivered files of the shop."""
    tracked = fleet.git("ls-files").splitlines()
    return [path for path in tracked if "shop" in path and path.split("/")[0] in _ROOTS]


_ROOTS = {path.partition("/")[0] for path in PATHS.values()}


@pytest.mark.parametrize(("words", "expected"), VERBS)
def test_no_verb_takes_a_copy_for_the_object(
    scaled_fleet: Checkout, capsys: Capsys, words: list[str], expected: str
) -> None:
    """Its own file is named, and no copy is but as what a cluster has."""
    assert copies(scaled_fleet)

    code, out, err = answer(scaled_fleet, capsys, *words)

    lines = [line for line in (out + err).splitlines() if "folders" not in line]
    assert 0 == code
    assert expected in out
    assert [] == [line for line in lines if any(path in line for path in copies(scaled_fleet))]


def test_a_plan_takes_no_edited_copy_for_a_change(scaled_fleet: Checkout, capsys: Capsys) -> None:
    """It is written anew by the next pass, and scales nothing."""
    (copy,) = copies(scaled_fleet)
    file: Path = scaled_fleet.folder / copy
    before = file.read_text()
    file.write_text(before.replace("replicas: 5", "replicas: 9"))
    try:
        code, out, _ = answer(scaled_fleet, capsys, "plan")
    finally:
        file.write_text(before)

    assert (0, True) == (code, "Nothing moves" in out)


SPEC: Body = {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}
READING: Body = {**deployment(), "spec": {"replicas": 2, "template": {"spec": SPEC}}}


@pytest.fixture(scope="module")
def dependents_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A Deployment on the cluster a, and the ConfigMap that it reads."""
    files = {
        "clusters/a.yaml": text(cluster("a")),
        "policies/p.yaml": text(policy(propagateDeps=True)),
        "workloads/web.yaml": text(READING, configmap()),
    }
    checkout = new_checkout(tmp_path_factory.mktemp("needed") / "fleet", files)
    run_pass(checkout.folder, 0)
    return checkout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param("get rb settings-configmap", ["settings-configmap", " a "], id="get"),
        pytest.param("why configmap/settings", ["is on a", "needed, by web-deployment"], id="why"),
        pytest.param(
            "tree configmap/settings", ["cluster/a", "needed by: web-deployment"], id="tree"
        ),
        pytest.param(
            "history configmap/settings", ["nowhere   a ", "needed by web-deployment"], id="history"
        ),
        pytest.param("blame configmap/settings", ["needed by web-deployment"], id="blame"),
    ],
)
def test_it_is_where_it_is_needed(
    dependents_fleet: Checkout, capsys: Capsys, words: str, said: list[str]
) -> None:
    """Since the commit that placed what needs it, by whoever caused that."""
    code, out, _ = answer(dependents_fleet, capsys, *words.split())

    assert (0, []) == (code, [one for one in said if one not in out])
