"""What Karmada's part remembers between rounds and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.cluster_inventory import InventoryCache
from reconciler.dialects.copy_reports import CopyTable
from reconciler.dialects.karmada.api.clusters import MemberCluster, Members
from reconciler.dialects.karmada.detector.claim_memory import ClaimMemory
from reconciler.dialects.karmada.detector.options import DetectorOptions
from reconciler.dialects.karmada.federatedresourcequota.quota_round import QuotaMemory
from reconciler.dialects.karmada.settled_bindings import SettledBindings
from reconciler.dialects.karmada.taints.by_policy import TaintPolicy
from reconciler.dialects.scores.reports import FollowedScores
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, CacheKey, KeyedCache, forget


@dataclass(slots=True, eq=False)
class KarmadaMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as its controllers leave it.
        departed: Stand-in for a cluster without a file, by name.
        members: The clusters and these, and the same indexed, under one name.
        options: What the configuration says of detection, under one name.
        taint_policies: What puts taints on clusters, under one name.
        quotas: What limits namespaces, and what is used of that.
        claims: What each workload came to.
        copies: What clusters report.
        settled: The bindings that a round leaves as they are, and how long.
        scores: What add-ons report of clusters.
        weighed: The clusters with these scores, under one name.
        reserved: What the last round found reserved of clusters.
        batched: The bindings that the last round found moved in batches.
    """

    clusters: InventoryCache[MemberCluster] = field(default_factory=InventoryCache)
    departed: KeyedCache[str, MemberCluster] = field(default_factory=KeyedCache)
    members: AnswerCache[None, tuple[CacheKey, Members]] = field(default_factory=AnswerCache)
    options: AnswerCache[None, DetectorOptions] = field(default_factory=AnswerCache)
    taint_policies: AnswerCache[None, tuple[TaintPolicy, ...]] = field(default_factory=AnswerCache)
    quotas: QuotaMemory = field(default_factory=QuotaMemory)
    claims: ClaimMemory = field(default_factory=ClaimMemory)
    copies: CopyTable = field(default_factory=CopyTable)
    settled: SettledBindings = field(default_factory=SettledBindings)
    scores: FollowedScores = field(default_factory=FollowedScores)
    weighed: AnswerCache[None, Members] = field(default_factory=AnswerCache)
    reserved: CacheKey = ()
    batched: frozenset[ObjectKey] | None = None

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
        self.claims.forget()
        self.quotas.forget()
