"""Which object a person means by `kind/name`, and which output holds the decision about it."""

import difflib

from reconciler.audit.fleet.placed import (
    decision_on,
    is_present,
    owner_of,
    placement_of,
    present_in,
)
from reconciler.audit.kind_words import resolve_kind
from reconciler.core.dialects import PLACED
from reconciler.errors import UsageError
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown
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
    if (key.group, key.kind) in PLACED:
        return key
    found = None if key.group in world.known.groups else decision_on(key)
    if found is not None:
        return found
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
    names = sorted({one.name for one in present})
    close = difflib.get_close_matches(key.name, names, n=3) or names[:3]
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
