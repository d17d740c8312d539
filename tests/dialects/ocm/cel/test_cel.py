"""celSelector: what an expression sees, and what is said of one that cannot be compiled."""

import sys

import pytest

from reconciler.dialects.ocm.api.cluster import decode_cluster, members_of
from reconciler.dialects.ocm.cel import values as cel_budget
from reconciler.dialects.ocm.cel.expression import compile_cel
from reconciler.dialects.scores import ScoreReport
from reconciler.errors import Misconfigured
from reconciler.model.body import Body
from reconciler.model.moments import parse_moment
from tests.dialects.ocm.worlds import (
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    placement,
    run,
)

CLUSTER = {
    "metadata": {"name": "a", "labels": {"version": "1.30.2"}},
    "spec": {"unknown": 1},
    "status": {"allocatable": {"cpu": "0.5", "memory": "1024Mi"}, "capacity": {}},
}
LONG_AGO = parse_moment("2020-01-01T00:00:00Z")


def meaning(*expressions: str) -> list[Body]:
    """Predicates of one selector with these expressions."""
    return [{"requiredClusterSelector": {"celSelector": {"celExpressions": [*expressions]}}}]


def matches(expression: str) -> bool:
    """Whether the cluster satisfies an expression."""
    members = members_of([decode_cluster(CLUSTER)])
    reports = {("a", "r"): ScoreReport({"x": 7}, LONG_AGO)}
    return bool(compile_cel((expression,)).select(members.fleet.all, members, reports))


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param('managedCluster.status.allocatable.cpu == "500m"', id="canonical-decimal"),
        pytest.param('managedCluster.status.allocatable.memory == "1Gi"', id="canonical-binary"),
        pytest.param("managedCluster.spec.hubAcceptsClient == false", id="always-written-flag"),
        pytest.param("managedCluster.status.conditions == null", id="conditions-null"),
        pytest.param("!has(managedCluster.spec.unknown)", id="unknown-field-is-gone"),
        pytest.param("!has(managedCluster.status.capacity)", id="empty-field-is-gone"),
        pytest.param("managedCluster.status.version.size() == 0", id="version-always-a-map"),
        pytest.param(
            'managedCluster.scores("r").exists(s, s.name == "x" && s.value > 6)',
            id="scores-even-if-expired",
        ),
        pytest.param(
            'semver(managedCluster.metadata.labels.version).isLessThan(semver("1.31.0"))',
            id="versions",
        ),
        pytest.param('semver("1.0.0-rc.2").isLessThan(semver("1.0.0"))', id="before-a-release"),
        pytest.param('quantity("1Gi").compareTo(quantity("1024Mi")) == 0', id="quantities"),
        pytest.param('isQuantity("200M") && !isQuantity("Bytes")', id="is-quantity"),
        pytest.param('"a,b,c".split(",").join("-").upperAscii() == "A-B-C"', id="strings"),
        pytest.param('"abc 123".find("[0-9]+") == "123"', id="regular-expressions"),
        pytest.param("[1, 2, 3].sum() == 6 && [1, 2].isSorted()", id="lists"),
        pytest.param("""'{"tier": "gold"}'.parseJSON().tier == "gold" """, id="json"),
        pytest.param(
            '"%s is %d, %.2f, %x".format(["a", 3, 3.14159, 255]) == "a is 3, 3.14, ff"', id="format"
        ),
        pytest.param("""strings.quote("a\\"b") == '"a\\\\"b"'""", id="quote"),
        pytest.param('"a-b-c".lastIndexOf("-") == 3 && "abc".split("", 2)[1] == "bc"', id="last"),
        pytest.param('"ÉA".lowerAscii() == "Éa"', id="only-ascii-is-lowered"),
        pytest.param(
            'url("https://h.example.com:80/p?x=1&x=2").getQuery()["x"].size() == 2 '
            '&& url("https://h:80/").getPort() == "80"',
            id="urls",
        ),
        pytest.param(
            'ip("10.0.0.1").family() == 4 && cidr("10.0.0.0/8").containsIP("10.1.2.3") '
            '&& !cidr("10.0.0.0/8").containsCIDR("11.0.0.0/16") && string(ip("::1")) == "::1"',
            id="addresses",
        ),
        pytest.param(
            'format.dns1123Label().validate("ok") == optional.none() '
            '&& format.named("uuid").value().validate("x").hasValue()',
            id="formats",
        ),
        pytest.param("dyn(1) == 1.0 && dyn(1) < 1.5 && 1u == uint(1)", id="numbers-across-types"),
        pytest.param("[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", id="map-with-a-condition"),
        pytest.param("{1: 'a', true: 'b'}[true] == 'b' && string(1.0) == '1'", id="keys-and-texts"),
        pytest.param("5 / -2 == -2 && -5 % 3 == -2 && 1.0 / 0.0 > 5.0", id="arithmetic-of-go"),
        pytest.param("false && 1 / 0 == 1 || 1 / 0 == 1 || true", id="errors-that-do-not-matter"),
        pytest.param(
            'timestamp("2026-01-31T23:30:00Z").getMonth("Europe/Berlin") == 1 '
            '&& duration("1h30m") == duration("90m")',
            id="moments",
        ),
        pytest.param("type(1) == int && type([]) == list && type(type(1)) == type", id="types"),
        pytest.param(
            r"'\u00e9\x41' == 'éA' && b'\xff' == b'\377' && r'\n'.size() == 2", id="escapes"
        ),
    ],
)
def test_expression_that_matches(expression: str) -> None:
    """The object is the one that upstream's conversion makes."""
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param('managedCluster.metadata.labels["absent"] == "x"', id="absent-key"),
        pytest.param("managedCluster.metadata.name", id="no-boolean"),
        pytest.param('managedCluster.scores("other").size() == 0', id="absent-scores"),
        pytest.param('sign(quantity("many")) == 1', id="unreadable-quantity"),
        pytest.param('dyn(quantity("1")).isLessThan(semver("1.0.0"))', id="mixed-types"),
        pytest.param('dyn(1) == "a"', id="types-that-only-the-run-tells"),
        pytest.param("9223372036854775807 + 1 > 0", id="more-than-64-bits"),
        pytest.param("5 / 0 == 1", id="division-by-zero"),
        pytest.param("managedCluster.status.conditions.size() == 0", id="size-of-null"),
        pytest.param('managedCluster.kind == "ManagedCluster"', id="kind-that-go-leaves-out"),
        pytest.param('"a".matches("[")', id="pattern-that-is-none"),
        pytest.param('[1, 2][dyn("x")] == 1', id="index-that-is-a-text"),
        pytest.param('int("1_0") == 10', id="number-of-python-only"),
        pytest.param('isIP("::ffff:1.2.3.4") || isIP("01.2.3.4")', id="addresses-that-are-none"),
    ],
)
def test_failure_at_run_time_is_no_match(expression: str) -> None:
    """What cannot be evaluated does not match, and nothing else happens."""
    assert not matches(expression)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("1 +", "compilation failed: ERROR: <input>:1:", id="syntax"),
        pytest.param(
            "true &&\n cluster.x",
            "compilation failed: ERROR: <input>:2:2: undeclared reference to 'cluster' "
            "(in container '')\n |  cluster.x\n | .^",
            id="name",
        ),
        pytest.param("nothing(1)", "undeclared reference to 'nothing'", id="function"),
        pytest.param("[1].all(x, y > 0)", "undeclared reference to 'y'", id="inside-a-macro"),
        pytest.param(
            '"a" == 1',
            "compilation failed: ERROR: <input>:1:5: found no matching overload for '_==_' applied "
            "to '(string, int)'\n | \"a\" == 1\n | ....^",
            id="types-that-differ",
        ),
        pytest.param("1 == 1.0", "'_==_' applied to '(int, double)'", id="int-and-double"),
        pytest.param("1 in [1.0]", "'@in' applied to '(int, list(double))'", id="in-a-list"),
        pytest.param("true && 1", "1:9: expected type 'bool' but found 'int'", id="no-boolean"),
        pytest.param("[1].all(x, x)", "expected type 'bool' but found 'int'", id="no-predicate"),
        pytest.param("true ? true : 1", "'_?_:_' applied to '(bool, bool, int)'", id="branches"),
        pytest.param('"a".startsWith(1)', "applied to 'string.(int)'", id="argument"),
        pytest.param("managedCluster == null", "'(map(string, dyn), null)'", id="never-null"),
        pytest.param(
            'quantity("1").isLessThan(semver("1.0.0"))',
            "'kubernetes.Quantity.(kubernetes.Semver)'",
            id="mixed-types",
        ),
        pytest.param('quantity("1").sign()', "'kubernetes.Quantity.()'", id="sign-is-no-method"),
        pytest.param('semver("v1.2", true)', "applied to '(string, bool)'", id="later-kubernetes"),
        pytest.param("1.map(x, x)", "cannot be range of a comprehension", id="no-range"),
        pytest.param("[1].map(x.y, x)", "argument must be a simple name", id="no-variable"),
        pytest.param("managedCluster.", "no viable alternative at input '.'", id="cut-off"),
        pytest.param(
            "a.exists(k, v, k == v)",
            "1:1: undeclared reference to 'a' (in container '')\n | a.exists(k, v, k == v)\n | ^\n"
            "ERROR: <input>:1:9: undeclared reference to 'exists'",
            id="all-mistakes-by-place",
        ),
    ],
)
def test_wrong_expression_is_misconfigured(expression: str, message: str) -> None:
    """Names and functions are checked before any cluster is asked."""
    with pytest.raises(Misconfigured) as found:
        compile_cel((expression,))

    assert message in found.value.message


def test_a_broken_installation_moves_nothing(
    monkeypatch: pytest.MonkeyPatch, contained: None
) -> None:
    """What cannot be imported is no answer: the placement keeps its clusters, and says so."""
    hub = [cluster_set(), binding(), cluster("a"), cluster("b")]
    files, _ = run(
        [*hub, placement(predicates=meaning("managedCluster.metadata.name == 'a'"))], {}, at(0)
    )
    for name in ("re2",):
        edited = placement(predicates=meaning(f"managedCluster.metadata.name != '{name}'"))
        with monkeypatch.context() as broken:
            broken.setitem(sys.modules, name, None)
            later, outcome = run([*hub, edited], files, at(60))

        assert ["a"] == chosen(later)
        assert ["internal-error"] == [fault.rule for fault in outcome.faults]


LIST = f"[{','.join('1' * 300)}]"


@pytest.mark.parametrize(
    ("expression", "column", "says"),
    [
        pytest.param(
            "managedCluster.metadata.labels[", 32, "mismatched input '<EOF>'", id="cut-off"
        ),
        pytest.param("1 + ", 5, "mismatched input '<EOF>' expecting {'[', ", id="behind-a-space"),
        pytest.param("a b", 3, "extraneous input 'b' expecting <EOF>", id="in-the-middle"),
    ],
)
def test_a_syntax_error_is_where_cel_go_says(expression: str, column: int, says: str) -> None:
    """An end that comes too early is behind the last character; columns count from 1."""
    with pytest.raises(Misconfigured) as told:
        compile_cel((expression,))

    where, shown, mark = str(told.value).split("\n")
    assert f"<input>:1:{column}: Syntax error: {says}" in where
    assert f" | {expression}" == shown
    assert f" | {'.' * (column - 1)}^" == mark


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("true" + " " * 20_000, cel_budget.TOO_LONG, id="long"),
        pytest.param("(" * 200 + "true" + ")" * 200, cel_budget.TOO_DEEP, id="nested"),
        pytest.param("true" + " && true" * 500, cel_budget.TOO_DEEP, id="operators-in-a-row"),
        pytest.param(
            f"{LIST}.all(x, {LIST}.all(y, {LIST}.all(z, true)))", cel_budget.TOO_MANY, id="loops"
        ),
        pytest.param(
            "['aaaa']" + ".map(x, x + x)" * 60 + ".size() > 0", cel_budget.TOO_LARGE, id="doubling"
        ),
        pytest.param(
            "[1]" + ".map(x, [x, x])" * 60 + " == dyn([1])", cel_budget.TOO_LARGE, id="shared-parts"
        ),
        pytest.param(
            "['aaaa']" + ".map(x, x.replace('', 'aaaa'))" * 40 + ".size() > 0",
            cel_budget.TOO_LARGE,
            id="replacing",
        ),
        pytest.param(
            f"{LIST}.map(x, 'a').join('{'b' * 1000}').size() > 0", cel_budget.TOO_LARGE, id="join"
        ),
    ],
)
def test_expensive_expression_is_misconfigured(expression: str, message: str) -> None:
    """It is stopped by what it costs, not by the clock, and the message says what to do."""
    with pytest.raises(Misconfigured) as found:
        matches(expression)

    assert message == found.value.message


def test_all_clusters_share_one_budget() -> None:
    """An expression that each cluster could afford is too much for fifty of them."""
    members = members_of(decode_cluster({"metadata": {"name": f"c{i}"}}) for i in range(50))
    program = compile_cel((f"{LIST}.all(x, x == 1)",))

    with pytest.raises(Misconfigured, match="steps a cluster"):
        program.select(members.fleet.all, members, {})


def test_expensive_expression_concerns_its_placement_only() -> None:
    """The other placement of the pass is decided; the condition says what is too much."""
    wild = meaning(f"{LIST}.all(x, {LIST}.all(y, {LIST}.all(z, true)))")
    hub = [cluster_set(), binding(), cluster("a"), placement("q"), placement(predicates=wild)]
    files, _ = run(hub, {}, at(0))

    assert ([], ["a"]) == (chosen(files, "p"), chosen(files, "q"))
    assert f"Predicate:{cel_budget.TOO_MANY}" in files[f"status/placements.{GROUP}/ns1/p.yaml"]
