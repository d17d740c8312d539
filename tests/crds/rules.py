"""Which function of ours answers each CEL rule of upstream's CRDs, or why none does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reconciler.model.body import Body
from tests.crds.facts import KindVersion
from tests.crds.reader import Rule
from tests.crds.reasons import fits

Refuses = Callable[[Body, Body], bool]
"""Whether a function of ours refuses an object: as it was, `{}` if it is new, and as it is."""


class Answer(NamedTuple):
    """Rules that one function of ours answers together.

    Attributes:
        kinds: As in `cluster.kubernetes-fleet.io/v1 MemberCluster`; `*` stands for any text.
        field: Where the rules stand, `""` for the object.
        expressions: All hold where the function refuses nothing.
        by: The function, as `package.module.name` below `reconciler.dialects`.
        refuses: Calls it.
        spares: Whether we let through on purpose what upstream refuses.
        reason: Why; `""` if nothing is spared.
    """

    kinds: str
    field: str
    expressions: tuple[str, ...]
    by: str
    refuses: Refuses
    spares: Refuses = lambda _before, _after: False
    reason: str = ""

    def covers(self, kind: KindVersion, rule: Rule) -> bool:
        """Return whether it answers a rule of a kind."""
        same = rule.field == self.field and rule.expression in self.expressions
        return same and fits(self.kinds, str(kind))


class Unanswered(NamedTuple):
    """Rules that no function of ours answers; `*` stands for any text."""

    kinds: str
    field: str
    reason: str

    def covers(self, kind: KindVersion, rule: Rule) -> bool:
        """Return whether it is the reason of a rule of a kind."""
        return fits(self.kinds, str(kind)) and fits(self.field, rule.field)


FLEET = "placement.kubernetes-fleet.io/*"
NOT_READ = "We do not read this kind: it controls nothing, and is warned of."
UNANSWERED: Sequence[Unanswered] = (
    Unanswered("placement.kubefleet.dev/* *", "*", NOT_READ),
    Unanswered(f"{FLEET} *ResourceOverrideSnapshot", "*", NOT_READ),
    Unanswered(
        f"{FLEET} *StagedUpdateRun",
        "status.*",
        "Only passes write the status of a run; what a person writes there means nothing.",
    ),
    Unanswered("addon.open-cluster-management.io/* *", "*", NOT_READ),
    Unanswered(
        f"{FLEET} *SchedulingPolicySnapshot",
        "spec.policy.tolerations",
        "Only passes write this kind, from a policy that was held against the same rule.",
    ),
)
