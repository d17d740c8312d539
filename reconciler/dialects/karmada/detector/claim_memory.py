"""What claims remember between rounds and passes; it only saves work."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.dialects.karmada.detector.affected import ClaimSources, Seen
from reconciler.dialects.karmada.detector.binding_draft import Draft, Requiring
from reconciler.dialects.karmada.detector.claim_table import ClaimTable
from reconciler.dialects.karmada.detector.known_policies import KnownPolicies
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, forget


@dataclass(slots=True, eq=False)
class ClaimMemory:
    """Tables by what they answer.

    Attributes:
        policies: All policies, indexed.
        priorities: Values of the PriorityClasses, under one name.
        table: What each workload came to.
        drawn_from: The documents and policies that these were drawn from.
        seen: What else they were drawn from, `None` before the first round.
        drafts: Binding of an object that only others need.
        attached: Binding with those who require it.
        snapshots: What a required binding knows of the one that requires it.
    """

    policies: KnownPolicies = field(default_factory=KnownPolicies)
    priorities: AnswerCache[None, Mapping[str, int]] = field(default_factory=AnswerCache)
    table: ClaimTable = field(default_factory=ClaimTable)
    drawn_from: ClaimSources = field(default_factory=ClaimSources)
    seen: Seen | None = None
    drafts: AnswerCache[ObjectKey, Draft] = field(default_factory=AnswerCache)
    attached: AnswerCache[ObjectKey, Draft] = field(default_factory=AnswerCache)
    snapshots: AnswerCache[ObjectKey, Requiring] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
