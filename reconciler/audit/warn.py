"""What a person should look at before a merge: one function a warning, all of them in one list."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reconciler.audit.kinds import CLUSTERS
from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.input_index import CONFIGURATION, CONFIGURATION_PATH
from reconciler.dialects.karmada.api.replica_requirements import demand_of
from reconciler.dialects.karmada.detector.binding_draft import binding_key, claimant
from reconciler.dialects.karmada.scheduler.batched_moves import MOVING_TO, read_goal
from reconciler.manifests.paths import output_path
from reconciler.manifests.reader import read
from reconciler.manifests.selection import selects
from reconciler.model.decision import Decision
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import decode_settings
from reconciler.model.world import Manifest, World

NAMED = 3
CLAIM = "propagationpolicy.karmada.io/name:"  # of a cluster policy, too: it ends in this
POLICY_GROUP = "policy.karmada.io"
POLICIES = ("PropagationPolicy", "ClusterPropagationPolicy")
KUBEFLEET_PLACEMENT = ("placement.kubernetes-fleet.io", "ClusterResourcePlacement")


@dataclass(frozen=True, slots=True)
class Question:
    """Both worlds and what a pass makes of each."""

    base: World
    merged: World
    baseline: Outcome
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: a stable id, the object as people call it (`""` for none), and a sentence."""

    rule: str
    subject: str
    message: str


Warn = Callable[[Question], Iterator[Warned]]


def warnings_of(question: Question) -> tuple[Warned, ...]:
    """Return all warnings, in the order of the list."""
    return tuple(found for warn in WARNINGS for found in warn(question))


def warn_suspended(question: Question) -> Iterator[Warned]:
    """Say that passes are suspended, so that nothing would happen at all."""
    for key, manifest in question.merged.inputs.items():
        if (key.group, key.kind) != CONFIGURATION:
            continue  # a workload's `spec` may be anything
        if mapping(manifest.body, "spec").get("suspend") is True:
            yield Warned("suspended", "", "passes are suspended, nothing moves until they resume")


def warn_unschedulable(question: Question) -> Iterator[Warned]:
    """Name the objects that get fewer clusters than they ask for."""
    known = {d.key: d.problem for d in question.baseline.decisions}
    for decision in question.outcome.decisions:
        if decision.problem and decision.problem != known.get(decision.key):
            yield Warned("unschedulable", decision.subject, decision.problem)


def warn_nowhere(question: Question) -> Iterator[Warned]:
    """Name the objects that lose all their clusters though they are still there."""
    for decision in _caused(question):
        lost = decision.before and not decision.after
        if lost and not decision.removed and not decision.problem:
            yield Warned("nowhere", decision.subject, "it would be on no cluster any more")


def warn_evicting(question: Question) -> Iterator[Warned]:
    """Name the workloads that a new rebalancer cannot bring back to where they are leaving."""
    for rebalancer, workload in _new_targets(question):
        present = question.merged.outputs.get(binding_key(workload))
        spec = mapping(present.body, "spec") if present is not None else {}
        tasks = bodies(spec, "gracefulEvictionTasks")
        leaving = ", ".join(sorted(text(task, "fromCluster") for task in tasks))
        if leaving:
            scope = f"{workload.namespace}/" if workload.namespace else ""
            message = f"it is still being evicted from {leaving}, so {rebalancer} cannot choose it"
            yield Warned("under-eviction", f"{scope}{workload.name}", message)


def _new_targets(question: Question) -> Iterator[tuple[str, ObjectKey]]:
    """Yield the name of each new rebalancer with each workload that it names."""
    for key in sorted(question.merged.inputs.keys() - question.base.inputs.keys()):
        if key.kind != "WorkloadRebalancer":
            continue
        for item in bodies(mapping(question.merged.inputs[key].body, "spec"), "workloads"):
            kind, namespace, name = (text(item, part) for part in ("kind", "namespace", "name"))
            yield key.name, ObjectKey("", kind, namespace, name)


def warn_first_batch(question: Question) -> Iterator[Warned]:
    """Name the objects of which a limited rebalance moves a part only, and say where they end."""
    written = _written(question.outcome)
    for decision in _caused(question):
        path = output_path(question.merged.output_root, decision.key)
        if MOVING_TO not in written.get(path, ""):
            continue
        body = read(written[path].encode(), path).documents[0].body
        goal = read_goal(mapping(body, "metadata")) or ()
        named = ", ".join(f"{target.name}({target.replicas})" for target in goal)
        message = f"this is the first batch only; it goes on to {named}"
        yield Warned("first-batch", decision.subject, message)


def warn_unclaimed(question: Question) -> Iterator[Warned]:
    """Name the workloads that lose their policy, and those that are edited and have none."""
    merged, base = question.merged, question.base
    written, known = _written(question.outcome), _written(question.baseline)
    for key, manifest in sorted(merged.inputs.items()):
        if key.group in merged.known.groups:
            continue
        target = binding_key(key)
        binding = merged.outputs.get(target)
        path = output_path(merged.output_root, target)
        had = binding is not None and claimant(binding.body) is not None
        has = CLAIM in written[path] if path in written else had
        scope = f"{key.namespace}/" if key.namespace else ""
        message = ""
        if had and not has and (path not in known or CLAIM in known[path]):
            message = "no policy claims it any more, so it stays where it is, whatever is edited"
        elif not had and not has and base.inputs.get(key) != manifest:
            message = _unclaimed(merged, manifest, placed=binding is not None)
        if message:
            yield Warned("unclaimed", f"{scope}{key.name}", message)


def _written(outcome: Outcome) -> dict[str, str]:
    return {c.path: c.content for c in outcome.changes if isinstance(c, WriteFile)}


def _unclaimed(world: World, manifest: Manifest, *, placed: bool) -> str:
    """Return what it means that no policy claims an edited workload, `""` if nothing."""
    key = manifest.key
    if placed:
        return "no policy claims it, so it stays where it is"
    replicated = demand_of(text(manifest.body, "apiVersion"), key.kind, manifest.body) is not None
    policies = any(world.of_kind(POLICY_GROUP, kind) for kind in POLICIES)
    if not replicated or not policies or _is_carried(world, key.namespace):
        return ""
    return "no policy claims it, so it goes to no cluster"


def _is_carried(world: World, namespace: str) -> bool:
    """Say whether a placement of KubeFleet may select a namespace with all that is in it."""
    placements = world.of_kind(*KUBEFLEET_PLACEMENT)
    return any(
        text(selector, "kind") == "Namespace" and text(selector, "name") in ("", namespace)
        for placement in placements
        for selector in bodies(mapping(placement.body, "spec"), "resourceSelectors")
    )


def warn_clusters_gone(question: Question) -> Iterator[Warned]:
    """Name the clusters whose files go, and say how many objects leave each."""
    for key in sorted(question.base.inputs.keys() - question.merged.inputs.keys()):
        if (key.group, key.kind) not in CLUSTERS:
            continue
        leaving = sum(
            key.name in dict(d.before) and key.name not in dict(d.after) for d in _caused(question)
        )
        objects = f"{leaving} object{'s' if leaving != 1 else ''} would leave it"
        yield Warned("cluster-removed", key.name, f"the cluster's manifest goes, {objects}")


def warn_emptied(question: Question) -> Iterator[Warned]:
    """Name the files that held objects and hold none any more, or are read no more."""
    held: dict[str, list[ObjectKey]] = defaultdict(list)
    for key in sorted(question.base.inputs.keys() - question.merged.inputs.keys()):
        held[question.base.inputs[key].origin.path].append(key)
    covers = _coverage(question.merged)
    full = {manifest.origin.path for manifest in question.merged.inputs.values()}
    for path, keys in held.items():
        if not covers(path):
            named = "include and exclude no longer cover the file, so what it held is removed"
        elif path in question.merged.blobs and path not in full:
            named = "the file holds nothing but blanks and comments, so what it held is removed"
        else:
            continue
        objects = ", ".join(f"{key.kind} {key.name}" for key in keys[:NAMED])
        more = ", ..." if len(keys) > NAMED else ""
        yield Warned("file-emptied", path, f"{named}: {objects}{more}")


def _coverage(world: World) -> Callable[[str], bool]:
    """Return what says whether a path is read as an input."""
    found = (m.body for key, m in world.inputs.items() if (key.group, key.kind) == CONFIGURATION)
    settings = decode_settings(next(found, None))
    return lambda path: (
        path == CONFIGURATION_PATH
        or selects(path, include=settings.include, exclude=settings.exclude)
    )


def warn_edited_outputs(question: Question) -> Iterator[Warned]:
    """Say that the change edits what only passes write."""
    before, after = question.base.present, question.merged.present
    edited = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    if edited:
        files = f"{len(edited)} file{'s' if len(edited) != 1 else ''}"
        named = ", ".join(edited[:NAMED]) + (", ..." if len(edited) > NAMED else "")
        message = f"{files} that only a pass writes would be edited: {named}"
        yield Warned("outputs-edited", "", message)


def warn_repeated(question: Question) -> Iterator[Warned]:
    """Name the rebalancers and triggers that would run again since their record goes."""
    lost = question.base.outputs.keys() - question.merged.outputs.keys()
    for key in sorted(lost & question.merged.inputs.keys()):
        if (key.group, key.kind) in question.merged.known.removable:
            message = "its record goes and it stays, so it would run again"
            yield Warned("rebalancer-repeated", key.name, message)


def _caused(question: Question) -> list[Decision]:
    """Return the decisions that a pass takes with the change and not without it."""
    known: dict[ObjectKey, Decision] = {d.key: d for d in question.baseline.decisions}
    return [d for d in question.outcome.decisions if known.get(d.key) != d]


WARNINGS: tuple[Warn, ...] = (
    warn_suspended,
    warn_unschedulable,
    warn_nowhere,
    warn_evicting,
    warn_unclaimed,
    warn_first_batch,
    warn_clusters_gone,
    warn_emptied,
    warn_edited_outputs,
    warn_repeated,
)
"""Every warning; a new one is a function and a line here."""
