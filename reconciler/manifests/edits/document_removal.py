"""A file without one of its documents; the only edit of what people wrote."""

from dataclasses import dataclass

from yaml.error import YAMLError
from yaml.events import DocumentStartEvent, ScalarEvent, StreamEndEvent

from reconciler.manifests.text.events import TooDeep, events_of, pass_document
from reconciler.manifests.text.texts import BOM, text_of
from reconciler.manifests.text.unreadable import Unreadable


@dataclass(slots=True)
class Span:
    """Where one document stands in the text.

    `start` is its separator or first directive, or the head of the file. `directed` says that it
    has directives, so it may only stand behind a `...` line or at the head. `dots` is where its
    own `...` is, -1 without one.
    """

    start: int
    directed: bool
    empty: bool = False
    dots: int = -1


def cut(data: bytes, index: int) -> bytes:
    """Return the file without one document, every other byte kept.

    The document goes with its separator and the comments up to the next separator; comments
    above the first separator of the file stay.

    Args:
        data: The file as Git has it.
        index: The document's place in it, as `Document.index` has it.

    Returns:
        The rest, or `b""` if no other document has any content: then the file may go.

    Raises:
        ValueError: The file has no such document, or its end cannot be told.
    """
    try:
        text = text_of(data)
    except Unreadable as error:
        raise ValueError(error.message) from error
    spans, complete = spans_of(text)
    if not 0 <= index < len(spans) or (index == len(spans) - 1 and not complete):
        raise ValueError(f"there is no document {index} whose end can be told")
    others = [span for number, span in enumerate(spans) if number != index]
    if complete and all(span.empty for span in others):
        return b""
    rest = text[: spans[index].start] + text[_end(spans, index, len(text)) :]
    return (BOM if data.startswith(BOM) else b"") + rest.encode("utf-8")


def _end(spans: list[Span], index: int, length: int) -> int:
    """Return where the text goes on behind the document that is cut."""
    if index + 1 == len(spans):
        return length
    span, following = spans[index], spans[index + 1]
    needs_dots = following.directed and index > 0 and spans[index - 1].dots < 0
    return span.dots if needs_dots else following.start


def spans_of(text: str) -> tuple[list[Span], bool]:
    """Return the documents up to broken syntax, and whether there is none."""
    next_event = events_of(text)
    spans: list[Span] = []
    try:
        while type(event := next_event()) is not StreamEndEvent:
            if type(event) is not DocumentStartEvent:
                continue
            start = event.start_mark.index if event.explicit else 0
            span = Span(start, directed=event.explicit and text[start] == "%")
            spans.append(span)
            root = next_event()
            span.empty = type(root) is ScalarEvent and not root.value and root.implicit[0]
            end = pass_document(next_event, root)
            if end.explicit:
                span.dots = end.start_mark.index
    except (YAMLError, TooDeep):
        return spans, False
    return spans, True
