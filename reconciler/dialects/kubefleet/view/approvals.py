"""What staged update runs ask people for, and how that is approved."""

from collections.abc import Iterator
from functools import partial

from reconciler.dialects.approval import Approval
from reconciler.dialects.kubefleet.api.kinds import kinds_in, named_in
from reconciler.dialects.kubefleet.api.names import API_VERSION, GROUP
from reconciler.dialects.kubefleet.api.updates.approval_request import (
    ACCEPTED,
    APPROVED,
    ApprovalRequest,
    encode_spec,
    readable_request,
)
from reconciler.dialects.kubefleet.api.updates.update_run import readable_run_status
from reconciler.dialects.kubefleet.updaterun.approvals import (
    FIRST_GENERATION,
    KnownRun,
    known_run,
    owner_reference,
    refusal_of,
)
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


def begun_run(world: World, key: ObjectKey) -> KnownRun | None:
    """Return a run as approvals name it, `None` if no pass has begun it."""
    own = world.outputs.get(key)
    if own is None or key not in world.inputs:
        return None
    uid = text(mapping(own.body, "metadata"), "uid")
    return known_run(key, uid, readable_run_status(own.body))


def approvals_of(world: World, key: ObjectKey) -> tuple[Approval, ...]:
    """Return what a run asks people for, in the order in which it does."""
    run = begun_run(world, key)
    return () if run is None else tuple(_approvals(world, run))


def _approvals(world: World, run: KnownRun) -> Iterator[Approval]:
    kind = kinds_in(run.key.namespace).approval_request
    for request in run.requests.values():
        key = ObjectKey(GROUP, kind, run.key.namespace, request.name)
        made, said = world.outputs.get(key), world.inputs.get(key)
        known = None if made is None else readable_request(made.body)
        accepted = known is not None and known.holds(ACCEPTED)
        is_said = said is not None and refusal_of(said, run) == ("", "")
        yield Approval(
            key=key,
            stage=request.stage,
            is_asked=made is not None and not accepted,
            is_done=accepted or is_said,
            manifest=partial(_manifest, key, request, run),
        )


def _manifest(key: ObjectKey, request: ApprovalRequest, run: KnownRun, why: str, at: str) -> Body:
    """Return what approves a request: its condition, of this run and no other."""
    approved = {
        "type": APPROVED,
        "status": "True",
        "reason": APPROVED,
        "message": why,
        "observedGeneration": FIRST_GENERATION,
        "lastTransitionTime": at,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            **named_in(key.namespace, key.name),
            "labels": dict(request.labels),
            "ownerReferences": [owner_reference(run.key, run.uid)],
        },
        "spec": encode_spec(request),
        "status": {"conditions": [approved]},
    }
