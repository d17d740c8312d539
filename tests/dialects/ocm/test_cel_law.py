"""Whatever stands in an expression, it is refused, or it has an answer."""

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.dialects.ocm.cel.checker import check
from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.library import STANDARD
from reconciler.dialects.ocm.cel.syntax import BINARY, LOOPS, NoExpression, parse
from reconciler.dialects.ocm.cel.types import DYN, OBJECT, Type, accepts
from reconciler.dialects.ocm.cel.values import CelError, Meter, to_cel
from reconciler.errors import Misconfigured
from tests.bounded import examples

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
