"""What rebalancers and triggers newly wait for, as their records say it."""

from collections.abc import Iterator, Mapping

from reconciler.core.changes import WaitingTarget
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.rebalancer_status import waits_in
from reconciler.rebalance.target import Reference
from reconciler.rebalance.trigger_status import decode_trigger_status


def waiting_since(
    written: Mapping[ObjectKey, Body], outputs: Mapping[ObjectKey, Manifest]
) -> tuple[WaitingTarget, ...]:
    """Return what records that a pass writes say of waiting, and did not say before; sorted."""
    found = []
    for key, body in written.items():
        if key[:2] in (REBALANCER, TRIGGER):
            known = {} if key not in outputs else dict(_waits(key, outputs[key].body))
            waits = ((ref, why) for ref, why in _waits(key, body) if known.get(ref) != why)
            found += [WaitingTarget(key, ref, why) for ref, why in waits]
    return tuple(sorted(found))


def _waits(key: ObjectKey, body: Body) -> Iterator[tuple[Reference, str]]:
    if key[:2] == REBALANCER:
        return waits_in(body)
    return iter(decode_trigger_status(body).failed)
