"""Documents that are alike but for a few texts."""

import pytest

from reconciler.manifests.text.emitter import Filled, Known, encode, encode_alike
from reconciler.model.body import Body

PLACES = (("metadata", "labels", "id"), ("metadata", "annotations", "for"))


def document(**annotations: str) -> Body:
    """A document with two texts that are filled in, the second one first."""
    return {
        "kind": "A",
        "metadata": {"annotations": {"for": "", **annotations}, "labels": {"id": ""}},
    }


@pytest.mark.parametrize(
    "shared",
    [
        pytest.param(document(), id="plain"),
        pytest.param(document(a="hole"), id="the-text-that-stands-for-it"),
        pytest.param(document(hole="holes", a="a hole, a holess"), id="and-longer-ones"),
    ],
)
def test_what_is_filled_is_written_as_if_it_stood_there(shared: Body) -> None:
    """Whatever else the documents hold, and whatever the text needs to be quoted."""
    known: Known = {}
    for text in ("east", "yes", "", "1", "a: b", "hole"):
        filled = Filled(shared, PLACES, ("hole", text))

        assert encode(dict(filled)) == encode_alike(filled, known)
    assert 1 == len(known)
