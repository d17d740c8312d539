"""Bytes of a file to its documents, by a strict YAML 1.2 core schema; it never raises.

Events of libyaml are composed into the body of each document. Every rule broken is a fault with its
place. One broken document leaves the others of its file readable; broken syntax ends the file.

Kubernetes reads manifests by rules close to YAML 1.1. A plain scalar that is one thing there and
another thing here is refused, so no file has two meanings.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from yaml.cyaml import CBaseLoader  # not of yaml, which hides why a library was not loaded
from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reconciler.manifests.text.json_text import compose_json
from reconciler.manifests.text.raw import (
    BOM,
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_NODES,
    MAX_REPORTS,
    SKIM_DEPTH,
    Unreadable,
    finite,
    not_finite,
    quoted,
    sized_integer,
    text_of,
    too_deep,
)
from reconciler.manifests.text.syntax_slips import RENDERED, TEMPLATE, Stop, explain, template_at
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Fault

NextEvent = Callable[[], Any]


class TooDeep(Exception):  # it ends the file, and never leaves this package
    """The rest of the file is nested so deeply that passing over it would take long."""


def events_in(data: bytes) -> NextEvent:
    """Return what gives the next event of a stream in UTF-8, by libyaml: the parser alone is used.

    Raises:
        YAMLError: What is returned, where the stream is no YAML.
    """
    next_event: NextEvent = CBaseLoader(data).get_event
    return next_event


def events_of(text: str) -> NextEvent:
    """Return what gives the next event of a text, where JSON may be indented with tabs."""
    if text.lstrip()[:1] in ("{", "["):
        text = text.replace("\t", " ")
    return events_in(text.encode("utf-8"))


def pass_node(next_event: NextEvent, event: Any) -> None:
    """Read on to the end of the node that starts with the event."""
    depth = _step(event, 0)
    while depth > 0:
        depth = _step(next_event(), depth)


def pass_document(next_event: NextEvent, event: Any = None) -> Any:
    """Read on to the end of the document, and return its last event."""
    depth = 0
    event = event or next_event()
    while type(event) is not DocumentEndEvent:
        depth = _step(event, depth)
        event = next_event()
    return event


def _step(event: Any, depth: int) -> int:
    """Return the depth behind the event; inside of a node that was open before, it is below 0."""
    kind = type(event)
    if kind is MappingStartEvent or kind is SequenceStartEvent:
        if depth == SKIM_DEPTH:
            raise TooDeep
        return depth + 1
    if kind is MappingEndEvent or kind is SequenceEndEvent:
        return depth - 1
    return depth


AMBIGUOUS = ("A value must not be ambiguous", "Put it in quotes if it is text.")
QUOTING = {
    "yaml-ambiguous-scalar": AMBIGUOUS,
    "yaml-number": AMBIGUOUS,
    "yaml-non-finite": AMBIGUOUS,
    "yaml-alias": ("An alias must follow its anchor", 'Put text that starts with "*" in quotes.'),
    "yaml-tag": ("A value must have no tag", "Remove the tag; put text in quotes."),
}
"""Rules whose messages quote the file, and what is said of a file that has a Secret instead.

A password that begins with `*` or `!` and is not in quotes reads as the name of an alias or a tag.
"""
OWN_DEPTH = "maximum nesting depth"  # libyaml gives up at 1,000 levels by itself


@dataclass(frozen=True, slots=True)
class Document:
    """One document whose root is a mapping, or one item of a List.

    Attributes:
        index: Its place among all documents of the file, empty ones counted, from 0.
        line: Where its mapping begins, from 1.
        body: Its content; shared parts where the file has aliases, so never to be changed.
        aliases: Line and column of each alias, in file order.
        column: Where its mapping begins, from 1.
        pointer: JSON pointer from the root of the document, `""` unless it is an item of a List.
    """

    index: int
    line: int
    body: Mapping[str, object]
    aliases: tuple[tuple[int, int], ...] = ()
    column: int = 1
    pointer: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Located:
    """A fault and the index of its document, 0 if it is the whole file's.

    `foreign` is true if the document could be read to its end and has neither `apiVersion` nor
    `kind`: then it is another program's YAML and no business of ours.
    """

    fault: Fault
    index: int = 0
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """A document whose root is a text, a number or a list; no manifest, and read no further."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds, and what is wrong with it; both in file order.

    `passed` counts the documents with another root than a mapping, empty ones left out.
    """

    documents: tuple[Document, ...] = ()
    faults: tuple[Located, ...] = ()
    passed: int = 0


def read(data: bytes, path: str) -> Reading:
    """Read every document of a file.

    Args:
        data: The file as Git has it.
        path: Root-relative; for the faults, and to know JSON by its `.json`.

    Returns:
        The documents whose root is a mapping and that break no rule, and the faults of the
        others.
    """
    try:
        text = text_of(data)
    except Unreadable as error:
        return Reading(faults=(_located(error, path, 0),))
    hidden = "Secret" in text
    contents: Iterator[_Found]
    if path.endswith(".json"):
        contents = _read_json(text, path, hidden=hidden)
    else:
        contents = _read_yaml(data.removeprefix(BOM), path, hidden=hidden)
    documents: list[Document] = []
    faults: list[Located] = []
    passed = 0
    for content in contents:
        match content:
            case Document():
                documents.append(content)
            case Located():
                faults.append(_of_template(content, data))
            case Passed():
                passed += 1
    return Reading(tuple(documents), tuple(faults), passed)


_Found = Document | Located | Passed


def _read_json(text: str, path: str, *, hidden: bool) -> Iterator[_Found]:
    try:
        body = compose_json(text)
    except Unreadable as error:
        yield _located(error, path, 0, hidden=hidden)
        return
    if isinstance(body, dict):
        yield Document(0, text[: text.index("{")].count("\n") + 1, body)
    elif body is not None:
        yield Passed()


def _read_yaml(data: bytes, path: str, *, hidden: bool) -> Iterator[_Found]:
    next_event = events_in(data)
    index = -1
    try:
        while type(event := next_event()) is not StreamEndEvent:
            if type(event) is not DocumentStartEvent:
                continue
            index += 1
            if index == MAX_DOCUMENTS:
                many = f"A file must have at most {MAX_DOCUMENTS} documents."
                yield _located(_placed(event, "yaml-documents", many, "Split it."), path, index)
                return
            yield from _read_document(next_event, index, path, hidden=hidden)
    except YAMLError as error:
        yield _located(_syntax(error, data), path, max(index, 0))
    except TooDeep:
        return


def _read_document(
    next_event: NextEvent, index: int, path: str, *, hidden: bool
) -> Iterator[_Found]:
    root = next_event()
    if type(root) is not MappingStartEvent:
        try:
            pass_document(next_event, root)
        except TooDeep:
            yield _located(_too_deep(root.start_mark), path, index)
            raise
        if not (type(root) is ScalarEvent and root.value == "" and root.implicit[0]):
            yield Passed()
        return
    composer = Composer(next_event)
    body: dict[str, object] | None = None
    try:
        body = composer.compose(root)
    except Unreadable as error:
        composer.reports.append(error)
    except YAMLError:
        yield from (_located(report, path, index, hidden=hidden) for report in composer.reports)
        raise
    if body is not None and not composer.reports:
        yield Document(index, root.start_mark.line + 1, body, tuple(composer.aliases))
        return
    foreign = body is not None and "apiVersion" not in body and "kind" not in body
    for one in composer.reports:
        yield _located(one, path, index, foreign=foreign, hidden=hidden)
    if body is None:
        pass_document(next_event)


def _too_deep(mark: Any) -> Unreadable:
    return too_deep(mark.line + 1, mark.column + 1)


def _syntax(error: Any, data: bytes) -> Unreadable:
    """Return why it is no YAML; the words never contain text of the file."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or "the characters cannot be read"
    context, began = getattr(error, "context", None), getattr(error, "context_mark", None)
    said = f"{problem}{f' {context}' if context else ''}"
    if mark is None:
        return Unreadable("yaml-syntax", f"A manifest must be YAML: {said}.", line=1, column=1)
    if OWN_DEPTH in problem:
        return _too_deep(mark)
    stop = Stop(said, mark.line, mark.column, None if began is None else began.line)
    slip = explain(_lines(data), stop)
    message = f"A manifest must be YAML: {slip.problem}."
    return Unreadable("yaml-syntax", message, slip.expected, line=slip.line, column=slip.column)


def _of_template(found: Located, data: bytes) -> Located:
    """Return a fault in other words, if its place has a template instead of a value."""
    fault = found.fault
    if fault.rule != "yaml-key" or not template_at(_lines(data), fault.line):
        return found
    message = f"A key must be text: {TEMPLATE}."
    return replace(found, fault=replace(fault, message=message, expected=RENDERED))


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


def _located(
    error: Unreadable, path: str, index: int, *, foreign: bool = False, hidden: bool = False
) -> Located:
    message, expected = error.message, error.expected
    if hidden and error.rule in QUOTING:
        said, expected = QUOTING[error.rule]
        message = f"{said}; it is hidden, for the file has a Secret."
    fault = Fault(path, error.line, error.column, "", error.rule, message, expected)
    return Located(fault, index, foreign)


SHORT = 64  # characters: the meaning of text up to here is remembered, and the text shared
OPEN = (None, -1)  # what an anchor stands for while its node is being read


class Composer:
    """Builds the body of one document; what could be read on is in `reports`.

    Attributes:
        reports: Rules broken without losing track, in file order, at most 20.
        aliases: Line and column of each alias, from 1, in file order.
    """

    __slots__ = ("_anchors", "_next", "_nodes", "aliases", "reports")

    def __init__(self, next_event: NextEvent) -> None:
        self._next = next_event
        self._nodes = 0
        self._anchors: dict[str, tuple[object, int]] = {}
        self.aliases: list[tuple[int, int]] = []
        self.reports: list[Unreadable] = []

    def compose(self, root: Any) -> dict[str, object]:
        """Return the body that starts with the given event of a mapping.

        Raises:
            Unreadable: The rest of the document cannot be read.
            YAMLError: The rest of the file cannot be read.
        """
        body = self._collection(root, 0)
        return body if isinstance(body, dict) else {}

    def _node(self, event: Any, depth: int) -> object:
        kind = type(event)
        if kind is ScalarEvent:
            return self._scalar(event)
        if kind is AliasEvent:
            return self._alias(event)
        return self._collection(event, depth)

    def _collection(self, event: Any, depth: int) -> dict[str, object] | list[object]:
        if event.tag is not None:
            self._report_tag(event)
        if depth >= MAX_DEPTH:
            raise _too_deep(event.start_mark)
        anchor, before = event.anchor, self._nodes
        if anchor is not None:
            self._anchors[anchor] = OPEN
        is_mapping = type(event) is MappingStartEvent
        value = self._mapping(depth + 1) if is_mapping else self._sequence(depth + 1)
        self._count(event, len(value))
        if anchor is not None:
            self._anchors[anchor] = (value, self._nodes - before)
        return value

    def _mapping(self, depth: int) -> dict[str, object]:
        body: dict[str, object] = {}
        read, scalar = self._next, self._scalar
        while type(event := read()) is not MappingEndEvent:
            key: str | None = None
            if type(event) is ScalarEvent and event.value != "<<":
                plain = scalar(event)
                key = plain if type(plain) is str else self._refuse(event)
            else:
                key = self._odd_key(event, depth)
            following = read()
            if type(following) is ScalarEvent:
                value = scalar(following)
            else:
                value = self._node(following, depth)
            if key is None:
                continue
            if key in body:
                self._report(
                    event,
                    "yaml-duplicate-key",
                    f"A key must be given once in its mapping, {quoted(key)} is given again.",
                    "Remove or rename one of the two.",
                )
            else:
                body[key] = value
        return body

    def _sequence(self, depth: int) -> list[object]:
        items: list[object] = []
        while type(event := self._next()) is not SequenceEndEvent:
            items.append(self._node(event, depth))
        return items

    def _odd_key(self, event: Any, depth: int) -> str | None:
        """Return the key that is "<<", an alias or a collection; `None` if it is refused."""
        if type(event) is ScalarEvent and event.implicit[0]:
            self._report(
                event,
                "yaml-merge-key",
                'A mapping must name its own fields, the merge key "<<" is not read.',
                "Write the merged fields out.",
            )
            return None
        key = self._node(event, depth)
        return key if isinstance(key, str) else self._refuse(event)

    def _refuse(self, event: Any) -> str | None:
        """Report a key that is no text, and return that it is left out."""
        shown = quoted(event.value) if type(event) is ScalarEvent else ""
        self._report(
            event,
            "yaml-key",
            f"A key must be text, {shown or 'this one'} is not.",
            f"Put it in quotes: {shown}." if shown else "Use a word as the key.",
        )
        return None

    def _scalar(self, event: Any) -> object:
        text: str = event.value
        if event.tag is None and event.anchor is None and len(text) <= SHORT:
            if not event.implicit[0]:
                return text
            try:
                return plain_scalar(text)
            except Unreadable as error:
                self._report(event, error.rule, error.message, error.expected)
                return text
        return self._rare_scalar(event, text)

    def _rare_scalar(self, event: Any, text: str) -> object:
        """Return the meaning of a scalar that is long, anchored or tagged."""
        value: object = text
        weight = len(text) // SHORT
        self._count(event, weight)
        if event.tag is not None:
            self._report_tag(event)
        elif event.implicit[0]:
            try:
                value = plain_scalar.__wrapped__(text)
            except Unreadable as error:
                self._report(event, error.rule, error.message, error.expected)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, weight)
        return value

    def _alias(self, event: Any) -> object:
        self.aliases.append((event.start_mark.line + 1, event.start_mark.column + 1))
        name = quoted(event.anchor)
        if event.anchor not in self._anchors:
            raise _placed(
                event,
                "yaml-alias",
                f"An alias must follow its anchor, {name} has none before it.",
                'Put text that starts with "*" in quotes.',
            )
        value, size = self._anchors[event.anchor]
        if size < 0:
            raise _placed(
                event,
                "yaml-alias",
                f"An alias must not stand inside of its own anchor, {name} does.",
                "Write the value out.",
            )
        self._count(event, size, rule="yaml-alias-limit")
        return value

    def _count(self, event: Any, nodes: int, *, rule: str = "yaml-node-limit") -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _placed(
                event,
                rule,
                f"A document must have at most {MAX_NODES} nodes with its aliases written out.",
                "Split it.",
            )

    def _report_tag(self, event: Any) -> None:
        self._report(
            event,
            "yaml-tag",
            f"A value must have no tag, found {quoted(event.tag)}.",
            "Remove the tag; put text in quotes.",
        )

    def _report(self, event: Any, rule: str, message: str, expected: str) -> None:
        if len(self.reports) < MAX_REPORTS:
            self.reports.append(_placed(event, rule, message, expected))


def _placed(event: Any, rule: str, message: str, expected: str) -> Unreadable:
    mark = event.start_mark
    return Unreadable(rule, message, expected, line=mark.line + 1, column=mark.column + 1)


Scalar = str | int | float | bool | None

WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
BOOLEANS_1_1 = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), "true"),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), "false"),
}
INTEGER = re.compile(r"[-+]?[0-9]+")
BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
BINARY = re.compile(r"[-+]?0b[01_]+")
SIGNED_HEXADECIMAL = re.compile(r"[-+]0x[0-9a-fA-F_]+")
SEXAGESIMAL = re.compile(
    r"[-+]?(?:[1-9][0-9_]*(?::[0-5]?[0-9])+|[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)"
)
UNDERSCORED = re.compile(
    r"[-+]?(?:0x[0-9a-fA-F_]+|0[0-7_]+|[0-9][0-9_]*|(?:[0-9][0-9_]*)?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?)"
)


@lru_cache(maxsize=1 << 14)
def plain_scalar(text: str) -> Scalar:
    """Return what a plain scalar means.

    Dates are text, as everywhere in Kubernetes. Integers with a leading zero are octal, as
    Kubernetes reads them.

    Raises:
        Unreadable: YAML 1.1 and 1.2 read the scalar differently, or it is no finite number. The
            position is left to the caller.

    Source: YAML 1.2.2 section 10.3.2, and YAML 1.1 types bool, int and float.

    >>> plain_scalar("0755"), plain_scalar("2026-01-02"), plain_scalar("~")
    (493, '2026-01-02', None)
    """
    if text in WORDS:
        return WORDS[text]
    if text in BOOLEANS_1_1:
        raise _ambiguous(text, BOOLEANS_1_1[text], "boolean")
    if text[0] not in "0123456789+-.":
        return text
    if INTEGER.fullmatch(text):
        return _integer(text)
    if BASED.fullmatch(text):
        return sized_integer(text, 0)
    if FLOAT.fullmatch(text):
        return finite(text)
    if NOT_FINITE.fullmatch(text):
        raise not_finite(text)
    return _text(text)


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) == 1 or digits[0] != "0":
        return sized_integer(text)
    if "8" in digits or "9" in digits:
        raise _ambiguous(text, digits.lstrip("0"), "number")
    return sized_integer(text, 8)


def _text(text: str) -> str:
    """Return the scalar as text, unless YAML 1.1 sees a number in it."""
    if BINARY.fullmatch(text):
        raise _ambiguous(text, "", "number")
    if SIGNED_HEXADECIMAL.fullmatch(text) or ("_" in text and UNDERSCORED.fullmatch(text)):
        raise _ambiguous(text, text.replace("_", "") if text[1:2] != "0" else "", "number")
    if ":" in text and SEXAGESIMAL.fullmatch(text):
        raise _ambiguous(text, "", "number")
    return text


def _ambiguous(text: str, other: str, type_name: str) -> Unreadable:
    spelled = other or "its decimal digits"
    return Unreadable(
        "yaml-ambiguous-scalar",
        f"{quoted(text)} must be in quotes or spelled as a {type_name}: YAML 1.1 and 1.2 read it"
        " differently.",
        f"Write {quoted(text)} in quotes for the text, or {spelled} for the {type_name}.",
    )
