"""What is known of the copies of a placement: available or not, and whose turn comes first."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from reconciler.dialects.copy_status import FINE, Copies, CopyStatus, Report, waits_for_health
from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.kinds import SCOPES, kinds_in
from reconciler.dialects.kubefleet.api.names import AVAILABLE, BOUND, GROUP, IS_LATEST, UNSCHEDULED
from reconciler.dialects.kubefleet.view.placed import owner_of
from reconciler.dialects.kubefleet.view.status_conditions import APPLIED
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World

EARLIER = "an earlier version"
TURN = "its turn in the rollout"


def copies_in(world: World, _now: datetime, /) -> Copies:
    """Return what knows of the copies of placements."""
    bindings: defaultdict[ObjectKey, list[Binding]] = defaultdict(list)
    latest: defaultdict[ObjectKey, set[str]] = defaultdict(set)
    for kinds in SCOPES:
        for one in world.outputs_of_kind((GROUP, kinds.binding)):
            owner = owner_of(one.key, one.body)
            if owner is not None:
                bindings[owner].append(decode_binding(one.body))
        for one in world.outputs_of_kind((GROUP, kinds.resource_snapshot)):
            labels = mapping(mapping(one.body, "metadata"), "labels")
            owner = owner_of(one.key, one.body)
            if owner is not None and text(labels, IS_LATEST) == "true":
                latest[owner].add(one.key.name)

    def of(key: ObjectKey) -> tuple[CopyStatus, ...]:
        if key.group != GROUP or key.kind != kinds_in(key.namespace).placement:
            return ()
        found = sorted(bindings.get(key, ()), key=lambda one: (one.target, one.name))
        return tuple(_copies(found, latest.get(key, set())))

    return of


def _copies(bindings: Sequence[Binding], latest: set[str]) -> Iterator[CopyStatus]:
    """Yield the copies of a placement, by cluster."""
    reports = {one.name: _report(one) for one in bindings}
    awaited = [
        one.target for one in bindings if one.state == BOUND and reports[one.name][0] not in FINE
    ]
    for one in bindings:
        report, note = reports[one.name]
        is_old = one.state == BOUND and one.resource_snapshot not in latest
        waits = ""
        if one.state == UNSCHEDULED:
            waits = waits_for_health(awaited, "available")
        elif one.state != BOUND or is_old:
            waits = waits_for_health(awaited, "available") if awaited else TURN
        yield CopyStatus(
            cluster=one.target,
            leaving=one.state == UNSCHEDULED,
            report=report,
            note="; ".join(filter(None, (note, EARLIER if is_old else ""))),
            waits_for=waits,
        )


def _report(binding: Binding) -> tuple[Report, str]:
    """Return what the conditions of a binding say of its present generation."""
    conditions = {
        text(one, "type"): one
        for one in binding.conditions
        if one.get("observedGeneration") == binding.generation
    }
    for kind in (APPLIED, AVAILABLE):
        found = conditions.get(kind)
        if found is not None and text(found, "status") == "False":
            return Report.UNHEALTHY, text(found, "reason")
    found = conditions.get(AVAILABLE)
    if found is None or text(found, "status") != "True":
        return (Report.REPORTED if APPLIED in conditions else Report.NONE), ""
    assumed = text(found, "reason") == f"{AVAILABLE}Assumed"
    return (Report.ASSUMED if assumed else Report.HEALTHY), ""
