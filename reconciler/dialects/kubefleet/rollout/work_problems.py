"""Which resources of a cluster failed, drifted or differ, drawn from its Works.

Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `setBindingStatus`,
`extractFailedResourcePlacementsFromWork`, `extractDriftedResourcePlacementsFromWork`,
`extractDiffedResourcePlacementsFromWork`.
"""

from collections.abc import Callable, Iterator, Sequence

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import AVAILABLE, DIFF_REPORTED
from reconciler.dialects.kubefleet.api.placement_status import DIFFED, DRIFTED, FAILED, PROBLEMS
from reconciler.dialects.kubefleet.rollout.work_answers import (
    answers_to,
    current,
    of_another_snapshot,
)
from reconciler.dialects.kubefleet.view.status_conditions import (
    APPLIED,
    reported,
)
from reconciler.dialects.kubefleet.workgenerator.work_marks import (
    ENVELOPE_KIND,
    ENVELOPE_NAME,
    ENVELOPE_NAMESPACE,
)
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.labels import labels_of

MOST = 100  # maxFailedResourcePlacementLimit, and the same of the other two


def work_problems(binding: Binding, works: Sequence[Body]) -> Body:
    """Return the lists of a binding's status that name single resources, only those with any.

    Only what all Works have finished is told, or else what an earlier version met would be.

    Args:
        binding: Of the cluster.
        works: Those of its placement that the cluster reports, by name. Upstream has them in any
            order, which matters where there are more than a list may hold.
    """
    found = {}
    for name in () if of_another_snapshot(works, binding) else _lists(binding, works):
        listed = [one for work in works for one in _FOUND[name](work)]
        if name != FAILED and len(listed) > MOST:
            listed.sort(key=_identity)
        if listed:
            found[name] = listed[:MOST]
    return found


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
    for one in _manifests(work):
        conditions = {text(item, "type"): item for item in reversed(bodies(one, "conditions"))}
        stages = (conditions.get(stage, {}) for stage in (APPLIED, AVAILABLE))
        condition = next((item for item in stages if text(item, "status") == "False"), None)
        if condition is not None:
            yield {**_resource(work, one), "condition": condition}


def _drifted(work: Body) -> Iterator[Body]:
    return _differing(work, "driftDetails", ("firstDriftedObservedTime", "observedDrifts"))


def _diffed(work: Body) -> Iterator[Body]:
    return _differing(work, "diffDetails", ("firstDiffedObservedTime", "observedDiffs"))


def _differing(work: Body, field: str, fields: tuple[str, str]) -> Iterator[Body]:
    """Yield the resources that have details of this field."""
    for one in _manifests(work):
        details = mapping(one, field)
        if not details:
            continue
        generation = details.get("observedInMemberClusterGeneration")
        seen = {
            "observationTime": details.get("observationTime"),
            "targetClusterObservedGeneration": generation,
            **{name: details.get(name) for name in fields},
        }
        kept = {name: value for name, value in seen.items() if value is not None}
        yield {**_resource(work, one), **without_secrets(one, kept)}


def without_secrets(manifest: Body, details: Body) -> Body:
    """Return details of a manifest, of a Secret without the values that differ.

    Source: ours; what a Secret holds reaches no file.
    """
    identifier = mapping(manifest, "identifier")
    if text(identifier, "kind") != "Secret" or text(identifier, "group"):
        return details
    hidden = dict.fromkeys(("valueInHub", "valueInMember"), HIDDEN_IN_CONDITIONS)
    kept = dict(details)
    for name in ("observedDrifts", "observedDiffs"):
        if name in details:
            kept[name] = [
                {field: hidden.get(field, value) for field, value in one.items()}
                for one in bodies(details, name)
            ]
    return kept


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
