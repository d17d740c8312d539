"""Passing over parts of a stream of YAML events."""

from collections.abc import Callable
from typing import Any

from yaml import CBaseLoader
from yaml.events import (
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from reconciler.manifests.text.limits import SKIM_DEPTH

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
