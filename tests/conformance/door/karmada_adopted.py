"""Karmada's schedules through import: the binding is that of a hub, adopted with its uid."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from reconciler.imports.adoption import adopt
from tests.builders import Body, manifest
from tests.conformance.door.door import LeftOut, Refused, field
from tests.conformance.door.karmada import Past
from tests.conformance.door.karmada import check_schedule as check
from tests.conformance.door.karmada_files import workload_of
from tests.imports.imported import OUTPUT_RULES
from tests.stories import Story

THEN = "2026-01-01T00:00:00Z"


def check_schedule(case: Body) -> str | None:
    """Compare the binding after the first pass that follows its adoption."""
    return check(case, Past(_own_workload, _adopted))


def _own_workload(binding: Body) -> Body:
    """The workload under its own name: the uid that breaks ties is the binding's."""
    made, resource = workload_of(binding), field(binding, "spec", "resource")
    return {**made, "metadata": {**field(made, "metadata"), "name": resource["name"]}}


def _adopted(inputs: Sequence[Body], binding: Body, now: datetime) -> Iterable[Body]:
    """The state that adopting a live binding leaves.

    Raises:
        LeftOut: It is not adopted, for this reason.
    """
    live = {**binding, "metadata": {"creationTimestamp": THEN, **field(binding, "metadata")}}
    world = Story().put(*inputs).world()
    if world.faults:
        raise Refused(world.faults[0].rule)
    key = manifest(live).key
    found = adopt(world, {key: live}, now - timedelta(seconds=1), OUTPUT_RULES)
    if found.left:
        raise LeftOut(found.left[key])
    return found.outputs.values()
