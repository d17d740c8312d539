"""celSelector: what an expression sees, and what is said of one that cannot be compiled."""

import pytest

from reconciler.dialects.ocm import cel_engine
from reconciler.dialects.ocm.cel import compile_cel
from reconciler.dialects.ocm.clusters import decode_cluster, members_of
from reconciler.dialects.ocm.request import Report
from reconciler.errors import Misconfigured
from reconciler.model.moments import parse_moment

CLUSTER = {
    "metadata": {"name": "a", "labels": {"version": "1.30.2"}},
    "spec": {"unknown": 1},
    "status": {"allocatable": {"cpu": "0.5", "memory": "1024Mi"}, "capacity": {}},
}
LONG_AGO = parse_moment("2020-01-01T00:00:00Z")


def matches(expression: str) -> bool:
    """Whether the cluster satisfies an expression."""
    members = members_of([decode_cluster(CLUSTER)])
    reports = {("a", "r"): Report({"x": 7}, LONG_AGO)}
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
        pytest.param('quantity("many").sign() == 1', id="unreadable-quantity"),
        pytest.param('quantity("1").isLessThan(semver("1.0.0"))', id="mixed-types"),
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
    ],
)
def test_wrong_expression_is_misconfigured(expression: str, message: str) -> None:
    """Names and functions are checked before any cluster is asked."""
    with pytest.raises(Misconfigured) as found:
        compile_cel((expression,))

    assert message in found.value.message


def test_missing_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra an expression is misconfigured, and the message helps."""

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(cel_engine, "import_module", missing)
    with pytest.raises(Misconfigured, match=r"reconciler\[cel\]"):
        compile_cel(("managedCluster.never.asked.before",))
