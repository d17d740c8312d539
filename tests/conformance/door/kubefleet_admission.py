"""KubeFleet's admission through the front door: an object as a file, and an edit of it."""

from tests.builders import Body
from tests.conformance.direct.kubefleet_admission import Refused, compare_admission
from tests.conformance.door.door import LeftOut, configuration
from tests.stories import Story

IMMUTABLE = "placement-immutable"


def check_admission(case: Body) -> str | None:
    """Compare the faults of a repository with the object, and those of the pass after an edit."""
    return compare_admission(case, _refused, _changed)


def _refused(body: Body) -> Refused:
    faults = Story().put(configuration()).put(body, path="object.yaml").world().faults
    return [(fault.field, fault.rule) for fault in faults]


def _changed(before: Body, after: Body) -> Refused:
    if after["kind"] not in ("ClusterResourcePlacement", "MemberCluster", "ResourcePlacement"):
        raise LeftOut("idle-edit")
    repository = Story().put(configuration(), before)
    repository.run(0)
    faults = repository.put(after).run(60).faults
    return [(fault.field, fault.rule) for fault in faults if fault.rule == IMMUTABLE]
