"""What one binding reads: its workload, the policies that may claim that, and all clusters.

Others have a say where two workloads want one binding, where others need its object, and where a
quota counts all of a namespace together. A quota by itself reads what clusters report of it.
"""

from collections.abc import Iterator

from reconciler.dialects.contract import WORKLOADS, Documents, OutputPlace, Statement
from reconciler.dialects.karmada.api.binding import BINDINGS
from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    decode_policy_fields,
    decode_spec,
    may_propagate,
)
from reconciler.dialects.karmada.api.cluster_taints import TAINT_POLICY
from reconciler.dialects.karmada.api.names import CLUSTER
from reconciler.dialects.karmada.api.policy import overrides_of
from reconciler.dialects.karmada.api.quota import QUOTA
from reconciler.dialects.karmada.detector.binding_draft import (
    binding_key,
    claimant,
    dependencies_of,
)
from reconciler.dialects.karmada.detector.policies import (
    KINDS,
    OVERRIDES,
    POLICY_QUESTIONS,
    PRIORITY_CLASS,
    policies_of,
)
from reconciler.dialects.karmada.quotas import is_counted
from reconciler.dialects.reads import Question, within
from reconciler.dialects.scores import SCORES
from reconciler.errors import UserError
from reconciler.model.body import Body, may_say
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest

SHARED: frozenset[Kind] = frozenset({CLUSTER, PRIORITY_CLASS, SCORES, TAINT_POLICY})
PROPAGATE_DEPS = '"propagateDeps"'
NEEDS, PROPAGATES = "needs", "propagates dependencies"


def _owners(workload: Manifest) -> tuple[ObjectKey]:
    """Return the binding that a workload wants."""
    return (binding_key(workload.key),)


def _leads(workload: Manifest, documents: Documents) -> Iterator[Question]:
    """Yield what may need a workload, and what a quota counts with it."""
    key, (follow, counted) = workload.key, documents.once(_leading)
    if follow:
        yield _needed(key)
    if key.namespace in counted:
        yield within(key.namespace)


def _leading(documents: Documents) -> tuple[bool, frozenset[str]]:
    """Return whether objects follow others in a world, and the namespaces that quotas count."""
    world = documents.world
    namespaces = {quota.key.namespace for quota in world.of_kind(*QUOTA)}
    counted = (namespace for namespace in namespaces if is_counted(world, namespace))
    return _follow_others(documents), frozenset(counted)


def _may_claim(workload: Manifest, _documents: Documents) -> Iterator[Question]:
    """Yield the questions to one of which each policy belongs that may claim a workload."""
    key, version = workload.key, str(workload.body.get("apiVersion"))
    for namespace in {key.namespace, ""}:
        for name in ("", key.name):
            yield policies_of(version, key.kind, name, namespace)


def _claims(binding: Manifest, _documents: Documents) -> Iterator[Question]:
    """Yield the policy that claims a binding."""
    held = claimant(binding.body)
    if held is not None:
        yield held


def _waits_for(policy: Manifest, _documents: Documents) -> tuple[ObjectKey, ...]:
    """Return the override policies that a policy depends on."""
    return overrides_of(policy)


def _selecting(manifest: Manifest) -> Iterator[Question]:
    """Yield what a policy selects."""
    key = manifest.key
    if key[:2] in KINDS:
        for element in mappings_of(at(manifest.body, "spec").get("resourceSelectors")):
            version, kind = str(element.get("apiVersion")), str(element.get("kind"))
            yield policies_of(version, kind, str(element.get("name") or ""), key.namespace)


def _needed(key: ObjectKey) -> Question:
    """Return the question of what needs an object."""
    return NEEDS, key


def _needing(manifest: Manifest) -> Iterator[Question]:
    """Yield what a workload needs beside itself, if that follows it."""
    body = manifest.body
    for need in dependencies_of(manifest.key, str(body.get("apiVersion")), body):
        yield _needed(need)


def _propagating(manifest: Manifest) -> Iterator[Question]:
    """Yield that a policy, or a binding, has others follow it, if it does."""
    key = manifest.key
    if key[:2] in KINDS:
        if decode_policy_fields(at(manifest.body, "spec")).propagate_deps:
            yield (PROPAGATES,)
        return
    may = (
        key[:2] in BINDINGS
        and may_say(manifest.held, PROPAGATE_DEPS)  # seldom, so few are decoded
        and may_propagate(manifest.body)
    )
    spec = _readable(manifest.body) if may else None
    if spec is not None and spec.propagate_deps:
        yield (PROPAGATES,)


def _follow_others(documents: Documents) -> bool:
    """Return whether some objects follow those that need them."""
    question = (PROPAGATES,)
    return bool(documents.inputs(question) or documents.outputs(question))


def _readable(binding: Body) -> BindingSpec | None:
    """Return what a binding says, `None` if a person made it unreadable."""
    try:
        return decode_spec(binding)
    except UserError:
        return None


def _others(key: ObjectKey, documents: Documents) -> str:
    """Return why a binding depends on others, `""` if it does not."""
    world = documents.world
    if is_counted(world, key.namespace):
        return "a quota counts all of its namespace together"
    owners, present = sorted(documents.inputs(key)), world.outputs.get(key)
    if len(owners) > 1:
        return f"{owners[0]} and {owners[1]} want a binding of the same name"
    if key[:2] == QUOTA or present is None:
        spec = None
    else:
        spec = _readable(present.body)
        if spec is None:
            return "its file cannot be read"
    if spec is not None and spec.required_by:
        return "others require its object"
    if owners and _follow_others(documents):
        needing = sorted(one for owner in owners for one in documents.inputs(_needed(owner)))
        if needing:
            return f"{needing[0]} needs its object, and may have it follow"
    return ""


def _places(key: ObjectKey) -> tuple[OutputPlace]:
    """Return the place of its own file."""
    return (OutputPlace(key[:2], key.namespace, key.name),)


STATEMENT = Statement(
    decided=frozenset({*BINDINGS, QUOTA}),
    shared=SHARED,
    consulted=SHARED | {*KINDS, *OVERRIDES},
    owners={WORKLOADS: _owners},
    leads={WORKLOADS: _leads},
    consults={
        WORKLOADS: _may_claim,
        **dict.fromkeys(BINDINGS, _claims),
        **dict.fromkeys(KINDS, _waits_for),
    },
    answers={POLICY_QUESTIONS: _selecting, NEEDS: _needing, PROPAGATES: _propagating},
    others=_others,
    places=_places,
)
