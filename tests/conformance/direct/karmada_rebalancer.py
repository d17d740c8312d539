"""The family of Karmada's rebalancer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.manifests.admission import Admitted
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment, parse_moment
from reconciler.rebalance.rebalancer_files import decode_rebalancer
from reconciler.rebalance.target import MetDemand, Reference, Target
from reconciler.rebalance.workload_rebalancer import RebalancerStep, advance
from tests.builders import Body, FoundBy, manifest
from tests.conformance.compare import first_difference


def check_rebalancer(case: Body) -> str | None:
    """Compare triggers, status, removal and the next look of a `rebalancer` vector.

    The vectors' creationTimestamp stands for the admission record. A case whose reads of bindings
    fail has no counterpart: a pass has read everything before it begins. What is demanded happens.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    bodies = (
        *cast(Sequence[Body], given["bindings"]),
        *cast(Sequence[Body], given["clusterBindings"]),
    )
    bindings = {manifest(body).key: cast(Body, body["spec"]) for body in bodies}
    now = parse_moment(str(given["now"]))

    def target_of(reference: Reference) -> Target | None:
        key = binding_key(reference.key)
        if key not in bindings:
            return None
        triggered = bindings[key].get("rescheduleTriggeredAt")
        return Target(key, None if triggered is None else parse_moment(str(triggered)))

    body = cast(Mapping[str, Mapping[str, object]], given["rebalancer"])
    step = advance(
        decode_rebalancer(body["spec"], body.get("status", {}), _admitted(body, now)),
        FoundBy(target_of),
        now,
    )
    progress = step.close(dict.fromkeys(step.triggers, MetDemand()))
    left = 0 if progress.until is None else int((progress.until - now).total_seconds())
    actual = {
        "deleted": progress.expired,
        "requeueAfterSeconds": left,
        "rescheduleTriggeredAt": _triggered(bindings, step),
        **({} if progress.expired else {"status": _compared(progress.status)}),
    }
    wanted = {key: expected[key] for key in actual.keys() & expected.keys()}
    if "status" in wanted:
        wanted["status"] = _compared(cast(Body, wanted["status"]))
    return first_difference(wanted, actual)


def _admitted(body: Mapping[str, Body], now: datetime) -> Admitted:
    """The admission record: a later generation that no status knows of is seen in this pass."""
    metadata, status = body["metadata"], body.get("status", {})
    created = parse_moment(str(metadata["creationTimestamp"]))
    generation = int(str(metadata.get("generation", 0)))
    renewed = generation > 1 and generation != status.get("observedGeneration")
    return Admitted(
        created_at=created, generation=generation, generation_seen_at=now if renewed else created
    )


def _triggered(bindings: Mapping[ObjectKey, Body], step: RebalancerStep) -> dict[str, object]:
    """Binding to the text of its trigger afterwards, as the vectors name them."""
    moments: dict[str, object] = {}
    for key, spec in bindings.items():
        name = f"{key.namespace}/{key.name}" if key.namespace else key.name
        present = spec.get("rescheduleTriggeredAt")
        if key in step.triggers:
            moments[name] = format_moment(step.triggers[key].at)
        else:
            moments[name] = None if present is None else format_moment(parse_moment(str(present)))
    return moments


def _compared(status: Body) -> Body:
    """The status, where an empty list is as good as none."""
    return {key: value for key, value in status.items() if value != []}
