"""Karmada's admission through the front door: an object as a file of a repository."""

from typing import cast

from tests.builders import Body, cluster, deployment, policy
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut
from tests.stories import Story


def check_admission(case: Body) -> str | None:
    """Compare whether a repository with the object has faults; what is stored, no file shows.

    An edit is one after a pass, which something beside gives a reason to commit.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["operation"] == "DELETE":
        raise LeftOut("deletion")
    if given.get("allowNoExecuteTaintPolicy") is True:
        raise LeftOut("option")
    answer = cast(Body, expected.get("withCRD", expected))
    repository = Story()
    if "oldObject" in given:
        beside = (cluster("beside"), policy("beside"), deployment("beside"))
        repository.put(cast(Body, given["oldObject"]), path="object.yaml").put(*beside).run(0)
    repository.put(cast(Body, given["object"]), path="object.yaml")
    faults = repository.world().faults
    why = "; ".join(f"{one.field} {one.rule}" for one in faults)
    difference = first_difference(answer["accepted"], not faults, ".accepted")
    return f"{difference} {why}".rstrip() if difference else None
