"""Whatever is in an expression, it is refused or has an answer, optionals as in cel-go."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.dialects.ocm.cel import values
from reconciler.dialects.ocm.cel.checker import check
from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.expression import compile_cel
from reconciler.dialects.ocm.cel.library import STANDARD
from reconciler.dialects.ocm.cel.syntax import BINARY, LOOPS, NoExpression, parse
from reconciler.dialects.ocm.cel.types import DYN, OBJECT, Type, accepts
from reconciler.dialects.ocm.cel.values import CelError, Meter, to_cel
from reconciler.errors import Misconfigured
from tests.bounded import examples
from tests.dialects.ocm.cel.test_cel import matches, meaning
from tests.dialects.ocm.worlds import at, binding, chosen, cluster, cluster_set, placement, run

SIGNS = "()[]{}?:.,'\"\\ax1eu-+*/%!<>=&| \n"
OPERATORS = sorted(sign for level in BINARY for sign in level)
FUNCTIONS = sorted(name for name in STANDARD if name[0].isalpha())
VALUES = to_cel(
    {
        "s": "a-1",
        "n": None,
        "i": 3,
        "d": 2.5,
        "b": True,
        "l": [1, 2.5, "x", None],
        "m": {"a": {"b": ["c"]}},
        "big": 2**70,
        "j": '{"a": [1e400, "\\ud800", 1.5]}',
        "v": "1.2.3-rc.1",
        "t": "2026-01-31T23:59:59.5Z",
        "u": "https://a.example:80/p?x=1",
    }
)
literals = st.sampled_from(
    [
        *("1", "-1", "0", "2u", "1.5", "1e308", "9223372036854775807", "true", "null", "[]", "{}"),
        *("''", "'a'", "b'a'", "'%s %d %.2f'", "'1h'", "'10.0.0.0/8'", "'[a'", "'é'", "x"),
        *(f"o.{name}" for name in ("s", "n", "i", "d", "b", "l", "m", "big", "j", "v", "t", "u")),
        *("o.m.a.b", "o.?none", "o.l[0]", "o.l[?9]", "o['s']", "int", "optional.none()"),
    ]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of expressions."""
    few = st.lists(inner, max_size=3).map(", ".join)
    names = st.sampled_from(FUNCTIONS)
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
        st.builds("{}({})".format, names, few),
        st.builds("{}.{}({})".format, inner, names, few),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("[{}]".format, few),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("{}.{}(x, {})".format, inner, st.sampled_from(sorted(LOOPS)), inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}.{}".format, inner, st.sampled_from(["a", "?b", "size()"])),
        st.builds("{}{}".format, st.sampled_from(["!", "-"]), inner),
    )


expressions = st.recursive(literals, _grown, max_leaves=12)


def answered(expression: str, *, strict: bool) -> tuple[Type, object] | None:
    """The type and the value of an expression, `None` if it has none."""
    variables = {"o": OBJECT if strict else DYN, "x": DYN}
    try:
        tree = parse(expression)
        found = check(tree, variables, STANDARD)
        return found, evaluate(tree, STANDARD, {"o": VALUES, "x": 1}, Meter(100_000))
    except (NoExpression, Misconfigured, CelError):
        return None


@settings(max_examples=examples(1000), deadline=None)
@given(expression=expressions, strict=st.booleans())
def test_an_expression_has_an_answer_or_is_refused(expression: str, *, strict: bool) -> None:
    """And what the check says of its type is true."""
    found = answered(expression, strict=strict)

    assert found is None or accepts(found[0], found[1])


@settings(max_examples=examples(1000), deadline=None)
@given(
    text=st.text(max_size=60) | st.text(alphabet="()[]{}?:.,'\"\\ax1eu-+*/%!<>=&| \n", max_size=60)
)
def test_a_text_is_an_expression_or_is_refused(text: str) -> None:
    """Whatever it is."""
    answered(text, strict=True)


LABELS = "managedCluster.metadata.labels"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f'{LABELS}.?tier.orValue("none") == "none"', id="absent-field"),
        pytest.param(f'{LABELS}.?version.orValue("none") == "1.30.2"', id="present-field"),
        pytest.param(f'{LABELS}[?"tier"].orValue("none") == "none"', id="absent-key"),
        pytest.param(f'{LABELS}[?"version"].value() == "1.30.2"', id="present-key"),
        pytest.param("![1, 2][?2].hasValue() && [1, 2][?1].value() == 2", id="index"),
        pytest.param("![1][?-1].hasValue()", id="negative-index"),
        pytest.param("!managedCluster.?no.such.field.hasValue()", id="those-that-follow-are-too"),
        pytest.param("managedCluster.?metadata.labels['version'].hasValue()", id="then-an-index"),
        pytest.param("!managedCluster.metadata.name.?x.hasValue()", id="of-a-text"),
        pytest.param("managedCluster.status.?conditions.hasValue()", id="null-is-a-value"),
        pytest.param("!has(managedCluster.?no.such)", id="has-of-none"),
        pytest.param("has(managedCluster.?metadata.labels)", id="has-of-some"),
        pytest.param("has({'a': [1]}.a) && !has({}.a)", id="has-of-a-list"),
        pytest.param("optional.of(1) == optional.of(1)", id="equal"),
        pytest.param("optional.of(1) != optional.none()", id="some-is-not-none"),
        pytest.param("managedCluster.?no == optional.none()", id="none-is-none"),
        pytest.param("!optional.ofNonZeroValue('').hasValue()", id="zero-value"),
        pytest.param("optional.ofNonZeroValue('x').hasValue()", id="no-zero-value"),
        pytest.param("optional.none().or(optional.of(2)).value() == 2", id="or"),
        pytest.param("optional.of(1).or(optional.of(1/0)).value() == 1", id="or-is-lazy"),
        pytest.param("optional.of(1).orValue(1/0) == 1", id="value-or-is-lazy"),
        pytest.param(f'{LABELS}.?version.optMap(v, v + "!").value() == "1.30.2!"', id="map"),
        pytest.param("!managedCluster.?no.optMap(v, v + 1).hasValue()", id="map-of-none"),
        pytest.param(
            f"managedCluster.?metadata.optFlatMap(m, m.labels.?version) == {LABELS}.?version",
            id="flat-map",
        ),
        pytest.param("[1, ?managedCluster.?no, ?optional.of(2)] == [1, 2]", id="element"),
        pytest.param("{?'a': managedCluster.?no, 'b': 1} == {'b': 1}", id="entry"),
        pytest.param("{?'a': optional.of(2)}.a == 2", id="entry-with-a-value"),
        pytest.param("[1, 2].first().value() == 1 && [1, 2].last().value() == 2", id="ends"),
        pytest.param("!managedCluster.?no.hasValue() && ![].first().hasValue()", id="no-first"),
        pytest.param("[optional.of(1), optional.none()].unwrapOpt() == [1]", id="unwrap-method"),
        pytest.param("optional.unwrap([optional.none(), optional.of(1)]) == [1]", id="unwrap"),
        pytest.param("['a', 'b'].exists(v, optional.of(v) == optional.of('b'))", id="in-a-macro"),
        pytest.param("optional.of(true)", id="what-go-sees-of-the-answer"),
        pytest.param("true ? [1][?0].hasValue() : false", id="question-marks-of-both-kinds"),
    ],
)
def test_expression_with_optional_values_matches(expression: str) -> None:
    """Absent fields are none, and none is told from null."""
    assert matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("managedCluster.?no.value() == 1", id="value-of-none"),
        pytest.param("managedCluster.?no == null", id="none-is-not-null"),
        pytest.param("managedCluster.no.?such.hasValue() || false", id="absent-before-the-mark"),
        pytest.param("[1][?dyn('a')].hasValue() || false", id="index-that-is-a-text"),
        pytest.param("dyn(managedCluster).orValue(true)", id="alternative-to-no-optional"),
        pytest.param("[?dyn(1)] == [1]", id="element-that-is-no-optional"),
        pytest.param("optional.none()", id="none-as-the-answer"),
        pytest.param("optional.none().or(dyn(true))", id="alternative-that-is-no-optional"),
        pytest.param("optional.of(1).optMap(v, v / 0).hasValue() || false", id="map-that-fails"),
    ],
)
def test_failure_with_optional_values_is_no_match(expression: str) -> None:
    """What cannot be evaluated does not match."""
    assert not matches(expression)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("[1][?'a']", "'_[?_]' applied to '(list(int), string)'", id="index"),
        pytest.param("managedCluster.orValue(true)", "no matching overload", id="no-optional"),
        pytest.param("[?1]", "expected type 'optional_type(dyn)' but found 'int'", id="element"),
        pytest.param("optional.none().or(true)", "no matching overload", id="alternative"),
        pytest.param("optional == 1", "undeclared reference to 'optional'", id="the-namespace"),
        pytest.param("optional.of(x)", "undeclared reference to 'x'", id="argument"),
        pytest.param(f"{LABELS}.?a.optMap(v, w)", "undeclared reference to 'w'", id="variable"),
        pytest.param(f"has({LABELS}.?a)", "invalid argument to has() macro", id="has"),
        pytest.param("managedCluster.?", "Syntax error", id="no-name"),
        pytest.param("[1].map(x, optional.of(x))" + ".map(x, [x, x])" * 60, "", id="doubling"),
    ],
)
def test_wrong_optional_expression_is_misconfigured(expression: str, message: str) -> None:
    """Names are checked in what is optional, too, and its values are weighed."""
    with pytest.raises(Misconfigured) as found:
        matches(expression)

    assert (message or values.TOO_LARGE) in found.value.message


def test_placement_selects_by_a_field_that_may_be_absent() -> None:
    """The cluster without the field is selected by the value that is given instead."""
    wanted = meaning("managedCluster.spec.?taints.orValue([]).size() == 0")
    tainted = cluster("a", {"key": "k", "effect": "PreferNoSelect"})
    hub = [cluster_set(), binding(), tainted, cluster("b")]
    files, _ = run([*hub, placement(predicates=wanted)], {}, at(0))

    assert ["b"] == chosen(files)


def test_optional_expression_compiles_without_a_cluster() -> None:
    """Compiling asks no cluster."""
    assert 1 == len(compile_cel((f"{LABELS}.?a.hasValue()",)).trees)
