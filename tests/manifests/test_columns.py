"""JSONPaths, columns, ages, durations and tables, as kubectl, Go and people write them."""

from datetime import timedelta
from fractions import Fraction

import pytest

from reconciler.cli.scores import read_table
from reconciler.errors import UsageError, UserError
from reconciler.manifests.columns import duration
from reconciler.manifests.durations import decode_duration
from reconciler.manifests.json_path import (
    check_path,
    column_cell,
    fill_template,
    find_path,
    parse_columns,
    parse_template,
)

BODY = {
    "metadata": {"name": "web", "labels": {"example.org/team": "shop"}},
    "spec": {"ports": [{"port": 80, "tls": False}, {"port": 443, "tls": True}]},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".metadata.name", ["web"], id="field"),
        pytest.param("metadata.name", ["web"], id="without-first-dot"),
        pytest.param("{.metadata.name}", ["web"], id="braces"),
        pytest.param(r".metadata.labels.example\.org/team", ["shop"], id="escaped-dot"),
        pytest.param(".metadata.labels['example.org/team']", ["shop"], id="quoted"),
        pytest.param(".spec.ports[0].port", [80], id="index"),
        pytest.param(".spec.ports[-1].port", [443], id="index-from-the-end"),
        pytest.param(".spec.ports[7].port", [], id="index-behind-the-end"),
        pytest.param(".spec.ports[*].port", [80, 443], id="all"),
        pytest.param(".spec.ports[?(@.tls==true)].port", [443], id="filter-flag"),
        pytest.param('.status.conditions[?(@.type=="Ready")].status', ["True"], id="filter"),
        pytest.param("{.status.conditions[?(@.type!='Ready')].type}", ["Old"], id="filter-not"),
        pytest.param(".spec.nothing.there", [], id="missing"),
        pytest.param(".metadata.name.first", [], id="below-a-text"),
    ],
)
def test_a_path_leads_to_values(path: str, expected: list[object]) -> None:
    """In the order of the document; nothing if it leads nowhere."""
    assert expected == list(find_path(BODY, path))


@pytest.mark.parametrize("path", ["", "{}", ".a[", ".a[x]", ".a[?(b)]", "a b", "..a", ".a}"])
def test_what_is_no_path_is_refused(path: str) -> None:
    """With one that is."""
    with pytest.raises(ValueError, match=r"must be a JSONPath such as \.metadata\.name"):
        check_path(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(".spec.nothing.there", "nothing is not found", id="field"),
        pytest.param("{.metadata.name.first}", "first is not found", id="below-a-text"),
        pytest.param(".spec.ports[7].port", "[7] is not found", id="index"),
        pytest.param("{.absent}", "{.absent} is null", id="null"),
    ],
)
def test_what_is_required_must_be_there(path: str, message: str) -> None:
    """And the end of the path is told."""
    with pytest.raises(LookupError) as lost:
        find_path({**BODY, "absent": None}, path, required=True)
    assert message == str(lost.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".spec.ports[1].port", [443], id="there"),
        pytest.param(".status.conditions[?(@.type=='None')].status", [], id="filter"),
        pytest.param(".spec.ports[*].port", [80, 443], id="all"),
    ],
)
def test_what_names_nothing_may_lead_to_nothing(path: str, expected: list[object]) -> None:
    """A filter that no item passes, and what stands behind it."""
    assert expected == list(find_path(BODY, path, required=True))


LISTED = {
    "kind": "List",
    "items": [
        {"name": "a", "spec": {"n": 1, "on": True, "ports": [80, 81]}, "labels": {"x": "y"}},
        {"name": "b", "spec": {"n": 2.5, "nothing": None}},
    ],
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("{.kind}", "List", id="field"),
        pytest.param(".kind", "List", id="without-braces"),
        pytest.param("{$.kind}|{ .kind }", "List|List", id="root-and-blanks"),
        pytest.param("is {.kind}: {.items[0].name}", "is List: a", id="text-around"),
        pytest.param("{.items[*].name}", "a b", id="several-values"),
        pytest.param(
            '{range .items[*]}{.name}{"\\t"}{.spec.n}{"\\n"}{end}', "a\t1\nb\t2.5\n", id="range"
        ),
        pytest.param(
            "{range .items[*]}{.name}:{range .spec.ports[*]}{@}{','}{end};{end}",
            "a:80,81,;b:;",
            id="range-in-range",
        ),
        pytest.param("{.items[0].spec.ports}", "[80,81]", id="list"),
        pytest.param("{.items[0].labels}", '{"x":"y"}', id="mapping"),
        pytest.param("{.items[0].spec.on}", "true", id="boolean"),
        pytest.param("<{.items[1].spec.nothing}{.absent}>", "<>", id="nothing"),
        pytest.param('{.items[?(@.name=="b")].spec.n}', "2.5", id="filter"),
        pytest.param("{'{}'}", "{}", id="braces-in-quotes"),
        pytest.param('{"say \\"x\\""}', 'say "x"', id="quote-in-quotes"),
    ],
)
def test_a_template_is_filled(template: str, expected: str) -> None:
    """What stands outside of braces is text."""
    assert expected == fill_template(parse_template(template), LISTED)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("{.a", "a brace that stands alone", id="open"),
        pytest.param("{.a}}", "a brace that stands alone", id="closed"),
        pytest.param("{range .a}{.b}", "without an {end}", id="no-end"),
        pytest.param("{.b}{end}", "without a {range}", id="no-range"),
        pytest.param("{}", "nothing in them", id="empty"),
        pytest.param("{.a[}", "must be a JSONPath", id="path"),
        pytest.param("", "nothing in them", id="no-text"),
    ],
)
def test_what_is_no_template_is_refused(template: str, message: str) -> None:
    """Before anything is read."""
    with pytest.raises(ValueError, match=r"\w") as refused:
        parse_template(template)
    assert message in str(refused.value)


def test_columns_have_a_title_and_a_path() -> None:
    """Separated by commas that stand in no brackets."""
    columns = parse_columns("NAME:.name,Y:.ports[?(@.a=='1,2')].n")

    assert (("NAME", ".name"), ("Y", ".ports[?(@.a=='1,2')].n")) == columns
    assert ["80,81", "<none>"] == [column_cell(item, ".spec.ports[*]") for item in LISTED["items"]]


@pytest.mark.parametrize("text", ["", "NAME", "NAME:", ":.name", "NAME:.name,", "N:[", "N:.a,b"])
def test_what_are_no_columns_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(ValueError, match=r"such as"):
        parse_columns(text)


def test_what_is_required_in_a_template_must_be_there() -> None:
    """In ranges, too."""
    template = parse_template("{range .items[*]}{.labels.x}{end}")

    with pytest.raises(LookupError, match="labels is not found"):
        fill_template(template, LISTED, required=True)


HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(-5, "0s", id="future"),
        pytest.param(119, "119s", id="seconds"),
        pytest.param(120, "2m", id="whole-minutes"),
        pytest.param(185, "3m5s", id="minutes-and-seconds"),
        pytest.param(605, "10m", id="minutes"),
        pytest.param(179 * 60, "179m", id="three-hours-in-minutes"),
        pytest.param(3 * HOUR, "3h", id="whole-hours"),
        pytest.param(5 * HOUR + 120, "5h2m", id="hours-and-minutes"),
        pytest.param(47 * HOUR + 120, "47h", id="hours"),
        pytest.param(3 * DAY + 2 * HOUR, "3d2h", id="days-and-hours"),
        pytest.param(8 * DAY + 2 * HOUR, "8d", id="days"),
        pytest.param(729 * DAY, "729d", id="two-years-in-days"),
        pytest.param(3 * 365 * DAY + 2 * DAY, "3y2d", id="years-and-days"),
        pytest.param(9 * 365 * DAY + 2 * DAY, "9y", id="years"),
    ],
)
def test_an_age_has_two_units_while_the_first_is_small(seconds: int, expected: str) -> None:
    """As `HumanDuration` of Kubernetes."""
    assert expected == duration(timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("90s", 90 * 10**9, id="seconds"),
        pytest.param("1h0.5m", 3630 * 10**9, id="a-fraction"),
        pytest.param("-2562047h47m16.854775807s", -(2**63 - 1), id="nanoseconds"),
    ],
)
def test_text_is_a_duration(value: str, expected: int) -> None:
    """In nanoseconds, exactly."""
    assert expected == decode_duration(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(5, "json: cannot unmarshal number into Go value of type string", id="number"),
        pytest.param(0.5, "json: cannot unmarshal number into Go value of type string", id="float"),
        pytest.param(True, "json: cannot unmarshal bool into Go value of type string", id="flag"),
        pytest.param(
            ["5s"], "json: cannot unmarshal array into Go value of type string", id="list"
        ),
        pytest.param({}, "json: cannot unmarshal object into Go value of type string", id="object"),
        pytest.param(None, 'time: invalid duration ""', id="null"),
    ],
)
def test_nothing_else_is(value: object, message: str) -> None:
    """In the words of Go."""
    with pytest.raises(UserError) as found:
        decode_duration(value)

    assert message == found.value.message


PRICES = {"price": {"a": Fraction(3, 2), "b": Fraction(-2)}, "carbon": {"a": Fraction(300)}}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("t.csv", "cluster,price,carbon\na,1.5,300\nb,-2,\n", id="csv"),
        pytest.param(
            "t.csv", '\ufeffcluster, price, carbon\r\n"a", 1.50, 300\r\n\r\nb,-2\r\n', id="office"
        ),
        pytest.param("t.yaml", "a: {price: 1.5, carbon: 300}\nb: {price: -2}\n", id="yaml"),
        pytest.param("t", '{"a": {"price": 1.5, "carbon": 300}, "b": {"price": -2}}', id="json"),
    ],
)
def test_numbers_are_read_as_they_stand(path: str, text: str) -> None:
    """Exactly, with gaps."""
    assert PRICES == read_table(path, text.encode())


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        pytest.param("t.csv", b"", "t.csv:1: the head must be cluster, and then", id="empty"),
        pytest.param("t.csv", b"name,price\na,1\n", "t.csv:1: the head must be cluster", id="head"),
        pytest.param("t.csv", b"cluster,p,p\n", "t.csv:1: the head must be cluster", id="twice"),
        pytest.param("t.csv", b"cluster\na\n", "t.csv:1: the head must be cluster", id="no-column"),
        pytest.param(
            "t.csv", b"cluster,p\na,1e9\n", 't.csv:2: "1e9" in "p" must be a plain', id="exponent"
        ),
        pytest.param("t.csv", b"cluster,p\na,nan\n", 't.csv:2: "nan" in "p" must be', id="nan"),
        pytest.param(
            "t.csv", b"cluster,p\na,1\na,2\n", 't.csv:3: "a" has a number in "p"', id="again"
        ),
        pytest.param("t.csv", b"cluster,p\na,1,2\n", "t.csv:2: a row must have", id="long-row"),
        pytest.param("t.csv", b"cluster,p\n,1\n", "t.csv:2: a row must have", id="no-cluster"),
        pytest.param("t.csv", b'cluster,p\n"a,1\n', "t.csv:", id="quote"),
        pytest.param("t.csv", b"cluster,p\n", "t.csv holds no number", id="no-row"),
        pytest.param("t.csv", b"cluster,p\n\xff,1\n", "t.csv must be UTF-8", id="bytes"),
        pytest.param("t.yaml", b"a: 1\n", 't.yaml: "a" must have its numbers by name', id="flat"),
        pytest.param("t.yaml", b"a: {p: true}\n", "must be a plain number", id="boolean"),
        pytest.param("t.yaml", b"a: {p: [1]}\n", "must be a plain number", id="list"),
        pytest.param("t.yaml", b"a: {\n", "t.yaml:", id="broken"),
        pytest.param("t.yaml", b"- a\n", "t.yaml", id="no-mapping"),
        pytest.param("t.yaml", b"", "t.yaml must be one mapping", id="empty-yaml"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(path: str, data: bytes, said: str) -> None:
    """With its place."""
    with pytest.raises(UsageError) as refused:
        read_table(path, data)

    told = str(refused.value)
    assert said in told
    assert "\n" not in told
