"""The applied-placement annotation: Go's text, and what counts as a change."""

import re

import pytest

from reconciler.dialects.karmada.api.placement import (
    applied_placement,
    decode_placement,
    placement_changed,
    read_applied,
)
from reconciler.errors import UserError

TWO_GROUPS = {
    "clusterAffinities": [
        {"affinityName": "g1", "clusterNames": ["a"]},
        {"affinityName": "g2", "clusterNames": ["b"]},
    ]
}
OTHER_EDITED = (
    '{"clusterAffinities":[{"affinityName":"g1","clusterNames":["a"]},{"affinityName":"g2"}]}'
)
EMPTY_NAMES: dict[str, object] = {"clusterAffinity": {"clusterNames": []}}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({}, "{}", id="empty"),
        pytest.param({"clusterAffinity": {}}, '{"clusterAffinity":{}}', id="pointer-is-kept"),
        pytest.param(EMPTY_NAMES, '{"clusterAffinity":{}}', id="empty-list-is-left-out"),
        pytest.param(
            {"clusterTolerations": [{"tolerationSeconds": 0, "key": "k"}]},
            '{"clusterTolerations":[{"key":"k","tolerationSeconds":0}]}',
            id="zero-behind-a-pointer",
        ),
        pytest.param(
            {"clusterAffinity": {"labelSelector": {"matchLabels": {"b": "<", "a": "ö"}}}},
            '{"clusterAffinity":{"labelSelector":{"matchLabels":{"a":"ö","b":"\\u003c"}}}}',
            id="sorted-map-and-html-escapes",
        ),
        pytest.param(
            {"replicaScheduling": {"weightPreference": {"staticWeightList": [{"weight": 1}]}}},
            '{"replicaScheduling":{"weightPreference":{"staticWeightList":'
            '[{"targetCluster":{},"weight":1}]}}}',
            id="required-struct-is-written",
        ),
    ],
)
def test_text_is_that_of_go(body: dict[str, object], text: str) -> None:
    """Struct order, omitempty, and the escapes of encoding/json."""
    assert text == applied_placement(decode_placement(body))


@pytest.mark.parametrize(
    ("body", "applied", "observed", "changed"),
    [
        pytest.param({}, "", "", True, id="never-applied"),
        pytest.param({"clusterAffinity": {}}, "{nonsense", "", False, id="unreadable"),
        pytest.param({}, "null", "", False, id="null-is-an-empty-placement"),
        pytest.param({}, '{"clusterAffinity":null}', "", False, id="null-is-absent"),
        pytest.param({"clusterAffinity": {}}, "{}", "", True, id="empty-object-is-not-absent"),
        pytest.param(EMPTY_NAMES, '{"clusterAffinity":{}}', "", True, id="empty-list-for-ever"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "g1", False, id="other-group-edited"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "g2", True, id="observed-group-edited"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "", True, id="no-group-observed"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "gone", True, id="observed-group-gone"),
        pytest.param(TWO_GROUPS, '{"clusterTolerations":[]}', "g1", True, id="more-differs"),
    ],
)
def test_change(body: dict[str, object], applied: str, observed: str, changed: bool) -> None:  # noqa: FBT001 - a column of the table
    """Equality is that of Go's decoded structs, and only the observed group counts."""
    placement = decode_placement(body)

    assert changed == placement_changed(placement, applied, observed_affinity=observed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "unexpected end of JSON input", id="cut-off"),
        pytest.param('{"a', "unexpected end of JSON input", id="cut-off-in-a-key"),
        pytest.param("garbage", "invalid character 'g' looking for beginning of value", id="word"),
        pytest.param(
            "not json", "invalid character 'o' in literal null (expecting 'u')", id="like-null"
        ),
        pytest.param(
            "{x}", "invalid character 'x' looking for beginning of object key string", id="bare-key"
        ),
        pytest.param("{} {}", "invalid character '{' after top-level value", id="two-values"),
        pytest.param('{"a":1]', "invalid character ']' after object key:value pair", id="bracket"),
    ],
)
def test_text_that_is_not_json(text: str, message: str) -> None:
    """The words are those of Go."""
    with pytest.raises(UserError, match=re.escape(message)):
        read_applied(text)


@pytest.mark.parametrize("text", ["[]", "1", '{"clusterAffinity":[]}', '{"a":NaN}'])
def test_unreadable(text: str) -> None:
    """What Go would not decode is not decoded here."""
    with pytest.raises(UserError, match="must be"):
        read_applied(text)
