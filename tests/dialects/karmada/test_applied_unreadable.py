"""A binding with an applied placement that cannot be read is mended, and evicted like others."""

import pytest

from reconciler.dialects.karmada.api.placement import APPLIED_PLACEMENT
from tests.builders import Body, cluster, policy, taint, text
from tests.dialects.karmada.test_decide import ANYWHERE, on_a, tasks
from tests.stories import BINDINGS, Story

WEB = f"{BINDINGS}/default/web-deployment.yaml"


def metadata_of(told: Story) -> dict[str, dict[str, str]]:
    """The metadata of the binding."""
    metadata = told.binding()["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def with_applied(told: Story, applied: str) -> Body:
    """The binding with another text in the annotation of the applied placement."""
    metadata = metadata_of(told)
    notes = {**metadata["annotations"], APPLIED_PLACEMENT: applied}
    return {**told.binding(), "metadata": {**metadata, "annotations": notes}}


@pytest.mark.parametrize("applied", ["{", "[]", '{"clusterTolerations": 1}'])
def test_it_keeps_nothing_on_a_tainted_cluster(applied: str) -> None:
    """Upstream neither schedules nor evicts such a binding again; here it is written anew."""
    told = on_a().put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.files[WEB] = text(with_applied(told, applied))
    told.run(100)

    assert ({"b": 2}, ["a"]) == (told.placed(), tasks(told))
    assert applied != metadata_of(told)["annotations"][APPLIED_PLACEMENT]


def test_what_another_scheduler_places_is_evicted_by_its_placement() -> None:
    """Nothing is mended there; the present placement counts."""
    told = on_a().drop(policy()).put(policy("q", placement=ANYWHERE, schedulerName="other"))
    told.put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.files[WEB] = text(with_applied(told, "{"))
    told.run(100)

    assert ({}, ["a"]) == (told.placed(), tasks(told))
