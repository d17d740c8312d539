"""What one workload comes to under the policies: its claim, and the draft of its binding."""

from functools import partial

from reconciler.dialects.karmada.api.policies import Policy, Template, template_of
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.detector.affected import Seen
from reconciler.dialects.karmada.detector.binding_draft import Draft, binding_key, draft_binding
from reconciler.dialects.karmada.detector.claim_marks import claimant
from reconciler.dialects.karmada.detector.claim_reads import ClaimReads
from reconciler.dialects.karmada.detector.claim_table import WorkloadClaim
from reconciler.dialects.karmada.detector.dependencies import dependencies_of
from reconciler.dialects.karmada.detector.policy_faults import refused_fault
from reconciler.dialects.object_boundary import Failed, attempt
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey


def claim_workload(
    reads: ClaimReads,
    seen: Seen,
    before: WorkloadClaim | None,
    *,
    is_owned: bool,
    stays: WorkloadClaim | None = None,
) -> WorkloadClaim | None:
    """Return what a workload comes to, `None` if it has nothing to do with bindings.

    Args:
        reads: Says what is there, and records what is asked.
        seen: What all claims depend on.
        before: What it came to before.
        is_owned: Whether another workload has the binding of its name.
        stays: The same where all policies and options are as they were then.
    """
    manifest, binding = reads.workload, binding_key(reads.key)
    if manifest is None or reads.is_frozen(binding):
        return None
    present = None if is_owned else reads.binding(binding)
    drawn = None if before is None else before.template
    if drawn is None or drawn.body is not manifest.body:
        template = attempt(partial(template_of, manifest), lambda: reads.place)
        if isinstance(template, Failed):
            return WorkloadClaim(
                workload=reads.key, template=None, binding=binding, present=present, kept=True,
                failed=template,
            )  # fmt: skip
        drawn = template
    if stays is not None and stays.is_of(drawn, present):
        return stays
    return _claim(reads, seen, drawn, present, before)


def _claim(
    reads: ClaimReads,
    seen: Seen,
    template: Template,
    present: Body | None,
    before: WorkloadClaim | None,
) -> WorkloadClaim:
    """Return what a workload that can be decoded comes to."""
    key = template.key
    claim = partial(
        WorkloadClaim,
        workload=key,
        template=template,
        binding=binding_key(key),
        present=present,
    )
    held = claimant(present)
    if reads.failed_policy(held) is not None:
        return claim(kept=True)
    if not seen.options.propagation.allows(template) and not _is_required(present):
        return claim(never=True)
    elect = partial(reads.claim, template, held, preempting=seen.options.preempting)
    policy = attempt(elect, lambda: reads.place)
    if isinstance(policy, Failed):
        return claim(kept=True, failed=policy)
    if policy is None and present is None:
        return claim()
    refused = None if policy is None else partial(refused_fault, reads.path, policy, template)
    under = (seen.priority_of(policy), seen.options.custom_kinds)
    if before is not None and before.is_drawn_from(template, policy, present, under):
        return before
    drawn = attempt(
        partial(_drafted, seen, template, policy, present), lambda: reads.place, refused
    )
    if isinstance(drawn, Failed):
        return claim(kept=True, failed=drawn)
    needs = _needs(template) if drawn.spec.propagate_deps else ()
    return claim(policy=policy, under=under, draft=drawn, needs=needs)


def _drafted(seen: Seen, template: Template, policy: Policy | None, present: Body | None) -> Draft:
    """Return the binding of a workload before its round.

    Raises:
        UserError: See `draft_binding`.
    """
    return draft_binding(template, policy, present, seen.priorities, seen.options.custom_kinds)


def _needs(template: Template) -> tuple[ObjectKey, ...]:
    """Return what a workload needs beside itself."""
    return dependencies_of(template.key, template.api_version, template.body)


def _is_required(binding: Body | None) -> bool:
    """Return whether others need what a binding places, so that no policy is asked."""
    return binding is not None and bool(decode_spec(binding).required_by)
