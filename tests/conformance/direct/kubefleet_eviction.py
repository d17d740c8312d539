"""KubeFleet's evictions: what one comes to, and what the scheduler does with what it left."""

from collections.abc import Sequence
from typing import cast

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.placement import decode_placement
from reconciler.dialects.kubefleet.eviction import Judgement, is_over, judge
from reconciler.model.cluster import set_condition
from reconciler.model.fields import bodies, mapping, number
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.kubefleet import check_schedule

KIND = "ClusterResourcePlacementEviction"


def check_eviction(case: Body) -> str | None:
    """Compare everything that an `eviction` vector expects."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    following = cast(Body | None, expected.pop("nextCycle", None))
    found, actual = _judged(given)
    told = first_difference(expected, actual)
    if told is not None or following is None:
        return told
    left = [
        {**body, "metadata": {**mapping(body, "metadata"), "deletionTimestamp": given["now"]}}
        if mapping(body, "metadata")["name"] == found.deleted
        else body
        for body in bodies(given, "bindings")
        if mapping(body, "metadata")["name"] not in _removed(actual)
    ]
    return check_schedule(
        {
            "name": "rand",  # as of those, what stays has no content
            "input": {**given, "bindings": left, "mode": "cycle"},
            "expected": {
                **following,
                "bindings": [one for one in bodies(following, "bindings") if not _is_gone(one)],
                "removed": _removed(following),
            },
        }
    )


def _judged(given: Body) -> tuple[Judgement, Body]:
    """Return what an eviction comes to, and the same as a vector has it."""
    now, eviction = str(given["now"]), mapping(given, "eviction")
    generation = number(mapping(eviction, "metadata"), "generation")
    before = bodies(mapping(eviction, "status"), "conditions")
    placement = cast(Body | None, given["placement"])
    budget = cast(Body | None, given["disruptionBudget"])
    bindings = [decode_binding(body) for body in bodies(given, "bindings")]
    over = is_over(before, generation)
    found = Judgement(())
    if not over:
        found = judge(
            mapping(eviction, "spec"),
            generation,
            None if placement is None else decode_placement(placement),
            bindings,
            None if budget is None else mapping(budget, "spec"),
        )
    after: Sequence[Body] = before
    for condition in found.conditions:
        after = set_condition(after, condition, at=now)
    name = mapping(eviction, "metadata")["name"]
    ops = [{"verb": "delete", "kind": "ClusterResourceBinding", "name": found.deleted}]
    updates = [{"verb": "update-status", "kind": KIND, "name": name}]
    return found, {
        "error": None,
        "conditions": [_condition(one, before, now) for one in after],
        "ops": [*(ops if found.deleted else []), *([] if over else updates)],
        "bindings": sorted(
            (_binding(one, deleted=one.name == found.deleted) for one in sorted(bindings)),
            key=_is_gone,
        ),
    }


def _binding(binding: Binding, *, deleted: bool) -> Body:
    """Return a binding as vectors have it; one without finalizers is gone at once."""
    if deleted and not binding.finalizers:
        return {"name": binding.name, "op": "removed"}
    op = "deletion-started" if deleted else "none"
    deleting = {"deleting": True} if binding.deleting or deleted else {}
    return {"name": binding.name, "generation": binding.generation, "op": op, **deleting}


def _is_gone(binding: Body) -> bool:
    return binding["op"] == "removed"


def _removed(judged: Body) -> list[object]:
    return [one["name"] for one in bodies(judged, "bindings") if _is_gone(one)]


def _condition(one: Body, before: Sequence[Body], now: str) -> Body:
    kept = {item["type"]: item.get("lastTransitionTime") for item in before}
    moment = one["lastTransitionTime"]
    told = "kept" if kept.get(one["type"]) == moment else "now" if moment == now else moment
    return {**{k: v for k, v in one.items() if k != "lastTransitionTime"}, "lastTransition": told}
