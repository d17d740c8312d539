"""What people approve: files of theirs that name a request of a run, by its uid."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.kinds import kinds_in
from reconciler.dialects.kubefleet.api.names import API_VERSION
from reconciler.dialects.kubefleet.api.updates.approval_request import (
    AFTER,
    APPROVED,
    BEFORE,
    ApprovalRequest,
    new_request,
)
from reconciler.dialects.kubefleet.api.updates.update_run import RunStatus
from reconciler.dialects.kubefleet.updaterun.marks import found
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest

FIRST_GENERATION = 1
"""Of every request: its spec never changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """A run as approvals name it.

    Attributes:
        key: The run.
        uid: Its uid.
        requests: All requests that it makes in its time, by name.
    """

    key: ObjectKey
    uid: str
    requests: Mapping[str, ApprovalRequest]


def known_run(key: ObjectKey, uid: str, status: RunStatus) -> KnownRun:
    """Return a run with all requests that its stages need."""
    return KnownRun(key=key, uid=uid, requests={r.name: r for r in _requests(key.name, status)})


def _requests(run: str, status: RunStatus) -> Iterator[ApprovalRequest]:
    for stage in status.stages or ():
        for place, tasks in ((BEFORE, stage.before), (AFTER, stage.after)):
            for task in tasks:
                if task.request:
                    yield new_request(task.request, run, stage.name, place)


def owner_reference(run: ObjectKey, uid: str) -> Body:
    """Return how an approval names its run."""
    return {"apiVersion": API_VERSION, "kind": run.kind, "name": run.name, "uid": uid}


def names_run(request: Body, uid: str) -> bool:
    """Return whether a request, or what approves one, names a run by its uid."""
    owners = bodies(mapping(request, "metadata"), "ownerReferences")
    return any(text(one, "uid") == uid for one in owners)


def refusal_of(approval: Manifest, run: KnownRun | None) -> tuple[str, str]:
    """Return what keeps an approval from counting: where in it, and why; both empty if it counts.

    An approval counts if it names the uid of a run that is there, a request of that run, the stage
    of that request, and the request's generation.

    Args:
        approval: A person's file.
        run: The run that it names, `None` if there is none.

    Source: ours; upstream's request is made by the run and approved in place.
    """
    name, spec = approval.key.name, mapping(approval.body, "spec")
    kind = kinds_in(approval.key.namespace).run
    wanted = text(spec, "parentStageRollout")
    if run is None:
        return "/spec/parentStageRollout", f"there is no {kind} {wanted}"
    if not names_run(approval.body, run.uid):
        told = f"it names no uid, or that of another run; the {kind} {wanted} has {run.uid}"
        return "/metadata/ownerReferences", told
    request = run.requests.get(name)
    if request is None:
        return "/metadata/name", f"the {kind} {wanted} asks for no approval of this name"
    if text(spec, "targetStage") != request.stage:
        return "/spec/targetStage", f"the request is about the stage {request.stage}"
    approved = found(bodies(mapping(approval.body, "status"), "conditions"), APPROVED)
    if not approved:
        return "/status/conditions", f"it has no condition {APPROVED}"
    generation = number(approved, "observedGeneration")
    if generation != FIRST_GENERATION:
        told = f"it is about the generation {generation} of the request, which has another"
        return "/status/conditions", told
    return "", ""


def with_approvals(
    requests: Mapping[str, ApprovalRequest], approvals: Iterable[Manifest], run: KnownRun
) -> dict[str, ApprovalRequest]:
    """Return the requests of a run with what people say of them now, and nothing else they said.

    An approval that is taken back leaves the request as it was accepted.
    """
    said = {one.key.name: one for one in approvals if refusal_of(one, run) == ("", "")}
    return {name: _told(request, said.get(name)) for name, request in requests.items()}


def _told(request: ApprovalRequest, approval: Manifest | None) -> ApprovalRequest:
    others = [one for one in request.conditions if one.get("type") != APPROVED]
    if approval is None:
        return request._replace(conditions=tuple(others))
    status = mapping(approval.body, "status")
    return request._replace(conditions=(found(bodies(status, "conditions"), APPROVED), *others))
