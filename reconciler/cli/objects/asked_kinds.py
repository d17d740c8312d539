"""Which kinds and names the words of `get` ask for: `rb,deploy`, `deploy a b`, `rb/a deploy/b`."""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from reconciler.audit.kind_words import PLACEMENTS, kinds_in_category, placing_kinds, resolve_kind
from reconciler.errors import UsageError
from reconciler.model.message_text import shown

if TYPE_CHECKING:
    from reconciler.model.known_kinds import Kind, KnownKinds
    from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class AskedKind:
    """One kind that is asked for, as a person wrote it, and one name of it, `""` for all."""

    word: str
    kind: "Kind"
    name: str = ""


def present_kinds(world: "World") -> "set[Kind]":
    """Return the kinds that have an object."""
    from reconciler.audit.fleet.placed import present_in

    return {key[:2] for key in present_in(world)}


def asked_kinds(
    known: "KnownKinds", present: "Collection[Kind]", words: Sequence[str], *, across: bool = False
) -> tuple[AskedKind, ...]:
    """Return what words ask for, in their order, each once.

    Args:
        known: The kinds that are known before a file is read.
        present: The kinds that have an object.
        words: What a person wrote.
        across: Whether `placements` without a name means those of all APIs, see `asks_across`.

    Raises:
        UsageError: A kind is unknown or ambiguous, or the words mix `KIND/NAME` with others.
    """
    slashed = ["/" in word for word in words]
    if any(slashed) and not all(slashed):
        raise UsageError("write KIND/NAME for each object, or one KIND and then names of it")
    pairs = [tuple(word.split("/", 1)) for word in words]
    if not any(slashed):
        pairs = [(kind, name) for kind, name in product(words[0].split(","), words[1:] or [""])]
    for word, pair in zip(words, pairs, strict=False):
        if "/" in word and not all(pair):
            raise UsageError(f"{shown(word)} must be KIND/NAME, such as deployment/web")
    every = placing_kinds(present) if across and asks_across(words) else ()
    if len(every) > 1:
        return tuple(AskedKind(words[0], kind) for kind in every)
    kinds = {word: _kinds_meant(known, present, word) for word, _ in pairs}
    for word, name in pairs:
        if name and len(kinds[word]) > 1:
            raise UsageError(f"{shown(word)} is a category; name no object beside it")
    return tuple(
        dict.fromkeys(AskedKind(word, kind, name) for word, name in pairs for kind in kinds[word])
    )


def asks_across(words: Sequence[str]) -> bool:
    """Return whether words ask for the policies and placements of all APIs."""
    return [word.lower() for word in words] == [PLACEMENTS]


def _kinds_meant(known: "KnownKinds", present: "Collection[Kind]", word: str) -> "tuple[Kind, ...]":
    """Return the kind that a word means, or those of a category: all, if none of it is present.

    Raises:
        UsageError: It means none, or one of several.
    """
    there = set(present)
    if not resolve_kind(word, known.short, there | known.scopes.keys(), there):
        category = kinds_in_category(word)
        if category:
            return tuple(kind for kind in category if kind in there) or category
    return (kind_among(known, present, word),)


def kind_among(known: "KnownKinds", present: "Collection[Kind]", word: str) -> "Kind":
    """Return the group and the kind that a word means; one that is known may have no object here.

    Of several without an object it is one of an API of which anything is there, such as clusters;
    of several of these, that of the API which a pass asks first.

    Raises:
        UsageError: It means none, or several.
    """
    there = set(present)
    kinds = resolve_kind(word, known.short, there | known.scopes.keys(), there)
    if not kinds:
        raise unknown_kind(word, there)
    if len(kinds) > 1 and there.issuperset(kinds):
        choices = ", ".join(f"{kind.lower()}.{group}" for group, kind in kinds)
        raise UsageError(f"{shown(word)} is ambiguous; name one of {choices}")
    return min(kinds, key=lambda kind: (kind not in there, _standing(kind, there)))


def _standing(kind: "Kind", present: "set[Kind]") -> tuple[bool, int]:
    """Return how a kind stands among others: those of APIs in use first, in the order of a pass."""
    from reconciler.core.dialects import DIALECTS, dialect_of

    dialect = dialect_of(kind[0])
    if dialect is None:
        return True, len(DIALECTS)
    return not any(one.id in present for one in dialect.kinds), DIALECTS.index(dialect)


def unknown_kind(word: str, present: "set[Kind]") -> UsageError:
    """Return the refusal of a word that names no kind: those near it, or those that there are."""
    names = sorted({kind.lower() for _, kind in present})
    near = difflib.get_close_matches(word.lower(), names, n=3)
    known = ", ".join(near or names) or "nothing at all"
    said = f"did you mean {known}?" if near else f"the repository has {known}"
    return UsageError(f"there is no kind {shown(word)} here; {said}")
