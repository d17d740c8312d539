"""Text to documents: strict YAML 1.2, built from the events of libyaml by a constructor of ours.

What other readers accept in silence is refused here with a sentence: duplicate keys, tags, merge
keys, scalars on which YAML versions differ, aliases that grow without bound. A document that is
refused does not keep the others of its file from being read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from _ruamel_yaml import CParser
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
)
from ruamel.yaml.reader import ReaderError

from reconciler.manifests.names import shown
from reconciler.manifests.scalars import Ambiguous, resolve
from reconciler.model.world import Fault

LIMIT_BYTES = 1 << 20  # an API server takes at most 1.5 MiB for an object, etcd as much
LIMIT_DEPTH = 64  # no Kubernetes object is nested this deep
LIMIT_NODES = 200_000  # what the aliases of one document may expand to
LIMIT_DOCUMENTS = 1000  # in one file
LONGEST_INTERNED = 64

_CONFLICT = re.compile(rb"^(<{7}|>{7}|\|{7}) ", re.MULTILINE)
_LFS = b"version https://git-lfs.github.com/spec/"

Place = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose root is a mapping.

    `index` counts all documents of the file from 0, also those that are no mappings; `line` is that
    of its first content, from 1. `aliased_at` is the place of its first alias, `None` without one.
    """

    index: int
    line: int
    body: dict[str, object]
    aliased_at: Place | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: the documents that can be read, and why the others cannot."""

    documents: tuple[Document, ...]
    faults: tuple[Fault, ...]


def read(data: bytes, path: str) -> Reading:
    """Read all documents of a file. Raises nothing, whatever the bytes.

    Args:
        data: UTF-8, with or without a byte order mark; JSON is YAML.
        path: For the faults.
    """
    unfit = _unfit(data, path)
    if unfit is not None:
        return Reading((), (unfit,))
    documents: list[Document] = []
    faults: list[Fault] = []
    try:
        for builder, index, root in _documents(data, path):
            faults.extend(builder.faults)
            if not builder.faults and isinstance(root, dict):
                documents.append(Document(index, builder.line, root, builder.aliased_at))
    except _Refused as refused:
        faults.append(refused.fault)
    except YAMLError as error:
        faults.append(_syntax(error, data, path))
    return Reading(tuple(documents), tuple(faults))


def locate(data: bytes, index: int, pointer: str) -> Place:
    """Return the place of the key or item that a JSON pointer names in a document.

    What is absent has the place of its nearest parent.
    """
    places: dict[str, Place] = {}
    try:
        for builder, number, _ in _documents(data, "", places_of=index):
            if number == index:
                places = builder.places or {}
                break
    except (_Refused, YAMLError):
        pass
    while pointer and pointer not in places:
        pointer = pointer.rpartition("/")[0]
    return places.get(pointer, (1, 1))


def cut(data: bytes, index: int) -> bytes:
    """Return a file without one of its documents, every other byte as it was.

    A document begins at its `---` and ends before the next one; what stands before the first
    document goes with it. Nothing at all is left where no other document has content.
    """
    starts: list[int] = []
    others = False
    for builder, number, root in _documents(data, ""):
        starts.append(builder.first_line)
        others = others or (number != index and root is not None)
    if not others:
        return b""
    lines = data.splitlines(keepends=True)
    begin = starts[index] if index else 0
    end = starts[index + 1] if index + 1 < len(starts) else len(lines)
    return b"".join(lines[:begin] + lines[end:])


class _Refused(Exception):
    """The rest of the file is not read."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def _unfit(data: bytes, path: str) -> Fault | None:
    """Say why a file is not even text for us, `None` if it is."""
    if len(data) > LIMIT_BYTES:
        return _fault(
            path,
            (0, 0),
            "yaml-size",
            f"the file has {len(data)} bytes, it must have at most {LIMIT_BYTES}",
            "several smaller files",
        )
    if data.startswith(_LFS):
        return _fault(
            path,
            (1, 1),
            "yaml-lfs-pointer",
            "the file is a Git LFS pointer, manifests must be in the repository themselves",
            "the manifest itself (git lfs untrack)",
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _fault(
            path, (1, 1), "yaml-encoding", "the file must be UTF-8, it is UTF-16", "UTF-8"
        )
    conflict = _CONFLICT.search(data)
    if conflict is not None:
        line = data.count(b"\n", 0, conflict.start()) + 1
        return _fault(
            path,
            (line, 1),
            "yaml-conflict-marker",
            "a merge conflict must be resolved here",
            "one of the two versions, without the markers",
        )
    return None


def _documents(
    data: bytes, path: str, *, places_of: int = -1
) -> Iterator[tuple["_Builder", int, object]]:
    """Yield each document's builder, index and root; positions are kept for one of them."""
    parser = CParser(data)
    memo: dict[str, object] = {}
    plain_keys: set[str] = set()
    index = 0
    while (event := parser.get_event()) is not None:
        if not isinstance(event, DocumentStartEvent):
            continue
        if index >= LIMIT_DOCUMENTS:
            raise _Refused(
                _fault(
                    path,
                    _place(event),
                    "yaml-documents",
                    f"the file must have at most {LIMIT_DOCUMENTS} documents",
                    "several smaller files",
                )
            )
        builder = _Builder(parser, path, event, memo, plain_keys, with_places=index == places_of)
        yield builder, index, builder.build()
        index += 1


class _Builder:
    """Builds one document from events; collects what is wrong with it."""

    def __init__(
        self,
        parser: CParser,
        path: str,
        start: Event,
        memo: dict[str, object],
        plain_keys: set[str],
        *,
        with_places: bool,
    ) -> None:
        self.parser = parser
        self.path = path
        self.first_line: int = start.start_mark.line
        self.line = self.first_line + 1
        self.faults: list[Fault] = []
        self.aliased_at: Place | None = None
        self.places: dict[str, Place] | None = {} if with_places else None
        self._memo = memo
        self._anchors: dict[str, tuple[object, int]] = {}
        self._nodes = 0
        self._plain_keys = plain_keys

    def build(self) -> object:
        """Return the root."""
        event = self.parser.get_event()
        self.line = event.start_mark.line + 1
        if self.places is not None:
            self.places[""] = _place(event)
        return self._node(event, 0, "")

    def _node(self, event: Any, depth: int, pointer: str) -> object:
        """Build a node; what is wrong with it is noted and stands as `None`."""
        kind = type(event)
        if kind is ScalarEvent and event.anchor is None and event.tag is None:
            self._nodes += 1
            return self._scalar(event)
        if kind is AliasEvent:
            return self._alias(event)
        self._nodes += 1
        if event.tag is not None:
            self._complain(
                event, "yaml-tag", f"the tag {shown(event.tag)} must be removed", "the value alone"
            )
        before = self._nodes
        if kind is ScalarEvent:
            value: object = self._scalar(event)
        else:
            if depth >= LIMIT_DEPTH:
                raise _Refused(
                    _fault(
                        self.path,
                        _place(event),
                        "yaml-depth",
                        f"values must be nested at most {LIMIT_DEPTH} deep",
                        "a flatter document",
                    )
                )
            anchor = event.anchor
            if anchor is not None:
                self._anchors[anchor] = (None, -1)
            inside = self._mapping if kind is MappingStartEvent else self._sequence
            value = inside(depth + 1, pointer)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._nodes - before + 1)
        return value

    def _scalar(self, event: ScalarEvent) -> object:
        """Resolve a scalar; quoted ones and blocks are text."""
        text: str = event.value
        if event.style:
            return self._text(text)
        value = self._memo.get(text, self)
        if value is self:
            value = resolve(text)
            if len(text) <= LONGEST_INTERNED:
                self._memo[text] = value
        if isinstance(value, Ambiguous):
            self._complain(event, value.rule, value.message, value.expected)
            return None
        return value

    def _text(self, text: str) -> str:
        """Return a text, the same object for the same short text."""
        if len(text) > LONGEST_INTERNED:
            return text
        known = self._memo.setdefault(f'"{text}', text)
        return known if isinstance(known, str) else text

    def _mapping(self, depth: int, pointer: str) -> dict[str, object]:
        """Build a mapping; its keys are texts and unique."""
        result: dict[str, object] = {}
        next_event = self.parser.get_event
        while type(event := next_event()) is not MappingEndEvent:
            key = self._key(event, depth)
            here = ""
            if self.places is not None:
                here = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
                self.places.setdefault(here, _place(event))
            if key in result:
                self._complain(
                    event,
                    "yaml-duplicate-key",
                    f"the key {shown(key)} must stand once",
                    "one of the two",
                )
            result[key] = self._node(next_event(), depth, here)
        return result

    def _key(self, event: NodeEvent, depth: int) -> str:
        """Build a key."""
        if type(event) is ScalarEvent and (event.style or event.value in self._plain_keys):
            self._nodes += 1
            return self._text(event.value)
        if not isinstance(event, ScalarEvent):
            self._node(event, depth, "")
            self._complain(event, "yaml-key", "a key must be a text", "a plain word")
            return ""
        if event.value == "<<" and not event.style:
            self._complain(
                event,
                "yaml-merge-key",
                "the merge key << must be replaced by what it merges",
                "the merged fields, written out",
            )
            return "<<"
        value = self._node(event, depth, "")
        if isinstance(value, str):
            self._plain_keys.add(value)
        else:
            if not self.faults:
                self._complain(
                    event,
                    "yaml-key",
                    f"the key {event.value or 'null'} must be a text",
                    f'"{event.value}" in quotes',
                )
            return str(event.value)
        return value

    def _sequence(self, depth: int, pointer: str) -> list[object]:
        """Build a list."""
        result: list[object] = []
        next_event = self.parser.get_event
        while type(event := next_event()) is not SequenceEndEvent:
            here = ""
            if self.places is not None:
                here = f"{pointer}/{len(result)}"
                self.places[here] = _place(event)
            result.append(self._node(event, depth, here))
        return result

    def _alias(self, event: AliasEvent) -> object:
        """Return what an alias stands for; the document must not grow without bound."""
        if self.aliased_at is None:
            self.aliased_at = _place(event)
        value, size = self._anchors.get(event.anchor, (None, 0))
        if size < 0:
            self._complain(
                event, "yaml-alias-cycle", f"the alias *{event.anchor} must not contain itself", ""
            )
        if size == 0:
            self._complain(
                event,
                "yaml-alias-unknown",
                f"the alias *{event.anchor} must follow its anchor",
                f"&{event.anchor} on an earlier value",
            )
        self._nodes += max(size, 1)
        if self._nodes > LIMIT_NODES:
            raise _Refused(
                _fault(
                    self.path,
                    _place(event),
                    "yaml-alias-limit",
                    f"aliases must not expand to more than {LIMIT_NODES} values",
                    "fewer aliases",
                )
            )
        return value

    def _complain(self, event: Event, rule: str, message: str, expected: str) -> None:
        """Note what is wrong."""
        self.faults.append(_fault(self.path, _place(event), rule, message, expected))


def _place(event: Event) -> Place:
    """Return where an event begins."""
    return event.start_mark.line + 1, event.start_mark.column + 1


def _syntax(error: YAMLError, data: bytes, path: str) -> Fault:
    """Turn libyaml's complaint into a fault; the rest of the file is not read."""
    if isinstance(error, ReaderError):
        line = data.count(b"\n", 0, error.position) + 1
        column = error.position - (data.rfind(b"\n", 0, error.position) + 1) + 1
        problem = f"{error.reason} (byte {error.position})"
        return _fault(
            path, (line, column), "yaml-encoding", f"the file must be text: {problem}", "UTF-8"
        )
    place, problem = (1, 1), str(error)
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        if mark is not None:
            place = (mark.line + 1, mark.column + 1)
        problem = ", ".join(str(part) for part in (error.problem, error.context) if part)
    return _fault(
        path, place, "yaml-syntax", f"the YAML cannot be read: {problem}", "valid YAML 1.2"
    )


def _fault(path: str, place: Place, rule: str, message: str, expected: str) -> Fault:
    """Return a fault of a whole document."""
    return Fault(path, place[0], place[1], "", rule, message, expected)
