"""Every kind that a word on the command line can name: its names, its version, who writes it."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.audit.kind_words import SHORT
from reconciler.core.dialects import API_KINDS
from reconciler.manifests.paths import plural_of
from reconciler.model.known_kinds import ApiKind, Writer

if TYPE_CHECKING:
    from reconciler.model.known_kinds import Kind
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
    found = []
    for one in API_KINDS:
        versions = schemas.versions_of(*one.id)
        if one.read and versions:
            found.append(_known(one, versions, WRITERS[one.writer]))
    return _sorted(found)


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
    found = _VERSION.fullmatch(api_version.rpartition("/")[2])
    if found is None:
        return (0, 0, 0, api_version)
    major, stage, minor = found.groups()
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
