"""A toy: one berth in a pass, the sites that it gets and why."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.object_pass import Part
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.decision import (
    Cause,
    CauseKind,
    ClusterAnswer,
    ClusterVerdict,
    Decision,
    Explanation,
    Placed,
)
from reconciler.model.fields import bodies, mapping, number, pairs_or_none, strings, text
from reconciler.model.identity import ClusterName
from reconciler.model.labels import LabelSelector, labels_of, matches
from reconciler.model.world import Manifest

Against = Mapping[ClusterName, tuple[ClusterVerdict, ...]]
"""Each site, ascending by name, with what speaks against it."""


def decide(
    berth: Manifest,
    present: Body,
    trigger: RescheduleTrigger | None,
    sites: Sequence[Manifest],
    now: datetime,
) -> Part:
    """Decide a berth: the sites that it has come first, but for a trigger, then lesser names.

    `present` is its status file, empty if there is none.
    """
    spec, record, before = mapping(berth.body, "spec"), mapping(present, "metadata"), on(present)
    labels, wanted = LabelSelector(pairs_or_none(spec, "labels")), number(spec, "sites")
    has = frozenset() if trigger else frozenset(name for name, _ in before)
    names = {ClusterName(site.key.name): site for site in sites}
    against = {name: tuple(_reject(site, labels, has=name in has)) for name, site in names.items()}
    fit = (name for name, verdicts in against.items() if not verdicts)
    order = sorted(fit, key=lambda name: (name not in has, name))
    after = tuple((name, 0) for name in sorted(order[:wanted]))
    problem = f"{len(after)} of {wanted} sites" if len(after) < wanted else ""
    admitted, metadata = admit(berth.key, spec, record or None, now)
    changed = admitted.generation != record.get("generation")
    decision = Decision(
        key=berth.key,
        subject=f"{berth.key.namespace}/{berth.key.name}",
        cause=_cause(trigger, present, changed=changed),
        before=before,
        after=after,
        problem=problem,
        rejected={name: found[0].reason for name, found in against.items() if found},
    )
    kind = {field: berth.body[field] for field in ("apiVersion", "kind")}
    status = {"sites": [name for name, _ in after], "problem": problem}
    body = {**kind, "metadata": metadata, "status": status}
    return Part(
        outputs={berth.key: body},
        decision=decision if trigger or status != present.get("status") else None,
        rescheduled=trigger is not None,
        explain=partial(_explain, decision, wanted, against, order),
    )


def on(output: Body) -> Placed:
    """Return the sites in a status file; there are no replicas."""
    sites = strings(mapping(output, "status"), "sites")
    return tuple((ClusterName(name), 0) for name in sites)


def _reject(site: Manifest, labels: LabelSelector, *, has: bool) -> Iterator[ClusterVerdict]:
    if not matches(labels, labels_of(site.body)):
        yield ClusterVerdict("Labels", "it has other labels", "have the labels of the berth")
    for taint in bodies(mapping(site.body, "spec"), "taints"):
        key = text(taint, "key")
        if text(taint, "effect") == "NoExecute" or not has:
            yield ClusterVerdict("Taints", f"it is {key}", f"lose the taint {key}")


def _cause(trigger: RescheduleTrigger | None, present: Body, *, changed: bool) -> Cause:
    if not present:
        return Cause(CauseKind.CREATED)
    if trigger:
        return Cause(CauseKind.REBALANCED, trigger.by)
    return Cause(CauseKind.PLACEMENT_CHANGED if changed else CauseKind.CLUSTERS_CHANGED)


def _explain(
    decision: Decision, wanted: int, against: Against, order: Sequence[ClusterName]
) -> Explanation:
    answers = (
        ClusterAnswer(
            cluster=name,
            verdicts=verdicts,
            rank=None if verdicts else order.index(name) + 1,
            picked=(name, 0) in decision.after,
        )
        for name, verdicts in against.items()
    )
    return Explanation(
        key=decision.key,
        subject=decision.subject,
        question=f"{wanted} sites",
        result=decision.problem or "it has all its sites",
        clusters=tuple(answers),
    )
