"""What the webhooks of each API would refuse; checking a file needs no scheduler."""

from collections.abc import Iterator, Mapping
from functools import partial

from reconciler.core.dialects import DIALECTS, KINDS, STAGED
from reconciler.core.freeze import refuse_configuration
from reconciler.manifests.schemas.violations import Admission, UpdateAdmission, Violation
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.kinds import Kind
from reconciler.model.settings import CONFIGURATION
from reconciler.multicluster.cluster_profile import (
    CLUSTER_PROFILE,
    refuse_profile,
    refuse_profile_update,
    refuse_publishing_update,
)
from reconciler.multicluster.placement_decision import refuse_publishing
from reconciler.rebalance.admission import rebalance_admissions
from reconciler.staging.staged_delivery import STAGED_DELIVERY, refuse_staged_delivery


def _refuse_configuration(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a configuration beyond its schema."""
    return (*refuse_configuration(body), *refuse_publishing(body), *_refuse_feedback(body))


def _refuse_feedback(body: Body) -> Iterator[Violation]:
    """Yield that reports are to be kept on a branch that has no name."""
    feedback = at(body, "spec", "feedback")
    if feedback.get("keepUsed") is True and not feedback.get("branch"):
        yield Violation(
            "/spec/feedback",
            "schema-required",
            '`spec.feedback` must have the field "branch" where `keepUsed` is true.',
            "branch: the one on which clusters report; what decisions read is kept beside it.",
        )


ADMISSIONS: Mapping[Kind, Admission] = {
    **rebalance_admissions(KINDS),
    CONFIGURATION: _refuse_configuration,
    CLUSTER_PROFILE: refuse_profile,
    STAGED_DELIVERY: partial(refuse_staged_delivery, KINDS.groups, STAGED),
    **{kind: refuse for one in DIALECTS for kind, refuse in one.admissions(KINDS).items()},
}
"""By kind."""

UPDATES: Mapping[Kind, UpdateAdmission] = {
    CLUSTER_PROFILE: refuse_profile_update,
    CONFIGURATION: refuse_publishing_update,
    **{kind: refuse for one in DIALECTS for kind, refuse in one.updates().items()},
}
"""What they would refuse of an edit, by kind."""
