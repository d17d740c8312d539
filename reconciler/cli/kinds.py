"""Which kinds and names the words on a command line mean.

Each kind has its names, its version, and who writes it. The words of `get` may be
`rb,deploy`, `deploy a b` or `rb/a deploy/b`. A field selector narrows objects down:
`--field-selector metadata.name=shop,metadata.namespace!=dev`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from reconciler.audit.named_object import (
    PLACEMENTS,
    SHORT,
    kinds_in_category,
    placing_kinds,
    resolve_kind,
)
from reconciler.core.dialects import API_KINDS
from reconciler.errors import UsageError
from reconciler.manifests.paths import plural_of
from reconciler.model.kinds import ApiKind, Writer
from reconciler.model.records import dataclass
from reconciler.model.text import shown

if TYPE_CHECKING:
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind, KnownKinds
    from reconciler.model.world import World


WRITERS = {
    Writer.PEOPLE: "people",
    Writer.BOTH: "people, status by passes",
    Writer.OURS: "passes",
}
NOT_READ = "people, not read"
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedKind:
    """One kind.

    Attributes:
        id: Group and kind.
        api_version: The version that is preferred of those that are read, or found.
        short: Short names, sorted.
        namespaced: Its scope.
        writer: Who writes its files.
    """

    id: "Kind"
    api_version: str
    short: tuple[str, ...]
    namespaced: bool
    writer: str

    @property
    def name(self) -> str:
        """The plural in lower case, as kubectl lists it."""
        return plural_of(self.id[1])

    @property
    def full_name(self) -> str:
        """The name that no other kind has."""
        return f"{self.name}.{self.id[0]}" if self.id[0] else self.name

    @property
    def short_names(self) -> str:
        """The short names in one cell."""
        return ",".join(self.short)

    @property
    def word(self) -> str:
        """The shortest word that names it."""
        return next(iter(self.short), self.name)


def read_kinds() -> tuple[NamedKind, ...]:
    """Return the kinds that are read wherever they stand, sorted by group and name."""
    from reconciler.shell.resources import load_schemas

    schemas = load_schemas()
    kinds = []
    for one in API_KINDS:
        versions = schemas.versions_of(*one.id)
        if one.read and versions:
            kinds.append(_known(one, versions, WRITERS[one.writer]))
    return _sorted(kinds)


def present_kinds(world: "World") -> tuple[NamedKind, ...]:
    """Return the kinds of which a world has objects, sorted by group and name."""
    from reconciler.audit.fleet.placed import present_in

    versions: dict[Kind, set[str]] = {}
    namespaced: dict[Kind, bool] = {}
    there = present_in(world)
    for key, manifest in (*world.inputs.items(), *world.outputs.items()):
        if key not in there:
            continue
        versions.setdefault(key[:2], set()).add(str(manifest.body.get("apiVersion", "")))
        namespaced[key[:2]] = bool(key.namespace)
    return named_kinds(versions, namespaced)


def named_kinds(
    versions: "Mapping[Kind, Collection[str]]", namespaced: "Mapping[Kind, bool]"
) -> tuple[NamedKind, ...]:
    """Return kinds of which there are objects, sorted by group and name.

    Args:
        versions: The versions that were found of each.
        namespaced: The scope of each.
    """
    read = {one.id: one for one in read_kinds()}
    api = {one.id: one for one in API_KINDS}
    return _sorted(
        read.get(kind)
        or (
            _known(api[kind], written, NOT_READ)
            if kind in api
            else _workload(kind, written, namespaced=namespaced[kind])
        )
        for kind, written in versions.items()
    )


def merged(*kinds: Iterable[NamedKind]) -> tuple[NamedKind, ...]:
    """Return all kinds of several lists, each once, sorted by group and name."""
    return _sorted({one.id: one for listed in kinds for one in listed}.values())


def preferred(versions: Iterable[str]) -> str:
    """Return the version that kubectl would show: stable before beta before alpha, then the newest.

    Source: apimachinery pkg/version/helpers.go `CompareKubeAwareVersionStrings`.

    >>> preferred(["example.org/v1alpha2", "example.org/v1beta1", "example.org/v1alpha1"])
    'example.org/v1beta1'
    """
    return max(versions, key=_maturity)


def _maturity(api_version: str) -> tuple[int, int, int, str]:
    version = _VERSION.fullmatch(api_version.rpartition("/")[2])
    if version is None:
        return (0, 0, 0, api_version)
    major, stage, minor = version.groups()
    return ({None: 3, "beta": 2, "alpha": 1}[stage], int(major), int(minor or 0), api_version)


def _known(one: ApiKind, versions: Iterable[str], writer: str) -> NamedKind:
    """Return a kind of an API."""
    return NamedKind(
        id=one.id,
        api_version=preferred(versions),
        short=tuple(sorted(one.short)),
        namespaced=one.namespaced,
        writer=writer,
    )


def _workload(kind: "Kind", versions: Iterable[str], *, namespaced: bool) -> NamedKind:
    """Return a kind of Kubernetes, or of anybody else."""
    return NamedKind(
        id=kind,
        api_version=preferred(versions),
        short=tuple(sorted(short for short, word in SHORT.items() if word == kind[1].lower())),
        namespaced=namespaced,
        writer=WRITERS[Writer.PEOPLE],
    )


def _sorted(kinds: Iterable[NamedKind]) -> tuple[NamedKind, ...]:
    return tuple(sorted(kinds, key=lambda one: (one.id[0], one.name)))


@dataclass(frozen=True, slots=True)
class AskedKind:
    """One kind that is asked for, as a person wrote it, and one name of it, `""` for all."""

    word: str
    kind: "Kind"
    name: str = ""


def kinds_present(world: "World") -> "set[Kind]":
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
        raise UsageError("give KIND/NAME for each object, or one KIND followed by names")
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
            raise UsageError(f"{shown(word)} is a category; do not name objects with it")
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
    from difflib import get_close_matches

    names = sorted({kind.lower() for _, kind in present})
    near = get_close_matches(word.lower(), names, n=3)
    expected = ", ".join(near or names) or "nothing at all"
    said = f"did you mean {expected}?" if near else f"the repository has {expected}"
    return UsageError(f"there is no kind {shown(word)} here; {said}")


FIELDS = ("metadata.name", "metadata.namespace")
_TERM = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*(\S*)")


class FieldTerm(NamedTuple):
    """One condition: a field of `FIELDS`, its text, and whether it must be that or must not."""

    field: str
    value: str
    equal: bool

    def holds(self, key: "ObjectKey") -> bool:
        """Return whether an object meets it."""
        present = key.name if self.field == FIELDS[0] else key.namespace
        return (present == self.value) is self.equal


def parse_field_selector(text: str) -> tuple[FieldTerm, ...]:
    """Return the conditions, all of which must hold.

    Every kind has these two fields; those that an API server indexes beside are not known here.

    Source: apimachinery pkg/fields/selector.go `ParseSelector`.

    Raises:
        UsageError: It is none, or about another field.
    """
    from reconciler.model.text import shown

    terms = []
    for part in text.split(","):
        match = _TERM.fullmatch(part.strip())
        if match is None or match[1] not in FIELDS:
            raise UsageError(
                f"--field-selector {shown(text)} must be about {' or '.join(FIELDS)}, "
                "such as metadata.name=shop; -l chooses by labels"
            )
        terms.append(FieldTerm(match[1], match[3], equal=match[2] != "!="))
    return tuple(terms)
