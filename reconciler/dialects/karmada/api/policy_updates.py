"""What Karmada's webhooks refuse of an edit of a policy: they see the policy before beside it."""

from collections.abc import Mapping

from reconciler.dialects.karmada.api.defaults import DEFAULT_SCHEDULER
from reconciler.dialects.karmada.api.groups import POLICY_GROUP
from reconciler.manifests.schemas.violations import UpdateAdmission, Violation
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.known_kinds import Kind
from reconciler.model.message_text import shown


def refuse_policy_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of a policy: it must stay with its scheduler.

    Unlike upstream: the permanent id is not compared. It follows from the identity here, so that no
    edit changes it, and a label that a file has in its place means nothing.

    Args:
        before: The policy in force.
        after: The same one, as its file has it now.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/validating.go and
    pkg/webhook/clusterpropagationpolicy/validating.go `Handle`, and the CRD's default.
    """
    names = [_scheduler(body) for body in (before, after)]
    if names[0] == names[1]:
        return ()
    return (
        Violation(
            "/spec/schedulerName",
            "policy-immutable",
            f"`schedulerName` must stay {shown(names[0])} while the policy exists",
            "what it was, or a policy of another name",
        ),
    )


def _scheduler(body: Body) -> str:
    """Return the name as an API server stores it."""
    return text(mapping(body, "spec"), "schedulerName") or DEFAULT_SCHEDULER


KARMADA_UPDATES: Mapping[Kind, UpdateAdmission] = {
    (POLICY_GROUP, "ClusterPropagationPolicy"): refuse_policy_update,
    (POLICY_GROUP, "PropagationPolicy"): refuse_policy_update,
}
"""What each webhook refuses of an edit, by kind."""
