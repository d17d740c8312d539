"""What the Works of a cluster say of its binding, as upstream's work generator draws it from them.

The Works that clusters report are found by the placement that they are of, and by the names, labels
and annotations that upstream gives them. From those of a cluster follow which are unfinished and
which failed in a stage, then the conditions of the binding, then the resources that failed, drifted
or differ.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go
`workConditionSummarizedStatus`.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `setBindingStatus`,
`setAllWorkAppliedCondition`, `setAllWorkAvailableCondition`, `setAllWorkDiffReportedCondition`.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `setBindingStatus`,
`extractFailedResourcePlacementsFromWork`, `extractDriftedResourcePlacementsFromWork`,
`extractDiffedResourcePlacementsFromWork`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from reconciler.dialects.kubefleet.api.binding import DIFFED, DRIFTED, FAILED, PROBLEMS, Binding
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    AVAILABLE,
    DIFF_REPORTED,
    PARENT,
    PLACEMENT_GROUP,
    go_json,
    hash_of,
    placement_key,
)
from reconciler.dialects.kubefleet.rollout.rollout import APPLIED, UNTRACKABLE, reported
from reconciler.dialects.kubefleet.snapshots.overrides import Override, PickedOverrides, target_of
from reconciler.dialects.reads import FollowedIndex
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS
from reconciler.model.body import Body
from reconciler.model.cluster import Condition
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.records import dataclass
from reconciler.model.world import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkAnswers:
    """What Works say of a stage: names of those without an answer, of those that failed, and why.

    Attributes:
        unfinished: In order of the Works, like all of them.
        failed: Those that answered False.
        reasons: Of every Work, `""` without an answer.
    """

    unfinished: Sequence[str]
    failed: Sequence[str]
    reasons: Mapping[str, str]


def answers_to(stage: str, works: Sequence[Body]) -> WorkAnswers:
    """Return what Works say of a stage."""
    answers = {text(mapping(work, "metadata"), "name"): current(work, stage) for work in works}
    return WorkAnswers(
        unfinished=[
            n for n, one in answers.items() if text(one, "status") not in ("True", "False")
        ],
        failed=[name for name, one in answers.items() if text(one, "status") == "False"],
        reasons={name: text(one, "reason") for name, one in answers.items()},
    )


def of_another_snapshot(works: Iterable[Body], binding: Binding) -> bool:
    """Return whether a Work was written for a snapshot that the binding has not, or has left."""
    found = (mapping(mapping(work, "metadata"), "annotations") for work in works)
    snapshots = (text(annotations, PARENT_SNAPSHOT) for annotations in found)
    return any(name and name != binding.resource_snapshot for name in snapshots)


def current(work: Body, stage: str) -> Body:
    """Return a condition of the Work's present generation, an empty one if there is none.

    Without a generation in its metadata, every condition is about what is there.
    """
    metadata = mapping(work, "metadata")
    for condition in bodies(mapping(work, "status"), "conditions"):
        if text(condition, "type") == stage:
            is_current = number(condition, "observedGeneration") == number(metadata, "generation")
            return condition if is_current or "generation" not in metadata else {}
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Upstream's words for a stage."""

    pending: str
    pending_text: str
    no: str
    unfinished: str
    failed: str
    yes: str
    done: str


_WORDS = {
    APPLIED: _Words(
        pending="ApplyInProgress",
        pending_text="Resources are being applied",
        no="NotAllWorkHaveBeenApplied",
        unfinished="Work object {} has not yet completed the apply op",
        failed="Work object {} has failed to apply",
        yes="AllWorkHaveBeenApplied",
        done="All corresponding work objects are applied",
    ),
    AVAILABLE: _Words(
        pending="",
        pending_text="",
        no="NotAllWorkAreAvailable",
        unfinished="Work object {} has not yet completed availability check",
        failed="Work object {} is not yet available",
        yes="AllWorkAreAvailable",
        done="All corresponding work objects are available",
    ),
    DIFF_REPORTED: _Words(
        pending="DiffReportInProgress",
        pending_text="Diff reporting on resources is in progress",
        no="NotAllWorkHaveDiffReported",
        unfinished="Work object {} has not yet completed diff reporting",
        failed="Work object {} has failed to report diff",
        yes="AllWorkHaveDiffReported",
        done="All corresponding work objects have reported diff",
    ),
}
NOT_TRACKABLE = "NotAllWorkAreAvailabilityTrackable"


def work_conditions(binding: Binding, works: Sequence[Body]) -> Iterator[Condition]:
    """Yield what Works say of the stages of a binding; a stage that is not reached is left out.

    Works of another snapshot than the binding's are not told of its cluster yet.

    Args:
        binding: Of the cluster.
        works: Those of its placement that the cluster reports, by name; at least one.
    """
    stages = reported(binding.apply_strategy)
    if of_another_snapshot(works, binding):
        words = _WORDS[stages[0]]
        texts = words.pending, words.pending_text
        yield Condition(stages[0], "False", *texts, binding.generation)
        return
    for stage in stages:
        condition = _condition(stage, works, binding.generation)
        yield condition
        if condition.status != "True":
            return


def _condition(stage: str, works: Sequence[Body], generation: int) -> Condition:
    """Return the condition of one stage: what is unfinished comes before what failed."""
    words, answers = _WORDS[stage], answers_to(stage, works)
    untracked = [name for name, reason in answers.reasons.items() if reason in UNTRACKABLE]
    for names, message in ((answers.unfinished, words.unfinished), (answers.failed, words.failed)):
        if names:
            return Condition(stage, "False", words.no, message.format(names[0]), generation)
    if stage == AVAILABLE and untracked:
        message = f"The availability of work object {untracked[0]} is not trackable"
        return Condition(stage, "True", NOT_TRACKABLE, message, generation)
    return Condition(stage, "True", words.yes, words.done, generation)


MOST = 100  # maxFailedResourcePlacementLimit, and the same of the other two


def work_problems(binding: Binding, works: Sequence[Body]) -> Body:
    """Return the lists of a binding's status that name single resources, only those with any.

    Only what all Works have finished is told, or else what an earlier version met would be.

    Args:
        binding: Of the cluster.
        works: Those of its placement that the cluster reports, by name. Upstream has them in any
            order, which matters where there are more than a list may hold.
    """
    problems = {}
    for name in () if of_another_snapshot(works, binding) else _lists(binding, works):
        listed = [one for work in works for one in _FOUND[name](work)]
        if name != FAILED and len(listed) > MOST:
            listed.sort(key=_identity)
        if listed:
            problems[name] = listed[:MOST]
    return problems


def _lists(binding: Binding, works: Sequence[Body]) -> tuple[str, ...]:
    """Return which lists the stages of the Works allow: no diffs where all are applied."""
    if DIFF_REPORTED in reported(binding.apply_strategy):
        answers = answers_to(DIFF_REPORTED, works)
        return () if answers.unfinished or answers.failed else (DIFFED,)
    applied, available = answers_to(APPLIED, works), answers_to(AVAILABLE, works)
    if applied.unfinished:
        return ()
    if applied.failed:
        return PROBLEMS
    is_judged = available.failed and not available.unfinished
    return (FAILED, DRIFTED) if is_judged else (DRIFTED,)


def _failed(work: Body) -> Iterator[Body]:
    """Yield what is not applied, and of the rest what is not available."""
    if not any(text(current(work, stage), "status") == "False" for stage in (APPLIED, AVAILABLE)):
        return
    for manifest in _manifests(work):
        conditions = {text(item, "type"): item for item in reversed(bodies(manifest, "conditions"))}
        stages = (conditions.get(stage, {}) for stage in (APPLIED, AVAILABLE))
        condition = next((item for item in stages if text(item, "status") == "False"), None)
        if condition is not None:
            yield {**_resource(work, manifest), "condition": condition}


def _drifted(work: Body) -> Iterator[Body]:
    return _differing(work, "driftDetails", ("firstDriftedObservedTime", "observedDrifts"))


def _diffed(work: Body) -> Iterator[Body]:
    return _differing(work, "diffDetails", ("firstDiffedObservedTime", "observedDiffs"))


def _differing(work: Body, field: str, fields: tuple[str, str]) -> Iterator[Body]:
    """Yield the resources that have details of this field."""
    for manifest in _manifests(work):
        details = mapping(manifest, field)
        if not details:
            continue
        generation = details.get("observedInMemberClusterGeneration")
        seen = {
            "observationTime": details.get("observationTime"),
            "targetClusterObservedGeneration": generation,
            **{name: details.get(name) for name in fields},
        }
        kept = {name: value for name, value in seen.items() if value is not None}
        yield {**_resource(work, manifest), **details_without_secrets(manifest, kept)}


def details_without_secrets(manifest: Body, details: Body) -> Body:
    """Return details of a manifest, of a Secret without the values that differ.

    Source: ours; what a Secret holds reaches no file.
    """
    identifier = mapping(manifest, "identifier")
    if text(identifier, "kind") != "Secret" or text(identifier, "group"):
        return details
    hidden = dict.fromkeys(("valueInHub", "valueInMember"), HIDDEN_IN_CONDITIONS)
    shown = dict(details)
    for name in ("observedDrifts", "observedDiffs"):
        if name in details:
            shown[name] = [
                {field: hidden.get(field, value) for field, value in one.items()}
                for one in bodies(details, name)
            ]
    return shown


_FOUND: dict[str, Callable[[Body], Iterator[Body]]] = {
    FAILED: _failed,
    DRIFTED: _drifted,
    DIFFED: _diffed,
}


def _manifests(work: Body) -> Sequence[Body]:
    return bodies(mapping(work, "status"), "manifestConditions")


def _resource(work: Body, manifest: Body) -> Body:
    """Return which resource a manifest is, and which envelope it came in."""
    identifier, labels = mapping(manifest, "identifier"), labels_of(work)
    names = {name: text(identifier, name) for name in ("group", "version", "kind", "name")}
    resource: dict[str, object] = {**names, "namespace": text(identifier, "namespace")}
    for optional in ("group", "namespace"):
        if not resource[optional]:
            del resource[optional]
    if ENVELOPE_KIND in labels:
        envelope = {
            "name": labels.get(ENVELOPE_NAME, ""),
            "namespace": labels.get(ENVELOPE_NAMESPACE, ""),
            "type": labels[ENVELOPE_KIND],
        }
        resource["envelope"] = {k: v for k, v in envelope.items() if v or k != "namespace"}
    return resource


def _identity(resource: Body) -> str:
    """Return the text that resources are sorted by.

    Source: kubefleet@e160c1c pkg/utils/common.go `LessFuncDriftedResourcePlacements`.
    """
    envelope = mapping(resource, "envelope")
    own = [text(resource, name) for name in ("group", "version", "kind", "namespace", "name")]
    around = [text(envelope, name) for name in ("type", "namespace", "name")] if envelope else []
    return "/".join((*own, *around))


WORK = "Work"


def work_table() -> FollowedIndex[ObjectKey, Manifest]:
    """Return a table of the Works among what clusters report, by the placement of each."""
    return FollowedIndex(_placements)


def _placements(key: ObjectKey, report: Manifest) -> Iterator[ObjectKey]:
    """Yield the placement of a report that is a Work."""
    if (key.group, key.kind) == (PLACEMENT_GROUP, WORK):
        yield placement_of(report.body)


def placement_of(work: Body) -> ObjectKey:
    """Return the placement that a Work is of.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `generateSnapshotWorkObj`.
    """
    labels = labels_of(work)
    return placement_key(labels.get(PARENT_NAMESPACE, ""), labels.get(PARENT, ""))


MEMBER_NAMESPACE = "fleet-member-"
PARENT_NAMESPACE = "kubernetes-fleet.io/parent-placement-namespace"
PARENT_BINDING = "kubernetes-fleet.io/parent-resource-binding"
PARENT_INDEX = "kubernetes-fleet.io/parent-resource-snapshot-index"
PARENT_SNAPSHOT = "kubernetes-fleet.io/parent-resource-snapshot-name"
OVERRIDE_HASH = "kubernetes-fleet.io/parent-resource-override-snapshot-hash"
CLUSTER_OVERRIDE_HASH = "kubernetes-fleet.io/parent-cluster-resource-override-snapshot-hash"
ENVELOPE_KIND = "kubernetes-fleet.io/envelope-work"
ENVELOPE_NAME = "kubernetes-fleet.io/envelope-name"
ENVELOPE_NAMESPACE = "kubernetes-fleet.io/envelope-namespace"
TOKEN = 16  # hexadecimal digits of a digest


def work_name(binding: Binding, subindex: str | None) -> str:
    """Return the name of the Work of a snapshot; that of the master has no number.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go
    `getWorkNamePrefixFromSnapshotName`.
    """
    scope = f"{binding.namespace}." if binding.namespace else ""
    return f"{scope}{binding.labels.get(PARENT, '')}-{'work' if subindex is None else subindex}"


def envelope_work_name(name: str, envelope: Body) -> str:
    """Return the name of the Work of an envelope, given that of the Work of its snapshot.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/envelope.go
    `buildNewWorkForEnvelopeCR`.
    """
    own = target_of(envelope)
    digest = sha256(f"{own.kind}/{own.namespace}/{own.name}".encode()).hexdigest()
    return f"{name}-envelope-{digest[:TOKEN]}"


def work_of(
    binding: Binding, name: str, index: str, overrides: Iterable[Override], envelope: Body | None
) -> Body:
    """Return a Work without its manifests.

    Args:
        binding: Of the cluster.
        name: Of the Work.
        index: Of the resource snapshots.
        overrides: Those that are picked for the cluster.
        envelope: Whose content it holds, `None` for what is selected itself.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `generateSnapshotWorkObj`.
    """
    scope = {PARENT_NAMESPACE: binding.namespace} if binding.namespace else {}
    labels = {
        PARENT: binding.labels.get(PARENT, ""),
        **scope,
        PARENT_BINDING: binding.name,
        PARENT_INDEX: index,
        **({} if envelope is None else _envelope_labels(envelope)),
    }
    lists = PickedOverrides(tuple(overrides)).lists
    annotations = {
        CLUSTER_OVERRIDE_HASH: hash_of(go_json(lists.get("clusterResourceOverrideSnapshots"))),
        OVERRIDE_HASH: hash_of(go_json(lists.get("resourceOverrideSnapshots"))),
        PARENT_SNAPSHOT: binding.resource_snapshot,
    }
    applied = binding.apply_strategy
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": f"{MEMBER_NAMESPACE}{binding.target}",
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"workload": {}, **({} if applied is None else {"applyStrategy": applied})},
    }


def _envelope_labels(envelope: Body) -> dict[str, str]:
    own = target_of(envelope)
    scope = {ENVELOPE_NAMESPACE: own.namespace} if own.namespace else {}
    return {ENVELOPE_KIND: own.kind, ENVELOPE_NAME: own.name, **scope}
