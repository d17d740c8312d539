"""The file of a binding: what a pass makes of it, and what it writes.

A person's edit of the state or of the target cluster counts as the previous assignment. All else
that follows from other files, or is constant, is read from there, so that an edit of it is undone.
"""

from collections.abc import Iterable, Mapping

from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    decode_binding,
    encode_binding,
    state_of,
    target_of,
)
from reconciler.dialects.kubefleet.api.cluster_decision import ClusterDecision, chosen, new_decision
from reconciler.dialects.kubefleet.api.kinds import BINDINGS, kinds_in, named_in
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    GROUP,
    PARENT,
    PREVIOUS_STATE,
    SCHEDULED,
    SCHEDULER_FINALIZER,
    UNSCHEDULED,
)
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT, ROLLED_OUT_AT
from reconciler.dialects.kubefleet.rollout.rollout import ROLLOUT_STARTED, announcement
from reconciler.dialects.kubefleet.view.status_conditions import STAGES
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.fields import mapping, number, text
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import is_moment

DECISION_DIGEST = "reconciler.dev/decision-digest"
STATES = (SCHEDULED, BOUND, UNSCHEDULED)
STAYING = (SCHEDULED, BOUND)
KNOWN_MARKS = (PREVIOUS_STATE, ROLLED_OUT, ROLLED_OUT_AT)


def read_binding(
    body: Body,
    placement: str,
    policy_snapshot: str,
    decisions: Mapping[str, ClusterDecision],
    *,
    edited: bool,
) -> Binding:
    """Return a binding as the scheduler may take it, whatever a person did to its file.

    Args:
        body: The file.
        placement: Name of its placement.
        policy_snapshot: The policy snapshot that the last pass left in force; all bindings that
            stay are of it.
        decisions: What that pass decided, by cluster; empty if a person edited it.
        edited: Whether a person edited the binding, as `is_edited` says.
    """
    read = decode_binding(body)
    state = read.state if read.state in STATES else SCHEDULED
    marks = {name: read.annotations[name] for name in KNOWN_MARKS if name in read.annotations}
    resources = marks.get(ROLLED_OUT, read.resource_snapshot)
    if state == UNSCHEDULED and marks.get(PREVIOUS_STATE) not in STAYING:
        marks[PREVIOUS_STATE] = BOUND if resources else SCHEDULED
    binding = read._replace(
        state=state,
        policy_snapshot=policy_snapshot if state in STAYING else read.policy_snapshot,
        resource_snapshot=resources,
        generation=max(read.generation, 1),
        deleting=False,
        labels={PARENT: placement},
        annotations=marks,
        finalizers=(SCHEDULER_FINALIZER,),
        conditions=tuple(_conditions(read.conditions)),
        body=_constant(read),
    )
    if edited and read.decision.cluster != read.target:
        return _moved(binding)
    decided = decisions.get(read.target) if state in STAYING else None
    return binding._replace(
        decision=chosen(read.decision, read.target) if decided is None else decided
    )


def _conditions(written: Iterable[Body]) -> Iterable[Body]:
    """Keep the conditions that a pass writes, each with the words that it writes."""
    seen = set()
    for item in written:
        kind = item.get("type")
        if kind not in STAGES or kind in seen:
            continue
        seen.add(kind)
        if kind == ROLLOUT_STARTED:
            known = announcement(
                started=item.get("status") == "True",
                generation=number(item, "observedGeneration"),
            )
            item = {  # noqa: PLW2901  # the same condition in our words
                **item,
                "status": known.status,
                "reason": known.reason,
                "message": known.message,
            }
        yield item


def _constant(binding: Binding) -> Body:
    """Return what of the file never changes."""
    created = text(mapping(binding.body, "metadata"), "creationTimestamp")
    return {"metadata": {"creationTimestamp": created}} if is_moment(created) else {}


def _moved(binding: Binding) -> Binding:
    """Return a binding that a person gave another cluster: nothing of the former one counts."""
    marks = {k: v for k, v in binding.annotations.items() if k not in (ROLLED_OUT, ROLLED_OUT_AT)}
    by_hand = f'Cluster "{binding.target}" was chosen by hand'
    decision = new_decision(binding.target, by_hand, selected=True)
    return binding._replace(annotations=marks, decision=decision, conditions=())


def keep_one_a_cluster(bindings: Iterable[Binding], edited: Iterable[str]) -> dict[str, Binding]:
    """Return the bindings by name, of those for one cluster only one.

    One that stays comes before one that leaves, and an unedited one before an edited one.
    """
    by_hand = frozenset(edited)
    ordered = sorted(bindings, key=lambda b: (b.state == UNSCHEDULED, b.name in by_hand, b.name))
    kept: dict[str, Binding] = {}
    for binding in ordered:
        kept.setdefault(binding.target, binding)
    return {binding.name: binding for binding in sorted(kept.values(), key=lambda b: b.name)}


def is_edited(body: Body) -> bool:
    """Return whether state or target differ from what the last pass wrote."""
    written = text(mapping(mapping(body, "metadata"), "annotations"), DECISION_DIGEST)
    return bool(written) and written != _digest(target_of(body), state_of(body))


def binding_file(binding: Binding, at: str) -> Body:
    """Return the file of a binding.

    Args:
        binding: Where the pass leaves it.
        at: Text of the present moment, for one that is new.
    """
    body = encode_binding(
        binding._replace(
            annotations={
                **binding.annotations,
                DECISION_DIGEST: _digest(binding.target, binding.state),
            }
        )
    )
    metadata = {
        **named_in(binding.namespace, binding.name),
        "uid": uid_of(key_of(binding)),
        "creationTimestamp": at,
        **mapping(body, "metadata"),
    }
    annotations = mapping(metadata, "annotations")
    metadata["annotations"] = {name: annotations[name] for name in sorted(annotations)}
    return {**body, "metadata": metadata}


def _digest(target: str, state: str) -> str:
    return digest([target, state])


def key_of(binding: Binding) -> ObjectKey:
    """Return the key of a binding."""
    return ObjectKey(GROUP, kinds_in(binding.namespace).binding, binding.namespace, binding.name)


def targets_in(files: Mapping[ObjectKey, Body]) -> frozenset[str]:
    """Return the clusters that the bindings among some files are for."""
    return frozenset(target_of(body) for key, body in files.items() if key.kind in BINDINGS)
