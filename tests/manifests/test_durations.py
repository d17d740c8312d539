"""Durations as Go reads them out of JSON."""

import pytest

from reconciler.errors import UserError
from reconciler.manifests.durations import decode_duration


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
