"""The plugins of OCM's scheduler by their upstream names.

A placement names the scores that it wants, and with which weight; see `weights.py`. The scores of
add-ons are not here: a placement makes them up as it names them.
"""

from reconciler.dialects.ocm.api.clusters import CPU, MEMORY, Members
from reconciler.dialects.ocm.scheduler.filter_predicates import reject_predicates
from reconciler.dialects.ocm.scheduler.filter_taints import reject_taints
from reconciler.dialects.ocm.scheduler.request import Request, Scores
from reconciler.dialects.ocm.scheduler.score_balance import score_balance
from reconciler.dialects.ocm.scheduler.score_resource import ScoreAllocatable
from reconciler.dialects.ocm.scheduler.score_steady import score_steady
from reconciler.schedule.framework import Profile

BALANCE = "Balance"
STEADY = "Steady"

PROFILE: Profile[Request, Members, Scores] = Profile(
    filters={"Predicate": reject_predicates, "TaintToleration": reject_taints},
    scores={
        BALANCE: score_balance,
        STEADY: score_steady,
        "ResourceAllocatableCPU": ScoreAllocatable(CPU),
        "ResourceAllocatableMemory": ScoreAllocatable(MEMORY),
    },
)
"""Scores are multiplied by their weights and added up."""
