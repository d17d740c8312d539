"""The part of a world that `get` shows, where an index of the files tells which part that is."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reconciler.audit.fleet.assumed_outputs import needs_others
from reconciler.cli.kinds import AskedKind, asked_kinds, asks_across
from reconciler.cli.kinds import kinds_present as present_kinds
from reconciler.cli.selection import Query, matching
from reconciler.core.dialects import KINDS, PLACED
from reconciler.errors import UsageError
from reconciler.manifests.selectors import parse_selector
from reconciler.model.labels import selecting
from reconciler.shell.reading.parts import PartReader

if TYPE_CHECKING:
    from reconciler.core.inputs.stored import DocumentHead
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World
    from reconciler.shell.reading.commit_part import CommitHeads


class Found(NamedTuple):
    """A world, or a part of one, and what was asked for in it."""

    world: "World"
    objects: "Mapping[AskedKind, Sequence[ObjectKey]]"


def find_in_part(reader: PartReader, revision: str, query: Query) -> Found | None:
    """Return what is asked for, `None` where only the whole world tells.

    That is so where something is missing: what is near it is told then; and where other objects
    tell how one is by now.
    """
    if asks_across(query.words):
        return None  # where they are, outputs of other kinds tell
    heads = reader.heads(revision)
    present = None if heads is None else heads.kinds()
    if heads is None or present is None:
        return None
    try:
        asked = asked_kinds(KINDS, present, query.words)
    except UsageError:
        return None
    if any(needs_others(one.kind) for one in asked):
        return None
    if query.selector is not None and any(one.kind in KINDS.owned & PLACED for one in asked):
        return None  # a decision is selected by the labels of its workload, too
    world = reader.world(revision, heads.part(_names(heads, asked, query)))
    if asked_kinds(world.known, present | present_kinds(world), query.words) != asked:
        return None
    found = matching(world, asked, query)
    is_complete = all(found[one] for one in found if one.name) and any(found.values())
    return Found(world, found) if is_complete else None


def _names(
    heads: "CommitHeads", asked: Sequence[AskedKind], query: Query
) -> "Mapping[Kind, frozenset[str]]":
    """Return the names of all objects that may be asked for, by kind; of no other namespace."""
    selects = None if query.selector is None else selecting(parse_selector(query.selector))

    def may_match(one: "DocumentHead") -> bool:
        here = query.all_namespaces or one.namespace in ("", query.namespace)
        return here and (selects is None or one.labels is None or selects(one.labels))

    names: dict[Kind, frozenset[str]] = {}
    for one in asked:
        named = frozenset({one.name}) if one.name else heads.names(one.kind, may_match)
        names[one.kind] = names.get(one.kind, frozenset()) | named
    return names
