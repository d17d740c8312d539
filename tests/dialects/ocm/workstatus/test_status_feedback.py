"""What JSONPaths report of the state of a resource, in kubectl's grammar."""

import pytest

from reconciler.dialects.ocm.workstatus.jsonpath import TOO_DEEP, TOO_MANY, go_json
from reconciler.dialects.ocm.workstatus.work_status import FeedbackValues, read_feedback
from reconciler.model.body import Body
from reconciler.model.fields import mapping

RESOURCE = {
    "apiVersion": "x.io/v1",
    "kind": "Widget",
    "status": {
        "text": "ab",
        "list": [1, 2, 3],
        "items": [{"n": "a", "v": 1}, {"n": "b)", "v": 2, "w": [7]}],
        "half": 0.5,
        "null": None,
        "on": True,
    },
}


def feedback(path: str, *, raw: bool = False, resource: object = None) -> FeedbackValues:
    """What one path reports."""
    rule = {"type": "JSONPaths", "jsonPaths": [{"name": "x", "path": path}]}
    body = RESOURCE if resource is None else {**RESOURCE, "status": resource}
    return read_feedback([rule], body, raw=raw)


def value(path: str, *, raw: bool = False) -> object:
    """The value that one path reports, `None` if it reports none."""
    found = feedback(path, raw=raw)
    assert () == found.errors
    fields: list[Body] = [mapping(one, "fieldValue") for one in found.values]
    return next((one for body in fields for name, one in body.items() if name != "type"), None)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("$.status.text", "ab", id="root"),
        pytest.param("@.status.text", "ab", id="at"),
        pytest.param(" .status .text ", "ab", id="spaces"),
        pytest.param(".status.list[]", 1, id="no-index"),
        pytest.param(".status.list[-2]", 2, id="from-the-end"),
        pytest.param(".status.list[1:1]", None, id="empty-slice"),
        pytest.param(".status['text']", "ab", id="key"),
        pytest.param(".status.items[?(@.v>=2)].n", "b)", id="filter"),
        pytest.param(".status.items[?(@.n=='b)')].v", 2, id="bracket-in-quotes"),
        pytest.param(".status.items[?(@.w)].n", "b)", id="filter-of-what-is-there"),
        pytest.param(".status.items[?( @.v == 1 )].n", "a", id="filter-with-spaces"),
        pytest.param(".status.items[?(@.w[0]==7)].n", "b)", id="index-in-a-filter"),
        pytest.param(".status.list[?(@>2)]", 3, id="items-themselves"),
        pytest.param("..n", "a", id="recursion"),
        pytest.param(".status..v", 1, id="recursion-below"),
        pytest.param("range .status.items[*]}{.n}{end", "a", id="range"),
        pytest.param("range .status.items[5:5]}{.n}{end", None, id="range-of-nothing"),
        pytest.param(r".status.te\xt", "ab", id="escape-in-a-name"),
        pytest.param("'it is'", "it is", id="text"),
        pytest.param(r'"a\tb"', "a\tb", id="escape-in-a-text"),
        pytest.param(".status.null", None, id="null"),
        pytest.param("true", True, id="flag"),
    ],
)
def test_path_leads_to(path: str, expected: object) -> None:
    """Fields that are missing are no error.

    Source: kubernetes staging/src/k8s.io/client-go/util/jsonpath.
    """
    assert expected == value(path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".status.list[::2]", "[1,3]", id="steps"),
        pytest.param(".status.list[0:2]", "[1,2]", id="slice"),
        pytest.param(".status.list[0,2]", "[1,3]", id="union"),
        pytest.param(".status['text','half']", '["ab",0.5]', id="names"),
        pytest.param("range .status.items[*]}{.n}{end", '["a"]', id="range-is-several"),
        pytest.param(".status.text.*", "[97,98]", id="bytes-of-a-text"),
        pytest.param("..v", "[1,2]", id="all-below"),
        pytest.param("1", "1", id="number"),
    ],
)
def test_several_values_are_reported_as_json(path: str, expected: str) -> None:
    """With the gate RawFeedbackJsonString; maps are gone through by key."""
    assert expected == value(path, raw=True)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(".status[0]", "map[string]interface {} is not array or slice", id="map"),
        pytest.param(".status.text[0]", "string is not array or slice", id="text"),
        pytest.param(".status.list[2:1]", "starting index 2 is greater than", id="backwards"),
        pytest.param(".status.list[0:9]", "index out of bounds: index 8, length 3", id="end"),
        pytest.param(".status.list[0:2:0]", "step must be > 0", id="step"),
        pytest.param(".status.list[a]", "invalid array index a", id="no-index"),
        pytest.param(".status.half[?(@>1)]", "0.5 is not array or slice and cannot", id="filter"),
        pytest.param(".status.list[?(@>1.5)]", "incompatible types for comp", id="kinds"),
        pytest.param(".status.items[?(@>1)]", "invalid type for comparison", id="no-kind"),
        pytest.param(".status.list[?(@=1)]", "unrecognized filter operator =", id="sign"),
        pytest.param(".status.list[?(@>1", "unterminated filter", id="open-filter"),
        pytest.param(".status.list[?(@>1) ]", "unclosed array expect ]", id="open-bracket"),
        pytest.param("....n", "invalid multiple recursive descent", id="twice"),
        pytest.param("end", "not in range, nothing to end", id="end-of-nothing"),
        pytest.param("foo", "unrecognized identifier foo", id="word"),
        pytest.param("'a", "unterminated quoted string", id="quote"),
        pytest.param(".a\nb", "unclosed action", id="line"),
        pytest.param("1.2.3", "cannot parse number 1.2.3", id="number"),
        pytest.param("1", "the type int of the value for x is not found", id="type"),
        pytest.param(".status.text.*", "the type uint8 of the value", id="byte"),
    ],
)
def test_path_that_fails_says_why(path: str, message: str) -> None:
    """In the words of the library."""
    assert message in feedback(path).errors[0]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(2.0, "2", id="whole"),
        pytest.param(1e16, "10000000000000000", id="large"),
        pytest.param(1e21, "1e+21", id="exponent"),
        pytest.param(1e-6, "0.000001", id="small"),
        pytest.param(1.5e-7, "1.5e-7", id="small-exponent"),
        pytest.param(1e-10, "1e-10", id="two-digits"),
        pytest.param(2**63, "9223372036854776000", id="beyond-64-bits"),
        pytest.param(-0.5, "-0.5", id="negative"),
    ],
)
def test_numbers_are_written_as_go_does(number: float, expected: str) -> None:
    """Shortest digits, with an exponent below 1e-6 and from 1e21.

    Source: Go encoding/json encode.go `floatEncoder`.
    """
    assert expected == go_json(number)


def test_signs_of_html_and_line_separators_are_escaped() -> None:
    """As Go does for what may stand in a page."""
    assert '"\\u003c\\u0026\\u2028é"' == go_json("<&\u2028é")


LENGTH = 1_000_000


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("..l" * 12, TOO_MANY, id="descents"),
        pytest.param(".status" + "[*,*,*,*]" * 30, TOO_MANY, id="unions"),
        pytest.param(".status" + "[*]" * 31, TOO_MANY, id="items-that-multiply"),
        pytest.param("range $}{" * 200, TOO_DEEP, id="ranges-inside-of-ranges"),
    ],
)
def test_path_that_costs_too_much_is_an_error(path: str, message: str) -> None:
    """Counted, not timed; the message tells the limit."""
    status: object = {"l": 1}
    for _ in range(40):
        status = {"l": status} if path.startswith("..") else [status, status]

    assert message in feedback(path, resource=status).errors[0]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".a" * (LENGTH // 2), id="fields"),
        pytest.param("[" * LENGTH, id="brackets"),
        pytest.param("[" + "0," * (LENGTH // 2) + "0]", id="union"),
        pytest.param("}{" * (LENGTH // 2), id="actions"),
        pytest.param(r"'a\'" * (LENGTH // 4), id="quotes"),
        pytest.param("[?(@" * (LENGTH // 4), id="filters"),
    ],
)
def test_path_of_a_megabyte_is_read_once(path: str) -> None:
    """In linear time, and no message holds all of it."""
    assert all(len(one) < 5_000 for one in feedback(path).errors)
