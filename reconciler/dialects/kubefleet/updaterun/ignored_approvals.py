"""Approvals that count for nothing, and the faults that say so."""

from collections.abc import Iterable, Iterator

from reconciler.dialects.kubefleet.api.kinds import SCOPES
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.updaterun.approvals import refusal_of
from reconciler.dialects.kubefleet.updaterun.run_cycle import RunStep
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, Manifest, World


def ignored_approvals(step: RunStep) -> Iterator[tuple[Manifest, str, str]]:
    """Yield the approvals of a run that count for nothing: where in them, and why."""
    if step.status.stages is not None:
        for one in step.files.approvals:
            where, why = refusal_of(one, step.known)
            if why:
                yield one, where, why


def faults_of_approvals(steps: Iterable[RunStep]) -> Iterator[Fault]:
    """Yield the faults of the approvals that count for nothing."""
    for step in steps:
        for approval in ignored_approvals(step):
            yield ignored(*approval)


def ignored(approval: Manifest, field: str, why: str) -> Fault:
    """Return the fault of an approval that counts for nothing."""
    return Fault(
        path=approval.origin.path,
        line=0,
        column=0,
        field=field,
        rule="approval-ignored",
        message=f"{approval.key.name} approves nothing: {why}",
        expected="what reconciler approve writes, or no such file",
        subject=str(approval.key),
    )


def approvals_without_run(world: World) -> Iterator[Fault]:
    """Yield the faults of approvals whose run is not there."""
    for kinds in SCOPES:
        for one in world.of_kind(GROUP, kinds.approval_request):
            name = text(mapping(one.body, "spec"), "parentStageRollout")
            run = ObjectKey(GROUP, kinds.run, one.key.namespace, name)
            if run not in world.inputs and str(run) not in world.in_doubt:
                yield ignored(one, *refusal_of(one, None))
