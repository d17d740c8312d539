"""Objects held against the facts of their CRD."""

import pytest

from tests.builders import Body
from tests.crds.facts import Fields, facts_in
from tests.crds.object_facts import refusals

FIELDS: Fields = {
    "spec": facts_in("object; required"),
    "spec.mode": facts_in("string; enum=A|B"),
    "spec.number": facts_in("integer; min=0; format=int32"),
    "spec.when": facts_in("string; format=date-time"),
    "spec.name": facts_in("string; minLen=1; maxLen=3; pattern=^[a-z]+$"),
    "spec.kept": facts_in('string; required; default="x"'),
    "spec.labels": facts_in("object"),
    "spec.labels{}": facts_in("string"),
    "spec.items": facts_in("array; maxItems=1"),
    "spec.items[]": facts_in("object; open; x-kubernetes-embedded-resource=true"),
    "spec.parts": facts_in("array"),
    "spec.parts[]": facts_in("object"),
    "spec.parts[].id": facts_in("int-or-string; required"),
}
ITEM: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": 1}}
FINE: Body = {
    "mode": "A",
    "number": 0,
    "when": "2026-11-20T12:00:00Z",
    "name": "abc",
    "labels": {"any": "text"},
    "items": [ITEM],
    "parts": [{"id": 1}, {"id": "1"}],
}


def told(spec: object, **metadata: object) -> list[str]:
    """What is refused of an object."""
    body = {"apiVersion": "v1", "kind": "Toy", "metadata": {"name": "a", **metadata}, "spec": spec}
    return [*refusals(body, FIELDS)]


def test_an_object_as_it_should_be_is_taken() -> None:
    """Defaults are filled in."""
    assert [] == told(FINE)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"mode": "C"}, "spec.mode must be one of A|B: 'C'", id="enum"),
        pytest.param({"mode": 1}, "spec.mode must be of type string: 1", id="type"),
        pytest.param({"number": True}, "spec.number must be of type integer: True", id="flag"),
        pytest.param({"number": -1}, "spec.number is below its limit of 0", id="low"),
        pytest.param({"number": 2**31}, "spec.number is beyond its limit of 2147483647", id="high"),
        pytest.param({"when": "noon"}, "spec.when must be a moment: 'noon'", id="moment"),
        pytest.param({"name": "abcd"}, "spec.name is beyond its limit of 3", id="length"),
        pytest.param({"name": "A"}, "spec.name must match ^[a-z]+$: 'A'", id="pattern"),
        pytest.param({"labels": {"a": 1}}, "spec.labels{} must be of type string: 1", id="value"),
        pytest.param({"items": [ITEM] * 2}, "spec.items is beyond its limit of 1", id="items"),
        pytest.param({"items": [{}]}, "spec.items[]: metadata is missing", id="embedded"),
        pytest.param({"parts": [{}]}, "spec.parts[].id is required", id="required"),
        pytest.param({"other": 1}, "spec.other is no field of its CRD", id="unknown"),
        pytest.param(None, "spec must be of type object: None", id="null"),
    ],
)
def test_what_the_facts_do_not_allow_is_refused(spec: object, expected: str) -> None:
    """With the field and the fact."""
    assert [expected] == told(spec)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"name": "A"}, "metadata.name is no name: 'A'", id="name"),
        pytest.param({"labels": {"a": "-"}}, "metadata.labels.a is no label: '-'", id="label"),
        pytest.param(
            {"annotations": {"a": 1}}, "metadata.annotations.a is no annotation: 1", id="annotation"
        ),
    ],
)
def test_metadata_is_judged_as_of_any_kind(metadata: Body, expected: str) -> None:
    """Names, labels and annotations."""
    assert [expected] == told(FINE, **metadata)


def test_a_field_that_is_missing_is_refused() -> None:
    """At the top, too."""
    body: Body = {"apiVersion": "v1", "kind": "Toy", "metadata": {"name": "a"}}

    assert ["spec is required"] == [*refusals(body, FIELDS)]
