"""`reconciler get`: kinds, names, labels, columns and an order, as kubectl takes them."""

import json
from pathlib import Path

import pytest

from reconciler.cli.kinds import kind_among, kinds_present
from reconciler.cli.tables import columns_of
from reconciler.dialects.karmada.view.answers import CATEGORIES
from reconciler.manifests.columns import Row
from reconciler.manifests.text.reader import read
from reconciler.model.moments import parse_moment
from reconciler.rebalance.target import TRIGGER
from tests.builders import Body, cluster
from tests.cli.history import answer, told_fleet
from tests.shell.fleet import EXAMPLE, new_fleet
from tests.shell.repositories import Checkout, new_checkout
from tests.stories import story

Capsys = pytest.CaptureFixture[str]
OTHER_APIS = {path: EXAMPLE[path] for path in ("clusters/edge.yaml", "clusters/fleet.yaml")}
NOW = parse_moment("2026-11-20T12:00:00Z")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet to which nothing is written; no pass has run."""
    return new_fleet(tmp_path_factory.mktemp("get") / "fleet")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Clusters of Open Cluster Management and KubeFleet, none of Karmada."""
    checkout = new_checkout(tmp_path_factory.mktemp("get") / "others")
    checkout.commit(OTHER_APIS, "Start")
    return checkout


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_nothing_is_an_empty_list(fleet: Checkout, capsys: Capsys, output: str) -> None:
    """A script reads a List in any case, as kubectl prints one; YAML has no document then."""
    code, out, err = answer(fleet, capsys, "get", "rb", "-n", "nobody", "-o", output)

    assert (0, "no rb in namespace nobody\n") == (code, err)
    expected = {"apiVersion": "v1", "kind": "List", "items": []}
    assert (expected if output == "json" else "") == (json.loads(out) if output == "json" else out)


def test_one_that_is_missing_prints_nothing(fleet: Checkout, capsys: Capsys) -> None:
    """An object that was named is no list; what is near it is said."""
    code, out, err = answer(fleet, capsys, "get", "deploy", "shp", "-o", "json")

    assert (1, "", "no deploy named shp in namespace default; near it: shop\n") == (code, out, err)


def test_kind_and_name_may_be_one_word(fleet: Checkout, capsys: Capsys) -> None:
    """As in every other verb, and in kubectl."""
    one = answer(fleet, capsys, "get", "deployment/shop", "-o", "name")

    assert (0, "deployment.apps/shop\n", "") == one
    assert one == answer(fleet, capsys, "get", "deployment", "shop", "-o", "name")
    assert 2 == answer(fleet, capsys, "get", "deployment/shop", "frontend")[0]


def test_clusters_of_other_apis_are_pointed_at(others: Checkout, capsys: Capsys) -> None:
    """Where no Cluster of Karmada is, `no clusters` alone would be taken for no cluster at all."""
    code, out, err = answer(others, capsys, "get", "clusters")

    expected = "no clusters; there are 2 managedclusters, 2 memberclusters, see top clusters\n"
    assert (0, "", expected) == (code, out, err)


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param("{workloads: [{}, {}]}", "{}", "0/2", id="not-yet-seen"),
        pytest.param("{selector: {}}", "{}", "0/0", id="not-yet-expanded"),
        pytest.param(
            "{selector: {}}",
            "{observedWorkloads: [{result: Successful}, {result: Failed}]}",
            "1/2",
            id="selected",
        ),
    ],
)
def test_selected_workloads_count(spec: str, status: str, expected: str) -> None:
    """A rebalancer with a selector has dealt with so many of what it selected, not of none."""
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: a}}\nspec: {spec}\nstatus: {status}\n"
    body = read(text.encode(), "a.yaml").documents[0].body

    columns = dict(columns_of("apps.karmada.io", "WorkloadRebalancer", wide=False))
    assert expected == columns["SUCCESSFUL"](Row(body, "a.yaml", NOW))


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        pytest.param("WorkloadRebalancer", "{observedWorkloads: []}", "<none>", id="nothing"),
        pytest.param(
            "WorkloadRebalancer",
            "{observedWorkloads: [{workload: {kind: Job, name: b}, waitsFor: it is faulty}]}",
            "Job b: it is faulty",
            id="a-target",
        ),
        pytest.param(
            "WorkloadRebalancer",
            "{progress: {remainingReplicas: 2}}",
            "the next batch, 2 replicas left",
            id="a-batch",
        ),
        pytest.param(
            "ScheduleTrigger",
            "{failedResourceList: [{kind: Job, name: b, failReason: it is faulty}]}",
            "Job b: it is faulty",
            id="a-trigger",
        ),
    ],
)
def test_what_a_rebalancer_waits_for_is_a_column(kind: str, status: str, expected: str) -> None:
    """With `-o wide`, in the words of its record."""
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: a}}\nstatus: {status}\n"
    body = read(text.encode(), "a.yaml").documents[0].body
    group = "apps" if kind == "WorkloadRebalancer" else "policy"

    columns = dict(columns_of(f"{group}.karmada.io", kind, wide=True))
    assert expected == columns["WAITS FOR"](Row(body, "a.yaml", NOW))


LOGIN = """apiVersion: v1
kind: Secret
metadata:
  name: login
  annotations:
    team: shop
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData": {"password": "hunter2"}}'
stringData: {password: hunter2}
data: {token: aHVudGVyMg==}
"""


@pytest.mark.parametrize("output", ["yaml", "json"])
@pytest.mark.parametrize("asked", [("secret", "login"), ("secrets",)], ids=["one", "all"])
def test_values_of_secrets_are_hidden(
    tmp_path: Path, capsys: Capsys, output: str, asked: tuple[str, ...]
) -> None:
    """Their keys and labels are not; what is hidden is said beside."""
    checkout = new_checkout(tmp_path / "secrets", {"login.yaml": LOGIN})

    code, out, err = answer(checkout, capsys, "get", *asked, "-o", output)

    assert (0, "the values of a Secret are hidden; --show-secrets prints them\n") == (code, err)
    assert "hunter2" not in out
    assert "aHVudGVyMg" not in out
    assert ("password" in out, "token" in out, "team" in out) == (True, True, True)


def test_values_of_secrets_are_printed_if_asked_for(tmp_path: Path, capsys: Capsys) -> None:
    """Whoever has the repository can read them anyway."""
    checkout = new_checkout(tmp_path / "secrets", {"login.yaml": LOGIN})

    _, out, err = answer(checkout, capsys, "get", "secret", "login", "-o", "yaml", "--show-secrets")

    assert ("hunter2" in out, err) == (True, "")


@pytest.fixture(scope="module")
def words_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    return told_fleet(tmp_path_factory.mktemp("words") / "fleet")


def workload(name: str, replicas: int | None, labels: str, namespace: str = "default") -> str:
    """Return the manifest of a Deployment."""
    spec = "{}" if replicas is None else f"{{replicas: {replicas}}}"
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n"
        f"  namespace: {namespace}\n  labels: {{{labels}}}\nspec: {spec}\n"
    )


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Five workloads, one of them in a namespace of its own."""
    documents = (
        workload("c10", 9, "tier: web, app: shop"),
        workload("c2", 10, "tier: web"),
        workload("c1", None, "tier: db, canary: 'yes'"),
        workload("c3", 2, ""),
        workload("far", 1, "tier: web", namespace="prod"),
    )
    folder = tmp_path_factory.mktemp("words") / "web"
    return new_checkout(folder, {"web.yaml": "---\n".join(documents)})


def names(checkout: Checkout, capsys: Capsys, *arguments: str) -> list[str]:
    """Return the names that `get` prints."""
    code, out, err = answer(checkout, capsys, "get", *arguments, "-o", "name")
    assert (0, "") == (code, err)
    return [line.rpartition("/")[2] for line in out.splitlines()]


def test_several_kinds_are_several_tables(words_fleet: Checkout, capsys: Capsys) -> None:
    """With a blank line between, and names that say their kind."""
    code, out, err = answer(words_fleet, capsys, "get", "deploy,pp")

    assert (0, "") == (code, err)
    assert [
        "NAME REPLICAS AGE",
        "deployment.apps/frontend 6 <none>",
        "deployment.apps/shop 5 <none>",
        "",
        "NAME SELECTS DIVISION CONFLICT-RESOLUTION PRIORITY AGE",
        "propagationpolicy.policy.karmada.io/frontend Deployment Divided/Weighted Abort 0 <none>",
        "propagationpolicy.policy.karmada.io/shop Deployment/shop Divided/Weighted Abort 0 <none>",
    ] == [" ".join(line.split()) for line in out.splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["deploy", "shop", "frontend"], id="one-kind"),
        pytest.param(["deploy/shop", "deployments/frontend"], id="each-with-its-kind"),
        pytest.param(["deploy/shop", "deploy/shop", "deploy/frontend"], id="one-of-them-twice"),
    ],
)
def test_several_names_are_one_table(
    words_fleet: Checkout, capsys: Capsys, words: list[str]
) -> None:
    """In the order asked for, of one kind without its name."""
    code, out, _ = answer(words_fleet, capsys, "get", *words, "--no-headers")

    assert (0, ["shop", "frontend"]) == (code, [line.split()[0] for line in out.splitlines()])


def test_several_names_of_several_kinds(words_fleet: Checkout, capsys: Capsys) -> None:
    """Each name is looked for in each kind."""
    answered = answer(words_fleet, capsys, "get", "deploy,pp", "shop", "-o", "name")

    expected = "deployment.apps/shop\npropagationpolicy.policy.karmada.io/shop\n"
    assert (0, expected, "") == answered


def test_what_is_there_is_printed_beside_what_is_not(words_fleet: Checkout, capsys: Capsys) -> None:
    """And the exit code says that something was missing."""
    code, out, err = answer(words_fleet, capsys, "get", "deploy", "shop", "shp", "-o", "name")

    assert (1, "deployment.apps/shop\n") == (code, out)
    assert "no deploy named shp in namespace default; near it: shop\n" == err


def test_without_a_kind_the_kinds_are_listed(web: Checkout, capsys: Capsys) -> None:
    """As words that can be typed next, with how many objects there are."""
    code, out, err = answer(web, capsys, "get")

    lines = [line.split() for line in out.splitlines()]
    assert ["NAME", "SHORTNAMES", "APIVERSION", "OBJECTS"] == lines[0]
    assert (0, [["deployments", "deploy", "apps/v1", "5"]]) == (code, lines[1:])
    assert "name a kind, such as reconciler get deploy" in err


def test_kinds_may_be_printed_as_names(web: Checkout, capsys: Capsys) -> None:
    """For a shell to go over; no other kind has such a name."""
    assert "deployments.apps\n" == answer(web, capsys, "get", "-o", "name")[1]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("tier=web", ["c10", "c2"], id="equal"),
        pytest.param("tier==web,app=shop", ["c10"], id="all-must-hold"),
        pytest.param("tier!=web", ["c1", "c3"], id="not-equal-or-without"),
        pytest.param("tier in (web, db)", ["c1", "c10", "c2"], id="in"),
        pytest.param("tier notin (web)", ["c1", "c3"], id="notin"),
        pytest.param("canary", ["c1"], id="exists"),
        pytest.param("!tier", ["c3"], id="does-not-exist"),
        pytest.param("tier in (web),!app", ["c2"], id="mixed"),
    ],
)
def test_labels_select(web: Checkout, capsys: Capsys, selector: str, expected: list[str]) -> None:
    """As kubectl reads `-l`."""
    assert expected == names(web, capsys, "deploy", "-l", selector)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("app=shop", ["shop-deployment", "shop"], id="equal"),
        pytest.param("app!=shop", ["frontend-deployment", "frontend"], id="not-equal"),
    ],
)
def test_a_binding_is_found_by_the_labels_of_its_workload(
    words_fleet: Checkout, capsys: Capsys, selector: str, expected: list[str]
) -> None:
    """`rb,deploy -l app=shop` are both; of what has no workload its own labels count."""
    found = names(words_fleet, capsys, "rb,deploy", "-l", selector)

    assert expected == [name for name in found if name != "settings-configmap"]
    assert [] == [name for name in found if selector == "app=shop" and name not in expected]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param("metadata.name=c1", ["c1"], id="name"),
        pytest.param("metadata.name!=c1,metadata.name!=c2", ["c10", "c3", "far"], id="not-equal"),
        pytest.param("metadata.namespace==prod", ["far"], id="namespace"),
        pytest.param("metadata.namespace=default, metadata.name=c2", ["c2"], id="both"),
    ],
)
def test_fields_select(web: Checkout, capsys: Capsys, selector: str, expected: list[str]) -> None:
    """As kubectl reads `--field-selector`, of the fields that every kind has."""
    assert expected == names(web, capsys, "deploy", "-A", "--field-selector", selector)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["deploy", "status.phase=x"], "must be about metadata.name or", id="field"),
        pytest.param(["deploy", "metadata.name"], "such as metadata.name=shop", id="no-value"),
        pytest.param(["deploy", ""], "such as metadata.name=shop", id="nothing"),
        pytest.param(
            ["deploy/c1", "metadata.name=c1"], "do not name objects as well", id="named-too"
        ),
    ],
)
def test_what_is_no_field_selector_is_refused(
    web: Checkout, capsys: Capsys, words: list[str], message: str
) -> None:
    """With an example of what is one."""
    code, out, err = answer(web, capsys, "get", words[0], "--field-selector", words[1])

    assert (2, "", True) == (code, out, message in err)


@pytest.mark.parametrize("selector", ["a=b=c", "a in b", "a,", ",", "=b", "a in ()x", "a b", ""])
def test_what_is_no_selector_is_refused(web: Checkout, capsys: Capsys, selector: str) -> None:
    """With examples of what is one."""
    code, out, err = answer(web, capsys, "get", "deploy", "-l", selector)

    assert (2, "") == (code, out)
    assert "must be a label selector such as app=shop" in err


def test_labels_do_not_select_among_names(web: Checkout, capsys: Capsys) -> None:
    """One of the two was meant."""
    code, _, err = answer(web, capsys, "get", "deploy", "c1", "-l", "tier=db")

    assert (2, True) == (code, "do not name objects as well" in err)


def test_labels_that_nothing_has_are_said(web: Checkout, capsys: Capsys) -> None:
    """An empty answer says what was asked."""
    answered = answer(web, capsys, "get", "deploy", "-l", "tier=mail")

    assert (0, "", "no deploy with tier=mail in namespace default\n") == answered


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".metadata.name", ["c1", "c2", "c3", "c10"], id="numbers-in-text"),
        pytest.param("{.spec.replicas}", ["c1", "c3", "c10", "c2"], id="missing-first"),
        pytest.param("metadata.labels.tier", ["c3", "c1", "c10", "c2"], id="equal-ones-stay"),
    ],
)
def test_rows_are_sorted_by_a_field(
    web: Checkout, capsys: Capsys, path: str, expected: list[str]
) -> None:
    """Numbers by value; what lacks the field first."""
    assert expected == names(web, capsys, "deploy", "--sort-by", path)


def test_quantities_are_sorted_by_what_they_amount_to(tmp_path: Path, capsys: Capsys) -> None:
    """900m is less than 1, though 9 is more."""
    pods = [
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{cpu: '{cpu}'}}\n"
        for name, cpu in (("a", "1"), ("b", "900m"), ("c", "1k"))
    ]
    checkout = new_checkout(tmp_path / "pods", {"pods.yaml": "---\n".join(pods)})

    assert ["b", "a", "c"] == names(checkout, capsys, "po", "--sort-by", ".spec.cpu")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(".spec[", "must be a JSONPath such as .metadata.name", id="no-path"),
        pytest.param(".spec.replica", "must be a field that one of the objects has", id="slip"),
    ],
)
def test_an_order_that_cannot_be_is_refused(
    web: Checkout, capsys: Capsys, path: str, message: str
) -> None:
    """Instead of an order that means nothing."""
    code, out, err = answer(web, capsys, "get", "deploy", "--sort-by", path)

    assert (2, "", True) == (code, out, message in err)


def test_labels_are_a_last_column(web: Checkout, capsys: Capsys) -> None:
    """Sorted by key; `<none>` if there is none."""
    _, out, _ = answer(web, capsys, "get", "deploy", "c10", "c3", "--show-labels")

    assert ["LABELS", "app=shop,tier=web", "<none>"] == [
        line.split()[-1] for line in out.splitlines()
    ]


def test_a_label_has_a_column_of_its_own(web: Checkout, capsys: Capsys) -> None:
    """By the last part of its key, as kubectl's `-L`."""
    _, out, _ = answer(web, capsys, "get", "deploy", "c10", "c2", "-L", "tier,app")

    assert [["TIER", "APP"], ["web", "shop"], ["web", "<none>"]] == [
        line.split()[-2:] for line in out.splitlines()
    ]


def test_namespaces_have_a_column_where_all_are_asked_for(web: Checkout, capsys: Capsys) -> None:
    """And only there, as in kubectl."""
    _, one, _ = answer(web, capsys, "get", "deploy", "-n", "prod")
    _, every, _ = answer(web, capsys, "get", "deploy", "-A", "-l", "tier=web")

    assert ["NAME", "far"] == [line.split()[0] for line in one.splitlines()]
    assert ["NAMESPACE", "default", "default", "prod"] == [
        line.split()[0] for line in every.splitlines()
    ]


def test_an_object_in_another_namespace_is_said(web: Checkout, capsys: Capsys) -> None:
    """With the option that leads there."""
    code, _, err = answer(web, capsys, "get", "deploy", "far")

    expected = "no deploy named far in namespace default; it is in namespace prod: add -n prod\n"
    assert (1, expected) == (code, err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["deploy", "rb/x"], "give KIND/NAME for each object", id="mixed"),
        pytest.param(["deploy/"], "must be KIND/NAME", id="no-name"),
        pytest.param(["deploymnt"], "did you mean deployment?", id="slip"),
        pytest.param(["deploy", "--watch", "--at", "HEAD"], "omit --at", id="watch-the-past"),
    ],
)
def test_mistakes_are_told_in_one_line(
    web: Checkout, capsys: Capsys, words: list[str], message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    code, out, err = answer(web, capsys, "get", *words)

    assert (2, "", True, 1) == (code, out, message in err, err.count("\n"))


MEMBER: Body = {
    "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
    "kind": "MemberCluster",
    "metadata": {"name": "m"},
    "spec": {"identity": {"kind": "User", "name": "m"}},
}


@pytest.mark.parametrize(
    ("clusters", "group"),
    [
        pytest.param([cluster()], "work.karmada.io", id="karmada"),
        pytest.param([MEMBER], "placement.kubernetes-fleet.io", id="kubefleet"),
        pytest.param([cluster(), MEMBER], "work.karmada.io", id="both"),
    ],
)
def test_a_short_name_of_several_apis_means_the_one_in_use(
    clusters: list[Body], group: str
) -> None:
    """Before there is any object of that kind."""
    world = story(*clusters).world()

    assert (group, "ResourceBinding") == kind_among(world.known, kinds_present(world), "rb")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["deploy", "c10", "-o", "jsonpath={.spec.replicas}"], "9", id="one-object"),
        pytest.param(
            ["deploy", "-o", 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}'],
            "c1\nc10\nc2\nc3\n",
            id="several-are-a-list",
        ),
        pytest.param(
            ["deploy", "-l", "tier=web", "-o", "custom-columns=N:.metadata.name,R:.spec.replicas"],
            "N     R\nc10   9\nc2    10\n",
            id="columns",
        ),
        pytest.param(
            ["deploy/c1", "--no-headers", "-o", "custom-columns=N:.metadata.name,R:.spec.replicas"],
            "c1   <none>\n",
            id="columns-without-a-head",
        ),
        pytest.param(
            ["deploy", "--sort-by", ".spec.replicas", "-o", "jsonpath={.items[*].metadata.name}"],
            "c1 c3 c10 c2",
            id="in-an-order",
        ),
    ],
)
def test_templates_print_what_they_name(
    web: Checkout, capsys: Capsys, words: list[str], expected: str
) -> None:
    """As kubectl prints them, to the byte."""
    assert (0, expected, "") == answer(web, capsys, "get", *words)


def test_a_template_does_not_show_secrets(tmp_path: Path, capsys: Capsys) -> None:
    """Unless it is asked for, as with manifests."""
    manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pw: hush}\n"
    checkout = new_checkout(tmp_path / "fleet", {"key.yaml": manifest})
    words = ("get", "secret", "key", "-o", "jsonpath={.stringData.pw}")

    assert "hush" not in "".join(map(str, answer(checkout, capsys, *words)))
    assert (0, "hush", "") == answer(checkout, capsys, *words, "--show-secrets")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["deploy", "-o", "jsonpath"], "jsonpath needs a template", id="bare"),
        pytest.param(["deploy", "-o", "jsonpath={.a"], "a brace that stands alone", id="brace"),
        pytest.param(["deploy", "-o", "custom-columns=a"], "must be TITLE:PATH", id="columns"),
        pytest.param(["deploy", "-o", "json-path=x"], "is not one of 'table'", id="unknown"),
        pytest.param(["-o", "jsonpath={.a}"], "prints objects; give a KIND", id="no-kind"),
        pytest.param(["deploy", "-w", "-o", "jsonpath={.a}"], "omit the template", id="watch"),
    ],
)
def test_what_is_no_template_is_refused(
    web: Checkout, capsys: Capsys, words: list[str], message: str
) -> None:
    """With an example where one helps."""
    code, out, err = answer(web, capsys, "get", *words)

    assert (2, "", True) == (code, out, message in err)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            ["karmada-io"],
            [
                "clusterpropagationpolicy.policy.karmada.io/settings",
                "propagationpolicy.policy.karmada.io/frontend",
                "propagationpolicy.policy.karmada.io/shop",
                "resourcebinding.work.karmada.io/frontend-deployment",
                "resourcebinding.work.karmada.io/settings-configmap",
                "resourcebinding.work.karmada.io/shop-deployment",
            ],
            id="karmada",
        ),
        pytest.param(
            ["fleet-cluster,all", "-l", "!tier"],
            [
                "membercluster.cluster.kubernetes-fleet.io/fleet1",
                "membercluster.cluster.kubernetes-fleet.io/fleet2",
                "deployment.apps/frontend",
                "deployment.apps/shop",
            ],
            id="several-categories",
        ),
    ],
)
def test_a_category_is_all_its_kinds(
    words_fleet: Checkout, capsys: Capsys, words: list[str], expected: list[str]
) -> None:
    """As kubectl has them: `get all`, `get karmada-io`."""
    assert (0, "\n".join([*expected, ""]), "") == answer(
        words_fleet, capsys, "get", *words, "-o", "name"
    )


def test_a_category_of_which_nothing_is_there_is_said_once(web: Checkout, capsys: Capsys) -> None:
    """By its name; and an object of it is named by its kind."""
    empty = answer(web, capsys, "get", "karmada-io")
    named = answer(web, capsys, "get", "karmada-io", "shop")

    assert (0, "", "no karmada-io in namespace default\n") == empty
    assert (2, "", True) == (*named[:2], '"karmada-io" is a category' in named[2])


def test_a_schedule_trigger_is_in_the_category_of_karmada() -> None:
    """As the CRD of its proposal has it."""
    assert TRIGGER in CATEGORIES["karmada-io"]


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        pytest.param("cluster.karmada.io", "Cluster", ["VERSION"], id="ours"),
        pytest.param("apps", "Deployment", ["REPLICAS"], id="workload"),
        pytest.param("cluster.x-k8s.io", "Cluster", [], id="foreign-namesake"),
        pytest.param("example.org", "Widget", [], id="foreign"),
    ],
)
def test_only_kinds_that_are_known_have_columns(group: str, kind: str, expected: list[str]) -> None:
    """Another project's kind of the same name says nothing that we could read."""
    assert expected == [title for title, _ in columns_of(group, kind, wide=False)][:1]


JOINED = """apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: edge}
spec:
  hubAcceptsClient: false
  managedClusterClientConfigs: [{url: "https://edge.example.org:6443"}, {url: "https://10.0.0.1"}]
  taints: [{key: gpu, effect: NoSelect}]
status:
  conditions:
  - type: ManagedClusterJoined
    status: "True"
    reason: Joined
    message: ""
    lastTransitionTime: "2026-11-20T12:00:00Z"
"""
MEMBER_FILE = """apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {name: fleet1}
spec:
  identity: {kind: ServiceAccount, name: fleet1-agent}
status:
  properties:
    kubernetes-fleet.io/node-count: {value: "7", observationTime: "2026-11-20T12:00:00Z"}
  resourceUsage:
    available: {cpu: "3", memory: 5Gi}
"""


CLUSTER_WIDE = """apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
"""


@pytest.fixture(scope="module")
def columns_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    told = told_fleet(tmp_path_factory.mktemp("columns") / "fleet")
    told.commit({"policies/all.yaml": CLUSTER_WIDE}, "Add a policy")
    return told


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("cluster", "VERSION|MODE|READY|TAINTS|AGE", id="cluster"),
        pytest.param(
            "mcl",
            "HUB ACCEPTED|MANAGED CLUSTER URLS|JOINED|AVAILABLE|TAINTS|AGE",
            id="managed-cluster",
        ),
        pytest.param("mclset", "EMPTY|AGE", id="managed-cluster-set"),
        pytest.param("mclsetbindings", "SET", id="managed-cluster-set-binding"),
        pytest.param(
            "membercluster",
            "JOINED|AGE|MEMBER-AGENT-LAST-SEEN|NODE-COUNT|AVAILABLE-CPU|AVAILABLE-MEMORY|TAINTS",
            id="member-cluster",
        ),
        pytest.param("pp", "SELECTS|DIVISION|CONFLICT-RESOLUTION|PRIORITY|AGE", id="policy"),
        pytest.param("cpp", "SELECTS|DIVISION|CONFLICT-RESOLUTION|PRIORITY|AGE", id="wide-policy"),
        pytest.param("rb", "CLUSTERS|LEAVING|SCHEDULED|FULLYAPPLIED|AGE", id="binding"),
        pytest.param("placement", "SUCCEEDED|REASON|SELECTEDCLUSTERS|AGE", id="placement"),
        pytest.param("placementdecision", "PLACEMENT|CLUSTERS|AGE", id="decision"),
        pytest.param(
            "crp",
            "GEN|TYPE|SCHEDULED|SCHEDULED-GEN|AVAILABLE|AVAILABLE-GEN|AGE",
            id="resource-placement",
        ),
        pytest.param(
            "crb",
            "CLUSTER|STATE|PLACEMENT|WORKSYNCHRONIZED|RESOURCESAPPLIED|AGE",
            id="resource-binding",
        ),
        pytest.param("crs", "GEN|PLACEMENT|AGE", id="resource-snapshot"),
        pytest.param("csps", "GEN|PLACEMENT|AGE", id="policy-snapshot"),
        pytest.param("deploy", "REPLICAS|AGE", id="workload"),
        pytest.param("reconcilerstatus", "LAST PASS|INPUT|VERSION", id="ours"),
    ],
)
def test_a_kind_has_upstreams_columns(
    columns_fleet: Checkout, capsys: Capsys, word: str, expected: str
) -> None:
    """By upstream's short name; what scheduling adds stands before the age."""
    code, out, err = answer(columns_fleet, capsys, "get", word)

    columns = out.splitlines()[0].split("   ")
    assert (0, "") == (code, err)
    assert ["NAME", *expected.split("|")] == [title.strip() for title in columns if title]


def test_a_managed_cluster_shows_what_upstream_prints_of_it(tmp_path: Path, capsys: Capsys) -> None:
    """Flags in lower case, every URL, and the state of each condition."""
    checkout = new_checkout(tmp_path / "edge", {"edge.yaml": JOINED})

    _, out, _ = answer(checkout, capsys, "get", "mcls", "--no-headers")

    urls = "https://edge.example.org:6443, https://10.0.0.1"
    assert [
        "edge",
        "false",
        urls,
        "True",
        "<none>",
        "gpu:NoSelect, cluster.open-cluster-management.io/unreachable:NoSelect",
        "<none>",
    ] == [cell.strip() for cell in out.split("   ")]


def test_a_member_cluster_shows_its_properties(tmp_path: Path, capsys: Capsys) -> None:
    """A property's name has dots of its own."""
    checkout = new_checkout(tmp_path / "fleet", {"fleet.yaml": MEMBER_FILE})

    _, out, _ = answer(checkout, capsys, "get", "memberclusters", "--no-headers")

    assert "fleet1 <none> <none> <none> 7 3 5Gi <none>" == " ".join(out.split())


def test_a_short_name_is_not_taken_for_a_kind_of_that_name(tmp_path: Path, capsys: Capsys) -> None:
    """`cluster` is a kind of one API and a short name in another: what is there is meant."""
    checkout = new_checkout(tmp_path / "fleet", {"fleet.yaml": MEMBER_FILE})

    answered = answer(checkout, capsys, "get", "cluster", "-o", "name")

    assert (0, "membercluster.cluster.kubernetes-fleet.io/fleet1\n", "") == answered
