"""YAML texts inside of objects, as overrides read and write them."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.dialects.karmada.overridemanager.overriders import field_patches
from reconciler.dialects.karmada.overridemanager.yaml_text import read_yaml, write_yaml
from reconciler.errors import UserError
from tests.bounded import examples

TWICE: tuple[str, ...] = (
    "no",
    "Yes",
    "on",
    "OFF",
    "y",
    "N",
    "12:30:45",
    "1_000",
    "0x1F",
    "017",
    "1e+3",
    "~",
    "",
)
TWICE += ("null", "true", "3", "1.5", ".inf", "2001-01-01", "2001-01-01T10:00:00Z", "<<", "0b11")


def changed(text: str, *changes: dict[str, object]) -> object:
    """What a fieldOverrider makes of a text in a ConfigMap."""
    manifest = {"kind": "ConfigMap", "data": {"a": text}}
    overrider = {"fieldPath": "/data/a", "yaml": list(changes)}
    return field_patches(manifest, overrider)[0]["value"]


@pytest.mark.parametrize("text", TWICE)
def test_a_text_that_a_reader_of_yaml_1_1_takes_for_something_else_is_in_quotes(text: str) -> None:
    """Even where nobody touched it."""
    set_b = {"subPath": "/b", "operator": "add", "value": 1}

    assert f'a: "{text}"\nb: 1\n' == changed(f"a: '{text}'", set_b)


def test_a_plain_scalar_means_what_go_reads() -> None:
    """A moment and a number of base 60 are texts, a number of base 8 has its value."""
    text = "{a: no, b: y, c: 12:30:45, d: 017, e: 1e3, f: 2001-01-01, g: 1_0, h: 1.0, i: !!str 1}"
    expected = {
        "a": False,
        "b": True,
        "c": "12:30:45",
        "d": 15,
        "e": 1000,
        "f": "2001-01-01",
        "g": 10,
        "h": 1,
        "i": "1",
    }

    assert expected == read_yaml(text)


def test_keys_that_python_takes_for_one_stay_two() -> None:
    """`1` and `true`, and texts of both."""
    written = changed("1: a\ntrue: b\n2.0: c", {"subPath": "/x", "operator": "add", "value": 1})

    assert '"1": a\n"2": c\n"true": b\nx: 1\n' == written


def test_keys_are_sorted_as_go_sorts_them() -> None:
    """Letters behind all else, numbers by value."""
    value = {"a10": 1, "a2": 2, "b": 3, "-": 4, "B": 5, "a": 6}

    assert "-: 4\nB: 5\na: 6\na2: 2\na10: 1\nb: 3\n" == write_yaml(value).replace('"', "").replace(
        "'", ""
    )


def test_several_lines_are_a_block_and_merge_keys_are_merged() -> None:
    """As go-yaml does both."""
    read = read_yaml("x: &x {a: 1, b: 2}\nw: {<<: *x, b: 3}\nz: |\n  a\n  b\n")

    assert {"x": {"a": 1, "b": 2}, "w": {"a": 1, "b": 3}, "z": "a\nb\n"} == read
    assert "z: |\n  a\n  b\n" == write_yaml({"z": "a\nb\n"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("a: [", "it is none from line", id="open"),
        pytest.param("a: .nan", "is not finite", id="no-number"),
        pytest.param("? [a]\n: b", "whose keys are texts", id="key"),
        pytest.param(
            "a: &a [1, 1]\n"
            + "".join(
                f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}, "
                f"*{'a' if not n else f'b{n - 1}'}]\n"
                for n in range(30)
            ),
            "too many nodes",
            id="aliases",
        ),
        pytest.param("[" * 3000, "YAML", id="deep"),
    ],
)
def test_what_is_no_text_of_json_is_refused(text: str, says: str) -> None:
    """With its place where there is one, and without its words."""
    with pytest.raises(UserError, match=says):
        read_yaml(text)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not one.is_integer())
)
letters = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
texts = st.text(letters).filter(lambda one: one != "=") | st.sampled_from(TWICE)
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=8
)


@settings(max_examples=examples(600), deadline=None)
@given(value=st.dictionaries(texts, values))
def test_what_is_written_is_read_as_the_same(value: dict[str, object]) -> None:
    """By ourselves, and its texts by any reader of YAML 1.1."""
    written = write_yaml(value)

    assert value == read_yaml(written)
    assert value.keys() == yaml.safe_load(written).keys()
