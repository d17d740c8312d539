"""What Karmada's part remembers between sweeps and passes; it only saves work."""

from dataclasses import dataclass, field

from reconciler.dialects.karmada.bindings import Draft
from reconciler.dialects.karmada.clusters import MemberCluster, Members
from reconciler.dialects.karmada.elections import Policies
from reconciler.dialects.karmada.policies import Policy, Template
from reconciler.model.identity import ObjectKey
from reconciler.model.memory import Rest, Table, forget
from reconciler.model.world import Body


@dataclass(frozen=True, slots=True)
class Taken:
    """A cluster as its controllers leave it; `record` is its status file, `None` without one."""

    body: Body
    record: Body | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """A workload as it was last claimed: `policy` is `None` if nobody claims it."""

    policy: Policy | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as its controllers leave it.
        views: Cluster as the scheduler reads it.
        fleet: The clusters indexed, under one name.
        policies: Policy decoded.
        elections: All policies indexed, under one name.
        templates: Workload as policies see it, with the key of its binding.
        claims: Workload to its policy.
        drafts: Binding before its sweep.
        attached: Binding with those who require it.
        snapshots: What a required binding knows of the one that requires it.
        named: Clusters that a binding names.
        needs: What a workload needs beside itself.
        reports: A mark for each report of a cluster, another one once the report differs.
        rests: Bindings that are as they should be.
    """

    clusters: Table[str, Taken] = field(default_factory=Table)
    views: Table[str, MemberCluster] = field(default_factory=Table)
    fleet: Table[None, Members] = field(default_factory=Table)
    policies: Table[ObjectKey, Policy] = field(default_factory=Table)
    elections: Table[None, Policies] = field(default_factory=Table)
    templates: Table[ObjectKey, tuple[Template, ObjectKey]] = field(default_factory=Table)
    claims: Table[ObjectKey, Claimed] = field(default_factory=Table)
    drafts: Table[ObjectKey, Draft] = field(default_factory=Table)
    attached: Table[ObjectKey, Draft] = field(default_factory=Table)
    snapshots: Table[ObjectKey, Body] = field(default_factory=Table)
    named: Table[ObjectKey, frozenset[str]] = field(default_factory=Table)
    needs: Table[ObjectKey, tuple[ObjectKey, ...]] = field(default_factory=Table)
    reports: Table[ObjectKey, object] = field(default_factory=Table)
    rests: Table[ObjectKey, Rest] = field(default_factory=Table)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
