"""Bytes of a file to its documents, by a strict YAML 1.2 core schema; it never raises.

Every rule broken is a fault with its place. One broken document leaves the others of its file
readable; broken syntax ends the file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from yaml.error import YAMLError
from yaml.events import (
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    StreamEndEvent,
)

from reconciler.manifests.text.composer import Composer
from reconciler.manifests.text.events import NextEvent, TooDeep, events_in, pass_document
from reconciler.manifests.text.json_text import compose_json
from reconciler.manifests.text.limits import MAX_DEPTH, MAX_DOCUMENTS
from reconciler.manifests.text.syntax_slips import RENDERED, TEMPLATE, Stop, explain, template_at
from reconciler.manifests.text.texts import BOM, text_of
from reconciler.manifests.text.unreadable import Unreadable
from reconciler.model.world import Fault

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

    index: int


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
    found: Iterator[_Found]
    if path.endswith(".json"):
        found = _read_json(text, path, hidden=hidden)
    else:
        found = _read_yaml(data.removeprefix(BOM), path, hidden=hidden)
    documents: list[Document] = []
    faults: list[Located] = []
    passed = 0
    for one in found:
        match one:
            case Document():
                documents.append(one)
            case Located():
                faults.append(_of_template(one, data))
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
        yield Passed(0)


def _read_yaml(data: bytes, path: str, *, hidden: bool) -> Iterator[_Found]:
    next_event = events_in(data)
    index = -1
    try:
        while type(event := next_event()) is not StreamEndEvent:
            if type(event) is not DocumentStartEvent:
                continue
            index += 1
            if index == MAX_DOCUMENTS:
                yield _located(_too_many(event), path, index)
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
            yield _located(_too_deep(root), path, index)
            raise
        if not (type(root) is ScalarEvent and root.value == "" and root.implicit[0]):
            yield Passed(index)
        return
    composer = Composer(next_event)
    body: dict[str, object] | None = None
    try:
        body = composer.compose(root)
    except Unreadable as error:
        composer.reports.append(error)
    except YAMLError:
        yield from (_located(one, path, index, hidden=hidden) for one in composer.reports)
        raise
    if body is not None and not composer.reports:
        yield Document(index, root.start_mark.line + 1, body, tuple(composer.aliases))
        return
    foreign = body is not None and "apiVersion" not in body and "kind" not in body
    for one in composer.reports:
        yield _located(one, path, index, foreign=foreign, hidden=hidden)
    if body is None:
        pass_document(next_event)


def _too_many(event: Any) -> Unreadable:
    return Unreadable(
        "yaml-documents",
        f"A file must have at most {MAX_DOCUMENTS} documents.",
        "Split it.",
        line=event.start_mark.line + 1,
        column=event.start_mark.column + 1,
    )


def _too_deep(event: Any) -> Unreadable:
    return _at_depth(event.start_mark)


def _at_depth(mark: Any) -> Unreadable:
    return Unreadable(
        "yaml-depth",
        f"A document must be at most {MAX_DEPTH} levels deep.",
        "Flatten it.",
        line=mark.line + 1,
        column=mark.column + 1,
    )


def _syntax(error: Any, data: bytes) -> Unreadable:
    """Return why it is no YAML; the words never contain text of the file."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or "the characters cannot be read"
    context, began = getattr(error, "context", None), getattr(error, "context_mark", None)
    said = f"{problem}{f' {context}' if context else ''}"
    if mark is None:
        return Unreadable("yaml-syntax", f"A manifest must be YAML: {said}.", line=1, column=1)
    if OWN_DEPTH in problem:
        return _at_depth(mark)
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
