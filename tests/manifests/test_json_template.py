"""Templates and columns of JSONPaths, as kubectl reads them."""

import pytest

from reconciler.manifests.json_path import column_cell, fill_template, parse_columns, parse_template

BODY = {
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
    assert expected == fill_template(parse_template(template), BODY)


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
    assert ["80,81", "<none>"] == [column_cell(item, ".spec.ports[*]") for item in BODY["items"]]


@pytest.mark.parametrize("text", ["", "NAME", "NAME:", ":.name", "NAME:.name,", "N:[", "N:.a,b"])
def test_what_are_no_columns_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(ValueError, match=r"such as"):
        parse_columns(text)


def test_what_is_required_must_be_there() -> None:
    """In ranges, too."""
    template = parse_template("{range .items[*]}{.labels.x}{end}")

    with pytest.raises(LookupError, match="labels is not found"):
        fill_template(template, BODY, required=True)
