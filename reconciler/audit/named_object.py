"""Which object a user means by `kind/name`, and which output has the decision about it.

A kind may be singular or plural, in any case, short, or with its group.
"""

from collections.abc import Container, Iterable, Mapping

from reconciler.audit.fleet.placed import is_present, owner_of, placement_of, present_in
from reconciler.core.dialects import DIALECTS, decision_on
from reconciler.errors import UsageError
from reconciler.manifests.paths import plural_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.text import shown
from reconciler.model.world import World


def find_object(world: World, word: str, namespace: str) -> ObjectKey:
    """Return the key of the object that `kind/name` names; it may be gone from this world.

    Args:
        world: Where to look which of several kinds of that name is meant.
        word: As a person wrote it.
        namespace: Of a namespaced kind.

    Raises:
        UsageError: It is not `kind/name`, or the kind is unknown or ambiguous.
    """
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise UsageError(f"{shown(word)} must be KIND/NAME or KIND NAME, such as deployment/web")
    seen = {found: bool(listed[-1].key.namespace) for found, listed in world.by_kind()}
    scopes = {**seen, **world.known.scopes}
    kinds = resolve_kind(kind, world.known.short, scopes, seen)
    if not kinds:
        known = ", ".join(sorted({found.lower() for _, found in seen})) or "nothing at all"
        raise UsageError(f"there is no kind {shown(kind)} here; the repository has {known}")
    keys = [
        ObjectKey(group, found, namespace if scopes[group, found] else "", name)
        for group, found in kinds
    ]
    present = [key for key in keys if is_present(world, key)]
    likely = present or [key for key in keys if (key.group, key.kind) in seen] or keys
    if len(likely) > 1:
        choices = ", ".join(f"{key.kind.lower()}.{key.group}/{name}" for key in likely)
        raise UsageError(f"{shown(word)} is ambiguous; name one of {choices}")
    return likely[0]


def decided_key(world: World, key: ObjectKey) -> ObjectKey:
    """Return the key that decisions about an object bear: a workload stands for its binding.

    Raises:
        UsageError: Nothing is decided about objects of this kind.
    """
    parent = _parent(world, key)
    if parent is not None:
        return parent
    decided = decision_on(key)
    if decided is not None:
        return decided
    raise UsageError(f"a {key.kind} is not placed; name a workload, a binding or a placement")


def near(world: World, key: ObjectKey) -> str:
    """Return what to say after "there is no such object".

    That is where else it is, or which file may hold it, or names near it; `""` if there are none.
    """
    present = [one for one in present_in(world) if one.kind == key.kind]
    elsewhere = sorted(one.namespace for one in present if one.name == key.name and one.namespace)
    if elsewhere:
        some = "it is in namespace" if len(elsewhere) == 1 else "it is in namespaces"
        return f"; {some} {', '.join(elsewhere)}: add -n {elsewhere[0]}"
    unread = next((fault for fault in world.faults if not fault.subject), None)
    if unread is not None:
        return f"; it may be in {unread.path}, which cannot be read: {unread.message}"
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is missing

    names = sorted({one.name for one in present})
    close = get_close_matches(key.name, names, n=3) or names[:3]
    return f"; near it: {', '.join(close)}" if close else ""


def spelled(key: ObjectKey) -> str:
    """Return an object as people write it: `kind/name`, with its namespace where it has one."""
    scope = f" in namespace {key.namespace}" if key.namespace else ""
    return f"{key.kind.lower()}/{key.name}{scope}"


def _parent(world: World, key: ObjectKey) -> ObjectKey | None:
    """Return the placement whose decision an output is a part of, or that an object is about."""
    manifest = world.outputs.get(key)
    owner = None if manifest is None else owner_of(key, manifest.body)
    return owner or placement_of(world, key)


SHORT: Mapping[str, str] = {
    "cm": "configmap",
    "crd": "customresourcedefinition",
    "deploy": "deployment",
    "ds": "daemonset",
    "ing": "ingress",
    "ns": "namespace",
    "po": "pod",
    "pvc": "persistentvolumeclaim",
    "rs": "replicaset",
    "sa": "serviceaccount",
    "sts": "statefulset",
    "svc": "service",
}
"""Short names of kinds of Kubernetes, as kubectl has them."""

ALL: Mapping[str, frozenset[Kind]] = {
    "all": frozenset(
        {("", kind) for kind in ("Pod", "ReplicationController", "Service")}
        | {("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")}
        | {("autoscaling", "HorizontalPodAutoscaler"), ("batch", "CronJob"), ("batch", "Job")}
    )
}
"""The category of Kubernetes' own kinds.

Source: kubernetes pkg/registry `Categories` of the storage of each kind.
"""


PLACEMENTS = "placements"
"""The word that means what places anything in any API, where several APIs have some.

Ours: it is the plural of one kind, too, which is meant where only that is there, or by full name.
"""


def placing_kinds(present: Container[Kind]) -> tuple[Kind, ...]:
    """Return the kinds of policies and placements of all APIs that are present, in their order."""
    kinds = (kind for dialect in DIALECTS for kind in sorted(dialect.placing))
    return tuple(kind for kind in kinds if kind in present)


def kinds_in_category(word: str) -> tuple[Kind, ...]:
    """Return the kinds that a category means, sorted; none if the word is no category."""
    tables = [ALL, *(dialect.view().world.categories for dialect in DIALECTS)]
    return tuple(sorted({kind for table in tables for kind in table.get(word.lower(), ())}))


def resolve_kind(
    word: str,
    short: Mapping[str, str],
    known: Iterable[Kind],
    present: Container[Kind] = (),
) -> list[Kind]:
    """Return the (group, kind) pairs that a word names, sorted; none if it names nothing known.

    What is present goes before what is only known, and there a kind's own name before the short
    name of another one: `cluster` is both in the APIs that are read.

    Args:
        word: As a person wrote it.
        short: Short names of kinds of the APIs, to their kinds in lower case.
        known: Groups and kinds, those that are present among them.
        present: Groups and kinds of which there are objects.

    >>> kinds = [("a", "Policy"), ("b", "Pod")]
    >>> resolve_kind("policies", {}, kinds), resolve_kind("rb.example.org", {}, kinds)
    ([('a', 'Policy')], [])
    >>> resolve_kind("pod", {"pod": "policy"}, kinds)
    [('b', 'Pod')]
    >>> resolve_kind("pod", {"pod": "policy"}, kinds, present=[("a", "Policy")])
    [('a', 'Policy')]
    """
    name, _, group = word.lower().partition(".")
    meant = [name, {**SHORT, **short}.get(name, name)]
    kinds = sorted(kind for kind in set(known) if not group or kind[0] == group)
    tiers = [[kind for kind in kinds if one in _spellings(kind[1])] for one in meant]
    there = [[kind for kind in tier if kind in present] for tier in tiers]
    return next(filter(None, (*there, *tiers)), [])


def _spellings(kind: str) -> set[str]:
    """Return singular and plurals of a kind in lower case."""
    word = kind.lower()
    return {word, plural_of(kind), f"{word}s", f"{word}es"}
