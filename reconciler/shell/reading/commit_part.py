"""The part of a commit that a question is about: which files it takes, told by their short forms.

A world of a part has, of what was asked for, what the whole world has. Files that have a say beyond
their own objects are always read: those with a fault or unknown, definitions of kinds, what
suspends others, what changed since the last pass, and the records of passes.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.stored import DocumentHead, FileHead, is_misplaced, key_in
from reconciler.manifests.identity import CRD, DEFAULT_NAMESPACE
from reconciler.manifests.paths import is_feedback
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION

CONTROLS = frozenset({CRD, CONFIGURATION, *KINDS.owned})
"""Kinds of which a file of people says what others mean, or may not stand where it does."""

Heads = Mapping[str, FileHead | None]
"""What files hold by their paths, `None` of those that have to be read."""

Names = Mapping[Kind, Collection[str] | None]
"""Which objects are asked for: names by kind, `None` for all of a kind."""


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Chooses files by their paths."""

    paths: frozenset[str] = frozenset()

    def __call__(self, path: str) -> bool:
        """Return whether a file is chosen."""
        return path in self.paths


@dataclass(frozen=True, slots=True)
class CommitPart:
    """The files to read of a commit; `unread` returns the keys of all other inputs, by scopes."""

    inputs: NamedFiles
    outputs: NamedFiles
    unread: Callable[[Mapping[Kind, bool]], frozenset[ObjectKey]] = lambda _: frozenset()


@dataclass(frozen=True)
class CommitHeads:
    """What the files of a commit hold, in short.

    Attributes:
        inputs: The files of people.
        outputs: The files below the output root.
        always: Paths that are read for every question.
    """

    inputs: Heads
    outputs: Heads
    always: frozenset[str]

    @cached_property
    def documents(self) -> Mapping[Kind, list[tuple[str, DocumentHead]]]:
        """The documents of the known files by kind, each with its path."""
        by_kind: dict[Kind, list[tuple[str, DocumentHead]]] = defaultdict(list)
        for heads in (self.inputs, self.outputs):
            for path, head in heads.items():
                if head is not None:
                    for document in head.documents:
                        by_kind[document[:2]].append((path, document))
        return by_kind

    def kinds(self) -> frozenset[Kind] | None:
        """Return the kinds that surely have an object, `None` if one may have none.

        What is written more than once is none; where there are more keys than half the documents,
        one of them is there once. Where the scope of a kind is not known, names count for keys.
        """
        for kind, listed in self.documents.items():
            names: set[object] = {one.name for _, one in listed}
            if 2 * len(names) <= len(listed) and KINDS.scopes.get(kind):
                names = {(one.namespace or DEFAULT_NAMESPACE, one.name) for _, one in listed}
            if 2 * len(names) <= len(listed):
                return None
        return frozenset(self.documents)

    def names(self, kind: Kind, chosen: Callable[[DocumentHead], bool]) -> frozenset[str]:
        """Return the names of the documents of a kind that are chosen."""
        return frozenset(one.name for _, one in self.documents.get(kind, ()) if chosen(one))

    def part(self, asked: Names) -> CommitPart:
        """Return what has to be read for some objects."""
        paths = {path for kind, names in asked.items() for path in self._paths(kind, names)}
        paths |= self.always
        controls = {path for kind in CONTROLS for path in self._paths(kind, None)}
        inputs = frozenset(
            path
            for path, head in self.inputs.items()
            if head is None
            or path in paths
            or path in controls
            or head.ignored
            or any(document.suspends for document in head.documents)
            or (is_feedback(path) and is_misplaced(path, head, KINDS))
        )
        outputs = frozenset(
            path for path, head in self.outputs.items() if head is None or path in paths
        )

        def unread(scopes: Mapping[Kind, bool]) -> frozenset[ObjectKey]:
            return frozenset(
                key_in(path, document, scopes)
                for path, head in self.inputs.items()
                if head is not None and path not in inputs
                for document in head.documents
            )

        return CommitPart(NamedFiles(inputs), NamedFiles(outputs), unread)

    def _paths(self, kind: Kind, names: Collection[str] | None) -> Iterator[str]:
        """Yield the files that hold documents of a kind, of some names."""
        for path, document in self.documents.get(kind, ()):
            if names is None or document.name in names:
                yield path
